/* NVML, opened at run time with our own prototypes: what the GPU does beside computing, and the
 * lock of its clock. Its absence is fine: everything is then zero, and the reason is told. Private
 * to device. */
#ifndef TSW_DEVICE_NVML_H
#define TSW_DEVICE_NVML_H

#include "device/energy_window.h"

typedef struct tsw_nvml tsw_nvml_t;

/* libnvidia-ml.so.1, or the file that TSW_LIBNVML names, and a GPU in it: by "GPU-..", which may be
 * a MIG instance's, too. TSW_ERR_ENV says what is missing. */
tsw_status_t tsw_nvml_open(const char *uuid, tsw_nvml_t **nvml_p, tsw_err_t *err);
void tsw_nvml_close(tsw_nvml_t *nvml); /* NULL is fine */

/* Opens it for a device: adds to what is known of its GPU (driver, MIG, what cannot be read).
 * NULL: it cannot be opened, for the reason that gpu->unreadable gives. */
tsw_nvml_t *tsw_nvml_attach(tsw_gpu_t *gpu);

/* nvml NULL, or a value that cannot be read: zero. What costs some ms each: see nvml_sampler.h. */
void tsw_nvml_read(tsw_nvml_t *nvml, tsw_telemetry_t *telemetry_p);
void tsw_nvml_health(tsw_nvml_t *nvml, tsw_health_t *health_p);

/* mJ that the board took since some time before. TSW_ERR_ENV: what is missing. */
tsw_status_t tsw_nvml_energy(tsw_nvml_t *nvml, uint64_t *mj_p, tsw_err_t *err);
/* Whether it can be read. nvml NULL: not, for the reason that gpu->unreadable gives. */
tsw_status_t tsw_nvml_energy_find(tsw_nvml_t *nvml, const tsw_gpu_t *gpu, tsw_err_t *err);
/* A reading for the window. TSW_ERR_DEVICE_UNFIT: it cannot be read any more. */
tsw_status_t tsw_nvml_energy_step(tsw_nvml_t *nvml, tsw_energy_window_t *window, uint64_t now_ns,
                                  tsw_energy_step_t *step_p, tsw_err_t *err);

/* The SM clock at exactly so many MHz, for all processes, until it is unlocked. TSW_ERR_ARG: the
 * GPU has no such clock; names the nearest. TSW_ERR_ENV: not permitted, or not possible. */
tsw_status_t tsw_nvml_lock(tsw_nvml_t *nvml, uint32_t mhz, tsw_err_t *err);
tsw_status_t tsw_nvml_unlock(tsw_nvml_t *nvml, tsw_err_t *err);

#endif
