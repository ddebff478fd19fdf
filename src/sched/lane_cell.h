/* One cell in a lane: where each of its configs stands, and the result that grows. Internal to
 * sched. */
#ifndef TSW_SCHED_LANE_CELL_H
#define TSW_SCHED_LANE_CELL_H

#include "sched/lane.h"

typedef enum {
    TSW_LANE_CONFIG_WAITING,  /* its build has not ended, or one before it has not */
    TSW_LANE_CONFIG_BUILT,    /* may go to the worker */
    TSW_LANE_CONFIG_ADDED,    /* in the worker, its verification is awaited */
    TSW_LANE_CONFIG_VERIFIED, /* known good */
    TSW_LANE_CONFIG_ALIAS,    /* launches as one before it does; ends with it */
    TSW_LANE_CONFIG_ENDED,    /* its outcome is in the record */
    TSW_LANE_CONFIG_STATES,
} tsw_lane_config_state_t;

typedef struct {
    tsw_lane_config_state_t state;
    bool built; /* WAITING: its own build is good, one before it is awaited */
    tsw_key_t launch_key;
} tsw_lane_config_t;

typedef struct {
    uint32_t id; /* in the plan */
    uint32_t attempt;
    bool compile_only;
    bool reference_known, tool_known; /* good, or all configs have ended for it */
    tsw_lane_config_t *configs;
    size_t config_count;
    const uint32_t *order;                 /* the plan's; before and after below mean it */
    size_t counts[TSW_LANE_CONFIG_STATES]; /* of configs */
    size_t known;                          /* so many builds from the first on have ended */
    /* What the worker at hand knows; reset by its death. */
    bool begun, timing;
    size_t added;          /* so many configs from the first on are in the worker, or not to be */
    uint32_t blank_deaths; /* of workers that were busy with no config */
    bool killed_once;      /* a worker was killed from outside */
    uint32_t next_round;
    tsw_cell_result_t result;
} tsw_lane_cell_t;

/* All that the plan says about the cell. TSW_ERR_NOMEM. */
tsw_status_t tsw_lane_cell_new(const tsw_plan_t *plan, uint32_t id, uint32_t attempt,
                               tsw_lane_cell_t **cell_p, tsw_err_t *err);
void tsw_lane_cell_free(tsw_lane_cell_t *cell);

void tsw_lane_cell_set_state(tsw_lane_cell_t *cell, size_t config, tsw_lane_config_state_t state);
/* Ends a config. detail may be NULL. */
void tsw_lane_cell_end(tsw_lane_cell_t *cell, size_t config, tsw_outcome_t outcome,
                       const char *detail);
/* Ends all configs that have not ended. */
void tsw_lane_cell_end_all(tsw_lane_cell_t *cell, tsw_outcome_t outcome, const char *detail);
/* A build has ended; aliases are decided as far as all builds before are known. */
void tsw_lane_cell_built(tsw_lane_cell_t *cell, const tsw_lane_built_t *built);
/* The worker is gone with all that it knew. */
void tsw_lane_cell_unload(tsw_lane_cell_t *cell);
/* Forgets all rounds: they begin anew. */
void tsw_lane_cell_rewind(tsw_lane_cell_t *cell);
/* The rounds are over: verified configs that were timed are ok. */
void tsw_lane_cell_end_timed(tsw_lane_cell_t *cell);

/* Was given to the worker and has not ended; false for what is no config of the cell. */
bool tsw_lane_cell_is_in_worker(const tsw_lane_cell_t *cell, int64_t config);
/* Nothing is left to do, and the worker is through with it. */
bool tsw_lane_cell_is_final(const tsw_lane_cell_t *cell);
/* All configs are in the worker or have ended, and some are worth timing. */
bool tsw_lane_cell_can_time(const tsw_lane_cell_t *cell);

/* Makes the result whole: aliases take over what became of their configs, a bad reference is
 * named. */
void tsw_lane_cell_complete(tsw_lane_cell_t *cell);
/* Makes the result partial; false: there is nothing worth keeping. */
bool tsw_lane_cell_interrupt(tsw_lane_cell_t *cell);

#endif
