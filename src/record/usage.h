/* What the measure worker of a cell does with its time: one thing at a time, all of it counted. */
#ifndef TSW_RECORD_USAGE_H
#define TSW_RECORD_USAGE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    TSW_USE_IDLE,      /* waits for a cell, from the end of the one before or its own start on */
    TSW_USE_WAIT,      /* amid a cell: waits for a config, and so for its build, or for the start */
    TSW_USE_ALLOCATE,  /* device memory, taken or given back */
    TSW_USE_FILL,      /* queues what fills and copies the inputs */
    TSW_USE_REFERENCE, /* the reference kernel, and checks of what it left behind */
    TSW_USE_LOAD,      /* modules, in or out */
    TSW_USE_VERIFY,    /* launches to verify, comparisons, fences */
    TSW_USE_GRAPH,     /* makes the intervals of a wave */
    TSW_USE_WAVE,      /* queues a wave and waits for its end */
    TSW_USE_CLOCK,     /* reads the state of the GPU */
    TSW_USE_OTHER,     /* messages, decisions */
    TSW_USE_COUNT
} tsw_use_t;

typedef struct {
    uint64_t ns[TSW_USE_COUNT];
} tsw_usage_t;

const char *tsw_use_name(tsw_use_t use); /* "idle"; "?": none */
/* The GPU runs kernels of the cell: reference, verify, wave. */
bool tsw_use_is_measuring(tsw_use_t use);
void tsw_usage_add(tsw_usage_t *sum, const tsw_usage_t *more);
uint64_t tsw_usage_total(const tsw_usage_t *usage);
uint64_t tsw_usage_measuring(const tsw_usage_t *usage);

#endif
