/* status.json of a run folder: read, shown, and what it says about the run's end. */
#ifndef TSW_CLI_STATUS_H
#define TSW_CLI_STATUS_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/cli_exit.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char *node; /* heap; of an arch its name */
    int64_t ranks, gpus, cells, done, failed, configs, configs_failed;
} tsw_status_row_t;

typedef struct {
    int64_t rank;
    char *node, *gpu, *reason; /* heap */
} tsw_status_retired_t;

/* As of the file; what it lacks is 0, NULL, or NaN. */
typedef struct {
    char *state, *mode, *updated, *error; /* heap; error: NULL unless it failed */
    int64_t attempt, ranks, status, updated_s;
    int64_t cells_total, cells_done, cells_failed, cells_skipped, cells_leased, cells_unreachable;
    int64_t configs_total, configs_done, configs_failed, builds_total, builds_done;
    double done_ratio, elapsed_s, left_s, cells_per_min, gpu_busy_ratio;
    tsw_status_row_t *archs, *nodes;
    size_t arch_count, node_count;
    tsw_status_retired_t *retired;
    size_t retired_count;
} tsw_run_state_t;

/* TSW_ERR_NOT_FOUND: no folder, or nothing has begun in it. TSW_ERR_CORRUPT: torn, or no status. */
tsw_status_t tsw_cli_status_read(const char *run_dir, tsw_run_state_t *state_p, tsw_err_t *err);
void tsw_cli_status_fini(tsw_run_state_t *state);

/* It ended: done, stopped or failed. */
bool tsw_cli_status_is_over(const tsw_run_state_t *state);
/* The run's own code once it is over. */
tsw_exit_t tsw_cli_status_exit(const tsw_run_state_t *state);

/* In one line. age_s: time since the last update, if that is worth a word; NaN: it is not. */
void tsw_cli_status_line(const tsw_run_state_t *state, const char *run_dir, double age_s,
                         tsw_buf_t *out);
/* In full: that line, and below it by arch and node. */
void tsw_cli_status_print(const tsw_run_state_t *state, const char *run_dir, double age_s,
                          tsw_buf_t *out);

#endif
