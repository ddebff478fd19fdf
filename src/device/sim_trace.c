/* The other timer of the sim and replay bodies: spans of kernels, as CUPTI reports them. */
#include "device/sim_body.h"

#include "base/mem.h"

enum { EVENT_NS = 150 };

/* Between the events of a shot, which just ended, lies more than its kernels. */
tsw_status_t tsw_sim_trace_note(tsw_sim_t *sim, uint32_t repeat, uint64_t ns, tsw_err_t *err)
{
    uint64_t start_ns = sim->clock_ns - repeat * ns;
    for (uint32_t i = 0; i < repeat; i++, start_ns += ns) {
        if (!TSW_GROW(sim->traced, sim->traced_capacity, sim->traced_count))
            return tsw_err_nomem(err);
        sim->traced[sim->traced_count++] =
            (tsw_span_t){start_ns, start_ns + (ns > 2 * EVENT_NS ? ns - EVENT_NS : ns)};
    }
    return TSW_OK;
}

tsw_status_t tsw_sim_trace_find(tsw_device_t *dev, tsw_err_t *err)
{
    return tsw_sim_usable(tsw_sim_body(dev), err);
}

tsw_status_t tsw_sim_trace_begin(tsw_device_t *dev, tsw_err_t *err)
{
    tsw_sim_body(dev)->is_traced = true;
    tsw_sim_body(dev)->traced_count = 0;
    return tsw_sim_usable(tsw_sim_body(dev), err);
}

tsw_status_t tsw_sim_trace_end(tsw_device_t *dev, tsw_span_t **spans_p, size_t *count_p,
                               tsw_err_t *err)
{
    tsw_sim_t *sim = tsw_sim_body(dev);
    tsw_status_t status = tsw_sim_usable(sim, err);
    sim->is_traced = false;
    if (status != TSW_OK)
        return status;
    *spans_p = sim->traced;
    *count_p = sim->traced_count;
    sim->traced = NULL;
    sim->traced_count = sim->traced_capacity = 0;
    return TSW_OK;
}
