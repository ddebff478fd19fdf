/* A whole run in one process for tests of sched: one coordinator, many lanes, their workers and
 * builds as made-up actors. Every message travels through a queue of its own, and a seeded choice
 * says which queue moves next: so all orders that a cluster may show can come up. */
#ifndef TSW_TESTS_SCHED_SIM_H
#define TSW_TESTS_SCHED_SIM_H

#include "plan/plan.h"
#include "sched/coord.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t seed;
    const tsw_plan_t *plan;
    const tsw_coord_rank_t *ranks;
    size_t rank_count;
    const bool *done; /* may be NULL: cells that a resume skips */
    /* Chances in permille. */
    uint32_t
        config_faults; /* a config has a fate of its own: does not compile, is wrong, traps... */
    uint32_t aliases;  /* a config launches as another one does */
    uint32_t bad_reference;  /* a variant's reference does not compile */
    uint32_t blank_deaths;   /* a worker dies between two configs, at each of its steps */
    uint32_t start_failures; /* a worker dies before it is ready */
    size_t drain_at_step;    /* 0: never */
} sched_sim_t;

typedef struct {
    char problem[512]; /* empty: all promises were kept */
    size_t steps;
    size_t cells_complete, cells_partial, cells_unreachable;
    size_t records, builds_made, worker_deaths, ranks_retired;
    size_t outcomes[TSW_OUTCOME_COUNT];
} sched_sim_report_t;

/* Promises: each cell is stored complete once (or is unreachable, or the run was drained), each of
 * its configs has one record with the outcome that its fate says, each timed config has each round
 * once; builds are made at most once and reach a rank at most once; a dead worker gets nothing to
 * do; the run ends. */
void sched_sim_run(const sched_sim_t *what, sched_sim_report_t *report);

#endif
