#include "cli/cli_cell.h"

#include "base/text.h"
#include "cli/cli_args.h"
#include "cli/cli_input.h"
#include "cli/cli_once.h"
#include "plan/plan.h"
#include "space/space.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = TSW_DIM_MAX + TSW_FLAG_MAX + 1 };

/* ---- the words of the command line ---- */

typedef struct {
    const tsw_pack_t *pack;
    const char *dtype;
    const char *dims[TSW_DIM_MAX];
    const char *flags[TSW_FLAG_MAX];
} assignment_t;

/* Where the value of `name` goes; NULL: the pack has no such name. */
static const char **slot_of(assignment_t *assignment, const char *name)
{
    const tsw_pack_t *pack = assignment->pack;
    if (strcmp(name, "dtype") == 0)
        return &assignment->dtype;
    const int dim = tsw_pack_dim_index(pack, name);
    if (dim >= 0)
        return &assignment->dims[dim];
    for (size_t i = 0; i < pack->flag_count; i++)
        if (strcmp(pack->flags[i].name, name) == 0)
            return &assignment->flags[i];
    return NULL;
}

static tsw_status_t unknown_name(const tsw_pack_t *pack, const char *name, tsw_err_t *err)
{
    const char *known[NAMES_MAX] = {"dtype"};
    char text[TSW_ERR_TEXT_MAX];
    size_t count = 1;
    for (size_t i = 0; i < pack->dim_count; i++)
        known[count++] = pack->dims[i];
    for (size_t i = 0; i < pack->flag_count; i++)
        known[count++] = pack->flags[i].name;
    tsw_cli_unknown(text, sizeof(text), "name", name, known, count);
    return tsw_err_set(err, TSW_ERR_ARG, "pack %s: %s", pack->name, text);
}

static tsw_status_t check_flag(const tsw_flag_t *flag, const char *value, tsw_err_t *err)
{
    char what[80];
    char text[TSW_ERR_TEXT_MAX];
    for (size_t i = 0; i < flag->value_count; i++)
        if (strcmp(flag->values[i], value) == 0)
            return TSW_OK;
    snprintf(what, sizeof(what), "value of %s", flag->name);
    tsw_cli_unknown(text, sizeof(text), what, value, (const char *const *)flag->values,
                    flag->value_count);
    return tsw_err_set(err, TSW_ERR_ARG, "%s", text);
}

/* What the pack needs is there and of the right kind; a flag left out takes its first value, a
 * dtype the pack's first. */
static tsw_status_t complete_assignment(assignment_t *assignment, tsw_err_t *err)
{
    const tsw_pack_t *pack = assignment->pack;
    int64_t value = 0;
    for (size_t i = 0; i < pack->dim_count; i++) {
        const char *text = assignment->dims[i];
        if (text == NULL)
            return tsw_err_set(err, TSW_ERR_ARG, "pack %s needs a value for %s, e.g. %s=1024",
                               pack->name, pack->dims[i], pack->dims[i]);
        if (!tsw_text_parse_i64(text, &value) || value < 0)
            return tsw_err_set(err, TSW_ERR_ARG, "%s=%s: no whole number from 0 on that fits",
                               pack->dims[i], text);
    }
    for (size_t i = 0; i < pack->flag_count; i++) {
        if (assignment->flags[i] == NULL)
            assignment->flags[i] = pack->flags[i].values[0];
        tsw_status_t status = check_flag(&pack->flags[i], assignment->flags[i], err);
        if (status != TSW_OK)
            return status;
    }
    for (int d = 0; assignment->dtype == NULL && d < TSW_DTYPE_COUNT; d++)
        if (pack->dtypes[d])
            assignment->dtype = tsw_dtype_name((tsw_dtype_t)d);
    return TSW_OK;
}

static tsw_status_t read_words(const tsw_one_cell_t *cell, assignment_t *assignment, tsw_err_t *err)
{
    for (size_t i = 1; i < cell->word_count; i++) {
        const char *word = cell->words[i];
        const char *equals = strchr(word, '=');
        char name[TSW_NAME_SIZE];
        if (equals == NULL || (size_t)(equals - word) >= sizeof(name))
            return tsw_err_set(err, TSW_ERR_ARG, "'%s' is not NAME=VALUE", word);
        snprintf(name, sizeof(name), "%.*s", (int)(equals - word), word);
        const char **slot = slot_of(assignment, name);
        if (slot == NULL)
            return unknown_name(assignment->pack, name, err);
        if (*slot != NULL)
            return tsw_err_set(err, TSW_ERR_ARG, "%s is given twice", name);
        *slot = equals + 1;
    }
    return complete_assignment(assignment, err);
}

/* ---- the config ---- */

/* Value of a knob in "A=1 B=2"; false when it is not named there. */
static bool find_knob(const char *text, const char *name, const char **value_p, size_t *length_p)
{
    const size_t name_length = strlen(name);
    for (const char *at = text; *at != '\0';) {
        at += strspn(at, " ");
        const size_t length = strcspn(at, " ");
        if (length > name_length && at[name_length] == '=' && memcmp(at, name, name_length) == 0) {
            *value_p = at + name_length + 1;
            *length_p = length - name_length - 1;
            return true;
        }
        at += length;
    }
    return false;
}

/* The words given first, then the baseline's value of every knob that they leave out. */
static tsw_status_t read_config(const tsw_pack_t *pack, tsw_arch_t arch, const char *text,
                                tsw_config_t *config_p, tsw_err_t *err)
{
    const int64_t *baseline = tsw_pack_baseline(pack, arch);
    tsw_buf_t full = TSW_BUF_INIT;
    const char *value = NULL;
    size_t length = 0;
    tsw_buf_append_text(&full, text != NULL ? text : "");
    for (size_t i = 0; i < pack->knob_count; i++)
        if (text == NULL || !find_knob(text, pack->knobs[i].name, &value, &length))
            tsw_buf_printf(&full, "%s%s=%lld", full.size > 0 ? " " : "", pack->knobs[i].name,
                           (long long)baseline[i]);
    tsw_status_t status = tsw_buf_ok(&full)
                              ? tsw_config_parse(pack, tsw_buf_text(&full), config_p, err)
                              : tsw_err_nomem(err);
    tsw_buf_fini(&full);
    return status;
}

/* ---- the job ---- */

static void print_job(const tsw_one_cell_t *cell, const assignment_t *assignment, tsw_arch_t arch,
                      const tsw_config_t *config, const char *pack_name, tsw_buf_t *out)
{
    const tsw_pack_t *pack = assignment->pack;
    char arch_name[16];
    tsw_buf_printf(out, "name: bench\npurpose: research\narchs: [%s]\npacks:\n",
                   tsw_arch_format(arch, arch_name));
    tsw_buf_printf(out, "  - pack: %s\n    dtypes: [%s]\n", pack_name, assignment->dtype);
    for (size_t i = 0; i < pack->flag_count; i++)
        tsw_buf_printf(out, "%s%s: [%s]%s", i == 0 ? "    flags: {" : ", ", pack->flags[i].name,
                       assignment->flags[i], i + 1 == pack->flag_count ? "}\n" : "");
    tsw_buf_append_text(out, "    shapes:\n      - {");
    for (size_t i = 0; i < pack->dim_count; i++)
        tsw_buf_printf(out, "%s%s: %s", i > 0 ? ", " : "", pack->dims[i], assignment->dims[i]);
    tsw_buf_append_text(out, "}\n    space:\n      - {");
    for (size_t i = 0; i < pack->knob_count; i++)
        tsw_buf_printf(out, "%s%s: %lld", i > 0 ? ", " : "", pack->knobs[i].name,
                       (long long)config->values[i]);
    tsw_buf_printf(out,
                   "}\nmeasure:\n  protocol: %s\n  rounds: %u\n  warmup: %u\n  cache: %s\n"
                   "  seed: 1\n",
                   cell->protocol, cell->rounds, cell->warmup, cell->hot ? "hot" : "cold");
}

/* ---- the pack ---- */

/* With tuning switched off there is the baseline and nothing else. */
static tsw_status_t check_allowed(const tsw_pack_t *pack, tsw_arch_t arch,
                                  const tsw_config_t *config, tsw_err_t *err)
{
    const char *off = tsw_cli_autotune_off();
    if (off == NULL || tsw_key_equal(config->key, tsw_config_baseline(pack, arch).key))
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_ARG,
                       "--config: %s is set, which leaves the fixed config of pack %s alone", off,
                       pack->name);
}

static const tsw_filter_t *find_removal(const tsw_filter_report_t *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->filters[i].removed > 0)
            return &report->filters[i];
    return NULL;
}

/* Before anything is built: does a filter take the config of the one-cell job? What else is wrong
 * with the job is found when it runs. */
static tsw_status_t check_possible(const char *job_text, const tsw_fileset_t *files,
                                   const tsw_pack_t *pack, const char *config, tsw_err_t *err)
{
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_job_t *job = NULL;
    tsw_plan_t *plan = NULL;
    tsw_err_t later = {0};
    const tsw_filter_t *filter = NULL;
    tsw_status_t status = tsw_once_snapshot(job_text, files, pack->name, &snapshot, err);
    if (status == TSW_OK && tsw_job_read(&snapshot, &job, &later) == TSW_OK &&
        tsw_plan_make(job, &plan, &later) == TSW_OK && plan->cells[0].skip_reason == NULL) {
        filter = find_removal(&plan->variants[0].spaces[0].report);
        if (filter == NULL)
            filter = find_removal(&plan->cells[0].report);
    }
    if (filter != NULL)
        status = tsw_err_set(err, TSW_ERR_ARG,
                             "the config %s is not possible for this shape and architecture: %s "
                             "removes it (%s)",
                             config, filter->name, filter->reason);
    tsw_plan_free(plan);
    tsw_job_free(job);
    tsw_fileset_fini(&snapshot);
    return status;
}

/* The snapshot of the one-cell job, and the canonical text of its config. */
static tsw_status_t prepare(const tsw_one_cell_t *cell, tsw_fileset_t *snapshot,
                            tsw_buf_t *config_text, tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_config_t config = {0};
    tsw_arch_t arch = 0;
    tsw_buf_t job = TSW_BUF_INIT;
    tsw_status_t status = tsw_once_pack_files(cell->words[0], cell->kernels, &files, err);
    if (status == TSW_OK)
        status = tsw_pack_read(&files, &pack, err);
    assignment_t assignment = {.pack = pack};
    if (status == TSW_OK)
        status = read_words(cell, &assignment, err);
    if (status == TSW_OK)
        status = tsw_once_arch(cell->device, &arch, err);
    if (status == TSW_OK)
        status = read_config(pack, arch, cell->config, &config, err);
    if (status == TSW_OK)
        status = check_allowed(pack, arch, &config, err);
    if (status == TSW_OK) {
        tsw_config_format(pack, &config, config_text);
        print_job(cell, &assignment, arch, &config, pack->name, &job);
        status = tsw_buf_ok(&job) && tsw_buf_ok(config_text)
                     ? tsw_once_snapshot(tsw_buf_text(&job), &files, pack->name, snapshot, err)
                     : tsw_err_nomem(err);
    }
    if (status == TSW_OK && !tsw_key_equal(config.key, tsw_config_baseline(pack, arch).key))
        status = check_possible(tsw_buf_text(&job), &files, pack, tsw_buf_text(config_text), err);
    tsw_buf_fini(&job);
    tsw_pack_free(pack);
    tsw_fileset_fini(&files);
    return status;
}

/* ---- the run ---- */

static const tsw_record_t *follow_alias(const tsw_cell_result_t *cell, const tsw_record_t *record)
{
    if (record->outcome != TSW_OUTCOME_ALIAS)
        return record;
    for (size_t i = 0; i < cell->record_count; i++)
        if (cell->records[i].config_index == record->alias_of)
            return &cell->records[i];
    return record;
}

static tsw_status_t find_records(const char *config, tsw_one_result_t *result, tsw_err_t *err)
{
    if (result->dataset.cell_count != 1)
        return tsw_err_set(err, TSW_ERR_BUG, "%zu cells instead of one",
                           result->dataset.cell_count);
    const tsw_cell_result_t *cell = &result->dataset.cells[0];
    for (size_t i = 0; i < cell->record_count; i++) {
        if (cell->records[i].config_index == 0)
            result->baseline = follow_alias(cell, &cell->records[i]);
        if (strcmp(cell->config_texts[i], config) == 0) {
            result->record = follow_alias(cell, &cell->records[i]);
            result->config = cell->config_texts[i];
        }
    }
    if (result->record == NULL)
        return tsw_err_set(err, TSW_ERR_BUG, "no record of the config %s", config);
    return TSW_OK;
}

tsw_status_t tsw_one_cell_run(const tsw_one_cell_t *cell, const char *invocation,
                              tsw_one_result_t *result_p, tsw_err_t *err)
{
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_buf_t config = TSW_BUF_INIT;
    tsw_one_result_t result = {0};
    tsw_run_summary_t summary = {0};
    const tsw_run_options_t options = {
        .device = cell->device,
        .toolchain = cell->toolchain,
        .cache_dir = cell->cache_dir,
        .locked_mhz = cell->locked_mhz,
        .timer_p = cell->check_timer ? &result.timer : NULL,
        .invocation = invocation,
    };
    tsw_status_t status = prepare(cell, &snapshot, &config, err);
    if (status == TSW_OK)
        status = tsw_once_run(&snapshot, &options, &result.dataset, &summary, err);
    if (status == TSW_OK && summary.cells_skipped > 0)
        status = tsw_err_set(err, TSW_ERR_ARG, "the shape is empty, there is nothing to launch");
    if (status == TSW_OK)
        status = find_records(tsw_buf_text(&config), &result, err);
    if (status == TSW_OK)
        *result_p = result;
    else
        tsw_one_result_fini(&result);
    tsw_buf_fini(&config);
    tsw_fileset_fini(&snapshot);
    return status;
}

void tsw_one_result_fini(tsw_one_result_t *result)
{
    tsw_dataset_fini(&result->dataset);
    *result = (tsw_one_result_t){0};
}
