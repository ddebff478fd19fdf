/* Rank 0: the coordinator, fed by messages of all ranks, also of this one. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <string.h>

/* True when an earlier generation has made it, for all archs. */
static bool is_here(const tsw_run_t *run, const tsw_build_t *build)
{
    for (uint32_t i = 0; i < run->job->arch_count; i++) {
        if ((build->arch_mask >> i & 1) != 0 && tsw_run_artifact(run, build->id, i) == NULL)
            return false;
    }
    return build->arch_mask != 0;
}

tsw_status_t tsw_run_coord_init(tsw_run_t *run, tsw_err_t *err)
{
    if (run->rank != 0)
        return TSW_OK;
    tsw_coord_rank_t *ranks = tsw_calloc((size_t)run->size, sizeof(*ranks));
    if (ranks == NULL)
        return tsw_err_nomem(err);
    for (int i = 0; i < run->size; i++) {
        ranks[i].arch_index = tsw_run_arch_index(run, &run->hellos[i]);
        ranks[i].node = tsw_run_node_of(run, i);
        ranks[i].build_slots = tsw_run_slots_of(run, i);
    }
    for (size_t i = 0; i < run->retired_count; i++) /* in an earlier generation */
        ranks[run->retired[i].rank].arch_index = -1;
    tsw_status_t status =
        tsw_coord_new(run->plan, run->done, ranks, (size_t)run->size, &run->coord, err);
    tsw_free(ranks);
    for (uint32_t i = 0; status == TSW_OK && i < run->plan->build_count; i++) {
        if (is_here(run, &run->plan->builds[i]))
            tsw_coord_build_known(run->coord, i);
    }
    if (run->retired == NULL)
        run->retired = tsw_calloc((size_t)run->size, sizeof(*run->retired));
    if (status == TSW_OK && run->retired == NULL)
        status = tsw_err_nomem(err);
    return status;
}

/* ---- actions ---- */

static void lease_cell(tsw_run_t *run, const tsw_coord_action_t *action)
{
    tsw_msg_lease_t msg = {.cell = action->cell, .attempt = action->attempt};
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_lease(&body, &msg);
    tsw_run_send(run, (int)action->rank, TSW_RANK_LEASE_CELL, &body);
}

static void lease_build(tsw_run_t *run, const tsw_coord_action_t *action)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_u32(&body, action->build);
    tsw_run_send(run, (int)action->rank, TSW_RANK_LEASE_BUILD, &body);
}

/* Outcomes and facts of all archs, the cubin of the rank's own: what is long travels only where it
 * is loaded. */
static void push_build(tsw_run_t *run, const tsw_coord_action_t *action)
{
    tsw_msg_artifacts_t msg = {.build = action->build};
    int own = tsw_run_arch_index(run, &run->hellos[action->rank]);
    if (action->rank == 0) { /* all is here */
        tsw_run_lane_pushed(run, action->build);
        return;
    }
    for (uint32_t i = 0; i < run->job->arch_count; i++) {
        const tsw_artifact_t *from = tsw_run_artifact(run, action->build, i);
        if (from == NULL)
            continue;
        tsw_msg_artifact_t *to = &msg.artifacts[msg.count];
        msg.arch_index[msg.count++] = i;
        to->outcome = from->outcome;
        memcpy(to->detail, from->detail, sizeof(to->detail));
        to->facts = from->facts;
        to->cubin = from->cubin.data;
        to->cubin_size = (int)i == own ? from->cubin.size : 0;
    }
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_artifacts(&body, &msg);
    tsw_run_send(run, (int)action->rank, TSW_RANK_PUSH, &body);
}

static void carry_out(tsw_run_t *run, const tsw_coord_action_t *action)
{
    switch (action->type) {
    case TSW_COORD_LEASE_CELL:
        lease_cell(run, action);
        return;
    case TSW_COORD_LEASE_BUILD:
        lease_build(run, action);
        return;
    case TSW_COORD_PUSH_BUILD:
        push_build(run, action);
        return;
    case TSW_COORD_STOP:
        tsw_run_send_empty(run, (int)action->rank, TSW_RANK_STOP);
        return;
    case TSW_COORD_FINISHED:
        return;
    }
}

static void follow(tsw_run_t *run, tsw_status_t status, const tsw_err_t *err)
{
    if (status != TSW_OK) {
        tsw_run_break(run, status, err);
        return;
    }
    if (run->coord_busy)
        return;
    run->coord_busy = true;
    while (run->coord_at < run->coord_actions.count && !run->broken) {
        tsw_coord_action_t action = run->coord_actions.items[run->coord_at++];
        carry_out(run, &action);
    }
    run->coord_at = 0;
    run->coord_actions.count = 0;
    run->coord_busy = false;
}

void tsw_run_coord_start(tsw_run_t *run)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_run_progress_start(run);
    follow(run, tsw_coord_start(run->coord, &run->coord_actions, &err), &err);
}

/* ---- events ---- */

static tsw_status_t on_built(tsw_run_t *run, uint32_t from, const uint8_t *body, size_t size,
                             tsw_err_t *err)
{
    tsw_msg_artifacts_t msg;
    tsw_status_t status = tsw_get_msg_artifacts(body, size, &msg, err);
    for (size_t i = 0; status == TSW_OK && i < msg.count; i++)
        status = tsw_run_artifact_keep(run, msg.build, msg.arch_index[i], &msg.artifacts[i], err);
    if (status == TSW_OK)
        status = tsw_coord_build_done(run->coord, from, msg.build, &run->coord_actions, err);
    return status;
}

static tsw_status_t on_cell_done(tsw_run_t *run, uint32_t from, const uint8_t *body, size_t size,
                                 tsw_err_t *err)
{
    tsw_msg_cell_done_t msg;
    tsw_status_t status = tsw_get_msg_cell_done(body, size, &msg, err);
    if (status == TSW_OK)
        status = tsw_coord_cell_done(run->coord, from, msg.cell, msg.attempt, msg.usable,
                                     &run->coord_actions, err);
    if (status == TSW_OK)
        tsw_run_tally_cell(run, from, &msg);
    return status;
}

static tsw_status_t on_returned(tsw_run_t *run, uint32_t from, const uint8_t *body, size_t size,
                                tsw_err_t *err)
{
    tsw_msg_lease_t msg;
    tsw_status_t status = tsw_get_msg_lease(body, size, &msg, err);
    if (status == TSW_OK)
        status = tsw_coord_cell_returned(run->coord, from, msg.cell, msg.attempt,
                                         &run->coord_actions, err);
    return status;
}

static tsw_status_t on_retired(tsw_run_t *run, uint32_t from, const uint8_t *body, size_t size,
                               tsw_err_t *err)
{
    tsw_msg_failed_t msg;
    tsw_status_t status = tsw_get_msg_failed(body, size, &msg, err);
    if (status != TSW_OK)
        return status;
    tsw_run_note_retired(run, (int)from, msg.text);
    return tsw_coord_rank_retired(run->coord, from, &run->coord_actions, err);
}

/* One rank drains: all do. */
static tsw_status_t on_drain(tsw_run_t *run, tsw_err_t *err)
{
    if (run->drain_told)
        return TSW_OK;
    run->drain_told = true;
    for (int to = 1; to < run->size; to++)
        tsw_run_send_empty(run, to, TSW_RANK_DRAIN);
    tsw_run_drain(run);
    return tsw_coord_drain(run->coord, &run->coord_actions, err);
}

static tsw_status_t take_event(tsw_run_t *run, uint32_t from, uint32_t type, const uint8_t *body,
                               size_t size, tsw_err_t *err)
{
    switch (type) {
    case TSW_RANK_WANT_CELL:
        return tsw_coord_cell_wanted(run->coord, from, &run->coord_actions, err);
    case TSW_RANK_BUILT:
        return on_built(run, from, body, size, err);
    case TSW_RANK_CELL_DONE:
        return on_cell_done(run, from, body, size, err);
    case TSW_RANK_CELL_RETURNED:
        return on_returned(run, from, body, size, err);
    case TSW_RANK_RETIRED:
        return on_retired(run, from, body, size, err);
    case TSW_RANK_DRAIN:
        return on_drain(run, err);
    default:
        return tsw_err_set(err, TSW_ERR_BUG, "there is no message %u", type);
    }
}

tsw_status_t tsw_run_coord_message(tsw_run_t *run, int from, uint32_t type, const uint8_t *body,
                                   size_t size, tsw_err_t *err)
{
    tsw_status_t status = take_event(run, (uint32_t)from, type, body, size, err);
    if (status == TSW_OK)
        follow(run, status, err);
    return status;
}

/* ---- time ---- */

/* An attempt that was started later has taken over. */
static bool is_superseded(const tsw_run_t *run)
{
    tsw_buf_t path = TSW_BUF_INIT;
    tsw_buf_printf(&path, "%s/attempts/%04u", run->options->run_dir, run->attempt + 1);
    bool there = tsw_buf_ok(&path) && tsw_path_exists(tsw_buf_text(&path));
    tsw_buf_fini(&path);
    return there;
}

static bool is_out_of_time(const tsw_run_t *run)
{
    double given_s = run->options->budget_s;
    double budget_s = given_s != 0 ? given_s : run->job->budget_s;
    double spent_s = (double)(tsw_clock_now_ns() - run->start_ns) * 1e-9;
    return budget_s > 0 && spent_s > budget_s;
}

void tsw_run_coord_tick(tsw_run_t *run)
{
    if (!run->draining && !run->stopped && is_out_of_time(run)) {
        tsw_log_root(TSW_LOG_WARN, "the time budget is spent: stopping");
        tsw_run_drain(run);
    }
    if (!tsw_run_progress_tick(run) || run->draining || !is_superseded(run))
        return;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_run_fail(run,
                 tsw_err_set(&err, TSW_ERR_CANCELED,
                             "a later attempt works in the same folder: this one stops"),
                 &err);
}
