/* The state of the GPU beside its computing. Reading it takes longer than some waves, so it is read
 * while one runs, where that serves. */
#include "device/cuda_body.h"

#include "base/clock.h"

static const uint64_t telemetry_fresh_ns = 10000000, health_fresh_ns = 250000000;

static tsw_cuda_t *body(tsw_device_t *dev)
{
    return (tsw_cuda_t *)dev;
}

static bool is_older(uint64_t read_ns, uint64_t fresh_ns)
{
    return read_ns == 0 || tsw_clock_now_ns() - read_ns > fresh_ns;
}

static void read_telemetry(tsw_cuda_t *cuda)
{
    tsw_nvml_read(cuda->nvml, &cuda->telemetry);
    cuda->telemetry.read_ns = tsw_clock_now_ns();
}

/* What happened is gathered until it is asked for. */
static void read_health(tsw_cuda_t *cuda)
{
    tsw_health_t now, *sum = &cuda->health;
    tsw_nvml_health(cuda->nvml, &now);
    sum->foreign_processes = now.foreign_processes;
    sum->ecc_corrected += now.ecc_corrected;
    sum->ecc_uncorrected += now.ecc_uncorrected;
    sum->xid = now.xid != 0 ? now.xid : sum->xid;
    sum->is_gone = sum->is_gone || now.is_gone;
    cuda->health_ns = tsw_clock_now_ns();
}

void tsw_cuda_observe(tsw_cuda_t *cuda)
{
    if (is_older(cuda->telemetry.read_ns, telemetry_fresh_ns))
        read_telemetry(cuda);
    if (is_older(cuda->health_ns, health_fresh_ns))
        read_health(cuda);
}

void tsw_cuda_telemetry(tsw_device_t *dev, tsw_telemetry_t *telemetry_p)
{
    tsw_cuda_t *cuda = body(dev);
    bool is_of_wave = cuda->wave_ns != 0 && cuda->telemetry.read_ns >= cuda->wave_ns;
    if (!is_of_wave && is_older(cuda->telemetry.read_ns, telemetry_fresh_ns))
        read_telemetry(cuda);
    *telemetry_p = cuda->telemetry;
}

void tsw_cuda_health(tsw_device_t *dev, bool now, tsw_health_t *health_p)
{
    tsw_cuda_t *cuda = body(dev);
    if (now || is_older(cuda->health_ns, health_fresh_ns))
        read_health(cuda);
    *health_p = cuda->health;
    cuda->health = (tsw_health_t){.foreign_processes = cuda->health.foreign_processes};
}
