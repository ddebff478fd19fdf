/* What ends a run before its end: somebody asks for it, or something fails. */
#include "base/log.h"
#include "run/run_state.h"

#include <signal.h>

#define EXIT_ENV 3
#define EXIT_BUG 70

/* The one word that a signal handler may write. */
static volatile sig_atomic_t drain_requested;

void tsw_run_request_drain(void)
{
    drain_requested = 1;
}

bool tsw_run_drain_requested(void)
{
    return drain_requested != 0;
}

void tsw_run_forget_drain(void)
{
    drain_requested = 0;
}

void tsw_run_fail(tsw_run_t *run, tsw_status_t status, const tsw_err_t *err)
{
    if (run->status != TSW_OK)
        return;
    run->status = status;
    run->err = *err;
    tsw_log(TSW_LOG_INFO, "stopping: %s", err->text); /* the caller of tsw_run prints the error */
}

void tsw_run_break(tsw_run_t *run, tsw_status_t status, const tsw_err_t *err)
{
    tsw_run_fail(run, status, err);
    run->broken = true;
}

_Noreturn void tsw_run_abort(tsw_comm_t *comm, tsw_status_t status)
{
    bool is_env = status == TSW_ERR_NOMEM || status == TSW_ERR_PEER;
    tsw_comm_abort(comm, is_env ? EXIT_ENV : EXIT_BUG);
}
