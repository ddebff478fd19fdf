#include "cli/cli_args.h"
#include "cli/cli_commands.h"
#include "cli/cli_exit.h"
#include "cli/cli_input.h"
#include "cli/cli_output.h"
#include "store/store.h"

#include <stdio.h>

/* The exit code. */
static int tell_missing(const tsw_dataset_t *dataset, const char *output)
{
    tsw_buf_t missing = TSW_BUF_INIT;
    int code = TSW_EXIT_DONE;
    if (tsw_cli_missing(dataset, &missing) > 0) {
        fprintf(stderr, "tilesweep merge: %s is not whole:\n%s", output, tsw_buf_text(&missing));
        code = TSW_EXIT_STOPPED;
    }
    tsw_buf_fini(&missing);
    return code;
}

static tsw_status_t merge(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    const char *output = *(const char **)user;
    tsw_dataset_t dataset = {0};
    if (output == NULL)
        return tsw_err_set(err, TSW_ERR_ARG, "where to? name a file with -o SWEEP.h5");
    tsw_status_t status = tsw_cli_check_output(output, TSW_STORE_START, "a sweep", err);
    if (status == TSW_OK)
        status = tsw_cli_read(words->items, words->count, &dataset, err);
    if (status == TSW_OK)
        status = tsw_store_write(output, &dataset, err);
    if (status == TSW_OK) {
        printf("%s%s: %zu cells\n", tsw_cli_mark(dataset.meta.mode), output, dataset.cell_count);
        *exit_p = tell_missing(&dataset, output);
    }
    tsw_dataset_fini(&dataset);
    return status;
}

int tsw_cli_merge(int argc, char **argv)
{
    const char *output = NULL;
    const tsw_option_t options[] = {
        {"output", 'o', "SWEEP.h5", TSW_OPTION_TEXT, &output, "File to write (no default)", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "merge",
        .usage = "RUN|SWEEP.h5... -o SWEEP.h5",
        .summary = "Writes the records and samples of runs of one plan into one file.",
        .notes =
            "Exit code 4, with the list, when parts of the job or cells are not there; the file "
            "is written all the same.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 1,
        .max_words = SIZE_MAX,
    };
    return tsw_cli_main(&spec, argc, argv, merge, &output);
}
