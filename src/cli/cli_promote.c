#include "base/file.h"
#include "base/mem.h"
#include "cli/cli_args.h"
#include "cli/cli_choice.h"
#include "cli/cli_commands.h"
#include "cli/cli_exit.h"
#include "cli/cli_input.h"
#include "rules/patch.h"
#include "space/space.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *output;
} promote_args_t;

/* "{TILE_M: 64, occupancy: 1}" of a canonical text; heap. */
static char *row_of(const char *config)
{
    tsw_buf_t row = TSW_BUF_INIT;
    const char *between = "{";
    while (*config != '\0') {
        size_t word = strcspn(config, " ");
        size_t name = strcspn(config, "=");
        if (name < word) {
            tsw_buf_printf(&row, "%s%.*s: %.*s", between, (int)name, config, (int)(word - name - 1),
                           config + name + 1);
            between = ", ";
        }
        config += word;
        config += *config == ' ' ? 1 : 0;
    }
    tsw_buf_append_text(&row, "}");
    return tsw_buf_take_text(&row);
}

/* The pack's text with the list of the group's arch replaced by what the group chose. */
static tsw_status_t patch_group(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                                const tsw_group_t *group, const tsw_pack_t *pack, tsw_buf_t *out,
                                tsw_err_t *err)
{
    char **rows = tsw_calloc(group->selected_count, sizeof(*rows));
    char source[200], digest[TSW_KEY_TEXT_SIZE];
    size_t count = 0;
    tsw_status_t status = rows != NULL ? TSW_OK : tsw_err_nomem(err);
    for (; status == TSW_OK && count < group->selected_count; count++) {
        rows[count] = row_of(group->selected[count]);
        if (rows[count] == NULL)
            status = tsw_err_nomem(err);
    }
    tsw_key_format(reduction->digest, digest);
    snprintf(source, sizeof(source), "best of a %s%s of %zu shape%s, records %.12s",
             tsw_cli_is_simulated(dataset) ? "SIMULATED " : "", dataset->meta.purpose,
             group->cell_count, group->cell_count == 1 ? "" : "s", digest);
    if (status == TSW_OK)
        status = tsw_patch_replace(pack, group->arch, source, (const char *const *)rows, count, out,
                                   err);
    for (size_t i = 0; rows != NULL && i < count; i++)
        tsw_free(rows[i]);
    tsw_free(rows);
    return status;
}

/* The first group of the pack; another one means lists that one patch cannot have. */
static tsw_status_t find_group(const tsw_reduction_t *reduction, const char *name, size_t *index_p,
                               tsw_err_t *err)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < reduction->group_count; i++) {
        if (strcmp(reduction->groups[i].pack, name) != 0)
            continue;
        if (found != SIZE_MAX)
            return tsw_err_set(err, TSW_ERR_UNSUPPORTED,
                               "pack %s has results on several archs or tables of several "
                               "variants: promote a run of one",
                               name);
        found = i;
    }
    if (found == SIZE_MAX)
        return tsw_err_set(err, TSW_ERR_ARG, "the run has no usable result of a pack '%s'", name);
    *index_p = found;
    return TSW_OK;
}

static tsw_status_t write_patch(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                                const tsw_cli_verdicts_t *verdicts, size_t index, tsw_buf_t *out,
                                tsw_err_t *err)
{
    const tsw_group_t *group = &reduction->groups[index];
    const tsw_pack_t *pack = verdicts->items[index].pack;
    tsw_buf_t after = TSW_BUF_INIT;
    char name[96];
    if (pack == NULL)
        return tsw_err_set(err, TSW_ERR_NOT_FOUND,
                           "the files of pack %s, as they were measured, are neither in the run "
                           "nor among the shipped ones",
                           group->pack);
    const tsw_fileset_item_t *before = tsw_fileset_find(&pack->files, "kernel.yaml");
    snprintf(name, sizeof(name), "%s/kernel.yaml", group->pack);
    tsw_status_t status = patch_group(dataset, reduction, group, pack, &after, err);
    if (status == TSW_OK)
        status = tsw_patch_diff((const char *)before->bytes, tsw_buf_text(&after), name, out, err);
    tsw_buf_fini(&after);
    return status;
}

static tsw_status_t check_purpose(const tsw_dataset_t *dataset, tsw_err_t *err)
{
    if (strcmp(dataset->meta.purpose, "probe") == 0 ||
        strcmp(dataset->meta.purpose, "research") == 0)
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_UNSUPPORTED,
                       "the run's purpose is '%s': what it chose is in its tables already",
                       dataset->meta.purpose);
}

static tsw_status_t promote(const tsw_words_t *words, void *user, int *exit_p, tsw_err_t *err)
{
    const promote_args_t *args = user;
    tsw_dataset_t dataset = {0};
    tsw_reduction_t *reduction = NULL;
    tsw_cli_verdicts_t verdicts = {0};
    tsw_buf_t out = TSW_BUF_INIT;
    size_t index = 0;
    (void)exit_p;
    tsw_status_t status = tsw_cli_read(words->items, 1, &dataset, err);
    if (status == TSW_OK)
        status = check_purpose(&dataset, err);
    if (status == TSW_OK)
        status = tsw_cli_reduce_with_roofs(&dataset, 8, &reduction, err);
    if (status == TSW_OK)
        status = tsw_cli_verdicts_make(reduction, words->items, 1, &verdicts, err);
    if (status == TSW_OK)
        status = find_group(reduction, words->items[1], &index, err);
    if (status == TSW_OK)
        status = write_patch(&dataset, reduction, &verdicts, index, &out, err);
    if (status == TSW_OK && args->output != NULL)
        status = tsw_file_write_atomic(args->output, out.data, out.size, err);
    else if (status == TSW_OK)
        fputs(tsw_buf_text(&out), stdout);
    tsw_buf_fini(&out);
    tsw_cli_verdicts_fini(&verdicts);
    tsw_reduction_free(reduction);
    tsw_dataset_fini(&dataset);
    return status;
}

int tsw_cli_promote(int argc, char **argv)
{
    promote_args_t args = {0};
    const tsw_option_t options[] = {
        {"output", 'o', "FILE", TSW_OPTION_TEXT, &args.output,
         "Where the patch goes (default: standard output)", NULL},
    };
    const tsw_cli_spec_t spec = {
        .command = "promote",
        .usage = "RUN|SWEEP.h5 PACK",
        .summary = "A patch of kernel.yaml that puts the best 8 configs of a probe, or of "
                   "research, in place of the list of its architecture. It changes nothing else; "
                   "what is released comes from a normal run of the new list.",
        .notes = "Apply it in the folder of the packs: patch -p1 -d kernels < FILE",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 2,
        .max_words = 2,
    };
    return tsw_cli_main(&spec, argc, argv, promote, &args);
}
