#include "sched/lane.h"

#include "base/mem.h"
#include "sched/lane_state.h"

#include <stdio.h>
#include <string.h>

void tsw_lane_actions_fini(tsw_lane_actions_t *actions)
{
    tsw_free(actions->items);
    *actions = (tsw_lane_actions_t){0};
}

static tsw_status_t start(tsw_lane_t *lane, tsw_lane_actions_t *out, tsw_err_t *err)
{
    if (lane->started)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: started twice");
    lane->started = true;
    lane->out = out;
    return TSW_OK;
}

tsw_status_t tsw_lane_start(tsw_lane_t *lane, tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = start(lane, out, err);
    if (status != TSW_OK)
        return status;
    lane->has_device = true;
    tsw_lane_start_worker(lane);
    return tsw_lane_advance(lane, err);
}

tsw_status_t tsw_lane_start_without_device(tsw_lane_t *lane, tsw_lane_actions_t *out,
                                           tsw_err_t *err)
{
    tsw_status_t status = start(lane, out, err);
    if (status != TSW_OK)
        return status;
    tsw_lane_ask_first_cells(lane);
    return tsw_lane_advance(lane, err);
}

tsw_status_t tsw_lane_cell_leased(tsw_lane_t *lane, uint32_t cell, uint32_t attempt,
                                  tsw_lane_actions_t *out, tsw_err_t *err)
{
    if (cell >= lane->plan->cell_count)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: there is no cell %u", cell);
    if (!lane->asked || lane->cell_count == TSW_LANE_HANDS)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u was not asked for", cell);
    lane->out = out;
    if (lane->stopped) {
        tsw_lane_act(lane, (tsw_lane_action_t){
                               .type = TSW_LANE_GIVE_BACK, .cell = cell, .attempt = attempt});
        return tsw_lane_advance(lane, err);
    }
    if (!lane->has_device && !lane->plan->cells[cell].compile_only) {
        /* Sent before the coordinator knew that the GPU is lost; it has taken the cell back. */
        tsw_lane_ask_cell(lane);
        return tsw_lane_advance(lane, err);
    }
    tsw_status_t status =
        tsw_lane_cell_new(lane->plan, cell, attempt, &lane->cells[lane->cell_count], err);
    if (status != TSW_OK)
        return status;
    lane->cell_count++;
    return tsw_lane_advance(lane, err);
}

static tsw_lane_cell_t *find_cell(tsw_lane_t *lane, uint32_t id)
{
    for (size_t i = 0; i < lane->cell_count; i++)
        if (lane->cells[i]->id == id)
            return lane->cells[i];
    return NULL;
}

tsw_status_t tsw_lane_built(tsw_lane_t *lane, const tsw_lane_built_t *built,
                            tsw_lane_actions_t *out, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = find_cell(lane, built->cell);
    if (cell == NULL)
        return TSW_OK;
    if (built->config_index < TSW_LANE_TOOL || built->config_index >= (int64_t)cell->config_count)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: cell %u has no config %d", built->cell,
                           built->config_index);
    lane->out = out;
    tsw_lane_cell_built(cell, built);
    return tsw_lane_advance(lane, err);
}

tsw_status_t tsw_lane_abandon(tsw_lane_t *lane, tsw_lane_actions_t *out, tsw_err_t *err)
{
    if (lane->stopped)
        return TSW_OK;
    lane->out = out;
    lane->stopped = true;
    if (lane->worker == TSW_LANE_WORKER_STARTING || lane->worker == TSW_LANE_WORKER_READY)
        tsw_lane_kill_worker(lane);
    while (lane->cell_count > 0) {
        tsw_lane_cell_t *cell = tsw_lane_take_cell(lane, 0);
        tsw_lane_action_t give_back = {
            .type = TSW_LANE_GIVE_BACK, .cell = cell->id, .attempt = cell->attempt};
        tsw_lane_drop_cell(lane, cell);
        tsw_lane_act(lane, give_back);
    }
    return tsw_lane_advance(lane, err);
}

/* ---- life ---- */

tsw_status_t tsw_lane_new(const tsw_plan_t *plan, int32_t rank, const char *node,
                          tsw_lane_t **lane_p, tsw_err_t *err)
{
    tsw_lane_t *lane = tsw_calloc(1, sizeof(*lane));
    if (lane == NULL)
        return tsw_err_nomem(err);
    lane->plan = plan;
    lane->rank = rank;
    snprintf(lane->node, sizeof(lane->node), "%s", node);
    *lane_p = lane;
    return TSW_OK;
}

void tsw_lane_free(tsw_lane_t *lane)
{
    if (lane == NULL)
        return;
    for (size_t i = 0; i < lane->cell_count; i++)
        tsw_lane_cell_free(lane->cells[i]);
    for (size_t i = 0; i < lane->results.count; i++)
        tsw_cell_result_fini(&lane->results.items[i]);
    tsw_free(lane->results.items);
    tsw_free(lane);
}

void tsw_lane_take_result(tsw_lane_t *lane, tsw_cell_result_t *result_p)
{
    tsw_lane_results_t *results = &lane->results;
    TSW_ASSERT(results->count > 0);
    *result_p = results->items[0];
    results->count--;
    memmove(results->items, results->items + 1, results->count * sizeof(*results->items));
}

tsw_status_t tsw_lane_skipped(const tsw_plan_t *plan, uint32_t id, int32_t rank, const char *node,
                              tsw_cell_result_t *result_p, tsw_err_t *err)
{
    tsw_lane_cell_t *cell = NULL;
    tsw_status_t status = tsw_lane_cell_new(plan, id, 1, &cell, err);
    if (status != TSW_OK)
        return status;
    tsw_lane_cell_end_all(cell, TSW_OUTCOME_SKIPPED, plan->cells[id].skip_reason);
    tsw_lane_cell_complete(cell);
    *result_p = cell->result;
    cell->result = (tsw_cell_result_t){0};
    tsw_lane_cell_free(cell);
    result_p->rank = rank;
    snprintf(result_p->node, sizeof(result_p->node), "%s", node);
    return TSW_OK;
}

bool tsw_lane_is_idle(const tsw_lane_t *lane)
{
    return lane->cell_count == 0;
}
