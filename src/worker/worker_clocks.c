/* Holds the lock of a GPU's clock and gives it back when its rank has ended, whichever way: the
 * channel to it ends then. The rank itself may be killed. */
#include "device/device.h"
#include "proc/proc.h"
#include "wire/child_msg.h"
#include "wire/worker_msg.h"
#include "worker/worker.h"

#define EXIT_STILL_LOCKED 1

static tsw_status_t lock(int fd, tsw_inbox_t *in, tsw_clocks_t **clocks_p, tsw_err_t *err)
{
    uint32_t type = 0;
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_msg_lock_t msg;
    tsw_status_t status = tsw_channel_read(fd, in, &type, &body, err);
    if (status == TSW_OK && type != TSW_CHILD_LOCK)
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "message %u instead of a lock", type);
    if (status == TSW_OK)
        status = tsw_get_msg_lock(body.data, body.size, &msg, err);
    if (status == TSW_OK)
        status = tsw_clocks_lock(msg.uuid, msg.mhz, clocks_p, err);
    tsw_buf_fini(&body);
    return status;
}

/* Until the end of the channel; the rank has nothing more to say. */
static void wait_for_the_end(int fd, tsw_inbox_t *in)
{
    uint32_t type = 0;
    tsw_buf_t body = TSW_BUF_INIT;
    while (tsw_channel_read(fd, in, &type, &body, NULL) == TSW_OK)
        continue;
    tsw_buf_fini(&body);
}

int tsw_worker_clocks(int fd)
{
    tsw_inbox_t in = TSW_INBOX_INIT;
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_clocks_t *clocks = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = lock(fd, &in, &clocks, &err);
    if (status != TSW_OK)
        tsw_put_msg_failed(&out, status, err.text);
    tsw_channel_write(fd, status == TSW_OK ? TSW_CHILD_LOCKED : TSW_CHILD_FAILED, &out, NULL);
    wait_for_the_end(fd, &in);
    tsw_inbox_fini(&in);
    tsw_buf_fini(&out);
    return clocks == NULL || tsw_clocks_unlock(clocks, NULL) == TSW_OK ? 0 : EXIT_STILL_LOCKED;
}
