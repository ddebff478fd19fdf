/* What a measure worker does ahead while a wave runs: it looks at the frames that wait, has the
 * cell that begins in them prepared, and loads their modules. The device keeps those, so that a
 * cell that comes next loads at once. */
#ifndef TSW_WORKER_WORKER_AHEAD_H
#define TSW_WORKER_WORKER_AHEAD_H

#include "device/device.h"
#include "pack/job.h"
#include "proc/proc.h"
#include "wire/worker_msg.h"

typedef struct {
    /* For a cell that begins; NULL: nothing is prepared. */
    void (*prepare)(void *user, const tsw_msg_begin_t *msg);
    void *user;
    size_t at;              /* of the bytes read ahead: looked at */
    const tsw_pack_t *pack; /* of the cell that waits; NULL: none begins in them */
} tsw_ahead_t;

/* Looks at the next frame; false: none is there yet. Failures are left to the cell itself. */
bool tsw_ahead_work(tsw_ahead_t *ahead, int fd, tsw_inbox_t *in, const tsw_job_t *job,
                    tsw_device_t *dev);
/* So many bytes were taken from the start of what was read ahead. */
void tsw_ahead_taken(tsw_ahead_t *ahead, size_t bytes);

#endif
