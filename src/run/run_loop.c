/* The event loop of a rank: messages in and out, and when it is over. Every rank talks to rank 0
 * alone. BYE is the last message each way, so nothing is under way when the loop ends. */
#include "base/clock.h"
#include "run/run_state.h"

/* So many ranks may write to rank 0 that there is always one more message: signals, its own worker
 * and status.json do not wait for the last. */
#define TAKE_NS 5000000u
#define BUSY_MS 1
#define IDLE_MS 10
#define LONE_MS 100 /* nobody else to listen to */

/* ---- messages ---- */

static tsw_status_t on_push(tsw_run_t *run, const uint8_t *body, size_t size, tsw_err_t *err)
{
    tsw_msg_artifacts_t msg;
    tsw_status_t status = tsw_get_msg_artifacts(body, size, &msg, err);
    for (size_t i = 0; status == TSW_OK && i < msg.count; i++)
        status = tsw_run_artifact_keep(run, msg.build, msg.arch_index[i], &msg.artifacts[i], err);
    if (status == TSW_OK)
        tsw_run_lane_pushed(run, msg.build);
    return status;
}

static tsw_status_t on_lease_cell(tsw_run_t *run, const uint8_t *body, size_t size, tsw_err_t *err)
{
    tsw_msg_lease_t lease;
    tsw_status_t status = tsw_get_msg_lease(body, size, &lease, err);
    if (status == TSW_OK)
        tsw_run_lane_leased(run, &lease);
    return status;
}

static tsw_status_t on_lease_build(tsw_run_t *run, const uint8_t *body, size_t size, tsw_err_t *err)
{
    uint32_t build = 0;
    tsw_status_t status = tsw_get_msg_u32(body, size, &build, err);
    if (status == TSW_OK)
        tsw_run_builds_lease(run, build);
    return status;
}

static void on_bye(tsw_run_t *run)
{
    if (run->rank != 0) {
        run->bye_received = true;
        return;
    }
    if (++run->byes < run->size)
        return;
    for (int to = 1; to < run->size; to++)
        tsw_run_send_empty(run, to, TSW_RANK_BYE);
    run->bye_received = true;
}

static tsw_status_t dispatch(tsw_run_t *run, int from, uint32_t type, const uint8_t *body,
                             size_t size, tsw_err_t *err)
{
    switch (type) {
    case TSW_RANK_LEASE_CELL:
        return on_lease_cell(run, body, size, err);
    case TSW_RANK_LEASE_BUILD:
        return on_lease_build(run, body, size, err);
    case TSW_RANK_PUSH:
        return on_push(run, body, size, err);
    case TSW_RANK_RECEIPT:
        return tsw_run_gather_receipt(run, body, size, err);
    case TSW_RANK_STOP:
        run->stopped = true;
        return TSW_OK;
    case TSW_RANK_BYE:
        on_bye(run);
        return TSW_OK;
    case TSW_RANK_DRAIN:
        if (run->rank != 0) {
            tsw_run_drain(run);
            return TSW_OK;
        }
        break;
    default:
        break;
    }
    if (run->rank == 0 && type == TSW_RANK_PIECE)
        return tsw_run_gather_piece(run, from, body, size, err);
    if (run->rank != 0)
        return tsw_err_set(err, TSW_ERR_BUG, "message %u is not for rank %d", type, run->rank);
    return tsw_run_coord_message(run, from, type, body, size, err);
}

static tsw_status_t open_frame(tsw_run_t *run, int from, const tsw_buf_t *frame, tsw_err_t *err)
{
    uint32_t type = 0;
    const uint8_t *body = NULL;
    size_t body_size = 0;
    size_t size = 0;
    tsw_status_t status = tsw_frame_next(frame, &type, &body, &body_size, &size, err);
    if (status == TSW_OK && size != frame->size)
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "%zu bytes instead of a frame", frame->size);
    if (status == TSW_OK)
        status = dispatch(run, from, type, body, body_size, err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "message from rank %d", from);
    return status;
}

/* The messages that are there, one at least, until the given time; true when there was one. What
 * was left shows in messages_left. */
static bool take_messages(tsw_run_t *run, uint64_t until_ns)
{
    bool any = false;
    run->messages_left = false;
    while (!run->broken) {
        int from = -1;
        tsw_buf_t frame = TSW_BUF_INIT;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = TSW_OK;
        bool there = tsw_comm_poll(run->comm, &from, &frame, &status, &err);
        if (status == TSW_OK && there)
            status = open_frame(run, from, &frame, &err);
        tsw_buf_fini(&frame);
        if (status != TSW_OK)
            tsw_run_break(run, status, &err);
        if (!there)
            break;
        any = true;
        if (tsw_clock_now_ns() >= until_ns) {
            run->messages_left = true;
            break;
        }
    }
    return any;
}

/* ---- the loop ---- */

/* A generation begins with nothing of the one before but the worker that stays. Otherwise results
 * do not wait for the end of a worker that is killed: the driver takes 0.1 s for it. */
static bool must_await_children(const tsw_run_t *run, bool stays)
{
    if (tsw_run_searches(run))
        return tsw_loop_children(run->loop) > (stays ? 1 : 0);
    return run->builds.running > 0;
}

/* No work in hand and none to come: end the children, seal, and say so. */
static void leave(tsw_run_t *run)
{
    if (run->bye_sent || !(run->stopped || run->draining) || !tsw_lane_is_idle(run->lane))
        return;
    bool stays = tsw_run_searches(run) && !run->draining && run->worker.child != NULL;
    if (!stays) /* else for the next generation */
        tsw_run_worker_kill(run);
    tsw_run_builds_stop(run);
    if (must_await_children(run, stays))
        return;
    tsw_run_seal(run);
    tsw_run_gather_pump(run);
    if (!tsw_run_gather_done(run))
        return;
    run->bye_sent = true;
    tsw_run_send_empty(run, 0, TSW_RANK_BYE);
}

static bool tick(void *user)
{
    tsw_run_t *run = user;
    uint64_t until_ns = tsw_clock_now_ns() + TAKE_NS;
    bool any = true;
    do {
        any = take_messages(run, until_ns);
        if (tsw_run_drain_requested() || run->status != TSW_OK)
            tsw_run_drain(run);
        tsw_run_builds_pump(run);
    } while (any && !run->broken && !run->messages_left);
    if (run->broken)
        return false;
    tsw_run_clocks_tick(run);
    if (tsw_segments_due(run->segments))
        tsw_run_seal(run);
    tsw_run_gather_pump(run);
    if (run->rank == 0)
        tsw_run_coord_tick(run);
    leave(run);
    if (!run->messages_left) /* what this rank has just sent itself */
        take_messages(run, until_ns);
    bool over = run->bye_received && !tsw_comm_sends_pending(run->comm);
    return !over && !run->broken;
}

static uint32_t interval_ms(void *user)
{
    tsw_run_t *run = user;
    if (run->messages_left)
        return 0;
    if (tsw_comm_sends_pending(run->comm))
        return BUSY_MS;
    if (run->size == 1)
        return LONE_MS;
    bool busy = run->builds.running > 0 || !tsw_lane_is_idle(run->lane);
    return busy ? BUSY_MS : IDLE_MS;
}

tsw_status_t tsw_run_loop(tsw_run_t *run, tsw_err_t *err)
{
    tsw_run_lane_start(run);
    if (run->rank == 0)
        tsw_run_coord_start(run);
    tsw_status_t status = tsw_loop_run(run->loop, interval_ms, tick, run, err);
    if (status == TSW_OK && run->status != TSW_OK) {
        *err = run->err;
        status = run->status;
    }
    return status;
}
