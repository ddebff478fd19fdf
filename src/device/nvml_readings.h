/* The last readings of clocks, power and temperature, with their times. Private to device. */
#ifndef TSW_DEVICE_NVML_READINGS_H
#define TSW_DEVICE_NVML_READINGS_H

#include "device/device.h"

#define TSW_NVML_READINGS 128 /* some seconds of them */

typedef struct {
    tsw_telemetry_t items[TSW_NVML_READINGS];
    size_t count, next;
} tsw_nvml_readings_t;

/* Pushes out the oldest of a full ring. */
void tsw_nvml_readings_add(tsw_nvml_readings_t *readings, const tsw_telemetry_t *reading);
/* The one nearest to the middle of that time: from within it if any is. Zero when there is none. */
tsw_telemetry_t tsw_nvml_readings_near(const tsw_nvml_readings_t *readings, uint64_t from_ns,
                                       uint64_t to_ns);

#endif
