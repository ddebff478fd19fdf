/* Graphs and waves of the sim and replay bodies. */
#include "device/sim_body.h"

#include "base/mem.h"

enum {
    WAVE_NS = 150000, /* the host's part of a wave */
    GRAPH_NS = 80000, /* a graph, without its nodes */
    NODE_NS = 2500,
};

/* A graph holds how many its launches are; these are with the shot. */
tsw_status_t tsw_sim_graph_new(tsw_device_t *dev, const tsw_shot_t *shot, tsw_graph_t **graph_p,
                               tsw_err_t *err)
{
    tsw_sim_t *sim = tsw_sim_body(dev);
    tsw_status_t status = tsw_sim_usable(sim, err);
    if (status != TSW_OK)
        return status;
    uint32_t *graph = tsw_memdup(&shot->repeat, sizeof(shot->repeat));
    if (graph == NULL)
        return tsw_err_nomem(err);
    sim->clock_ns += GRAPH_NS + (uint64_t)shot->repeat * NODE_NS;
    *graph_p = (tsw_graph_t *)graph;
    return TSW_OK;
}

void tsw_sim_graph_free(tsw_device_t *dev, tsw_graph_t *graph)
{
    (void)dev;
    tsw_free(graph);
}

/* All launches of a shot take what its first one takes; faults count it as one. */
static tsw_status_t shoot(tsw_sim_t *sim, const tsw_shot_t *shot, uint32_t round, double timeout_s,
                          uint64_t *interval_ns_p, tsw_err_t *err)
{
    uint64_t ns = 0;
    TSW_ASSERT(shot->graph == NULL || *(const uint32_t *)shot->graph == shot->repeat);
    double flush_s = 2.0 * (double)sim->model->l2_bytes / sim->model->dram_bytes_per_s;
    if (shot->flush)
        sim->clock_ns += (uint64_t)(flush_s * 1e9);
    tsw_status_t status =
        tsw_sim_execute(sim, &shot->launches[shot->first_set], round, timeout_s, &ns, err);
    if (status != TSW_OK)
        return status;
    sim->clock_ns += (uint64_t)(shot->repeat - 1) * ns;
    *interval_ns_p = shot->repeat * ns;
    return sim->is_traced ? tsw_sim_trace_note(sim, shot->repeat, ns, err) : TSW_OK;
}

tsw_status_t tsw_sim_wave(tsw_device_t *dev, const tsw_shot_t *shots, size_t count,
                          const tsw_wave_plan_t *plan, uint64_t *interval_ns, size_t *finished_p,
                          tsw_err_t *err)
{
    tsw_sim_t *sim = tsw_sim_body(dev);
    size_t finished = 0;
    tsw_status_t status = tsw_sim_usable(sim, err);
    sim->clock_ns += WAVE_NS;
    while (status == TSW_OK && finished < count) {
        uint32_t round = plan->round;
        if (plan->per_round > 0)
            round += (uint32_t)(finished / plan->per_round);
        sim->round = round;
        status = shoot(sim, &shots[finished], round, plan->timeout_s, &interval_ns[finished], err);
        finished += status == TSW_OK;
    }
    tsw_sim_keep_pace(sim);
    *finished_p = finished;
    return status;
}

tsw_status_t tsw_sim_prove_flush(tsw_device_t *dev, tsw_flush_proof_t *proof_p, tsw_err_t *err)
{
    tsw_status_t status = tsw_sim_usable(tsw_sim_body(dev), err);
    if (status == TSW_OK)
        *proof_p = (tsw_flush_proof_t){.hot_ns = 160, .cold_ns = 480};
    return status;
}
