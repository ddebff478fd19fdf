/* Counts what time goes to. */
#ifndef TSW_MEASURE_WATCH_H
#define TSW_MEASURE_WATCH_H

#include "device/device.h"
#include "record/usage.h"

typedef struct {
    tsw_use_t use; /* now */
    uint64_t since_ns;
    tsw_usage_t usage; /* without what goes on now */
} tsw_watch_t;

void tsw_watch_start(tsw_watch_t *watch, const tsw_device_t *dev, tsw_use_t use);
/* From now on time goes to another use; yields the one before. */
tsw_use_t tsw_watch_turn(tsw_watch_t *watch, const tsw_device_t *dev, tsw_use_t use);
/* All up to now; it begins again at zero. */
tsw_usage_t tsw_watch_take(tsw_watch_t *watch, const tsw_device_t *dev);

#endif
