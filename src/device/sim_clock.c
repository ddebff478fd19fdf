/* Virtual time of the sim and replay bodies. */
#include "device/sim_body.h"

#include "base/clock.h"

enum { CALL_NS = 8000 }; /* a kernel of the tool with its wait */

tsw_status_t tsw_sim_usable(const tsw_sim_t *sim, tsw_err_t *err)
{
    if (sim->lost)
        return tsw_err_set(err, TSW_ERR_DEVICE_LOST, "the simulated context was lost before");
    return TSW_OK;
}

void tsw_sim_settle(tsw_sim_t *sim)
{
    sim->clock_ns += sim->queued_ns;
    sim->queued_ns = 0;
}

void tsw_sim_keep_pace(tsw_sim_t *sim)
{
    if (sim->pace > 0)
        tsw_clock_sleep((uint64_t)((double)(sim->clock_ns - sim->paced_ns) * sim->pace));
    sim->paced_ns = sim->clock_ns;
}

uint64_t tsw_sim_memory_ns(const tsw_sim_t *sim, uint64_t bytes)
{
    return (uint64_t)((double)bytes / sim->model->dram_bytes_per_s * 1e9);
}

tsw_status_t tsw_sim_pass(tsw_sim_t *sim, uint64_t bytes, tsw_err_t *err)
{
    tsw_status_t status = tsw_sim_usable(sim, err);
    tsw_sim_settle(sim);
    if (status == TSW_OK)
        sim->clock_ns += CALL_NS + tsw_sim_memory_ns(sim, bytes);
    return status;
}
