/* The state of a lane, and what its parts do for each other. Internal to sched. */
#ifndef TSW_SCHED_LANE_STATE_H
#define TSW_SCHED_LANE_STATE_H

#include "sched/lane_cell.h"

#define TSW_LANE_HANDS 2 /* cells: one in hand, one ahead */

typedef enum {
    TSW_LANE_WORKER_NONE,
    TSW_LANE_WORKER_STARTING,
    TSW_LANE_WORKER_READY,
    TSW_LANE_WORKER_DOOMED, /* killed, its death is awaited; what it still says does not count */
} tsw_lane_worker_state_t;

typedef struct {
    tsw_cell_result_t *items;
    size_t count, capacity;
} tsw_lane_results_t;

struct tsw_lane {
    const tsw_plan_t *plan;
    int32_t rank;
    char node[TSW_NAME_SIZE];
    tsw_gpu_t gpu;
    bool started;
    bool has_device;
    bool asked;   /* the first cells were asked for */
    bool stopped; /* abandoned */
    tsw_lane_worker_state_t worker;
    bool worker_did_something;
    uint32_t failures, idle_deaths;
    tsw_lane_cell_t *cells[TSW_LANE_HANDS]; /* [0] in hand */
    size_t cell_count;
    tsw_lane_results_t results;
    bool failed;             /* out of memory */
    tsw_lane_actions_t *out; /* of the event in hand */
};

/* lane_step.c: what can be done, once an event is in. */

void tsw_lane_act(tsw_lane_t *lane, tsw_lane_action_t action);
void tsw_lane_ask_cell(tsw_lane_t *lane);
/* Once: as many as the lane holds. */
void tsw_lane_ask_first_cells(tsw_lane_t *lane);
/* Takes cell i out of the lane; the caller frees it. */
tsw_lane_cell_t *tsw_lane_take_cell(tsw_lane_t *lane, size_t i);
/* The cell ends here without having ended; what it found so far is stored as partial. */
void tsw_lane_drop_cell(tsw_lane_t *lane, tsw_lane_cell_t *cell);
/* Does all that can be done now; ends every event. */
tsw_status_t tsw_lane_advance(tsw_lane_t *lane, tsw_err_t *err);

/* lane_worker.c: the life and death of the worker. */

void tsw_lane_start_worker(tsw_lane_t *lane);
void tsw_lane_kill_worker(tsw_lane_t *lane);

#endif
