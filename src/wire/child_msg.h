/* What a rank and its children say to each other: the types of frames, and the last word of all
 * children; keeper_msg.h and worker_msg.h have the rest. Plain data: the owner of a type (build,
 * measure, device) translates. `put` appends the body of a frame; `get` reads one: the status is
 * TSW_ERR_CORRUPT unless the whole body was understood. Blobs are borrowed from the body, text and
 * arrays are heap, freed by the struct's `_fini`. */
#ifndef TSW_WIRE_CHILD_MSG_H
#define TSW_WIRE_CHILD_MSG_H

#include "base/buf.h"
#include "base/err.h"

/* Types of frames. The build keeper gets one BUILD and answers BUILT or FAILED. The measure worker
 * gets INIT (HELLO or FAILED), TOOL (READY or FAILED), and per cell BEGIN, ADD.., TIME; it sends
 * BUSY, STATE and ROUND meanwhile and ends the cell with TIMED, or with REFUSED when the cell could
 * not begin. Between cells CALIBRATE is answered with CALIBRATED. FAILED is the last word of a
 * process. */
typedef enum {
    TSW_CHILD_BUILD = 1,
    TSW_CHILD_BUILT,
    TSW_CHILD_FAILED,
    TSW_CHILD_INIT,
    TSW_CHILD_HELLO, /* a tsw_gpu_t */
    TSW_CHILD_TOOL,  /* a cubin */
    TSW_CHILD_READY, /* empty */
    TSW_CHILD_BEGIN,
    TSW_CHILD_ADD,
    TSW_CHILD_TIME, /* u32 first round */
    TSW_CHILD_BUSY, /* i64 index, -1 none, -2 the reference */
    TSW_CHILD_STATE,
    TSW_CHILD_ROUND,
    TSW_CHILD_TIMED,
    TSW_CHILD_REFUSED, /* a tsw_msg_failed_t */
    TSW_CHILD_CALIBRATE,
    TSW_CHILD_CALIBRATED, /* a tsw_calibration_t */
    TSW_CHILD_LOCK,       /* to the holder of a clock's lock, which answers LOCKED or FAILED */
    TSW_CHILD_LOCKED,     /* empty */
    TSW_CHILD_TIMER,      /* a tsw_timer_check_t */
} tsw_child_msg_t;

typedef struct {
    tsw_status_t status;
    char text[TSW_ERR_TEXT_MAX];
} tsw_msg_failed_t;

void tsw_put_msg_failed(tsw_buf_t *out, tsw_status_t status, const char *text);
tsw_status_t tsw_get_msg_failed(const void *body, size_t size, tsw_msg_failed_t *msg_p,
                                tsw_err_t *err);

#endif
