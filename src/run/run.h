/* A rank: its event loop, worker, builds, messages and segments. */
#ifndef TSW_RUN_RUN_H
#define TSW_RUN_RUN_H

#include "comm/comm.h"
#include "plan/plan.h"
#include "record/calibration.h"
#include "record/dataset.h"
#include "record/timer_check.h"

#define TSW_RUN_NO_BUDGET (-1.0)

typedef struct {
    const char *run_dir;
    const char *job_path; /* what paths of the job file are relative to */
    /* Where ranks other than 0 seal their segments, on a disk of their node; rank 0 gathers them
     * over MPI, and alone needs run_dir. NULL: all write into run_dir */
    const char *local_dir;
    double patience_s; /* until what others have written must be seen by rank 0; 0: 2 minutes */
    /* "auto", "cuda", "replay:FILE", "sim:h200,a100" (dealt over ranks; each is a GPU of its own,
     * with its own small effects, unless a number says which: "sim:h200@0") */
    const char *device;
    /* Replay of another tuner's file: "TILE_M=block_size_x,..", or NULL. */
    const char *replay_names;
    const char *toolchain;   /* folder, or NULL */
    const char *cache_dir;   /* NULL: the default one */
    const char *worker_path; /* NULL: tilesweep-worker beside the program */
    bool allow_shared_gpu;
    uint32_t locked_mhz; /* lock the SM clock of every device while they work; 0: leave it free */
    bool resume;
    bool accept;          /* with resume: differences too; what they concern is done again */
    double budget_s;      /* 0: the job's; TSW_RUN_NO_BUDGET */
    double seal_s;        /* between seals of finished cells; 0: the store's default */
    tsw_plan_part_t part; /* zeroed: the whole job */
    uint32_t build_jobs;  /* builds at a time on this node; 0: by cores */
    const char *invocation;
    /* Where to put what the probes of rank 0's device say, before its first cell; NULL: no probes.
     * A device that fails them leaves it untouched. */
    tsw_calibration_t *calibration_p;
    /* Where to put what the timer of rank 0's device is against CUPTI's, for the baseline and the
     * pick of its cells; NULL: no check. What it measures after its first cell is disturbed by it.
     */
    tsw_timer_checks_t *timer_p;
    /* Where to put all results on rank 0, as sweep.h5 has them, the caller's to free; NULL: they
     * are not asked for. A run that stopped early leaves it untouched. */
    tsw_dataset_t *results_p;
    bool progress; /* bar on a terminal, a line a minute otherwise */
} tsw_run_options_t;

typedef struct {
    size_t cells, cells_usable, cells_unusable, cells_skipped, cells_left;
    size_t configs, configs_ok, configs_failed, configs_alias;
    size_t rounds, rounds_unstable; /* of complete cells */
    size_t builds, builds_made, builds_cached;
    double wall_s;
    double gpu_busy_ratio; /* device time measuring / wall, mean over ranks */
    char retired[1024];    /* GPUs not used to the end, of all attempts: a line each; cut */
    bool stopped_early;    /* drained: resumable */
    bool calibrated;       /* *calibration_p is filled */
} tsw_run_summary_t;

/* Collective. Everything from a job's snapshot to sealed segments and sweep.h5 in run_dir. On rank
 * 0 snapshot holds the job (taken over); elsewhere it is ignored. Statuses: TSW_ERR_INPUT,
 * TSW_ERR_ENV (device, toolchain, output folder), TSW_ERR_FULL (stopped cleanly, resumable),
 * TSW_ERR_CANCELED (asked to stop before any work, or superseded). */
tsw_status_t tsw_run(tsw_comm_t *comm, tsw_fileset_t *snapshot, const tsw_run_options_t *options,
                     tsw_run_summary_t *summary_p, tsw_err_t *err);

/* For signal handlers: asks every tsw_run of this process to drain. Async-signal-safe. */
void tsw_run_request_drain(void);

#endif
