/* NVML, opened at run time with our own prototypes: clocks, power, temperature, throttle reasons,
 * driver version. Its absence is fine: everything is then zero. Private to device. */
#ifndef TSW_DEVICE_NVML_H
#define TSW_DEVICE_NVML_H

#include "device/device.h"

typedef struct tsw_nvml tsw_nvml_t;

/* libnvidia-ml.so.1, or the file that TSW_LIBNVML names. NULL when absent or out of memory. */
tsw_nvml_t *tsw_nvml_open(const char *gpu_uuid);
void tsw_nvml_close(tsw_nvml_t *nvml);                              /* NULL is fine */
void tsw_nvml_read(tsw_nvml_t *nvml, tsw_telemetry_t *telemetry_p); /* NULL: zeros */
/* "580.159.04"; "" when nvml is NULL. */
void tsw_nvml_driver(tsw_nvml_t *nvml, char *out, size_t size);

#endif
