/* A set of shapes that keeps their order. Private to pack. */
#ifndef TSW_PACK_JOB_SHAPE_SET_H
#define TSW_PACK_JOB_SHAPE_SET_H

#include "pack/job.h"

/* Empty: all zero. */
typedef struct {
    tsw_shape_t *shapes;
    size_t count;
    size_t capacity;
    uint32_t *slots; /* hash table: index + 1; 0: free */
    size_t slot_count;
} tsw_shape_set_t;

/* Unless one of its dims is there. TSW_ERR_NOMEM. */
tsw_status_t tsw_shape_set_add(tsw_shape_set_t *set, const tsw_shape_t *shape, tsw_err_t *err);
void tsw_shape_set_fini(tsw_shape_set_t *set);

#endif
