/* The life and death of a rank's measure worker. */
#include "base/log.h"
#include "run/run_state.h"
#include "wire/worker_msg.h"

#include <signal.h>
#include <stdio.h>

#define OPEN_LIMIT_S 300.0 /* a driver may take long to open 8 GPUs */

const tsw_run_worker_t tsw_run_worker_none = {
    .busy = -1, .task = {.awaits = -1}, .ahead = {.awaits = -1}};

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

/* ---- its life ---- */

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

tsw_status_t tsw_run_worker_spawn(tsw_run_t *run, tsw_err_t *err)
{
    run->worker = tsw_run_worker_none;
    tsw_child_callbacks_t callbacks = {run, tsw_run_worker_hear, on_line, on_ended, on_deadline};
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
    tsw_run_worker_try_ready(run);
}

void tsw_run_worker_kill(tsw_run_t *run)
{
    if (run->worker.child != NULL)
        tsw_child_kill(run->worker.child);
}
