/* What goes into a protocol, and the waves that come out of it. */
#ifndef TSW_MEASURE_POLICY_WAVE_H
#define TSW_MEASURE_POLICY_WAVE_H

#include "pack/job.h"
#include "record/record.h"

typedef struct tsw_policy_state tsw_policy_state_t;

/* How a wave treats the L2 cache and what one of its intervals is. */
typedef enum {
    TSW_WAVE_KIND_CELL,  /* the cell's cache mode; graphs of N launches for short kernels */
    TSW_WAVE_KIND_FLUSH, /* the L2 flushed before each launch */
    TSW_WAVE_KIND_HOT,   /* neither flushed nor rotated */
    TSW_WAVE_KIND_QUEUE, /* N plain launches in one interval, hot */
} tsw_wave_kind_t;

typedef struct {
    tsw_stage_t stage;
    tsw_wave_kind_t kind;
    uint32_t round;          /* of the first of its rounds; counted within its stage, from 0 */
    uint32_t rounds;         /* one after the other in configs, each as long as the others */
    uint32_t launches;       /* per interval; 0: as many as an interval of interval_ns takes */
    uint64_t interval_ns;    /* wanted */
    uint64_t graph_below_ns; /* intervals of kernels shorter than this are graphs */
    const uint32_t *configs; /* indices in order of launch; borrowed until the next call */
    const bool *is_control;  /* for each: a second sample of its round, stage control; NULL: none */
    size_t count;            /* of all rounds; 0: stop */
} tsw_wave_t;

typedef struct {
    const tsw_policy_t *policy; /* copied */
    tsw_key_t cell;             /* seeds the orders */
    const uint32_t *live;       /* configs that take part, copied */
    const uint64_t *first_ns;   /* of each, the launch that was verified; 0 or NULL: unknown */
    size_t count;
    uint32_t first_round; /* above 0: after the death of a worker; waves are numbered from there */
    double floor_ns;      /* no launch can be faster; 0: unknown */
} tsw_policy_setup_t;

#endif
