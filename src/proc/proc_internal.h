/* What loop and child share inside proc. */
#ifndef TSW_PROC_PROC_INTERNAL_H
#define TSW_PROC_PROC_INTERNAL_H

#include "proc/proc.h"

#include <uv.h>

struct tsw_loop {
    uv_loop_t uv;
    uv_timer_t timer;
    tsw_child_t *children; /* list of those whose handles are not all closed */
    size_t child_count;    /* of those that have not ended */
};

/* Kill, wait and free without any callback to the owner. */
void tsw_child_silence(tsw_child_t *child);

#endif
