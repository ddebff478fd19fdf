/* Messages of this rank. */
#include "run/run_state.h"

void tsw_run_send(tsw_run_t *run, int to, uint32_t type, tsw_buf_t *body)
{
    tsw_buf_t frame = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_frame_put(&frame, type, body);
    bool ok = tsw_buf_ok(body) && tsw_buf_ok(&frame);
    tsw_buf_fini(body);
    tsw_status_t status = TSW_OK;
    if (run->broken)
        tsw_buf_fini(&frame);
    else if (ok)
        status = tsw_comm_send(run->comm, to, &frame, &err);
    else
        status = tsw_err_nomem(&err);
    if (status != TSW_OK) {
        tsw_buf_fini(&frame);
        tsw_run_break(run, status, &err);
    }
}

void tsw_run_send_empty(tsw_run_t *run, int to, uint32_t type)
{
    tsw_buf_t none = TSW_BUF_INIT;
    tsw_run_send(run, to, type, &none);
}
