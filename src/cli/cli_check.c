#include "base/file.h"
#include "base/text.h"
#include "cli/cli_args.h"
#include "cli/cli_commands.h"
#include "cli/cli_exit.h"
#include "cli/cli_input.h"
#include "cli/cli_signals.h"
#include "cli/cli_timer.h"
#include "store/store.h"
#include "table/table.h"

#include <stdio.h>

/* Faults of a table, and whether it may be used for real. */
static tsw_status_t check_table(const char *path, tsw_buf_t *report, size_t *faults_p,
                                tsw_err_t *err)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_table_t table = {0};
    tsw_err_t why = TSW_ERR_INIT;
    tsw_status_t status = tsw_file_read(path, &bytes, err);
    if (status == TSW_OK)
        status = tsw_table_read(bytes.data, bytes.size, &table, err);
    if (status == TSW_OK) {
        tsw_table_check(&table, report, faults_p);
        if (tsw_table_usable(&table, &why) != TSW_OK)
            tsw_buf_printf(report, "not for release: %s\n", why.text);
    } else if (bytes.size > 0) {
        tsw_err_wrap(err, "%s", path);
    }
    tsw_table_fini(&table);
    tsw_buf_fini(&bytes);
    return status;
}

/* A run that goes on later is no fault. */
static void note_missing(const char *path, tsw_buf_t *report)
{
    tsw_dataset_t dataset = {0};
    if (tsw_store_read(path, &dataset, NULL, NULL) == TSW_OK)
        tsw_cli_missing(&dataset, report);
    tsw_dataset_fini(&dataset);
}

static tsw_status_t check_store(const char *path, tsw_buf_t *report, size_t *faults_p,
                                tsw_err_t *err)
{
    tsw_status_t status = tsw_store_check(path, faults_p, report, err);
    if (status == TSW_OK)
        note_missing(path, report);
    return status;
}

static tsw_status_t check_one(const char *path, size_t *faults_p, tsw_err_t *err)
{
    tsw_buf_t report = TSW_BUF_INIT;
    size_t faults = 0;
    tsw_status_t status = tsw_text_ends_with(path, ".json")
                              ? check_table(path, &report, &faults, err)
                              : check_store(path, &report, &faults, err);
    if (status == TSW_OK) {
        fputs(tsw_buf_text(&report), stdout);
        printf("%s: %zu fault%s\n", path, faults, faults == 1 ? "" : "s");
        *faults_p += faults;
    }
    tsw_buf_fini(&report);
    return status;
}

typedef struct {
    bool timer;
    tsw_timer_args_t how; /* with timer */
} check_args_t;

/* Of each run in turn. */
static tsw_status_t check_timers(const tsw_words_t *words, const tsw_timer_args_t *how, int *exit_p,
                                 tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    size_t off = 0;
    tsw_cli_catch_signals();
    for (size_t i = 0; status == TSW_OK && i < words->count; i++)
        status = tsw_cli_timer_check(words->items[i], how, &off, err);
    *exit_p = off > 0 ? TSW_EXIT_UNUSABLE : TSW_EXIT_DONE;
    return status;
}

static tsw_status_t check(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    const check_args_t *args = user;
    tsw_status_t status = TSW_OK;
    size_t faults = 0;
    if (args->timer)
        return check_timers(words, &args->how, exit_p, err);
    for (size_t i = 0; status == TSW_OK && i < words->count; i++)
        status = check_one(words->items[i], &faults, err);
    *exit_p = faults > 0 ? TSW_EXIT_USAGE : TSW_EXIT_DONE;
    return status;
}

int tsw_cli_check(int argc, char **argv)
{
    check_args_t args = {.how = {.device = "auto"}};
    const tsw_option_t options[] = {
        {"timer", 0, NULL, TSW_OPTION_FLAG, &args.timer,
         "Instead: time winner and baseline of up to 16 cells of each RUN once more, with CUPTI "
         "watching; writes RUN/timer.json; exit code 1 when one is off by more than 2 % and 0.5 "
         "us, 3 without CUPTI (default: off)",
         NULL},
        {"device", 'd', "D", TSW_OPTION_TEXT, &args.how.device,
         "For --timer: auto, cuda or sim:NAME (default: auto)", NULL},
        {"toolchain", 't', "DIR", TSW_OPTION_TEXT, &args.how.toolchain,
         "For --timer: folder with bin/ lib/ include/ of CUDA 13.3 or later (default: looked for)",
         NULL},
        {"cache", 'c', "DIR", TSW_OPTION_TEXT, &args.how.cache_dir,
         "For --timer: folder of compiled kernels (default: TSW_CACHE, or tilesweep in the user's "
         "cache)",
         NULL},
        {"kernels", 'k', "DIR", TSW_OPTION_TEXT, &args.how.kernels,
         "For --timer: where the packs of the run are (default: the shipped ones)", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "check",
        .usage = "RUN|SWEEP.h5|TABLE.json...",
        .summary = "Validates run folders, sweep files and tables: a line per fault. Exit code 2 "
                   "when there is one.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = SIZE_MAX,
    };
    return tsw_cli_main(&spec, argc, argv, check, &args);
}
