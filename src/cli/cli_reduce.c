#include "cli/cli_args.h"
#include "cli/cli_choice.h"
#include "cli/cli_commands.h"
#include "cli/cli_exit.h"
#include "cli/cli_input.h"
#include "cli/cli_tables.h"

#include <stdio.h>

typedef struct {
    const char *output;
    uint32_t max_configs;
    bool json;
} reduce_args_t;

static bool has_unusable(const tsw_reduction_t *reduction)
{
    for (size_t i = 0; i < reduction->cell_count; i++)
        if (tsw_cli_is_unusable(&reduction->cells[i]))
            return true;
    return false;
}

static tsw_status_t write_out(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                              const tsw_cli_verdicts_t *verdicts, const reduce_args_t *args,
                              tsw_err_t *err)
{
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_buf_t files = TSW_BUF_INIT;
    tsw_cli_tables_t tables = {0};
    tsw_status_t status = TSW_OK;
    if (args->json || args->output != NULL)
        status = tsw_cli_tables_make(dataset, reduction, verdicts, &tables, err);
    if (status == TSW_OK && args->json)
        status = tsw_cli_tables_json(&tables, &out, err);
    else if (status == TSW_OK)
        status = tsw_cli_choice_print(dataset, reduction, verdicts, &out, err);
    if (status == TSW_OK && args->output != NULL)
        status = tsw_cli_tables_write(&tables, args->output, &files, err);
    if (status == TSW_OK) {
        fputs(tsw_buf_text(&out), stdout);
        fputs(tsw_buf_text(&files), args->json ? stderr : stdout);
    }
    tsw_cli_tables_fini(&tables);
    tsw_buf_fini(&files);
    tsw_buf_fini(&out);
    return status;
}

/* Tables of a run that is not whole are a preview. */
static void warn_missing(const tsw_dataset_t *dataset)
{
    tsw_buf_t missing = TSW_BUF_INIT;
    if (tsw_cli_missing(dataset, &missing) > 0)
        tsw_log(TSW_LOG_WARN, "not all is there yet:\n%.*s", (int)missing.size - 1,
                tsw_buf_text(&missing));
    tsw_buf_fini(&missing);
}

static tsw_status_t reduce(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    const reduce_args_t *args = user;
    tsw_dataset_t dataset = {0};
    tsw_reduction_t *reduction = NULL;
    tsw_cli_verdicts_t verdicts = {0};
    tsw_status_t status = tsw_cli_read(words->items, words->count, &dataset, err);
    if (status == TSW_OK)
        warn_missing(&dataset);
    if (status == TSW_OK)
        status = tsw_cli_reduce_with_roofs(&dataset, args->max_configs, &reduction, err);
    if (status == TSW_OK)
        status = tsw_cli_verdicts_make(reduction, words->items, words->count, &verdicts, err);
    if (status == TSW_OK) {
        *exit_p = has_unusable(reduction) ? TSW_EXIT_UNUSABLE : TSW_EXIT_DONE;
        status = write_out(&dataset, reduction, &verdicts, args, err);
    }
    tsw_cli_verdicts_fini(&verdicts);
    tsw_reduction_free(reduction);
    tsw_dataset_fini(&dataset);
    return status;
}

int tsw_cli_reduce(int argc, char **argv)
{
    reduce_args_t args = {.max_configs = 8};
    const tsw_option_t options[] = {
        {"output", 'o', "TABLES", TSW_OPTION_TEXT, &args.output,
         "Folder for a table per architecture, e.g. TABLES/sm_90.json (default: none written)",
         NULL},
        {"max-configs", 'm', "N", TSW_OPTION_COUNT, &args.max_configs,
         "Configs per pack and architecture, the baseline among them (default: 8)", NULL},
        {"json", 0, NULL, TSW_OPTION_FLAG, &args.json, "Print the tables as JSON (default: text)",
         NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "reduce",
        .usage = "RUN|SWEEP.h5...",
        .summary = "Chooses at most 8 configs per pack and architecture from measured runs, the "
                   "baseline always among them, and says what that costs on the mean and the "
                   "worst shape. Times are medians with their 95 % interval, '~' marks estimates "
                   "of what was dropped early; regret is the time lost against the best config of "
                   "a shape, in percent.",
        .notes = "Runs of several inputs must belong to one plan, toolchain and clock mode.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = SIZE_MAX,
    };
    return tsw_cli_main(&spec, argc, argv, reduce, &args);
}
