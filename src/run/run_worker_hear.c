/* What a measure worker says to its rank. A damaged frame is TSW_ERR_CORRUPT. */
#include "base/log.h"
#include "run/run_state.h"
#include "wire/worker_msg.h"

static tsw_status_t on_hello(tsw_run_t *run, tsw_reader_t *in, tsw_err_t *err)
{
    tsw_run_worker_t *worker = &run->worker;
    tsw_get_gpu(in, &run->gpu);
    tsw_status_t status = tsw_msg_done(in, "hello", err);
    if (status != TSW_OK)
        return status;
    run->gpu.locked_mhz = run->options->locked_mhz;
    worker->hello = true;
    tsw_run_worker_rearm(worker);
    if (run->lane != NULL)
        tsw_run_worker_tool(run);
    tsw_run_worker_try_ready(run);
    return TSW_OK;
}

static tsw_status_t on_busy(tsw_run_t *run, tsw_reader_t *in, tsw_err_t *err)
{
    int64_t index = tsw_get_i64(in);
    if (index < TSW_LANE_CULPRIT_REFERENCE || index > INT32_MAX)
        in->failed = true;
    tsw_status_t status = tsw_msg_done(in, "busy", err);
    if (status == TSW_OK)
        run->worker.busy = (int32_t)index;
    return status;
}

static tsw_status_t on_state(tsw_run_t *run, const uint8_t *body, size_t size, tsw_err_t *err)
{
    tsw_msg_state_t msg;
    tsw_status_t status = tsw_get_msg_state(body, size, &msg, err);
    if (status != TSW_OK)
        return status;
    if (run->worker.task.awaits == msg.index)
        run->worker.task.awaits = -1;
    TSW_RUN_LANE(run, tsw_lane_config_state, msg.index, msg.outcome, msg.detail,
                 msg.has_verify ? &msg.verify : NULL);
    return TSW_OK;
}

static tsw_status_t on_round(tsw_run_t *run, const uint8_t *body, size_t size, tsw_err_t *err)
{
    tsw_msg_round_t msg = {0};
    tsw_status_t status = tsw_get_msg_round(body, size, &msg, err);
    if (status == TSW_OK)
        TSW_RUN_LANE(run, tsw_lane_round, &msg.round, msg.indices, msg.samples, msg.count);
    tsw_msg_round_fini(&msg);
    return status;
}

static tsw_status_t on_timed(tsw_run_t *run, const uint8_t *body, size_t size, tsw_err_t *err)
{
    tsw_msg_timed_t msg;
    tsw_status_t status = tsw_get_msg_timed(body, size, &msg, err);
    if (status != TSW_OK)
        return status;
    run->worker.timing = false;
    run->worker.busy = -1;
    run->worker.task = run->worker.ahead;
    run->worker.ahead = tsw_run_worker_none.ahead;
    tsw_lane_timed_t timed = {.peak_memory_bytes = msg.peak_bytes,
                              .usage = msg.usage,
                              .pick = msg.pick,
                              .indices = msg.indices,
                              .fates = msg.fates,
                              .count = msg.count};
    TSW_RUN_LANE(run, tsw_lane_cell_timed, &timed);
    tsw_msg_timed_fini(&msg);
    return TSW_OK;
}

static tsw_status_t on_refused(tsw_run_t *run, const uint8_t *body, size_t size, tsw_err_t *err)
{
    tsw_msg_failed_t msg;
    tsw_status_t status = tsw_get_msg_failed(body, size, &msg, err);
    if (status != TSW_OK)
        return status;
    run->worker.timing = false;
    run->worker.task.awaits = -1;
    tsw_outcome_t outcome =
        msg.status == TSW_ERR_DEVICE_MEMORY ? TSW_OUTCOME_OUT_OF_MEMORY : TSW_OUTCOME_INVALID;
    TSW_RUN_LANE(run, tsw_lane_cell_failed, outcome, msg.text);
    return TSW_OK;
}

static tsw_status_t on_calibrated(tsw_run_t *run, tsw_reader_t *in, tsw_err_t *err)
{
    tsw_calibration_t calibration;
    tsw_get_calibration(in, &calibration);
    tsw_status_t status = tsw_msg_done(in, "calibration", err);
    if (status == TSW_OK && run->options->calibration_p == NULL)
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "a calibration that nobody asked for");
    if (status != TSW_OK)
        return status;
    calibration.gpu.locked_mhz = run->options->locked_mhz;
    *run->options->calibration_p = calibration;
    run->calibrated = true;
    return TSW_OK;
}

static tsw_status_t on_timer(tsw_run_t *run, const uint8_t *body, size_t size, tsw_err_t *err)
{
    tsw_timer_checks_t *checks = run->options->timer_p;
    tsw_timer_check_t check;
    tsw_status_t status = tsw_get_timer_check(body, size, &check, err);
    if (status == TSW_OK && checks == NULL)
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "a check of the timer that nobody asked for");
    if (status == TSW_OK && checks->count < TSW_TIMER_CHECKS)
        checks->items[checks->count++] = check;
    return status;
}

static tsw_status_t take_frame(tsw_run_t *run, uint32_t type, const uint8_t *body, size_t size,
                               tsw_err_t *err)
{
    tsw_run_worker_t *worker = &run->worker;
    tsw_reader_t in = tsw_reader(body, size);
    switch (type) {
    case TSW_CHILD_HELLO:
        return on_hello(run, &in, err);
    case TSW_CHILD_READY:
        worker->ready = true;
        tsw_run_worker_rearm(worker);
        tsw_run_worker_try_ready(run);
        return TSW_OK;
    case TSW_CHILD_BUSY:
        return on_busy(run, &in, err);
    case TSW_CHILD_STATE:
        return on_state(run, body, size, err);
    case TSW_CHILD_ROUND:
        return on_round(run, body, size, err);
    case TSW_CHILD_TIMED:
        return on_timed(run, body, size, err);
    case TSW_CHILD_REFUSED:
        return on_refused(run, body, size, err);
    case TSW_CHILD_TIMER:
        return on_timer(run, body, size, err);
    case TSW_CHILD_CALIBRATED:
        return on_calibrated(run, &in, err);
    case TSW_CHILD_FAILED:
        worker->failed = true;
        return tsw_get_msg_failed(body, size, &worker->failure, err);
    default:
        return tsw_err_set(err, TSW_ERR_CORRUPT, "message %u is none of a measure worker", type);
    }
}

void tsw_run_worker_hear(void *user, tsw_child_t *child, uint32_t type, const uint8_t *body,
                         size_t size)
{
    tsw_run_t *run = user;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = take_frame(run, type, body, size, &err);
    if (status != TSW_OK) {
        tsw_log(TSW_LOG_WARN, "measure worker: %s", err.text);
        tsw_child_kill(child);
    }
    if (type != TSW_CHILD_HELLO && type != TSW_CHILD_READY)
        tsw_run_worker_rearm(&run->worker);
}
