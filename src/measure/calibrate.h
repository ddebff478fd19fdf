/* What a device is like for measuring: its timer, queue, cache, noise, clock and bandwidth. */
#ifndef TSW_MEASURE_CALIBRATE_H
#define TSW_MEASURE_CALIBRATE_H

#include "device/device.h"
#include "record/calibration.h"

/* Runs all probes, some seconds of device time; the tool must be loaded. tool: the same cubin again
 * (borrowed), whose kernels are what is timed. idle_s: seconds to rest before the clock is looked
 * at; only a real device gets colder. Fills gpu, values and absent; the rates of products stay
 * unknown, they come from timing a pack. Statuses as the device port's; it needs memory for 128
 * times the L2. */
tsw_status_t tsw_calibrate(tsw_device_t *dev, const void *tool, size_t size, uint32_t idle_s,
                           tsw_calibration_t *calibration_p, tsw_err_t *err);

#endif
