/* Rank 1 gives up with code 5 while rank 0 waits for a message that never comes. */
#include "comm/comm.h"

#include <stdio.h>

int main(void)
{
    tsw_comm_t *comm = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_comm_open(&comm, &err) != TSW_OK) {
        fprintf(stderr, "cannot open: %s\n", err.text);
        return 1;
    }
    if (tsw_comm_rank(comm) == 1)
        tsw_comm_abort(comm, 5);
    int from = 0;
    tsw_buf_t frame = TSW_BUF_INIT;
    tsw_status_t status = TSW_OK;
    while (!tsw_comm_poll(comm, &from, &frame, &status, &err) && status == TSW_OK)
        continue;
    return 1;
}
