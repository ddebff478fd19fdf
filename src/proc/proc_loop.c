#include "base/log.h"
#include "base/mem.h"
#include "proc/proc_internal.h"

#include <signal.h>

static void ignore_timer(uv_timer_t *timer)
{
    (void)timer;
}

tsw_status_t tsw_loop_new(tsw_loop_t **loop_p, tsw_err_t *err)
{
    tsw_loop_t *loop = tsw_calloc(1, sizeof(*loop));
    if (loop == NULL)
        return tsw_err_nomem(err);
    int rc = uv_loop_init(&loop->uv);
    if (rc != 0) {
        tsw_free(loop);
        return tsw_err_set_vendor(err, TSW_ERR_ENV, rc, "event loop: %s", uv_strerror(rc));
    }
    uv_timer_init(&loop->uv, &loop->timer);
    signal(SIGPIPE, SIG_IGN);
    *loop_p = loop;
    return TSW_OK;
}

void tsw_loop_free(tsw_loop_t *loop)
{
    if (loop == NULL)
        return;
    while (loop->children != NULL) {
        tsw_child_silence(loop->children);
        uv_run(&loop->uv, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&loop->timer, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&loop->uv);
    if (rc != 0)
        tsw_log(TSW_LOG_WARN, "event loop: %s", uv_strerror(rc));
    tsw_free(loop);
}

tsw_status_t tsw_loop_run(tsw_loop_t *loop, uint32_t (*interval_ms)(void *user),
                          tsw_loop_tick_fn_t tick, void *user, tsw_err_t *err)
{
    while (tick(user)) {
        /* Repeating: uv_run fires a timer that is due before it polls, and a timer that fired once
         * would leave the poll without an end. */
        uint32_t interval = interval_ms(user);
        uv_update_time(&loop->uv);
        int rc = uv_timer_start(&loop->timer, ignore_timer, interval, interval > 0 ? interval : 1);
        if (rc != 0)
            return tsw_err_set_vendor(err, TSW_ERR_BUG, rc, "timer: %s", uv_strerror(rc));
        uv_run(&loop->uv, UV_RUN_ONCE);
    }
    uv_timer_stop(&loop->timer);
    return TSW_OK;
}

size_t tsw_loop_children(const tsw_loop_t *loop)
{
    return loop->child_count;
}
