/* What the worker says of the cell in hand. */
#include "base/mem.h"
#include "record/stability.h"
#include "sched/lane_state.h"

/* The worker said something about the cell in hand. */
static void note_work(tsw_lane_t *lane)
{
    lane->worker_did_something = true;
    lane->idle_deaths = 0;
}

/* The cell that the worker has begun. *cell_p == NULL: what it says does not count any more. */
static tsw_status_t begun_cell(tsw_lane_t *lane, tsw_lane_cell_t **cell_p, tsw_err_t *err)
{
    *cell_p = NULL;
    if (lane->stopped || lane->worker == TSW_LANE_WORKER_DOOMED)
        return TSW_OK;
    if (lane->worker != TSW_LANE_WORKER_READY || lane->cell_count == 0 || !lane->cells[0]->begun)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: the worker has no cell");
    *cell_p = lane->cells[0];
    return TSW_OK;
}

tsw_status_t tsw_lane_config_state(tsw_lane_t *lane, uint32_t config_index, tsw_outcome_t outcome,
                                   const char *detail, const tsw_verify_facts_t *verify,
                                   tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = begun_cell(lane, &cell, err);
    if (cell == NULL)
        return status;
    if (!tsw_lane_cell_is_in_worker(cell, config_index))
        return tsw_err_set(err, TSW_ERR_BUG, "lane: config %u is not in the worker", config_index);
    lane->out = out;
    note_work(lane);
    bool first = cell->configs[config_index].state == TSW_LANE_CONFIG_ADDED;
    if (verify != NULL && (first || outcome != TSW_OUTCOME_OK))
        cell->result.records[config_index].verify = *verify;
    if (outcome == TSW_OUTCOME_OK)
        tsw_lane_cell_set_state(cell, config_index, TSW_LANE_CONFIG_VERIFIED);
    else
        tsw_lane_cell_end(cell, config_index, outcome, detail);
    if (outcome == TSW_OUTCOME_DEVICE_LOST || outcome == TSW_OUTCOME_RUN_TIMEOUT) {
        cell->timing = false;
        tsw_lane_kill_worker(lane);
    }
    return tsw_lane_advance(lane, err);
}

tsw_status_t tsw_lane_cell_failed(tsw_lane_t *lane, tsw_outcome_t outcome, const char *detail,
                                  tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = begun_cell(lane, &cell, err);
    if (cell == NULL)
        return status;
    lane->out = out;
    note_work(lane);
    tsw_lane_cell_end_all(cell, outcome, detail);
    return tsw_lane_advance(lane, err);
}

static bool can_take_round(const tsw_lane_cell_t *cell, const uint32_t *config_indices, size_t n)
{
    if (!cell->timing)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!tsw_lane_cell_is_in_worker(cell, config_indices[i]))
            return false;
    return true;
}

tsw_status_t tsw_lane_round(tsw_lane_t *lane, const tsw_round_t *round,
                            const uint32_t *config_indices, const tsw_sample_t *samples, size_t n,
                            tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = begun_cell(lane, &cell, err);
    if (cell == NULL)
        return status;
    if (!can_take_round(cell, config_indices, n))
        return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u expects no such round", cell->id);
    lane->out = out;
    note_work(lane);
    tsw_cell_result_t *result = &cell->result;
    if (!TSW_GROW(result->rounds, result->round_capacity, result->round_count))
        return tsw_err_nomem(err);
    result->rounds[result->round_count++] = *round;
    if (tsw_stage_decides((tsw_stage_t)round->stage) || round->stage == TSW_STAGE_EARLY)
        result->cache_mode = round->cache_state;
    for (size_t i = 0; i < n; i++) {
        tsw_record_t *record = &result->records[config_indices[i]];
        status = tsw_record_add_sample(record, &samples[i], err);
        if (status != TSW_OK)
            return status;
    }
    if (!tsw_stage_is_first((tsw_stage_t)round->stage) && round->round >= cell->next_round)
        cell->next_round = round->round + 1;
    return tsw_lane_advance(lane, err);
}

tsw_status_t tsw_lane_cell_timed(tsw_lane_t *lane, const tsw_lane_timed_t *timed,
                                 tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = begun_cell(lane, &cell, err);
    if (cell == NULL)
        return status;
    if (!cell->timing)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u is not being timed", cell->id);
    for (size_t i = 0; i < timed->count; i++)
        if (timed->indices[i] >= cell->config_count)
            return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u has no config %u", cell->id,
                               timed->indices[i]);
    lane->out = out;
    note_work(lane);
    if (timed->peak_memory_bytes > cell->result.peak_memory_bytes)
        cell->result.peak_memory_bytes = timed->peak_memory_bytes;
    cell->result.busy_ns += tsw_usage_measuring(&timed->usage);
    tsw_usage_add(&cell->result.usage, &timed->usage);
    for (size_t i = 0; i < timed->count; i++)
        cell->result.records[timed->indices[i]].fate = (tsw_fate_t)timed->fates[i];
    if (timed->pick >= 0 && (size_t)timed->pick < cell->config_count)
        cell->result.pick = timed->pick;
    status = tsw_stability_judge(&cell->result, err);
    if (status != TSW_OK)
        return status;
    tsw_lane_cell_end_timed(cell);
    return tsw_lane_advance(lane, err);
}
