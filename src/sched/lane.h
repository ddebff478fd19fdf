/* One rank's side as a pure state machine: the lane of cells that it measures, one in hand and one
 * ahead, and the life of its measure worker. Event in, actions out; owns the results of the cell in
 * hand.
 *
 * Configs go to the worker in the plan's order, each once the builds of all before it have
 * ended: so aliases are known before, and what a cell does never hangs on the order in which builds
 * arrive. Cells of a compile-only arch need no worker: their records tell what was built. */
#ifndef TSW_SCHED_LANE_H
#define TSW_SCHED_LANE_H

#include "plan/plan.h"
#include "record/record.h"

typedef enum {
    TSW_LANE_ASK_CELL,     /* tell the coordinator that a cell is wanted */
    TSW_LANE_START_WORKER, /* spawn a measure worker (a fresh one, after a death) */
    TSW_LANE_KILL_WORKER,  /* kill its process group; worker_died follows as an event */
    /* worker: drop the cell before, once it is timed; allocate, fill, run the reference */
    TSW_LANE_BEGIN_CELL,
    TSW_LANE_ADD_CONFIG, /* worker: load config; verify it unless it was verified before */
    TSW_LANE_TIME_CELL,  /* worker: all configs are in, run the rounds from first_round on */
    /* A result is there: take it with tsw_lane_take_result, one call per action. complete == 1: it
     * is final, tell the coordinator cell_done. complete == 0: seal it as partial, no more. */
    TSW_LANE_STORE_CELL,
    TSW_LANE_GIVE_BACK, /* tell the coordinator cell_returned (after tsw_lane_abandon) */
    TSW_LANE_RETIRE,    /* the GPU is lost, tell the coordinator: two fresh workers failed, or it
                           is unfit */
} tsw_lane_action_type_t;

typedef struct {
    tsw_lane_action_type_t type;
    uint32_t cell;
    uint32_t attempt;      /* as leased: STORE_CELL, GIVE_BACK */
    uint32_t config_index; /* within the cell */
    bool verified;         /* ADD_CONFIG: known good, do not verify again */
    uint32_t first_round;  /* TIME_CELL */
} tsw_lane_action_t;

typedef struct {
    tsw_lane_action_t *items;
    size_t count;
    size_t capacity;
} tsw_lane_actions_t;

void tsw_lane_actions_fini(tsw_lane_actions_t *actions);

typedef struct tsw_lane tsw_lane_t;

/* plan is borrowed. node is copied into results. TSW_ERR_NOMEM. */
tsw_status_t tsw_lane_new(const tsw_plan_t *plan, int32_t rank, const char *node,
                          tsw_lane_t **lane_p, tsw_err_t *err);
void tsw_lane_free(tsw_lane_t *lane);

/* Events. Actions are appended to out, to be carried out in order. TSW_ERR_BUG: an event that
 * cannot be; nothing has changed. TSW_ERR_NOMEM: the run must end, only tsw_lane_free is allowed
 * then. After RETIRE or tsw_lane_abandon late events of the worker are ignored. */
tsw_status_t tsw_lane_start(tsw_lane_t *lane, tsw_lane_actions_t *out, tsw_err_t *err);
/* Instead of tsw_lane_start, on a rank without a device: asks for compile-only cells. */
tsw_status_t tsw_lane_start_without_device(tsw_lane_t *lane, tsw_lane_actions_t *out,
                                           tsw_err_t *err);
/* gpu is copied into results. */
tsw_status_t tsw_lane_worker_ready(tsw_lane_t *lane, const tsw_gpu_t *gpu, tsw_lane_actions_t *out,
                                   tsw_err_t *err);
/* attempt: what the coordinator gave with the lease; goes into the result and back to it. Builds
 * of the cell that are already here must be told with tsw_lane_built after this. */
tsw_status_t tsw_lane_cell_leased(tsw_lane_t *lane, uint32_t cell, uint32_t attempt,
                                  tsw_lane_actions_t *out, tsw_err_t *err);

#define TSW_LANE_REFERENCE (-1)
#define TSW_LANE_TOOL      (-2)

/* A build of a cell in the lane has ended. For a config build: outcome ok with its facts and the
 * identity of its launch (cubin bytes, grid, block, shared memory: equal identities in one cell
 * are aliases), or a failure with a detail. For the reference and the tool build: ok (the cell
 * begins once both are), or the cell's configs all end as `invalid` with the detail. Compile-only
 * cells look at config builds alone. */
typedef struct {
    uint32_t cell;
    int32_t config_index; /* or TSW_LANE_REFERENCE, TSW_LANE_TOOL */
    tsw_outcome_t outcome;
    const char *detail; /* may be NULL */
    tsw_build_facts_t facts;
    tsw_key_t launch_key;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_shared_bytes;
} tsw_lane_built_t;

/* Ignored for a cell that is not in the lane (any more), and when told again. */
tsw_status_t tsw_lane_built(tsw_lane_t *lane, const tsw_lane_built_t *built,
                            tsw_lane_actions_t *out, tsw_err_t *err);

/* From the worker: a config was verified (ok), or ended with another outcome at any stage. detail
 * and verify may be NULL. After device_lost and run_timeout the worker is killed. */
tsw_status_t tsw_lane_config_state(tsw_lane_t *lane, uint32_t config_index, tsw_outcome_t outcome,
                                   const char *detail, const tsw_verify_facts_t *verify,
                                   tsw_lane_actions_t *out, tsw_err_t *err);
/* From the worker: it could not begin the cell (buffers do not fit: out_of_memory; the reference
 * does not load: invalid). All configs end with that outcome; the worker lives and ignores what it
 * got for this cell. */
tsw_status_t tsw_lane_cell_failed(tsw_lane_t *lane, tsw_outcome_t outcome, const char *detail,
                                  tsw_lane_actions_t *out, tsw_err_t *err);
/* One finished round: samples of configs config_indices[0..n). */
tsw_status_t tsw_lane_round(tsw_lane_t *lane, const tsw_round_t *round,
                            const uint32_t *config_indices, const tsw_sample_t *samples, size_t n,
                            tsw_lane_actions_t *out, tsw_err_t *err);
/* The protocol is through: what it made of the cell. fates: of configs indices[0..count). */
typedef struct {
    uint64_t peak_memory_bytes;
    tsw_usage_t usage;
    int32_t pick; /* config index, -1: none */
    const uint32_t *indices;
    const uint8_t *fates; /* tsw_fate_t */
    size_t count;
} tsw_lane_timed_t;
tsw_status_t tsw_lane_cell_timed(tsw_lane_t *lane, const tsw_lane_timed_t *timed,
                                 tsw_lane_actions_t *out, tsw_err_t *err);
#define TSW_LANE_CULPRIT_NONE      (-1)
#define TSW_LANE_CULPRIT_REFERENCE (-2)

/* The worker is gone. culprit: the config that it was busy with, or one of the above. outcome: what
 * that config gets (run_timeout, device_lost, ...); a reference that kills the worker makes all
 * configs of its cell `invalid`. interrupted: it died while draining: no result. */
tsw_status_t tsw_lane_worker_died(tsw_lane_t *lane, int32_t culprit, tsw_outcome_t outcome,
                                  const char *detail, bool interrupted, tsw_lane_actions_t *out,
                                  tsw_err_t *err);
/* The worker was killed from outside, as by a system without memory: nobody's fault the first time,
 * and the cell in hand begins its rounds anew. The second time in one cell it is as above, with
 * device_lost. */
tsw_status_t tsw_lane_worker_killed(tsw_lane_t *lane, int32_t culprit, const char *detail,
                                    tsw_lane_actions_t *out, tsw_err_t *err);
/* The worker is gone, and nothing that its GPU computes can be trusted any more: the GPU is retired
 * without another try. interrupted: as above; the GPU is left then. */
tsw_status_t tsw_lane_gpu_unfit(tsw_lane_t *lane, bool interrupted, tsw_lane_actions_t *out,
                                tsw_err_t *err);
/* Stop: kills the worker, stores the cell in hand as partial (finished records with complete == 0,
 * the others as interrupted; nothing when nothing was finished), gives all cells back. */
tsw_status_t tsw_lane_abandon(tsw_lane_t *lane, tsw_lane_actions_t *out, tsw_err_t *err);

/* After STORE_CELL: transfers the oldest result; caller tsw_cell_result_fini. start_wall_ns and
 * wall_ns are the caller's to fill: the lane has no clock. */
void tsw_lane_take_result(tsw_lane_t *lane, tsw_cell_result_t *result_p);
/* The result of a cell that the plan skips: every config `skipped` with the plan's reason. Needs no
 * lane. *result_p: the caller's, tsw_cell_result_fini. TSW_ERR_NOMEM. */
tsw_status_t tsw_lane_skipped(const tsw_plan_t *plan, uint32_t cell, int32_t rank, const char *node,
                              tsw_cell_result_t *result_p, tsw_err_t *err);
bool tsw_lane_is_idle(const tsw_lane_t *lane); /* no cell in hand or ahead */

#endif
