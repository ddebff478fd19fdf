/* The state of a rank, shared by the files of run. Each part has its own struct and its own file;
 * events come in through callbacks, so what fails is kept with tsw_run_fail and ends the loop. */
#ifndef TSW_RUN_RUN_STATE_H
#define TSW_RUN_RUN_STATE_H

#include "build/cache.h"
#include "device/device.h"
#include "device/sim_scenario.h"
#include "plan/plan.h"
#include "proc/proc.h"
#include "run/run.h"
#include "sched/coord.h"
#include "sched/lane.h"
#include "search/search_run.h"
#include "store/store.h"
#include "store/transfer.h"
#include "wire/child_msg.h"
#include "wire/rank_msg.h"

#define TSW_RUN_HELD_MAX 2 /* cells of a lane: in hand and ahead */

/* A cell that the worker has. */
typedef struct {
    bool begun;
    uint32_t cell;
    int64_t awaits;       /* config whose verification is awaited, -1: none */
    double add_limit_s;   /* between two signs of life, while configs are added */
    double round_limit_s; /* while they are timed */
} tsw_run_task_t;

/* The measure worker of this rank. */
typedef struct {
    tsw_child_t *child;   /* NULL: none */
    bool wanted;          /* the lane asked for it */
    bool hello;           /* the rank knows its gpu */
    bool tool_sent;       /* the tool's cubin */
    bool ready;           /* the canary ran */
    bool told;            /* the lane knows */
    int32_t busy;         /* config it may die of, or TSW_LANE_CULPRIT_* */
    tsw_run_task_t task;  /* the cell in hand */
    tsw_run_task_t ahead; /* the next one, sent while the one in hand is timed */
    bool timing;
    bool failed; /* it said so itself: */
    tsw_msg_failed_t failure;
    bool late;      /* killed by the watchdog */
} tsw_run_worker_t; /* reset with every new process */

extern const tsw_run_worker_t tsw_run_worker_none;

/* A GPU that is not used any more. */
typedef struct {
    int rank;
    char reason[TSW_DETAIL_MAX];
} tsw_run_retired_t;

typedef struct tsw_run_keeper tsw_run_keeper_t; /* one build being made */

typedef struct {
    tsw_artifact_t **artifacts; /* [build * arch count + arch]; NULL: not here */
    uint32_t *queue;            /* leased, not begun */
    bool *alone;                /* per build: to be tried once more, by itself */
    size_t queue_count, queue_capacity;
    tsw_run_keeper_t *keepers; /* list */
    size_t running;
    bool alone_running;
    uint32_t slots;
    bool lends_core; /* that of the measure worker is built on while it times nothing */
    char *work_root; /* folder of this process; its builds work below it */
    size_t made, cached;
} tsw_run_builds_t;

typedef struct {
    uint64_t start_ns, next_line_ns, next_status_ns;
    double share_before; /* of the cost, done by earlier attempts */
    bool bar;            /* a bar is on the terminal */
} tsw_run_progress_t;

/* What the records of a cell say, without them. Of a time that cannot be its config is not ok. */
typedef struct {
    bool usable;
    uint32_t configs_ok, configs_failed;
} tsw_run_verdict_t;

/* Done cells, of an arch or by a rank. */
typedef struct {
    size_t cells, cells_failed; /* failed: nothing usable */
    size_t configs, configs_failed;
} tsw_run_tally_t;

/* Rank 0's view of a rank. */
typedef struct {
    uint32_t node;         /* the first rank on its machine */
    tsw_run_tally_t tally; /* of this attempt */
    uint64_t busy_ns, wall_ns;
} tsw_run_member_t;

/* Rank 0's view of an arch: earlier attempts count too. */
typedef struct {
    size_t cells, configs; /* to do: but the skipped ones */
    tsw_run_tally_t tally;
} tsw_run_arch_t;

typedef struct {
    tsw_comm_t *comm;
    int rank, size;
    uint64_t start_ns; /* tsw_run was called */
    const tsw_run_options_t *options;
    tsw_fileset_t *snapshot; /* the caller's, until the job has it */

    tsw_job_t *job;
    tsw_plan_t *whole;            /* all that the job asks for */
    tsw_plan_t *plan;             /* what is done now: whole, or one generation of it */
    tsw_search_run_t *search;     /* rank 0 of a search */
    uint32_t generation;          /* from 1 on; 0: no search */
    tsw_coord_progress_t earlier; /* rank 0: of the generations before */
    tsw_toolchain_t toolchain;
    tsw_cache_t *cache;   /* NULL: none */
    char *toolchain_text; /* what the records say */
    tsw_device_spec_t spec;
    bool has_device;              /* until it is lost */
    tsw_gpu_t gpu;                /* of the first worker's hello */
    tsw_sim_scenario_t rehearsal; /* mishaps of this rank */
    uint64_t cells_finished;      /* in this attempt */
    bool replay;
    tsw_dataset_t recorded;  /* replay */
    tsw_msg_hello_t *hellos; /* of all ranks */
    int arch_index;          /* of this rank's device in job->archs, -1: none */
    char node[TSW_NAME_SIZE];
    tsw_run_meta_t meta;
    uint32_t attempt;
    tsw_run_member_t *members; /* rank 0: of each rank */
    tsw_run_arch_t *archs;     /* rank 0: of each arch of the job */
    bool *done;                /* rank 0: cells that a resume skips */
    tsw_dataset_t kept;        /* rank 0: results for a new edition, until they are sealed */
    tsw_segments_t *segments;

    tsw_guard_t guard;    /* holds the lock of the clock */
    char *local_dir;      /* of this node for this run; NULL: none */
    tsw_outbox_t *outbox; /* segments to send to rank 0; NULL: this rank seals in the run folder */
    uint32_t outbox_number; /* of the last segment in it */
    bool outbox_refused;    /* rank 0 takes no more */

    tsw_loop_t *loop;
    tsw_eval_t *eval;
    tsw_run_worker_t worker;
    char worker_end[TSW_DETAIL_MAX]; /* why the one before ended */
    bool unfit;                      /* it said that the GPU must not be used any more */
    tsw_run_builds_t builds;
    tsw_run_progress_t progress;

    tsw_lane_t *lane;
    tsw_lane_actions_t lane_actions; /* to be carried out from lane_at on */
    size_t lane_at;
    bool lane_busy;
    uint32_t held[TSW_RUN_HELD_MAX];          /* cells in the lane */
    uint64_t held_start_ns[TSW_RUN_HELD_MAX]; /* wall clock */
    size_t held_count;

    tsw_run_retired_t *retired; /* rank 0: at most one of each rank */
    size_t retired_count;

    tsw_coord_t *coord; /* rank 0 */
    tsw_coord_actions_t coord_actions;
    size_t coord_at;
    bool coord_busy;

    bool drain_told; /* rank 0: all know */
    bool stopped;    /* no more work will come */
    bool draining;   /* stop early */
    bool bye_sent, bye_received;
    bool messages_left;  /* the last look at the messages ended by time */
    int byes;            /* rank 0: received */
    tsw_status_t status; /* first failure, and its text */
    tsw_err_t err;
    bool broken; /* a state machine or the messages cannot go on: the job must be aborted */

    bool calibration_asked, calibrated;
    uint64_t first_cell_ns; /* monotonic; 0: none yet */
    uint64_t busy_ns;       /* of the device, in finished cells */
} tsw_run_t;

/* ---- run_stop.c ---- */
/* Whether tsw_run_request_drain was called, since it was forgotten. */
bool tsw_run_drain_requested(void);
void tsw_run_forget_drain(void);
/* Keep the first failure; the rank seals what it has and all stop. */
void tsw_run_fail(tsw_run_t *run, tsw_status_t status, const tsw_err_t *err);
/* The same, but nothing of the state may be trusted any more. */
void tsw_run_break(tsw_run_t *run, tsw_status_t status, const tsw_err_t *err);
/* Ends the whole job at once, as this rank's messages or state are lost. */
_Noreturn void tsw_run_abort(tsw_comm_t *comm, tsw_status_t status);

/* ---- run_start.c, run_device.c, run_hello.c, run_folder.c: the stages before work. Each is
 * entered by all ranks; the status is agreed afterwards. ---- */
tsw_status_t tsw_run_check_folder(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_read_fills(tsw_run_t *run, tsw_err_t *err); /* into rank 0's snapshot */
tsw_status_t tsw_run_share_snapshot(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_make_plan(tsw_run_t *run, tsw_err_t *err);
bool tsw_run_searches(const tsw_run_t *run); /* in generations */
tsw_status_t tsw_run_choose_device(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_share_recorded(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_find_toolchain(tsw_run_t *run, tsw_err_t *err);
/* Two stages, with other work between them: opening a device takes a while. */
tsw_status_t tsw_run_start_device(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_await_device(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_exchange_hellos(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_check_hellos(tsw_run_t *run, tsw_err_t *err);
/* -1: no device, or none of an arch of the job that is measured. */
int tsw_run_arch_index(const tsw_run_t *run, const tsw_msg_hello_t *hello);
uint32_t tsw_run_node_of(const tsw_run_t *run, int rank);  /* number of its machine */
uint32_t tsw_run_slots_of(const tsw_run_t *run, int rank); /* builds at a time, at the least */
/* One more while its worker, which has a core of its own, times nothing. */
bool tsw_run_lends_core(const tsw_run_t *run, int rank);
tsw_status_t tsw_run_open_folder(tsw_run_t *run, tsw_err_t *err);
/* The packs of the snapshot below the run folder. */
tsw_status_t tsw_run_write_packs(const tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_share_attempt(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_open_segments(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_store_kept(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_store_skipped(tsw_run_t *run, tsw_err_t *err);
/* Sets done: the cells of the plan that are in the dataset. */
void tsw_run_mark_done(tsw_run_t *run, const tsw_dataset_t *dataset);

/* ---- run_sim.c ---- */
/* What a rank has of models as in "h200,a100@3", around and around: kind, model and number, and no
 * node where the number is given. TSW_ERR_ARG: one of them is unknown. */
tsw_status_t tsw_run_sim_choose(const char *models, int rank, tsw_device_spec_t *spec,
                                tsw_err_t *err);
/* The number of the virtual GPU that a rank has. The models are known to be right. */
uint32_t tsw_run_sim_gpu(const tsw_run_t *run, int rank);

/* ---- run_seeds.c: rank 0 ---- */
/* What older sweeps suggest to a search, into a snapshot. */
tsw_status_t tsw_run_read_seeds(const tsw_run_t *run, const tsw_search_t *search,
                                tsw_fileset_t *snapshot, tsw_err_t *err);

/* ---- run_search.c ---- */
/* The stage of prepare: the first generation. Nothing to do without a search. */
tsw_status_t tsw_run_first_generation(tsw_run_t *run, tsw_err_t *err);
/* After the loop of a generation: all others, one after the other. */
tsw_status_t tsw_run_other_generations(tsw_run_t *run, tsw_status_t status, tsw_err_t *err);

/* ---- run_gather.c: segments in folders of nodes ---- */
/* Two stages: the folder of this node for this run, and what earlier attempts left there. */
tsw_status_t tsw_run_open_local(tsw_run_t *run, tsw_err_t *err);
tsw_status_t tsw_run_gather_leftovers(tsw_run_t *run, tsw_err_t *err);
void tsw_run_gather_pump(tsw_run_t *run);       /* sends the next piece */
bool tsw_run_gather_done(const tsw_run_t *run); /* nothing left to send */
tsw_status_t tsw_run_gather_piece(tsw_run_t *run, int from, const uint8_t *body, size_t size,
                                  tsw_err_t *err); /* rank 0 */
tsw_status_t tsw_run_gather_receipt(tsw_run_t *run, const uint8_t *body, size_t size,
                                    tsw_err_t *err);

/* ---- run_visible.c ---- */
/* Collective. Rank 0 returns once it sees in the run folder what all ranks have sealed there, or
 * when it is asked to stop; it keeps status.json fresh meanwhile. TSW_ERR_ENV: it does not come. */
tsw_status_t tsw_run_await_segments(tsw_run_t *run, tsw_err_t *err);
/* Rank 0, when every cell of the plan is done: TSW_ERR_ENV when one cannot be read, for a table or
 * a choice without it would not be the one that is asked for. */
tsw_status_t tsw_run_check_results(const tsw_run_t *run, const tsw_dataset_t *results,
                                   tsw_err_t *err);

/* ---- run_resume.c: rank 0 ---- */
/* Reads what earlier attempts left in the folder; see the next. */
tsw_status_t tsw_run_resume(tsw_run_t *run, tsw_err_t *err);
/* Marks as done what still holds of earlier results (canonical; emptied in part). Differences that
 * are not accepted: TSW_ERR_ARG with their list; accepted: what holds moves to run->kept. */
tsw_status_t tsw_run_resume_take(tsw_run_t *run, tsw_dataset_t *before, tsw_err_t *err);

/* ---- run_spawn.c ---- */
char *tsw_run_worker_path(const tsw_run_t *run); /* of tilesweep-worker; heap, NULL: no memory */
/* tilesweep-worker in one of its modes. */
tsw_status_t tsw_run_spawn(tsw_run_t *run, const char *mode, const tsw_child_callbacks_t *callbacks,
                           tsw_child_t **child_p, tsw_err_t *err);

/* ---- run_worker.c ---- */
tsw_status_t tsw_run_worker_spawn(tsw_run_t *run, tsw_err_t *err);
/* The lane wants a worker: starts one, or takes the one that is there. */
void tsw_run_worker_want(tsw_run_t *run);
void tsw_run_worker_kill(tsw_run_t *run);

/* ---- run_worker_tell.c ---- */
/* The watchdog runs only while an answer is due, from the last sign of life on. A wave launches
 * every config before it is told of. */
void tsw_run_worker_rearm(tsw_run_worker_t *worker);
/* Tells the lane that the worker is ready, once it is. */
void tsw_run_worker_try_ready(tsw_run_t *run);
void tsw_run_worker_tool(tsw_run_t *run); /* the tool build is here */
void tsw_run_worker_begin(tsw_run_t *run, uint32_t cell);
void tsw_run_worker_add(tsw_run_t *run, const tsw_lane_action_t *action);
void tsw_run_worker_time(tsw_run_t *run, uint32_t first_round);

/* ---- run_worker_hear.c ---- */
/* A frame of the measure worker of user, a tsw_run_t; one that is damaged is its end. */
void tsw_run_worker_hear(void *user, tsw_child_t *child, uint32_t type, const uint8_t *body,
                         size_t size);

/* ---- run_clocks.c ---- */
/* A stage before work. TSW_ERR_ARG: no such clock; TSW_ERR_ENV: what is missing. */
tsw_status_t tsw_run_lock_clocks(tsw_run_t *run, tsw_err_t *err);
void tsw_run_clocks_tick(tsw_run_t *run);
void tsw_run_unlock_clocks(tsw_run_t *run); /* when they are locked */

/* ---- run_builds.c, run_keeper.c ---- */
tsw_status_t tsw_run_builds_init(tsw_run_t *run, tsw_err_t *err);
void tsw_run_builds_fini(tsw_run_t *run);
const tsw_artifact_t *tsw_run_artifact(const tsw_run_t *run, uint32_t build, uint32_t arch_index);
/* Copies it in, once. */
tsw_status_t tsw_run_artifact_keep(tsw_run_t *run, uint32_t build, uint32_t arch_index,
                                   const tsw_msg_artifact_t *artifact, tsw_err_t *err);
void tsw_run_builds_lease(tsw_run_t *run, uint32_t build);
uint32_t tsw_run_builds_room(const tsw_run_t *run); /* builds at a time, now */
void tsw_run_builds_pump(tsw_run_t *run);           /* begin what has room */
void tsw_run_builds_stop(tsw_run_t *run);           /* kill all, forget the queue */
/* A build ended: tell rank 0. */
void tsw_run_builds_report(tsw_run_t *run, const tsw_msg_artifacts_t *msg);
/* Makes one build: from the cache, else in a keeper process; reports it in the end. */
void tsw_run_keeper_begin(tsw_run_t *run, uint32_t build);
void tsw_run_keepers_kill(tsw_run_t *run);

/* ---- run_lane.c ---- */
/* Calls a lane event, then carries out what it wants. */
#define TSW_RUN_LANE(_run, _event, ...)                                                            \
    do {                                                                                           \
        if ((_run)->broken)                                                                        \
            break;                                                                                 \
        tsw_err_t _err = TSW_ERR_INIT;                                                             \
        tsw_status_t _status = _event((_run)->lane, __VA_ARGS__, &(_run)->lane_actions, &_err);    \
        tsw_run_lane_follow((_run), _status, &_err);                                               \
    } while (0)
tsw_status_t tsw_run_lane_init(tsw_run_t *run, tsw_err_t *err);
void tsw_run_lane_start(tsw_run_t *run);
void tsw_run_lane_leased(tsw_run_t *run, const tsw_msg_lease_t *lease);
void tsw_run_lane_pushed(tsw_run_t *run, uint32_t build); /* its artifacts are here */
void tsw_run_lane_abandon(tsw_run_t *run);
void tsw_run_lane_follow(tsw_run_t *run, tsw_status_t status, const tsw_err_t *err);
void tsw_run_seal(tsw_run_t *run);

/* ---- run_launch.c ---- */
/* What the launch of a config of a cell looks like on num_sm multiprocessors. */
tsw_status_t tsw_run_launch_describe(tsw_run_t *run, const tsw_cell_t *cell, uint32_t config_index,
                                     uint32_t num_sm, tsw_lane_built_t *built, tsw_err_t *err);
int64_t tsw_run_max_tile(const tsw_run_t *run, const tsw_cell_t *cell);

/* ---- run_coord.c: rank 0 ---- */
tsw_status_t tsw_run_coord_init(tsw_run_t *run, tsw_err_t *err);
void tsw_run_coord_start(tsw_run_t *run);
tsw_status_t tsw_run_coord_message(tsw_run_t *run, int from, uint32_t type, const uint8_t *body,
                                   size_t size, tsw_err_t *err);
void tsw_run_coord_tick(tsw_run_t *run);

/* ---- run_rehearsal.c ---- */
/* What is for this rank is kept. Rank 0 checks the whole scenario against the plan and the GPUs. */
tsw_status_t tsw_run_rehearsal_read(tsw_run_t *run, tsw_err_t *err);
/* The segments are there, and the attempt is known: also its rules for ranks are checked. */
tsw_status_t tsw_run_rehearsal_open(tsw_run_t *run, tsw_err_t *err);
/* A cell was finished: what is due with it happens. May not return. */
void tsw_run_rehearsal_cell(tsw_run_t *run);

/* ---- run_loop.c ---- */
tsw_status_t tsw_run_loop(tsw_run_t *run, tsw_err_t *err);

/* ---- run_send.c ---- */
void tsw_run_send(tsw_run_t *run, int to, uint32_t type, tsw_buf_t *body); /* empties body */
void tsw_run_send_empty(tsw_run_t *run, int to, uint32_t type);            /* without one */

/* ---- run_drain.c ---- */
void tsw_run_drain(tsw_run_t *run);

/* ---- run_foreign.c ---- */
/* True for the name of another tuner's file. */
bool tsw_run_is_foreign(const char *file);
/* Into run->recorded. TSW_ERR_INPUT: the file, or how it and the job differ. */
tsw_status_t tsw_run_read_foreign(tsw_run_t *run, const char *file, tsw_err_t *err);

/* ---- run_replay.c ---- */
/* Builds nothing: artifacts out of what was recorded. */
void tsw_run_replay_build(tsw_run_t *run, uint32_t build);
/* True when it was recorded as anything but ok: then that is its outcome again. */
bool tsw_run_recorded_failure(const tsw_run_t *run, const tsw_cell_t *cell, uint32_t config_index,
                              tsw_outcome_t *outcome_p, const char **detail_p);
/* The recorded samples of a config of a cell; heap. */
tsw_status_t tsw_run_recorded_samples(const tsw_run_t *run, const tsw_cell_t *cell,
                                      uint32_t config_index, uint64_t **ns_p, size_t *count_p,
                                      tsw_err_t *err);

/* ---- run_tally.c: rank 0, but for verdicts ---- */
tsw_status_t tsw_run_verdict_of(const tsw_run_t *run, const tsw_cell_result_t *cell,
                                tsw_run_verdict_t *verdict_p, tsw_err_t *err);
tsw_status_t tsw_run_tally_init(tsw_run_t *run, tsw_err_t *err);
void tsw_run_tally_fini(tsw_run_t *run);
/* Counts the cells of the plan among what is to do. */
void tsw_run_tally_plan(tsw_run_t *run);
/* What earlier attempts left of the cells that are done. */
tsw_status_t tsw_run_tally_before(tsw_run_t *run, const tsw_dataset_t *before, tsw_err_t *err);
void tsw_run_tally_cell(tsw_run_t *run, uint32_t rank, const tsw_msg_cell_done_t *msg);
void tsw_run_tally_add(tsw_run_tally_t *sum, const tsw_run_tally_t *tally);
tsw_run_tally_t tsw_run_tally_all(const tsw_run_t *run);
double tsw_run_cells_per_min(const tsw_run_t *run, double elapsed_s); /* of this attempt */
/* The share of time in which devices measured; 0 unless they are real. */
double tsw_run_busy_ratio(const tsw_run_t *run);
/* Of all generations so far. */
tsw_coord_progress_t tsw_run_total_progress(const tsw_run_t *run);

/* ---- run_status.c: rank 0 ---- */
typedef struct {
    const char *state;        /* running, draining, done, stopped, failed */
    const tsw_err_t *err;     /* failed; else NULL */
    double done_ratio;        /* of the expected cost, 0..1 */
    double elapsed_s, left_s; /* of this attempt; left: NAN when unknown */
} tsw_run_status_t;
/* Replaces status.json. Of use to people only: its loss is a warning. */
void tsw_run_status_write(const tsw_run_t *run, const tsw_run_status_t *status);

/* ---- run_progress.c: rank 0 ---- */
void tsw_run_progress_start(tsw_run_t *run);
/* True when it wrote status.json: every few seconds. */
bool tsw_run_progress_tick(tsw_run_t *run);
/* The last status.json; state: done, stopped, failed, or NULL: leave it. err: why it failed. */
void tsw_run_progress_end(tsw_run_t *run, const char *state, const tsw_err_t *err);

/* ---- run_retired.c: rank 0 ---- */
/* The GPU of a rank is not used any more: into the log, status.json and RUN/retired.txt. */
void tsw_run_note_retired(tsw_run_t *run, int rank, const char *reason);
bool tsw_run_is_retired(const tsw_run_t *run, int rank);
/* Appends "[{"rank": ..}, ..]". */
void tsw_run_put_retired(const tsw_run_t *run, tsw_buf_t *json);
/* What RUN/retired.txt says, of all attempts, a line each; "" when no GPU was. Heap. */
tsw_status_t tsw_run_read_retired(const char *run_dir, char **text_p, tsw_err_t *err);

/* ---- run_slow.c ---- */
/* More than 5 minutes of compilation for one cell: true, and a line about it. */
bool tsw_run_slow_builds(const tsw_cell_result_t *cell, tsw_buf_t *out);
void tsw_run_warn_slow(const tsw_dataset_t *dataset);

/* ---- run_end.c: all ranks ---- */
/* Collective. status: of this rank's loop. */
tsw_status_t tsw_run_finish(tsw_run_t *run, tsw_status_t status, tsw_run_summary_t *summary_p,
                            tsw_err_t *err);

#endif
