/* Our timer against CUPTI's for the winners of a finished run. */
#ifndef TSW_CLI_TIMER_H
#define TSW_CLI_TIMER_H

#include "base/err.h"

#include <stddef.h>

typedef struct {
    const char *device;                          /* "auto", "cuda", "sim:NAME" */
    const char *toolchain, *cache_dir, *kernels; /* may be NULL */
} tsw_timer_args_t;

/* Checks winner and baseline of up to 16 cells that this device can run, each in a process of its
 * own; prints a table and writes timer.json into the run's folder. *off_p: configs of which the
 * timers disagree. TSW_ERR_ENV: no CUPTI, toolchain or GPU; TSW_ERR_ARG: the run has no such cell,
 * or a pack is not the one that was measured. */
tsw_status_t tsw_cli_timer_check(const char *run_dir, const tsw_timer_args_t *args, size_t *off_p,
                                 tsw_err_t *err);

#endif
