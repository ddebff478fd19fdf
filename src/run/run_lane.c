/* The lane of this rank: events in, its actions carried out. */
#include "base/clock.h"
#include "base/log.h"
#include "run/run_state.h"

#include <stdio.h>
#include <string.h>

tsw_status_t tsw_run_lane_init(tsw_run_t *run, tsw_err_t *err)
{
    tsw_status_t status = tsw_eval_new(&run->eval, err);
    if (status == TSW_OK)
        status = tsw_lane_new(run->plan, run->rank, run->node, &run->lane, err);
    return status;
}

static void lane_event_without_arguments(tsw_run_t *run,
                                         tsw_status_t (*event)(tsw_lane_t *, tsw_lane_actions_t *,
                                                               tsw_err_t *))
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = event(run->lane, &run->lane_actions, &err);
    tsw_run_lane_follow(run, status, &err);
}

void tsw_run_lane_start(tsw_run_t *run)
{
    lane_event_without_arguments(run,
                                 run->has_device ? tsw_lane_start : tsw_lane_start_without_device);
}

void tsw_run_lane_abandon(tsw_run_t *run)
{
    if (!run->broken)
        lane_event_without_arguments(run, tsw_lane_abandon);
}

/* ---- results ---- */

void tsw_run_seal(tsw_run_t *run)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (run->segments == NULL)
        return;
    tsw_status_t status = tsw_segments_seal(run->segments, &err);
    if (status != TSW_OK)
        tsw_run_fail(run, status, &err);
}

/* As the start of a cell: it begins when the one before it ends. */
#define STARTS_NEXT UINT64_MAX

static uint64_t release_held(tsw_run_t *run, uint32_t cell)
{
    for (size_t i = 0; i < run->held_count; i++) {
        if (run->held[i] != cell)
            continue;
        uint64_t start = run->held_start_ns[i];
        run->held_count--;
        memmove(&run->held[i], &run->held[i + 1], (run->held_count - i) * sizeof(run->held[0]));
        memmove(&run->held_start_ns[i], &run->held_start_ns[i + 1],
                (run->held_count - i) * sizeof(run->held_start_ns[0]));
        return start;
    }
    return 0;
}

static void tell_done(tsw_run_t *run, const tsw_lane_action_t *action, tsw_run_verdict_t verdict)
{
    tsw_msg_cell_done_t msg = {
        .cell = action->cell,
        .attempt = action->attempt,
        .usable = verdict.usable,
        .configs_failed = verdict.configs_failed,
        .busy_ns = run->busy_ns,
        .wall_ns = run->first_cell_ns != 0 ? tsw_clock_now_ns() - run->first_cell_ns : 0};
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_cell_done(&body, &msg);
    tsw_run_send(run, 0, TSW_RANK_CELL_DONE, &body);
}

static void store_cell(tsw_run_t *run, const tsw_lane_action_t *action)
{
    tsw_cell_result_t result;
    tsw_lane_take_result(run->lane, &result);
    uint64_t now = tsw_clock_wall_ns();
    uint64_t start = release_held(run, action->cell);
    for (size_t i = 0; i < run->held_count; i++)
        if (run->held_start_ns[i] == STARTS_NEXT)
            run->held_start_ns[i] = now;
    result.start_wall_ns = start != 0 && start != STARTS_NEXT ? start : now;
    result.wall_ns = now - result.start_wall_ns;
    result.attempt = run->attempt;
    run->busy_ns += result.busy_ns;
    bool complete = result.complete != 0;
    tsw_run_verdict_t verdict = {.usable = false};
    tsw_log(TSW_LOG_DEBUG, "cell %u is %s", action->cell, complete ? "finished" : "left half done");
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_run_verdict_of(run, &result, &verdict, &err);
    if (status == TSW_OK)
        status = tsw_segments_add(run->segments, &result, &err);
    tsw_cell_result_fini(&result);
    if (status != TSW_OK)
        tsw_run_fail(run, status, &err);
    if (!complete)
        return;
    tell_done(run, action, verdict); /* also after a failure: the run ends, in good order */
    tsw_run_rehearsal_cell(run);
}

static void give_back(tsw_run_t *run, const tsw_lane_action_t *action)
{
    tsw_msg_lease_t msg = {.cell = action->cell, .attempt = action->attempt};
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_lease(&body, &msg);
    tsw_run_send(run, 0, TSW_RANK_CELL_RETURNED, &body);
}

static void retire(tsw_run_t *run)
{
    char reason[TSW_DETAIL_MAX];
    snprintf(reason, sizeof(reason), "%s%.*s",
             run->unfit ? "" : "two fresh workers failed: ", (int)sizeof(reason) - 32,
             run->worker_end);
    tsw_log(TSW_LOG_ERROR, "the GPU is not used any more: %s", reason);
    run->has_device = false;
    for (size_t i = run->held_count; i-- > 0;) {
        if (!run->plan->cells[run->held[i]].compile_only)
            release_held(run, run->held[i]);
    }
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_failed(&body, TSW_ERR_DEVICE_LOST, reason);
    tsw_run_send(run, 0, TSW_RANK_RETIRED, &body);
}

static void begin_cell(tsw_run_t *run, uint32_t cell)
{
    if (run->first_cell_ns == 0)
        run->first_cell_ns = tsw_clock_now_ns();
    bool ahead = run->worker.timing;
    for (size_t i = 0; i < run->held_count; i++) {
        if (run->held[i] == cell)
            run->held_start_ns[i] = ahead ? STARTS_NEXT : tsw_clock_wall_ns();
    }
    tsw_log(TSW_LOG_DEBUG, "cell %u begins: %zu configs", cell,
            run->plan->cells[cell].config_count);
    tsw_run_worker_begin(run, cell);
}

static void carry_out(tsw_run_t *run, const tsw_lane_action_t *action)
{
    tsw_buf_t empty = TSW_BUF_INIT;
    switch (action->type) {
    case TSW_LANE_ASK_CELL:
        tsw_run_send(run, 0, TSW_RANK_WANT_CELL, &empty);
        return;
    case TSW_LANE_START_WORKER:
        tsw_run_worker_want(run);
        return;
    case TSW_LANE_KILL_WORKER:
        tsw_run_worker_kill(run);
        return;
    case TSW_LANE_BEGIN_CELL:
        begin_cell(run, action->cell);
        return;
    case TSW_LANE_ADD_CONFIG:
        tsw_run_worker_add(run, action);
        return;
    case TSW_LANE_TIME_CELL:
        tsw_run_worker_time(run, action->first_round);
        return;
    case TSW_LANE_STORE_CELL:
        store_cell(run, action);
        return;
    case TSW_LANE_GIVE_BACK:
        give_back(run, action);
        return;
    case TSW_LANE_RETIRE:
        retire(run);
        return;
    }
}

void tsw_run_lane_follow(tsw_run_t *run, tsw_status_t status, const tsw_err_t *err)
{
    if (status != TSW_OK) {
        tsw_run_break(run, status, err);
        return;
    }
    if (run->lane_busy) /* an action had an event as its answer: it waits for its turn */
        return;
    run->lane_busy = true;
    while (run->lane_at < run->lane_actions.count && !run->broken) {
        tsw_lane_action_t action = run->lane_actions.items[run->lane_at++];
        carry_out(run, &action);
    }
    run->lane_at = 0;
    run->lane_actions.count = 0;
    run->lane_busy = false;
}

/* ---- builds for the cells in the lane ---- */

static void tell_built(tsw_run_t *run, const tsw_cell_t *cell, int32_t index, uint32_t build)
{
    const tsw_artifact_t *artifact = tsw_run_artifact(run, build, cell->arch_index);
    if (artifact == NULL)
        return;
    tsw_lane_built_t built = {.cell = cell->id,
                              .config_index = index,
                              .outcome = artifact->outcome,
                              .detail = artifact->detail,
                              .facts = artifact->facts};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = TSW_OK;
    tsw_outcome_t outcome = TSW_OUTCOME_OK;
    const char *detail = NULL;
    /* Without a device the number of multiprocessors, and so the grid, is unknown. */
    if (index >= 0 && built.outcome == TSW_OUTCOME_OK && !cell->compile_only)
        status =
            tsw_run_launch_describe(run, cell, (uint32_t)index, run->gpu.sm_count, &built, &err);
    if (status == TSW_ERR_NOMEM) {
        tsw_run_fail(run, status, &err);
        return;
    }
    if (status != TSW_OK) {
        built.outcome = TSW_OUTCOME_INVALID;
        built.detail = err.text;
    } else if (index >= 0 && built.outcome == TSW_OUTCOME_OK &&
               tsw_run_recorded_failure(run, cell, (uint32_t)index, &outcome, &detail)) {
        built.outcome = outcome;
        built.detail = detail;
    }
    TSW_RUN_LANE(run, tsw_lane_built, &built);
}

/* build: UINT32_MAX for all that are here. */
static void tell_builds_of(tsw_run_t *run, uint32_t cell_id, uint32_t build)
{
    const tsw_cell_t *cell = &run->plan->cells[cell_id];
    const tsw_plan_variant_t *variant = &run->plan->variants[cell->variant];
    bool all = build == UINT32_MAX;
    if (all || build == 0)
        tell_built(run, cell, TSW_LANE_TOOL, 0);
    if (all || build == variant->reference_build)
        tell_built(run, cell, TSW_LANE_REFERENCE, variant->reference_build);
    for (size_t i = 0; i < cell->config_count; i++) {
        uint32_t config_build = variant->config_builds[cell->configs[i]];
        if (all || build == config_build)
            tell_built(run, cell, (int32_t)i, config_build);
    }
}

void tsw_run_lane_leased(tsw_run_t *run, const tsw_msg_lease_t *lease)
{
    if (run->broken)
        return;
    if (lease->cell >= run->plan->cell_count || run->held_count == TSW_RUN_HELD_MAX) {
        tsw_err_t err = TSW_ERR_INIT;
        tsw_run_break(
            run, tsw_err_set(&err, TSW_ERR_BUG, "lease of cell %u that cannot be", lease->cell),
            &err);
        return;
    }
    const tsw_cell_t *cell = &run->plan->cells[lease->cell];
    bool taken = !run->draining && (run->has_device || cell->compile_only);
    if (taken) {
        run->held[run->held_count] = lease->cell;
        run->held_start_ns[run->held_count++] = tsw_clock_wall_ns();
    }
    TSW_RUN_LANE(run, tsw_lane_cell_leased, lease->cell, lease->attempt);
    if (taken)
        tell_builds_of(run, lease->cell, UINT32_MAX);
}

void tsw_run_lane_pushed(tsw_run_t *run, uint32_t build)
{
    if (run->broken)
        return;
    if (build == 0)
        tsw_run_worker_tool(run);
    for (size_t i = run->held_count; i-- > 0 && !run->broken;) {
        if (i < run->held_count) /* telling it may end a cell */
            tell_builds_of(run, run->held[i], build);
    }
}
