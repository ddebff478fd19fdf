#include "measure/watch.h"

void tsw_watch_start(tsw_watch_t *watch, const tsw_device_t *dev, tsw_use_t use)
{
    *watch = (tsw_watch_t){.use = use, .since_ns = dev->ops->now_ns(dev)};
}

tsw_use_t tsw_watch_turn(tsw_watch_t *watch, const tsw_device_t *dev, tsw_use_t use)
{
    tsw_use_t before = watch->use;
    uint64_t now_ns = dev->ops->now_ns(dev);
    watch->usage.ns[before] += now_ns - watch->since_ns;
    watch->since_ns = now_ns;
    watch->use = use;
    return before;
}

tsw_usage_t tsw_watch_take(tsw_watch_t *watch, const tsw_device_t *dev)
{
    tsw_watch_turn(watch, dev, watch->use);
    tsw_usage_t usage = watch->usage;
    watch->usage = (tsw_usage_t){{0}};
    return usage;
}
