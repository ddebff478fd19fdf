/* The coordinator (rank 0) as a pure state machine: event in, actions out. It hands out cells and
 * builds; it never sees a file, a message or a clock. 1,024 ranks run in one test process. */
#ifndef TSW_SCHED_COORD_H
#define TSW_SCHED_COORD_H

#include "plan/plan.h"

typedef enum {
    TSW_COORD_LEASE_CELL,  /* rank may measure cell (attempt) */
    TSW_COORD_LEASE_BUILD, /* rank makes build */
    TSW_COORD_PUSH_BUILD,  /* send the artifacts of build for the rank's arch to rank, once */
    TSW_COORD_STOP,        /* rank gets no more work: it may finish */
    TSW_COORD_FINISHED,    /* all cells are done, or nobody is left who could do them */
} tsw_coord_action_type_t;

typedef struct {
    tsw_coord_action_type_t type;
    uint32_t rank;
    uint32_t cell;
    uint32_t build;
    uint32_t attempt;
} tsw_coord_action_t;

typedef struct {
    tsw_coord_action_t *items;
    size_t count;
    size_t capacity;
} tsw_coord_actions_t;

void tsw_coord_actions_fini(tsw_coord_actions_t *actions);

typedef struct tsw_coord tsw_coord_t;

/* What a rank brings. arch_index: of job->archs, or -1: no device (builds only). node: ranks with
 * the same number share a machine. */
typedef struct {
    int arch_index;
    uint32_t node;
    uint32_t build_slots; /* builds at a time on this rank */
} tsw_coord_rank_t;

typedef struct {
    size_t cells_total, cells_done, cells_failed, cells_skipped, cells_leased;
    size_t builds_total, builds_done;
    double cost_total_ns, cost_done_ns;
} tsw_coord_progress_t;

/* plan is borrowed. done (may be NULL): cells that a resume skips. */
tsw_status_t tsw_coord_new(const tsw_plan_t *plan, const bool *done, const tsw_coord_rank_t *ranks,
                           size_t rank_count, tsw_coord_t **coord_p, tsw_err_t *err);
void tsw_coord_free(tsw_coord_t *coord);

/* Events. Actions are appended to out; TSW_ERR_NOMEM, or TSW_ERR_BUG for an event that cannot be
 * (a result of a cell that this rank does not hold): the state is unchanged then. */
tsw_status_t tsw_coord_start(tsw_coord_t *coord, tsw_coord_actions_t *out, tsw_err_t *err);
/* The rank has room for one more cell (it asks one ahead of the one it measures). */
tsw_status_t tsw_coord_cell_wanted(tsw_coord_t *coord, uint32_t rank, tsw_coord_actions_t *out,
                                   tsw_err_t *err);
/* A build ended, for better or worse: artifacts (or failure outcomes) are at rank 0 now. */
tsw_status_t tsw_coord_build_done(tsw_coord_t *coord, uint32_t rank, uint32_t build,
                                  tsw_coord_actions_t *out, tsw_err_t *err);
/* usable: at least one config of the cell has outcome ok. */
tsw_status_t tsw_coord_cell_done(tsw_coord_t *coord, uint32_t rank, uint32_t cell,
                                 uint32_t attempt, bool usable, tsw_coord_actions_t *out,
                                 tsw_err_t *err);
/* The rank's GPU is lost for good: its cells go to others, it goes on building. */
tsw_status_t tsw_coord_rank_retired(tsw_coord_t *coord, uint32_t rank, tsw_coord_actions_t *out,
                                    tsw_err_t *err);
/* No new leases; FINISHED once nothing is leased any more. */
tsw_status_t tsw_coord_drain(tsw_coord_t *coord, tsw_coord_actions_t *out, tsw_err_t *err);

tsw_coord_progress_t tsw_coord_progress(const tsw_coord_t *coord);
/* Cells without a result because no rank of their arch is left; *count_p of them. */
size_t tsw_coord_unreachable(const tsw_coord_t *coord);

#endif
