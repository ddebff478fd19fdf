/* Intervals: how many launches each holds, over which buffer sets, as graphs or one by one. */
#include "base/mem.h"
#include "measure/measure_cell.h"

/* A single launch carries up to 0.6 us that depend on its place in the queue: enough to matter
 * below this. */
static const uint64_t short_ns = 100000;
static const uint64_t overhead_ns = 2000; /* of a single launch, about */
static const uint32_t most_nodes = 200, most_queued = 64;

/* What an interval is off by is worth about 1 us, however long it is: more than a launch of such
 * kernels makes that little. */
static const uint32_t least_queued = 2;

/* For an interval of that length. single_ns: of a single launch. */
static uint64_t count_launches(uint64_t interval_ns, uint64_t single_ns)
{
    uint64_t ns = single_ns > 2 * overhead_ns ? single_ns - overhead_ns : (single_ns + 1) / 2;
    return (interval_ns + ns - 1) / ns;
}

/* As a graph; each set once after a flush. */
static uint32_t count_nodes(const tsw_measure_rotation_t *rotation, uint64_t launches)
{
    uint32_t most = rotation->state == TSW_CACHE_STATE_COLD_FLUSH ? rotation->sets : most_nodes;
    return launches < most ? (uint32_t)launches : most;
}

/* Launches one by one, from whichever set is next: as many for each of the wave that may be among
 * the best, since what an interval is off by is shared among them; fewer for who takes longer. */
static uint32_t count_queued(const tsw_measure_rotation_t *rotation, const tsw_wave_t *wave,
                             uint64_t single_ns, uint64_t best_ns)
{
    const double alike = 1.3;
    if (best_ns == 0 || best_ns >= short_ns || wave->interval_ns == 0)
        return 1;
    uint64_t launches = count_launches(wave->interval_ns, best_ns);
    launches = launches < most_queued ? launches : most_queued;
    if ((double)single_ns > alike * (double)best_ns)
        launches = launches * best_ns / single_ns;
    launches = launches > least_queued ? launches : least_queued;
    if (rotation->state == TSW_CACHE_STATE_COLD_FLUSH && launches > rotation->sets)
        launches = rotation->sets;
    return (uint32_t)launches;
}

tsw_measure_interval_t tsw_measure_interval(const tsw_measure_rotation_t *rotation,
                                            const tsw_wave_t *wave, uint64_t single_ns,
                                            uint64_t best_ns)
{
    if (wave->launches > 0)
        return (tsw_measure_interval_t){wave->launches, false};
    if (best_ns == 0 || single_ns == 0 || best_ns >= wave->graph_below_ns)
        return (tsw_measure_interval_t){count_queued(rotation, wave, single_ns, best_ns), false};
    if (single_ns >= 2 * wave->graph_below_ns) /* cannot win; rivals are measured alike */
        return (tsw_measure_interval_t){1, false};
    uint32_t nodes = count_nodes(rotation, count_launches(wave->interval_ns, single_ns));
    return (tsw_measure_interval_t){nodes, nodes > 1};
}

/* The launches over `count` sets from `first` on. */
static tsw_status_t need_launches(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                                  uint32_t first, uint32_t count, tsw_err_t *err)
{
    uint32_t sets = measure->ring.sets;
    if (entry->launches == NULL)
        entry->launches = tsw_calloc(sets, sizeof(*entry->launches));
    if (entry->launches == NULL)
        return tsw_err_nomem(err);
    for (uint32_t i = 0; i < count && i < sets; i++) {
        uint32_t set = (first + i) % sets;
        if (entry->launches[set].kernel != NULL)
            continue;
        entry->launches[set] = entry->launch;
        tsw_measure_pointers(measure, TSW_BUFFERS_SPLIT, set, &entry->launches[set]);
    }
    return TSW_OK;
}

/* One for all shots of so many launches: it goes round the ring with them. */
static tsw_status_t need_graph(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_shot_t *shot,
                               tsw_err_t *err)
{
    const tsw_device_ops_t *ops = measure->dev->ops;
    tsw_status_t status = TSW_OK;
    if (entry->graph == NULL || entry->graph_launches != shot->repeat) {
        ops->graph_free(measure->dev, entry->graph);
        entry->graph = NULL;
        entry->graph_launches = shot->repeat;
        status = ops->graph_new(measure->dev, shot, &entry->graph, err);
    }
    shot->graph = entry->graph;
    return status;
}

/* In the cell's own cache mode, over the ring, from where it stands. */
static tsw_status_t ring_shot(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                              tsw_measure_interval_t interval, tsw_shot_t *shot_p, tsw_err_t *err)
{
    tsw_measure_ring_t *ring = &measure->ring;
    uint32_t first = ring->next_set;
    tsw_status_t status = need_launches(measure, entry, first, interval.launches, err);
    if (status != TSW_OK)
        return status;
    tsw_shot_t shot = {.launches = entry->launches,
                       .set_count = ring->sets,
                       .first_set = first,
                       .repeat = interval.launches,
                       .flush = ring->state == TSW_CACHE_STATE_COLD_FLUSH};
    if (interval.is_graph)
        status = need_graph(measure, entry, &shot, err);
    if (status != TSW_OK)
        return status;
    ring->next_set = (first + interval.launches) % ring->sets;
    *shot_p = shot;
    return TSW_OK;
}

tsw_status_t tsw_measure_shot(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                              tsw_wave_kind_t kind, tsw_measure_interval_t interval,
                              tsw_shot_t *shot_p, tsw_err_t *err)
{
    if (kind == TSW_WAVE_KIND_CELL)
        return ring_shot(measure, entry, interval, shot_p, err);
    *shot_p = (tsw_shot_t){.launches = &entry->launch,
                           .set_count = 1,
                           .repeat = interval.launches,
                           .flush = kind == TSW_WAVE_KIND_FLUSH};
    return TSW_OK;
}

tsw_status_t tsw_measure_shot_endless(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                                      tsw_shot_t *shot_p, tsw_err_t *err)
{
    /* A host that queues must be quicker than the device. */
    const tsw_wave_t wave = {.interval_ns = 1000000, .graph_below_ns = short_ns};
    tsw_measure_rotation_t rotation = {measure->ring.sets, TSW_CACHE_STATE_COLD_ROTATION};
    tsw_measure_interval_t interval =
        tsw_measure_interval(&rotation, &wave, entry->single_ns, entry->single_ns);
    tsw_status_t status = need_launches(measure, entry, 0, rotation.sets, err);
    if (status == TSW_OK)
        status = tsw_measure_shot(measure, entry, TSW_WAVE_KIND_CELL, interval, shot_p, err);
    if (status == TSW_OK)
        shot_p->flush = false;
    return status;
}

tsw_cache_state_t tsw_measure_cache_state(const tsw_measure_t *measure, tsw_wave_kind_t kind)
{
    if (kind == TSW_WAVE_KIND_CELL)
        return measure->ring.state;
    return kind == TSW_WAVE_KIND_FLUSH ? TSW_CACHE_STATE_COLD_FLUSH : TSW_CACHE_STATE_HOT;
}

void tsw_measure_shots_free(tsw_measure_t *measure, tsw_measure_entry_t *entry)
{
    measure->dev->ops->graph_free(measure->dev, entry->graph);
    tsw_free(entry->launches);
}
