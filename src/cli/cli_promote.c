#include "base/file.h"
#include "base/mem.h"
#include "cli/cli_args.h"
#include "cli/cli_choice.h"
#include "cli/cli_commands.h"
#include "cli/cli_input.h"
#include "cli/cli_output.h"
#include "rules/patch.h"
#include "rules/widen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LIST_SIZE = 8 };

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

static bool is_among(const char *config, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], config) == 0)
            return true;
    }
    return false;
}

/* The weighted mean regret over all cells; infinite: an alias, or not usable in some cell. */
static double regret_of(const tsw_group_t *group, const char *config)
{
    double sum = 0, weights = 0;
    for (size_t c = 0; c < group->cell_count; c++) {
        const tsw_cell_summary_t *cell = group->cells[c];
        double regret = INFINITY;
        for (size_t i = 0; i < cell->config_count; i++) {
            const tsw_config_result_t *result = &cell->configs[i];
            if (result->usable && !result->is_alias && strcmp(result->config, config) == 0)
                regret = result->regret;
        }
        sum += cell->cell->weight * regret;
        weights += cell->cell->weight;
    }
    return sum / weights;
}

/* The best one that is not in the list; NULL: none is left that all cells can use. */
static const char *find_next(const tsw_group_t *group, const char *const *list, size_t count)
{
    const char *best = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < group->cells[0]->config_count; i++) {
        const char *config = group->cells[0]->configs[i].config;
        if (is_among(config, list, count))
            continue;
        double regret = regret_of(group, config);
        if (regret < least) {
            least = regret;
            best = config;
        }
    }
    return best;
}

/* What the choice keeps comes first, the best of all shapes fill the list. */
static size_t list_best(const tsw_group_t *group, const char *list[LIST_SIZE])
{
    size_t count = 0;
    for (; count < group->selected_count; count++)
        list[count] = group->selected[count];
    while (count < LIST_SIZE && (list[count] = find_next(group, list, count)) != NULL)
        count++;
    return count;
}

/* The pack's text with the list of the group's arch replaced by the best of the group. */
static tsw_status_t patch_group(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                                const tsw_group_t *group, const tsw_pack_t *pack, tsw_buf_t *out,
                                tsw_err_t *err)
{
    const char *best[LIST_SIZE];
    char *rows[LIST_SIZE];
    char source[200], digest[TSW_KEY_TEXT_SIZE];
    size_t best_count = list_best(group, best);
    size_t count = 0;
    tsw_status_t status = TSW_OK;
    for (; status == TSW_OK && count < best_count; count++) {
        rows[count] = row_of(best[count]);
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
    for (size_t i = 0; i < count; i++)
        tsw_free(rows[i]);
    return status;
}

static tsw_status_t no_such_pack(const tsw_reduction_t *reduction, const char *name, tsw_err_t *err)
{
    tsw_buf_t packs = TSW_BUF_INIT;
    for (size_t i = 0; i < reduction->group_count; i++) {
        const char *pack = reduction->groups[i].pack;
        if (i == 0 || strcmp(pack, reduction->groups[i - 1].pack) != 0)
            tsw_buf_printf(&packs, "%s%s", i > 0 ? ", " : "", pack);
    }
    tsw_status_t status =
        tsw_err_set(err, TSW_ERR_ARG, "the run has no usable result of a pack '%s', it has %s",
                    name, packs.size > 0 ? tsw_buf_text(&packs) : "none of any pack");
    tsw_buf_fini(&packs);
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
        return no_such_pack(reduction, name, err);
    if (reduction->groups[found].selected_count < 2)
        return tsw_err_set(err, TSW_ERR_UNSUPPORTED,
                           "nothing to promote: no config of the run is faster than the baseline "
                           "of pack %s on any of its shapes",
                           name);
    *index_p = found;
    return TSW_OK;
}

static const char *yaml_of(const tsw_pack_t *pack)
{
    return (const char *)tsw_fileset_find(&pack->files, "kernel.yaml")->bytes;
}

static tsw_status_t write_patch(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                                const tsw_cli_verdicts_t *verdicts, size_t index, tsw_buf_t *out,
                                tsw_err_t *err)
{
    const tsw_group_t *group = &reduction->groups[index];
    const tsw_pack_t *pack = verdicts->items[index].pack;
    tsw_buf_t best = TSW_BUF_INIT;
    tsw_pack_t *after = NULL;
    size_t left = 0;
    char name[96];
    if (pack == NULL)
        return tsw_err_set(err, TSW_ERR_NOT_FOUND,
                           "the files of pack %s, as they were measured, are neither in the run "
                           "nor among the shipped ones",
                           group->pack);
    snprintf(name, sizeof(name), "%s/kernel.yaml", group->pack);
    tsw_status_t status = patch_group(dataset, reduction, group, pack, &best, err);
    if (status == TSW_OK) /* the best need not cover the dimensions, a list has to */
        status = tsw_widen(pack, tsw_buf_text(&best), group->arch, &after, &left, err);
    if (status == TSW_OK)
        status = tsw_patch_diff(yaml_of(pack), yaml_of(after), name, out, err);
    tsw_buf_fini(&best);
    tsw_pack_free(after);
    return status;
}

static tsw_status_t check_purpose(const tsw_dataset_t *dataset, tsw_err_t *err)
{
    if (strcmp(dataset->meta.purpose, "probe") == 0 ||
        strcmp(dataset->meta.purpose, "research") == 0)
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_UNSUPPORTED,
                       "the run's purpose is '%s': a patch comes from a probe or from research%s",
                       dataset->meta.purpose,
                       strcmp(dataset->meta.purpose, "release") == 0
                           ? ", what this one chose is in its tables already"
                           : "");
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
    tsw_status_t status = tsw_cli_check_output(args->output, TSW_PATCH_START, "a patch", err);
    if (status == TSW_OK)
        status = tsw_cli_read(words->items, 1, &dataset, err);
    if (status == TSW_OK)
        status = check_purpose(&dataset, err);
    if (status == TSW_OK)
        status = tsw_cli_reduce_with_roofs(&dataset, LIST_SIZE, &reduction, err);
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
                   "research, in place of the list of its architecture, and the rows that the "
                   "lint wants beside them. It changes nothing else; what is released comes from a "
                   "normal run of the new list.",
        .notes = "Apply it in the folder of the packs: patch -p1 -d kernels < FILE",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .min_words = 2,
        .max_words = 2,
    };
    return tsw_cli_main(&spec, argc, argv, promote, &args);
}
