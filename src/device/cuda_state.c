/* The state of the GPU beside its computing, as the sampler saw it. */
#include "device/cuda_body.h"

static tsw_nvml_sampler_t *sampler_of(tsw_device_t *dev)
{
    return ((tsw_cuda_t *)dev)->sampler;
}

void tsw_cuda_telemetry(tsw_device_t *dev, uint64_t from_ns, uint64_t to_ns,
                        tsw_telemetry_t *telemetry_p)
{
    tsw_nvml_sampler_t *sampler = sampler_of(dev);
    *telemetry_p = sampler != NULL ? tsw_nvml_sampler_near(sampler, from_ns, to_ns)
                                   : (tsw_telemetry_t){.read_ns = 0};
}

void tsw_cuda_health(tsw_device_t *dev, bool now, tsw_health_t *health_p)
{
    tsw_nvml_sampler_t *sampler = sampler_of(dev);
    *health_p = sampler != NULL ? tsw_nvml_sampler_health(sampler, now)
                                : (tsw_health_t){.foreign_processes = 0};
}
