/* One rank, no launcher, no MPI. */
#include "comm/comm_body.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

static void single_close(tsw_comm_t *comm)
{
    tsw_free(comm);
}

static void single_abort(tsw_comm_t *comm, int exit_code)
{
    (void)comm;
    fflush(NULL);
    _Exit(exit_code);
}

static tsw_status_t single_bcast(tsw_comm_t *comm, tsw_buf_t *bytes, tsw_err_t *err)
{
    (void)comm;
    return tsw_buf_ok(bytes) ? TSW_OK : tsw_err_nomem(err);
}

static tsw_status_t single_gather(tsw_comm_t *comm, const tsw_buf_t *mine, tsw_buf_t *all,
                                  tsw_err_t *err)
{
    (void)comm;
    tsw_buf_t copy = TSW_BUF_INIT;
    tsw_buf_append(&copy, mine->data, mine->size);
    if (!tsw_buf_ok(mine) || !tsw_buf_ok(&copy)) {
        tsw_buf_fini(&copy);
        return tsw_err_nomem(err);
    }
    all[0] = copy;
    return TSW_OK;
}

static tsw_status_t single_agree(tsw_comm_t *comm, tsw_status_t mine, tsw_err_t *err)
{
    (void)comm;
    (void)err;
    return mine;
}

static tsw_status_t single_send(tsw_comm_t *comm, int to, tsw_buf_t *frame, tsw_err_t *err)
{
    (void)comm;
    (void)frame;
    return tsw_err_set(err, TSW_ERR_BUG, "there is no rank %d", to);
}

static bool single_poll(tsw_comm_t *comm, int *from_p, tsw_buf_t *frame_p, tsw_status_t *status_p,
                        tsw_err_t *err)
{
    (void)comm;
    (void)from_p;
    (void)frame_p;
    (void)status_p;
    (void)err;
    return false;
}

static bool single_sends_pending(tsw_comm_t *comm)
{
    (void)comm;
    return false;
}

static const tsw_comm_ops_t single_ops = {
    .close = single_close,
    .abort = single_abort,
    .bcast = single_bcast,
    .gather = single_gather,
    .agree = single_agree,
    .send = single_send,
    .poll = single_poll,
    .sends_pending = single_sends_pending,
};

tsw_status_t tsw_comm_single_open(tsw_comm_t **comm_p, tsw_err_t *err)
{
    tsw_comm_t *comm = tsw_calloc(1, sizeof(*comm));
    if (comm == NULL)
        return tsw_err_nomem(err);
    comm->ops = &single_ops;
    comm->size = 1;
    *comm_p = comm;
    return TSW_OK;
}
