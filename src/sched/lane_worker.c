/* The life and death of a lane's worker, and whose fault its death was. */
#include "sched/lane_state.h"

#include <stdio.h>

#define FAILURES_MAX     2 /* workers in a row that fail before they are ready */
#define IDLE_DEATHS_MAX  2 /* workers in a row that die with nothing to do, having done nothing */
#define BLANK_DEATHS_MAX 2 /* workers that one cell kills while busy with no config */

void tsw_lane_start_worker(tsw_lane_t *lane)
{
    lane->worker = TSW_LANE_WORKER_STARTING;
    lane->worker_did_something = false;
    tsw_lane_act(lane, (tsw_lane_action_t){.type = TSW_LANE_START_WORKER});
}

void tsw_lane_kill_worker(tsw_lane_t *lane)
{
    lane->worker = TSW_LANE_WORKER_DOOMED;
    tsw_lane_act(lane, (tsw_lane_action_t){.type = TSW_LANE_KILL_WORKER});
}

tsw_status_t tsw_lane_worker_ready(tsw_lane_t *lane, const tsw_gpu_t *gpu, tsw_lane_actions_t *out,
                                   tsw_err_t *err)
{
    if (lane->stopped || lane->worker == TSW_LANE_WORKER_DOOMED)
        return TSW_OK;
    if (lane->worker != TSW_LANE_WORKER_STARTING)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: a worker is ready that was not started");
    lane->out = out;
    lane->worker = TSW_LANE_WORKER_READY;
    lane->failures = 0;
    lane->gpu = *gpu;
    tsw_lane_ask_first_cells(lane);
    return tsw_lane_advance(lane, err);
}

/* ---- death ---- */

/* The worker will not survive this reference another time either. */
static void end_for_reference(tsw_lane_cell_t *cell, const char *detail)
{
    char text[TSW_DETAIL_MAX];
    snprintf(text, sizeof(text), "suspect reference.cu: the worker died while it ran: %s",
             detail != NULL ? detail : "");
    tsw_lane_cell_end_all(cell, TSW_OUTCOME_INVALID, text);
}

/* Whose fault it was, as far as the cell in hand goes. */
static void blame(tsw_lane_t *lane, int32_t culprit, tsw_outcome_t outcome, const char *detail)
{
    tsw_lane_cell_t *cell = lane->cell_count > 0 ? lane->cells[0] : NULL;
    if (lane->worker == TSW_LANE_WORKER_STARTING) {
        lane->failures++;
    } else if (cell == NULL || !cell->begun) {
        lane->idle_deaths += !lane->worker_did_something;
    } else if (tsw_lane_cell_is_in_worker(cell, culprit)) {
        tsw_lane_cell_end(cell, (size_t)culprit, outcome, detail);
    } else if (culprit == TSW_LANE_CULPRIT_REFERENCE) {
        end_for_reference(cell, detail);
    } else if (++cell->blank_deaths >= BLANK_DEATHS_MAX) {
        char text[TSW_DETAIL_MAX];
        snprintf(text, sizeof(text), "%u workers died in this cell outside any config%s%s",
                 cell->blank_deaths, detail != NULL && detail[0] != '\0' ? ": " : "",
                 detail != NULL ? detail : "");
        tsw_lane_cell_end_all(cell, TSW_OUTCOME_DEVICE_LOST, text);
    }
}

/* The GPU is lost: what needs it goes back, what does not is still asked for. */
static void retire(tsw_lane_t *lane)
{
    size_t dropped = 0;
    lane->has_device = false;
    for (size_t i = lane->cell_count; i-- > 0;) {
        if (lane->cells[i]->compile_only)
            continue;
        tsw_lane_cell_t *cell = tsw_lane_take_cell(lane, i);
        dropped++;
        tsw_lane_drop_cell(lane, cell);
    }
    tsw_lane_act(lane, (tsw_lane_action_t){.type = TSW_LANE_RETIRE});
    tsw_lane_ask_first_cells(lane);
    for (size_t i = 0; i < dropped; i++)
        tsw_lane_ask_cell(lane);
}

static void replace_worker(tsw_lane_t *lane)
{
    if (lane->failures >= FAILURES_MAX || lane->idle_deaths >= IDLE_DEATHS_MAX)
        retire(lane);
    else
        tsw_lane_start_worker(lane);
}

/* Gone, with all that it knew. */
static void lose_worker(tsw_lane_t *lane)
{
    lane->worker = TSW_LANE_WORKER_NONE;
    for (size_t i = 0; i < lane->cell_count; i++)
        tsw_lane_cell_unload(lane->cells[i]);
}

tsw_status_t tsw_lane_worker_died(tsw_lane_t *lane, int32_t culprit, tsw_outcome_t outcome,
                                  const char *detail, bool interrupted, tsw_lane_actions_t *out,
                                  tsw_err_t *err)
{
    if (lane->worker == TSW_LANE_WORKER_NONE)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: a worker died that was not started");
    lane->out = out;
    if (!interrupted && !lane->stopped && lane->worker != TSW_LANE_WORKER_DOOMED)
        blame(lane, culprit, outcome, detail);
    lose_worker(lane);
    if (!interrupted && !lane->stopped)
        replace_worker(lane);
    return tsw_lane_advance(lane, err);
}

static bool is_excused(tsw_lane_t *lane)
{
    tsw_lane_cell_t *cell = lane->cell_count > 0 ? lane->cells[0] : NULL;
    if (lane->worker != TSW_LANE_WORKER_READY || cell == NULL || !cell->begun || cell->killed_once)
        return false;
    cell->killed_once = true;
    return true;
}

tsw_status_t tsw_lane_worker_killed(tsw_lane_t *lane, int32_t culprit, const char *detail,
                                    tsw_lane_actions_t *out, tsw_err_t *err)
{
    if (lane->worker == TSW_LANE_WORKER_NONE || lane->stopped || !is_excused(lane))
        return tsw_lane_worker_died(lane, culprit, TSW_OUTCOME_DEVICE_LOST, detail, false, out,
                                    err);
    lane->out = out;
    lose_worker(lane);
    tsw_lane_cell_rewind(lane->cells[0]);
    replace_worker(lane);
    return tsw_lane_advance(lane, err);
}

tsw_status_t tsw_lane_gpu_unfit(tsw_lane_t *lane, bool interrupted, tsw_lane_actions_t *out,
                                tsw_err_t *err)
{
    if (lane->worker == TSW_LANE_WORKER_NONE)
        return tsw_err_set(err, TSW_ERR_BUG, "lane: a worker died that was not started");
    lane->out = out;
    lose_worker(lane);
    if (!interrupted && !lane->stopped)
        retire(lane);
    return tsw_lane_advance(lane, err);
}
