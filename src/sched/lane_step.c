/* What a lane does once an event is in: cells come and go, configs go to the worker. */
#include "base/mem.h"
#include "sched/lane_state.h"

#include <string.h>

void tsw_lane_act(tsw_lane_t *lane, tsw_lane_action_t action)
{
    tsw_lane_actions_t *out = lane->out;
    if (!TSW_GROW(out->items, out->capacity, out->count)) {
        lane->failed = true;
        return;
    }
    out->items[out->count++] = action;
}

static void act_cell(tsw_lane_t *lane, tsw_lane_action_type_t type, const tsw_lane_cell_t *cell)
{
    tsw_lane_act(lane,
                 (tsw_lane_action_t){.type = type, .cell = cell->id, .attempt = cell->attempt});
}

void tsw_lane_ask_cell(tsw_lane_t *lane)
{
    tsw_lane_act(lane, (tsw_lane_action_t){.type = TSW_LANE_ASK_CELL});
}

void tsw_lane_ask_first_cells(tsw_lane_t *lane)
{
    if (lane->asked)
        return;
    lane->asked = true;
    for (size_t i = 0; i < TSW_LANE_HANDS; i++)
        tsw_lane_ask_cell(lane);
}

/* ---- cells come and go ---- */

tsw_lane_cell_t *tsw_lane_take_cell(tsw_lane_t *lane, size_t i)
{
    tsw_lane_cell_t *cell = lane->cells[i];
    if (i == 0)
        lane->cells[0] = lane->cells[1];
    lane->cell_count--;
    return cell;
}

/* Hands the result out; the cell is freed. */
static void store_cell(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    tsw_cell_result_t *result = &cell->result;
    tsw_lane_results_t *results = &lane->results;
    result->rank = lane->rank;
    memcpy(result->node, lane->node, sizeof(result->node));
    if (!cell->compile_only)
        result->gpu = lane->gpu;
    act_cell(lane, TSW_LANE_STORE_CELL, cell);
    if (TSW_GROW(results->items, results->capacity, results->count)) {
        results->items[results->count++] = *result;
        *result = (tsw_cell_result_t){0};
    } else {
        lane->failed = true;
    }
    tsw_lane_cell_free(cell);
}

void tsw_lane_drop_cell(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    if (tsw_lane_cell_interrupt(cell))
        store_cell(lane, cell);
    else
        tsw_lane_cell_free(cell);
}

/* ---- the worker gets what it can take ---- */

static void begin_cell(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    cell->begun = true;
    cell->added = 0;
    act_cell(lane, TSW_LANE_BEGIN_CELL, cell);
}

/* Gives the worker all configs whose turn it is. */
static void add_configs(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    for (; cell->added < cell->known; cell->added++) {
        const uint32_t index = cell->order[cell->added];
        tsw_lane_config_state_t state = cell->configs[index].state;
        bool verified = state == TSW_LANE_CONFIG_VERIFIED;
        if (state != TSW_LANE_CONFIG_BUILT && !verified)
            continue;
        if (!verified)
            tsw_lane_cell_set_state(cell, index, TSW_LANE_CONFIG_ADDED);
        tsw_lane_act(lane, (tsw_lane_action_t){.type = TSW_LANE_ADD_CONFIG,
                                               .cell = cell->id,
                                               .attempt = cell->attempt,
                                               .config_index = index,
                                               .verified = verified});
    }
}

/* Begins a cell that can be begun, and gives the worker what is there of it. */
static void feed_worker(tsw_lane_t *lane, tsw_lane_cell_t *cell)
{
    if (!cell->begun && cell->reference_known && cell->tool_known)
        begin_cell(lane, cell);
    if (cell->begun)
        add_configs(lane, cell);
}

static bool may_work(const tsw_lane_t *lane, const tsw_lane_cell_t *cell)
{
    return lane->worker == TSW_LANE_WORKER_READY && !cell->compile_only &&
           !tsw_lane_cell_is_final(cell);
}

/* While the cell in hand is timed the next one already goes to the worker, which takes it up once
 * it has said that it is through. */
static void drive_worker(tsw_lane_t *lane)
{
    tsw_lane_cell_t *cell = lane->cells[0];
    if (lane->cell_count == 0 || !may_work(lane, cell))
        return;
    feed_worker(lane, cell);
    if (tsw_lane_cell_can_time(cell)) {
        cell->timing = true;
        tsw_lane_act(lane, (tsw_lane_action_t){.type = TSW_LANE_TIME_CELL,
                                               .cell = cell->id,
                                               .attempt = cell->attempt,
                                               .first_round = cell->next_round});
    }
    if (cell->timing && lane->cell_count > 1 && may_work(lane, lane->cells[1]))
        feed_worker(lane, lane->cells[1]);
}

tsw_status_t tsw_lane_advance(tsw_lane_t *lane, tsw_err_t *err)
{
    while (lane->cell_count > 0 && !lane->failed) {
        if (!tsw_lane_cell_is_final(lane->cells[0])) {
            drive_worker(lane);
            break;
        }
        tsw_lane_cell_t *cell = tsw_lane_take_cell(lane, 0);
        drive_worker(lane); /* which goes on while we store */
        tsw_lane_cell_complete(cell);
        store_cell(lane, cell);
        tsw_lane_ask_cell(lane);
    }
    lane->out = NULL;
    return lane->failed ? tsw_err_nomem(err) : TSW_OK;
}
