/* The lock of the GPU's clock. A process of its own holds it and gives it back when this one ends,
 * whichever way: so a rank that is killed leaves no GPU slow. */
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"
#include "wire/worker_msg.h"

#include <stdio.h>
#include <unistd.h>

#define ANSWER_MS 60000 /* a driver may be busy with other GPUs */

static bool wants_lock(const tsw_run_t *run)
{
    return run->options->locked_mhz > 0 && run->has_device;
}

static tsw_status_t spawn(tsw_run_t *run, tsw_err_t *err)
{
    char mode[] = "clocks";
    char parent[24];
    char *path = tsw_run_worker_path(run);
    if (path == NULL)
        return tsw_err_nomem(err);
    snprintf(parent, sizeof(parent), "%ld", (long)getpid());
    char *argv[] = {path, mode, parent, NULL};
    tsw_status_t status = tsw_guard_spawn(path, argv, &run->guard, err);
    tsw_free(path);
    return status;
}

static tsw_status_t ask(tsw_run_t *run, tsw_err_t *err)
{
    tsw_msg_lock_t msg = {.mhz = run->options->locked_mhz};
    tsw_msg_failed_t failed;
    uint32_t type = 0;
    tsw_buf_t body = TSW_BUF_INIT;
    snprintf(msg.uuid, sizeof(msg.uuid), "%s", run->gpu.uuid);
    tsw_put_msg_lock(&body, &msg);
    tsw_status_t status = tsw_channel_write(run->guard.fd, TSW_CHILD_LOCK, &body, err);
    if (status == TSW_OK)
        status = tsw_guard_read(&run->guard, ANSWER_MS, &type, &body, err);
    if (status == TSW_OK && type == TSW_CHILD_FAILED) {
        status = tsw_get_msg_failed(body.data, body.size, &failed, err);
        if (status == TSW_OK)
            status = tsw_err_set(err, failed.status, "%s", failed.text);
    } else if (status == TSW_OK && type != TSW_CHILD_LOCKED) {
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "message %u instead of an answer", type);
    }
    tsw_buf_fini(&body);
    return status;
}

tsw_status_t tsw_run_lock_clocks(tsw_run_t *run, tsw_err_t *err)
{
    if (!wants_lock(run))
        return TSW_OK;
    tsw_status_t status = spawn(run, err);
    if (status == TSW_OK)
        status = ask(run, err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "--clocks lock:%u, rank %d on %s, %s", run->options->locked_mhz,
                     run->rank, run->node, run->gpu.uuid);
    return status;
}

/* The holder may be killed too. The lock itself outlives it; a new one takes it over. */
void tsw_run_clocks_tick(tsw_run_t *run)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (run->guard.fd < 0 || tsw_guard_is_alive(&run->guard))
        return;
    (void)tsw_guard_end(&run->guard, 0);
    tsw_log(TSW_LOG_WARN,
            "the process that holds the lock of the clock is gone: a new one takes over");
    tsw_status_t status = tsw_run_lock_clocks(run, &err);
    if (status != TSW_OK)
        tsw_run_fail(run, status, &err);
}

void tsw_run_unlock_clocks(tsw_run_t *run)
{
    if (run->guard.fd >= 0 && !tsw_guard_end(&run->guard, ANSWER_MS))
        tsw_log(TSW_LOG_ERROR, "the SM clock of %s may still be locked; on %s: nvidia-smi -rgc",
                run->gpu.uuid, run->node);
}
