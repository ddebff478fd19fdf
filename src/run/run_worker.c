#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OPEN_LIMIT_S   300.0 /* a driver may take long to open 8 GPUs */
#define FRAME_LIMIT_S  180.0 /* besides the launches of a frame; a reference may take long */
#define EXTRA_LAUNCHES 20    /* of one frame: references, verification, warm-up */

const tsw_run_worker_t tsw_run_worker_none = {
    .busy = -1, .task = {.awaits = -1}, .ahead = {.awaits = -1}};

static void send(tsw_run_t *run, uint32_t type, tsw_buf_t *body)
{
    tsw_run_worker_t *worker = &run->worker;
    tsw_err_t err = TSW_ERR_INIT;
    if (worker->child == NULL) { /* its end is on the way to the lane */
        tsw_buf_fini(body);
        return;
    }
    tsw_status_t status = tsw_child_send(worker->child, type, body, &err);
    if (status != TSW_OK)
        tsw_run_fail(run, status, &err);
}

/* The watchdog runs only while an answer is due, from the last sign of life on. A wave launches
 * every config before it is told of. */
static void rearm(tsw_run_worker_t *worker)
{
    double limit_s = 0;
    if (worker->timing)
        limit_s = worker->task.round_limit_s;
    else if (worker->task.awaits >= 0)
        limit_s = worker->task.add_limit_s;
    if (worker->child != NULL && worker->hello)
        tsw_child_set_deadline(worker->child, limit_s);
}

static bool is_due(const tsw_run_worker_t *worker)
{
    return worker->timing || worker->task.awaits >= 0;
}

static void try_tell_ready(tsw_run_t *run)
{
    tsw_run_worker_t *worker = &run->worker;
    if (!worker->wanted || worker->told || !worker->hello)
        return;
    /* Before the tool build is there the first cells must be asked for. */
    if (worker->tool_sent && !worker->ready)
        return;
    worker->told = true;
    TSW_RUN_LANE(run, tsw_lane_worker_ready, &run->gpu);
}

void tsw_run_worker_tool(tsw_run_t *run)
{
    tsw_run_worker_t *worker = &run->worker;
    if (worker->child == NULL || !worker->hello || worker->tool_sent || run->arch_index < 0)
        return;
    const tsw_artifact_t *tool = tsw_run_artifact(run, 0, (uint32_t)run->arch_index);
    if (tool == NULL || tool->outcome != TSW_OUTCOME_OK)
        return;
    worker->tool_sent = true;
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_buf_append(&body, tool->cubin.data, tool->cubin.size);
    tsw_child_set_deadline(worker->child, FRAME_LIMIT_S);
    send(run, TSW_CHILD_TOOL, &body);
    if (run->options->calibration_p != NULL && !run->calibration_asked) {
        run->calibration_asked = true; /* once: it may have been the end of a worker */
        send(run, TSW_CHILD_CALIBRATE, &body);
    }
}

/* ---- frames from the worker; each returns TSW_ERR_CORRUPT when damaged ---- */

static tsw_status_t on_hello(tsw_run_t *run, tsw_reader_t *in, tsw_err_t *err)
{
    tsw_run_worker_t *worker = &run->worker;
    tsw_get_gpu(in, &run->gpu);
    tsw_status_t status = tsw_msg_done(in, "hello", err);
    if (status != TSW_OK)
        return status;
    run->gpu.locked_mhz = run->options->locked_mhz;
    worker->hello = true;
    rearm(worker);
    if (run->lane != NULL)
        tsw_run_worker_tool(run);
    try_tell_ready(run);
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
        rearm(worker);
        try_tell_ready(run);
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

static void on_frame(void *user, tsw_child_t *child, uint32_t type, const uint8_t *body,
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
        rearm(&run->worker);
}

static void on_line(void *user, tsw_child_t *child, const char *line)
{
    (void)user;
    tsw_log(TSW_LOG_INFO, "measure worker %ld: %s", tsw_child_pid(child), line);
}

static void on_deadline(void *user, tsw_child_t *child)
{
    tsw_run_t *run = user;
    tsw_log(TSW_LOG_WARN, "measure worker %ld is silent for too long: killed",
            tsw_child_pid(child));
    run->worker.late = true;
    tsw_child_kill(child);
}

/* ---- its end ---- */

/* What the config that it was busy with gets. */
static tsw_outcome_t death_outcome(const tsw_run_worker_t *worker, const tsw_child_end_t *end,
                                   char detail[TSW_DETAIL_MAX])
{
    if (worker->failed) {
        snprintf(detail, TSW_DETAIL_MAX, "%.*s", TSW_DETAIL_MAX - 1, worker->failure.text);
        return worker->failure.status == TSW_ERR_TIMEOUT ? TSW_OUTCOME_RUN_TIMEOUT
                                                         : TSW_OUTCOME_DEVICE_LOST;
    }
    if (worker->late) {
        snprintf(detail, TSW_DETAIL_MAX, "no sign of life for too long");
        return TSW_OUTCOME_RUN_TIMEOUT;
    }
    if (end->exited)
        snprintf(detail, TSW_DETAIL_MAX, "the measure worker exited with code %d", end->exit_code);
    else
        snprintf(detail, TSW_DETAIL_MAX, "the measure worker died of signal %d", end->signo);
    return TSW_OUTCOME_DEVICE_LOST;
}

/* A worker that says that the tool itself is at fault must not turn that into results. */
static bool is_our_fault(const tsw_run_worker_t *worker)
{
    tsw_status_t status = worker->failure.status;
    return worker->failed && (status == TSW_ERR_BUG || status == TSW_ERR_NOMEM ||
                              status == TSW_ERR_CORRUPT || status == TSW_ERR_VERSION);
}

static void on_ended(void *user, tsw_child_t *child, const tsw_child_end_t *end)
{
    (void)child;
    tsw_run_t *run = user;
    tsw_run_worker_t gone = run->worker;
    run->worker = tsw_run_worker_none;
    char detail[TSW_DETAIL_MAX];
    tsw_outcome_t outcome = death_outcome(&gone, end, detail);
    if (run->lane == NULL) { /* before work: the stage looks at it */
        run->worker.failed = true;
        run->worker.failure = gone.failure;
        if (!gone.failed)
            snprintf(run->worker.failure.text, sizeof(run->worker.failure.text), "%s", detail);
        return;
    }
    if (run->broken || !gone.wanted) /* the lane does not know of it */
        return;
    bool interrupted = run->draining || (run->stopped && tsw_lane_is_idle(run->lane));
    snprintf(run->worker_end, sizeof(run->worker_end), "%s", detail);
    bool expected = interrupted || (end->killed_by_us && !gone.late);
    tsw_log(expected ? TSW_LOG_DEBUG : TSW_LOG_WARN, "measure worker ended: %s", detail);
    if (is_our_fault(&gone)) {
        tsw_err_t err = TSW_ERR_INIT;
        tsw_run_fail(run, tsw_err_set(&err, gone.failure.status, "measure worker: %s", detail),
                     &err);
    }
    run->unfit = gone.failed && gone.failure.status == TSW_ERR_DEVICE_UNFIT;
    bool killed = end->signo == SIGKILL && !end->killed_by_us && !gone.failed;
    if (run->unfit)
        TSW_RUN_LANE(run, tsw_lane_gpu_unfit, interrupted);
    else if (killed && !interrupted)
        TSW_RUN_LANE(run, tsw_lane_worker_killed, gone.busy, detail);
    else
        TSW_RUN_LANE(run, tsw_lane_worker_died, gone.busy, outcome, detail, interrupted);
}

/* ---- what the rank tells it ---- */

char *tsw_run_worker_path(const tsw_run_t *run)
{
    if (run->options->worker_path != NULL)
        return tsw_strdup(run->options->worker_path);
    char *self = tsw_path_self_dir();
    char *path = self != NULL ? tsw_path_join(self, "tilesweep-worker") : NULL;
    tsw_free(self);
    return path;
}

tsw_status_t tsw_run_spawn(tsw_run_t *run, const char *mode, const tsw_child_callbacks_t *callbacks,
                           tsw_child_t **child_p, tsw_err_t *err)
{
    char *path = tsw_run_worker_path(run);
    char *mode_arg = tsw_strdup(mode);
    char parent[24];
    snprintf(parent, sizeof(parent), "%ld", (long)getpid());
    tsw_status_t status = TSW_OK;
    if (path == NULL || mode_arg == NULL) {
        status = tsw_err_nomem(err);
    } else {
        char *argv[] = {path, mode_arg, parent, NULL};
        status = tsw_child_spawn(run->loop, path, argv, NULL, callbacks, child_p, err);
    }
    tsw_free(mode_arg);
    tsw_free(path);
    return status;
}

tsw_status_t tsw_run_worker_spawn(tsw_run_t *run, tsw_err_t *err)
{
    run->worker = tsw_run_worker_none;
    tsw_child_callbacks_t callbacks = {run, on_frame, on_line, on_ended, on_deadline};
    tsw_status_t status = tsw_run_spawn(run, "measure", &callbacks, &run->worker.child, err);
    if (status != TSW_OK)
        return status;
    tsw_msg_init_t msg = {.place = run->spec.place,
                          .id = run->spec.id,
                          .seed = run->spec.seed,
                          .arch = run->spec.arch,
                          .locked_mhz = run->options->locked_mhz,
                          .check_timer = run->options->timer_p != NULL,
                          .snapshot = run->job->snapshot};
    char none[] = "";
    msg.scenario = run->spec.scenario != NULL ? run->spec.scenario : none;
    snprintf(msg.kind, sizeof(msg.kind), "%s", run->spec.kind);
    snprintf(msg.model, sizeof(msg.model), "%s", run->spec.model);
    snprintf(msg.node, sizeof(msg.node), "%s", run->spec.node);
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_init(&body, &msg);
    tsw_child_set_deadline(run->worker.child, OPEN_LIMIT_S);
    return tsw_child_send(run->worker.child, TSW_CHILD_INIT, &body, err);
}

void tsw_run_worker_want(tsw_run_t *run)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (run->worker.child == NULL) {
        tsw_status_t status = tsw_run_worker_spawn(run, &err);
        if (status != TSW_OK) {
            tsw_run_fail(run, status, &err);
            return;
        }
    }
    run->worker.wanted = true;
    try_tell_ready(run);
}

void tsw_run_worker_kill(tsw_run_t *run)
{
    if (run->worker.child != NULL)
        tsw_child_kill(run->worker.child);
}

void tsw_run_worker_begin(tsw_run_t *run, uint32_t cell_id)
{
    const tsw_cell_t *cell = &run->plan->cells[cell_id];
    const tsw_plan_variant_t *variant = &run->plan->variants[cell->variant];
    const tsw_artifact_t *reference =
        tsw_run_artifact(run, variant->reference_build, cell->arch_index);
    TSW_ASSERT(reference != NULL);
    tsw_run_worker_tool(run);
    tsw_msg_begin_t msg = {.dtype = (uint32_t)variant->id.dtype,
                           .arch = run->job->archs[cell->arch_index],
                           .cell_key = cell->key,
                           .flops = cell->flops,
                           .bytes = cell->bytes,
                           .max_tile = tsw_run_max_tile(run, cell),
                           .reference = reference->cubin.data,
                           .reference_size = reference->cubin.size};
    while (run->job->packs[msg.pack] != variant->id.pack)
        msg.pack++;
    memcpy(msg.flags, variant->id.flags, sizeof(msg.flags));
    memcpy(msg.static_dims, variant->id.static_dims, sizeof(msg.static_dims));
    memcpy(msg.dims, cell->dims, sizeof(msg.dims));
    double launch_s = run->job->policy.launch_timeout_s;
    tsw_run_task_t task = {.begun = true, .cell = cell_id, .awaits = -1};
    task.add_limit_s = FRAME_LIMIT_S + launch_s * EXTRA_LAUNCHES;
    task.round_limit_s = task.add_limit_s + launch_s * (double)cell->config_count;
    if (run->worker.timing) {
        run->worker.ahead = task;
    } else {
        run->worker.task = task;
        run->worker.busy = -1;
    }
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_begin(&body, &msg);
    send(run, TSW_CHILD_BEGIN, &body);
}

void tsw_run_worker_add(tsw_run_t *run, const tsw_lane_action_t *action)
{
    const tsw_cell_t *cell = &run->plan->cells[action->cell];
    const tsw_plan_variant_t *variant = &run->plan->variants[cell->variant];
    uint32_t config = cell->configs[action->config_index];
    const tsw_artifact_t *artifact =
        tsw_run_artifact(run, variant->config_builds[config], cell->arch_index);
    TSW_ASSERT(artifact != NULL);
    tsw_msg_add_t msg = {.index = action->config_index,
                         .config_key = variant->configs[config].key,
                         .facts = artifact->facts,
                         .verified = action->verified,
                         .cubin = artifact->cubin.data,
                         .cubin_size = artifact->cubin.size};
    memcpy(msg.values, variant->configs[config].values, sizeof(msg.values));
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_run_recorded_samples(run, cell, action->config_index,
                                                   &msg.recorded_ns, &msg.recorded_count, &err);
    if (status != TSW_OK) {
        tsw_run_fail(run, status, &err);
        return;
    }
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_add(&body, &msg);
    tsw_msg_add_fini(&msg);
    bool was_due = is_due(&run->worker);
    tsw_run_task_t *task = &run->worker.task;
    if (run->worker.ahead.begun && run->worker.ahead.cell == action->cell)
        task = &run->worker.ahead;
    if (!action->verified)
        task->awaits = action->config_index;
    if (!was_due)
        rearm(&run->worker);
    send(run, TSW_CHILD_ADD, &body);
}

void tsw_run_worker_time(tsw_run_t *run, uint32_t first_round)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_u32(&body, first_round);
    run->worker.timing = true;
    rearm(&run->worker);
    send(run, TSW_CHILD_TIME, &body);
}
