/* What a measure worker tells its rank. Each message costs a call of the system, and the rank's
 * attention: so they gather until somebody must know. */
#ifndef TSW_WORKER_WORKER_POST_H
#define TSW_WORKER_WORKER_POST_H

#include "base/buf.h"

typedef struct {
    int fd;
    tsw_buf_t frames;  /* that wait */
    uint64_t since_ns; /* the oldest of them */
} tsw_post_t;

#define TSW_POST_EXIT_LOST 1

/* Empties body. Without its rank the process has nothing left to do, and ends. */
void tsw_post_put(tsw_post_t *post, uint32_t type, tsw_buf_t *body);
/* All that waits. The process ends as above. */
void tsw_post_send(tsw_post_t *post);
/* The same when something has waited for 20 ms: the rank counts on signs of life. */
void tsw_post_send_old(tsw_post_t *post, uint64_t now_ns);

#endif
