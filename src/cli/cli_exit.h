/* Exit codes, and the one place that turns an error into one. */
#ifndef TSW_CLI_EXIT_H
#define TSW_CLI_EXIT_H

#include "base/err.h"

typedef enum {
    TSW_EXIT_DONE = 0,
    TSW_EXIT_UNUSABLE = 1, /* done, but nothing usable for some cell */
    TSW_EXIT_USAGE = 2,    /* command line or input file */
    TSW_EXIT_ENV = 3,      /* no driver, no toolchain, no file system */
    TSW_EXIT_STOPPED = 4,  /* stopped early, resumable */
    TSW_EXIT_BUG = 70,
} tsw_exit_t;

tsw_exit_t tsw_exit_of_status(tsw_status_t status);

/* "tilesweep COMMAND: text" on standard error; returns the exit code of the status. */
tsw_exit_t tsw_cli_fail(const char *command, tsw_status_t status, const tsw_err_t *err);

#endif
