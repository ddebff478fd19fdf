/* Blocks of launches while the energy counter runs: who of the fastest takes the least. */
#include "base/mem.h"
#include "base/rng.h"
#include "measure/measure_cell.h"
#include "stats/energy.h"

#include <math.h>

/* A slower baseline is left out: a block must end. */
static const double longest_ns = 1e9;
/* A graph is several launches. */
static const double slack_s = 0.1;

typedef struct {
    tsw_measure_t *measure;
    uint32_t tried[TSW_ENERGY_MOST]; /* entries */
    double joules[TSW_ENERGY_MOST][TSW_ENERGY_ROUNDS];
    size_t counts[TSW_ENERGY_MOST];
    size_t count;
    tsw_health_t health;
} energy_t;

static bool is_finalist(tsw_fate_t fate)
{
    return fate == TSW_FATE_WINNER || fate == TSW_FATE_TIED || fate == TSW_FATE_BEATEN;
}

static tsw_status_t choose(energy_t *energy, tsw_err_t *err)
{
    const tsw_measure_t *measure = energy->measure;
    tsw_energy_entrant_t *entrants = tsw_calloc(measure->entry_count, sizeof(*entrants));
    if (entrants == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < measure->entry_count; i++) {
        const tsw_measure_entry_t *entry = &measure->entries[i];
        bool can_run =
            entry->is_ok && entry->fate != TSW_FATE_SUSPECT && entry->least_ns <= longest_ns;
        entrants[i] = (tsw_energy_entrant_t){.time_ns = can_run ? entry->least_ns : 0.0,
                                             .is_finalist = is_finalist(entry->fate),
                                             .is_baseline = entry->index == 0};
    }
    energy->count = tsw_energy_choose(entrants, measure->entry_count, energy->tried);
    tsw_free(entrants);
    return TSW_OK;
}

/* One block. A config that fails is told; *done_p is false then. */
static tsw_status_t run_block(tsw_measure_t *measure, tsw_measure_entry_t *entry, uint32_t round,
                              tsw_sample_t *sample, bool *done_p, tsw_err_t *err)
{
    tsw_shot_t shot;
    tsw_energy_t block = {.launches = 0};
    double timeout_s = measure->cell.policy.launch_timeout_s + slack_s;
    measure->sink.busy(measure->sink.user, (int32_t)entry->index);
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_GRAPH);
    tsw_status_t status = tsw_measure_shot_endless(measure, entry, &shot, err);
    tsw_measure_turn(measure, TSW_USE_WAVE);
    if (status == TSW_OK)
        status = measure->dev->ops->energy(measure->dev, &shot, round, timeout_s, &block, err);
    tsw_measure_turn(measure, use);
    *done_p = status == TSW_OK;
    if (!tsw_measure_is_fatal(status))
        measure->sink.busy(measure->sink.user, TSW_MEASURE_BUSY_NONE);
    if (status == TSW_ERR_DEVICE_UNFIT)
        return status;
    if (status != TSW_OK)
        return tsw_measure_blame(measure, entry, status, TSW_OUTCOME_LAUNCH_FAILED, err);
    sample->energy_mj = block.energy_mj;
    sample->interval_ns = block.interval_ns;
    sample->launches = block.launches;
    return TSW_OK;
}

static tsw_status_t report_round(energy_t *energy, uint32_t number, uint64_t start_ns,
                                 const uint32_t *indices, const tsw_sample_t *samples, size_t count,
                                 tsw_err_t *err)
{
    tsw_measure_t *measure = energy->measure;
    bool is_rotated = measure->ring.state == TSW_CACHE_STATE_COLD_ROTATION;
    tsw_telemetry_t telemetry;
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_CLOCK);
    measure->dev->ops->telemetry(measure->dev, start_ns, tsw_measure_now_ns(measure), &telemetry);
    tsw_measure_turn(measure, use);
    tsw_status_t status = tsw_measure_look(measure, &energy->health, err);
    tsw_round_t round = tsw_measure_round(&telemetry, &energy->health);
    round.round = number;
    round.stage = TSW_STAGE_ENERGY;
    round.is_unstable = status != TSW_OK || energy->health.foreign_processes > 0;
    round.cache_state = is_rotated ? TSW_CACHE_STATE_COLD_ROTATION : TSW_CACHE_STATE_HOT;
    round.start_ns = start_ns - measure->start_ns;
    round.duration_ns = tsw_measure_now_ns(measure) - start_ns;
    measure->sink.round(measure->sink.user, &round, indices, samples, count);
    energy->health = (tsw_health_t){.foreign_processes = energy->health.foreign_processes};
    return status;
}

/* All that are tried, once, in a fresh order. */
static tsw_status_t run_round(energy_t *energy, uint32_t number, tsw_err_t *err)
{
    tsw_measure_t *measure = energy->measure;
    uint32_t order[TSW_ENERGY_MOST], indices[TSW_ENERGY_MOST];
    tsw_sample_t samples[TSW_ENERGY_MOST];
    uint64_t start_ns = tsw_measure_now_ns(measure);
    size_t count = 0;
    tsw_status_t status = TSW_OK;
    tsw_rng_permutation(measure->cell.policy.seed, tsw_rng_fold(measure->cell.cell_key), number,
                        order, energy->count);
    for (size_t slot = 0; slot < energy->count && status == TSW_OK; slot++) {
        size_t at = order[slot];
        tsw_measure_entry_t *entry = &measure->entries[energy->tried[at]];
        tsw_sample_t *sample = &samples[count];
        bool done = false;
        *sample =
            (tsw_sample_t){.round = number, .stage = TSW_STAGE_ENERGY, .slot = (uint16_t)slot};
        if (entry->is_ok)
            status = run_block(measure, entry, number, sample, &done, err);
        if (!done)
            continue;
        energy->joules[at][energy->counts[at]++] = tsw_sample_joules(sample);
        indices[count++] = entry->index;
    }
    if (count == 0)
        return status;
    tsw_err_t late = TSW_ERR_INIT;
    tsw_status_t end = report_round(energy, number, start_ns, indices, samples, count, &late);
    if (status == TSW_OK && end != TSW_OK && err != NULL)
        *err = late;
    return status != TSW_OK ? status : end;
}

static void keep_verdict(energy_t *energy)
{
    tsw_measure_t *measure = energy->measure;
    double joules[TSW_ENERGY_MOST];
    for (size_t i = 0; i < energy->count; i++)
        joules[i] = measure->entries[energy->tried[i]].is_ok
                        ? tsw_energy_median(energy->joules[i], energy->counts[i])
                        : (double)NAN;
    int64_t least = tsw_energy_least(joules, energy->count);
    measure->pick = least >= 0 ? (int32_t)measure->entries[energy->tried[least]].index : -1;
    for (size_t i = 0; i < energy->count; i++) {
        tsw_measure_entry_t *entry = &measure->entries[energy->tried[i]];
        if (!entry->is_ok)
            continue;
        if (isnan(joules[i]))
            entry->fate = TSW_FATE_SUSPECT;
        else if ((int64_t)i == least)
            entry->fate = TSW_FATE_WINNER;
        else
            entry->fate =
                tsw_energy_is_tie(joules[i], joules[least]) ? TSW_FATE_TIED : TSW_FATE_BEATEN;
    }
}

tsw_status_t tsw_measure_energy(tsw_measure_t *measure, uint32_t round, tsw_err_t *err)
{
    energy_t energy = {.measure = measure};
    double budget_ns = 1e9 * measure->cell.policy.cell_budget_s;
    uint64_t start_ns = tsw_measure_now_ns(measure);
    tsw_status_t status = choose(&energy, err);
    for (uint32_t i = 0; i < TSW_ENERGY_ROUNDS && energy.count > 0 && status == TSW_OK; i++) {
        double spent_ns = (double)(tsw_measure_now_ns(measure) - start_ns);
        if (i > 0 && budget_ns > 0 && spent_ns >= budget_ns)
            break;
        status = run_round(&energy, round + i, err);
    }
    if (status == TSW_OK)
        keep_verdict(&energy);
    return status;
}
