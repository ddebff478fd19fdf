/* A thread that reads the state of a GPU, so that nobody who measures waits for NVML. From its
 * start to its stop it alone may call that NVML, but for the energy counter. Private to device. */
#ifndef TSW_DEVICE_NVML_SAMPLER_H
#define TSW_DEVICE_NVML_SAMPLER_H

#include "device/nvml.h"

typedef struct tsw_nvml_sampler tsw_nvml_sampler_t;

/* Reads once before it returns, then about every 20 ms, and health every 250 ms. `nvml` is borrowed
 * until the stop. TSW_ERR_ENV: no thread can be had. */
tsw_status_t tsw_nvml_sampler_start(tsw_nvml_t *nvml, tsw_nvml_sampler_t **sampler_p,
                                    tsw_err_t *err);
/* Waits for the call of NVML that the thread is in. NULL is fine. */
void tsw_nvml_sampler_stop(tsw_nvml_sampler_t *sampler);

/* The reading that is nearest to the middle of that time; none is waited for. */
tsw_telemetry_t tsw_nvml_sampler_near(tsw_nvml_sampler_t *sampler, uint64_t from_ns,
                                      uint64_t to_ns);
/* What happened since this was asked last. `now`: up to this moment, which waits for a look, up to
 * 5 s; otherwise up to the last look. */
tsw_health_t tsw_nvml_sampler_health(tsw_nvml_sampler_t *sampler, bool now);

#endif
