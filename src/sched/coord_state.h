/* The state of a coordinator, and what its parts do for each other. Internal to sched. */
#ifndef TSW_SCHED_COORD_STATE_H
#define TSW_SCHED_COORD_STATE_H

#include "sched/coord.h"
#include "sched/sched_queue.h"

#define TSW_COORD_HANDS 2 /* cells that a rank holds at most: one in hand, one ahead */
#define TSW_COORD_NONE  UINT32_MAX
#define TSW_COORD_LATER TSW_COORD_HANDS /* the queue behind those of cells in hand and ahead */

typedef enum {
    TSW_COORD_CELL_SKIPPED, /* by the plan, or done before */
    TSW_COORD_CELL_OPEN,
    TSW_COORD_CELL_LEASED,
    TSW_COORD_CELL_DONE,
    TSW_COORD_CELL_UNREACHABLE,
} tsw_coord_cell_state_t;

typedef struct {
    tsw_coord_cell_state_t state;
    bool looked_ahead; /* its builds have been queued at least for later */
    uint32_t rank;     /* leased */
    uint32_t attempt;
} tsw_coord_cell_t;

typedef enum {
    TSW_COORD_BUILD_OPEN,
    TSW_COORD_BUILD_LEASED,
    TSW_COORD_BUILD_DONE
} tsw_coord_build_state_t;

typedef struct {
    tsw_coord_build_state_t state;
    uint8_t queued;   /* bit i: has been in queue i; it is wanted there only once */
    uint32_t needers; /* cells open or leased that need it */
    uint32_t rank;    /* leased */
    uint32_t waiters; /* first of a list, TSW_COORD_NONE: empty */
} tsw_coord_build_t;

/* A leased cell waits for a build. Stale when the lease is over. */
typedef struct {
    uint32_t rank, cell, attempt;
    uint32_t next;
} tsw_coord_waiter_t;

typedef struct {
    uint32_t group; /* of cells that it serves, besides the compile-only ones */
    uint32_t slots;
    uint32_t building;
    uint32_t wanted;                /* cells asked for and not given */
    uint32_t held[TSW_COORD_HANDS]; /* [0] in hand */
    uint32_t held_count;
    uint8_t parked;  /* bit i: stands in its group's parked[i] */
    uint8_t builder; /* bit i: stands in builders[i] */
    uint8_t *pushed; /* a bit per build; NULL before the first lease */
} tsw_coord_member_t;

/* The cells of one arch; the last group holds the compile-only cells of all archs, which any rank
 * may have. */
typedef struct {
    tsw_sched_heap_t open;
    /* Ranks that want a cell, by the number of cells that they hold. */
    tsw_sched_ring_t parked[TSW_COORD_HANDS];
    uint32_t *cells; /* all, in the plan's order, for the look ahead */
    size_t count;
    size_t ahead;   /* next of them to look at */
    uint32_t ranks; /* that serve the group */
    uint32_t idle;  /* of them, hold no cell */
} tsw_coord_group_t;

struct tsw_coord {
    const tsw_plan_t *plan;
    tsw_coord_cell_t *cells;
    tsw_coord_build_t *builds;
    tsw_coord_member_t *ranks;
    size_t rank_count;
    tsw_coord_group_t *groups;
    uint32_t group_count;
    uint32_t shared;                              /* index of the compile-only group */
    tsw_sched_ring_t queues[TSW_COORD_HANDS + 1]; /* builds: for cells in hand, ahead, later */
    tsw_sched_ring_t builders[2]; /* ranks with a free slot, with room for one ahead */
    tsw_coord_waiter_t *waiters;
    size_t waiter_count, waiter_capacity;
    uint32_t free_waiter;
    uint32_t next_group; /* to look ahead in */
    size_t open, unreachable;
    tsw_coord_progress_t progress;
    bool started, draining, finished;
    bool failed;              /* out of memory */
    tsw_coord_actions_t *out; /* of the event in hand */
};

typedef struct {
    tsw_coord_t *coord;
    uint32_t cell;
    uint32_t queue;
} tsw_coord_visit_t;

/* coord_act.c */

/* One more thing that the event in hand wants done. */
void tsw_coord_act(tsw_coord_t *coord, tsw_coord_action_t action);
/* Calls fn with a tsw_coord_visit_t for each build of the cell. */
void tsw_coord_each_build(tsw_coord_t *coord, uint32_t cell, uint32_t queue,
                          void (*fn)(void *visit, uint32_t build));

/* coord_lease.c: cells to ranks, finished builds to those that wait. */

/* The index of its group. */
uint32_t tsw_coord_group_of_cell(const tsw_coord_t *coord, uint32_t cell);
/* The rank's hands got empty (+1) or full (-1). */
void tsw_coord_count_idle(tsw_coord_t *coord, const tsw_coord_member_t *rank, int change);
/* Gives the rank what it wants, or parks it. */
void tsw_coord_serve_rank(tsw_coord_t *coord, uint32_t r);
/* Cells of the group came back, or ranks went: looks through those that wait. */
void tsw_coord_serve_all_parked(tsw_coord_t *coord, uint32_t group);
/* A build is finished. */
void tsw_coord_serve_waiters(tsw_coord_t *coord, uint32_t build);
/* Takes a cell out of the rank's hands. The one ahead comes to hand: its builds are urgent now. */
void tsw_coord_let_go(tsw_coord_t *coord, tsw_coord_member_t *rank, uint32_t cell);
void tsw_coord_reopen_cell(tsw_coord_t *coord, uint32_t cell);

/* coord_build.c: builds to ranks. */

/* For tsw_coord_each_build: into the visit's queue, unless it stands there or is under way. */
void tsw_coord_enqueue_build(void *visit, uint32_t build);
/* Into the queue of builders that fits: those with a free slot, or with room for one ahead. */
void tsw_coord_offer_builder(tsw_coord_t *coord, uint32_t r);
void tsw_coord_lease_builds(tsw_coord_t *coord);

#endif
