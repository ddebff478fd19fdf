/* The coordinator (rank 0) as a pure state machine: event in, actions out. It hands out cells and
 * builds; it never sees a file, a message or a clock. 1,024 ranks run in one test process.
 *
 * Cells: a rank holds at most two, the one in hand and one ahead; the second is given only while
 * more cells are left than ranks with empty hands. Cells go to ranks of their arch in the plan's
 * order (largest expected cost first); compile-only cells go to any rank.
 * Builds: each is made once, first those that cells in hand wait for, then those of cells ahead,
 * then those of the cells that come next. What no open cell needs is never made.
 * Artifacts: every finished build goes once to each rank with a cell that needs it, also to the
 * rank that made it: one path for all. */
#ifndef TSW_SCHED_COORD_H
#define TSW_SCHED_COORD_H

#include "plan/plan.h"

typedef enum {
    TSW_COORD_LEASE_CELL,  /* rank may measure cell (attempt: 1 for its first lease, 2, ...) */
    TSW_COORD_LEASE_BUILD, /* rank makes build */
    /* Send build to rank, once: outcome and facts for every arch of the build, and the cubin for
     * the rank's own arch. Also after a build that failed. */
    TSW_COORD_PUSH_BUILD,
    TSW_COORD_STOP,     /* rank gets no more work: it may finish */
    TSW_COORD_FINISHED, /* all cells are done, or nobody is left who could do them */
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

/* What a rank brings. arch_index: of job->archs, or -1: no device (builds and compile-only cells).
 * node: ranks with the same number share a machine. */
typedef struct {
    int arch_index;
    uint32_t node;
    uint32_t build_slots; /* builds at a time on this rank, 0: it builds nothing */
} tsw_coord_rank_t;

/* Cells: total = done + skipped + unreachable + what is left. */
typedef struct {
    size_t cells_total;
    size_t cells_done;    /* also those that a resume skips */
    size_t cells_failed;  /* of the done ones: nothing usable */
    size_t cells_skipped; /* by the plan (skip_reason) */
    size_t cells_leased;
    size_t builds_total; /* that the cells to do need */
    size_t builds_done;
    double cost_total_ns, cost_done_ns; /* of all cells but the skipped ones */
} tsw_coord_progress_t;

/* plan is borrowed. done (may be NULL): cells that a resume skips; copied. TSW_ERR_ARG: no rank, an
 * arch that the job lacks, or no rank that builds. */
tsw_status_t tsw_coord_new(const tsw_plan_t *plan, const bool *done, const tsw_coord_rank_t *ranks,
                           size_t rank_count, tsw_coord_t **coord_p, tsw_err_t *err);
void tsw_coord_free(tsw_coord_t *coord);

/* Before the start: the artifacts of a build are at rank 0 already; it only travels. */
void tsw_coord_build_known(tsw_coord_t *coord, uint32_t build);

/* Events. Actions are appended to out. TSW_ERR_BUG: an event that cannot be (a result of a cell
 * that this rank does not hold); nothing has changed. TSW_ERR_NOMEM: the run must end, only
 * tsw_coord_free is allowed then. After FINISHED late wishes and builds are accepted and lead to
 * nothing. */
tsw_status_t tsw_coord_start(tsw_coord_t *coord, tsw_coord_actions_t *out, tsw_err_t *err);
/* The rank has room for one more cell (it asks one ahead of the one it measures). */
tsw_status_t tsw_coord_cell_wanted(tsw_coord_t *coord, uint32_t rank, tsw_coord_actions_t *out,
                                   tsw_err_t *err);
/* A build ended, for better or worse: artifacts (or failure outcomes) are at rank 0 now. */
tsw_status_t tsw_coord_build_done(tsw_coord_t *coord, uint32_t rank, uint32_t build,
                                  tsw_coord_actions_t *out, tsw_err_t *err);
/* usable: at least one config of the cell has outcome ok (compiled for a compile-only cell). */
tsw_status_t tsw_coord_cell_done(tsw_coord_t *coord, uint32_t rank, uint32_t cell, uint32_t attempt,
                                 bool usable, tsw_coord_actions_t *out, tsw_err_t *err);
/* The rank gives a cell back without a complete result (it drains): others may have it. */
tsw_status_t tsw_coord_cell_returned(tsw_coord_t *coord, uint32_t rank, uint32_t cell,
                                     uint32_t attempt, tsw_coord_actions_t *out, tsw_err_t *err);
/* The rank's GPU is lost for good: its cells go to others (but compile-only ones), it goes on
 * building and asking for compile-only cells. Once no rank of an arch is left, its open cells
 * become unreachable. */
tsw_status_t tsw_coord_rank_retired(tsw_coord_t *coord, uint32_t rank, tsw_coord_actions_t *out,
                                    tsw_err_t *err);
/* No new leases, neither of cells nor of builds; FINISHED once no cell is leased any more (ranks
 * finish what they hold, or give it back). */
tsw_status_t tsw_coord_drain(tsw_coord_t *coord, tsw_coord_actions_t *out, tsw_err_t *err);

tsw_coord_progress_t tsw_coord_progress(const tsw_coord_t *coord);
/* Number of cells without a result because no rank of their arch is left. */
size_t tsw_coord_unreachable(const tsw_coord_t *coord);

#endif
