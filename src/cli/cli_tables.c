#include "cli/cli_tables.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli_choice.h"
#include "pack/job.h"
#include "record/stability.h"

#include <stdio.h>
#include <string.h>

/* As reports have it: millijoules. NaN: not tried. */
static void fill_energy(const tsw_config_result_t *config, tsw_table_row_t *row)
{
    row->energy_mj = 1e3 * config->joules;
    row->energy_low_mj = 1e3 * config->joules_low;
    row->energy_high_mj = 1e3 * config->joules_high;
    row->power_w = config->watts;
}

static tsw_status_t fill_row(const tsw_group_t *group, size_t index,
                             const tsw_config_result_t *config, tsw_table_row_t *row,
                             tsw_err_t *err)
{
    const tsw_cell_summary_t *cell = group->cells[index];
    row->variant = tsw_strdup(cell->cell->variant);
    row->shape = tsw_strdup(cell->cell->shape);
    if (row->variant == NULL || row->shape == NULL)
        return tsw_err_nomem(err);
    row->config = group->choice[index];
    row->time_ns = config->time_ns.median;
    row->ci_low_ns = config->ci_low_ns;
    row->ci_high_ns = config->ci_high_ns;
    row->speedup = config->vs_baseline.n > 0 ? tsw_cli_speedup(config) : 0;
    row->regret = group->choice_regret[index];
    row->tie_count = cell->tie_count;
    fill_energy(config, row);
    if (config->unstable != 0) {
        char text[TSW_UNSTABLE_TEXT_SIZE];
        row->unstable = tsw_strdup(tsw_unstable_format(config->unstable, text));
    }
    return config->unstable == 0 || row->unstable != NULL ? TSW_OK : tsw_err_nomem(err);
}

static tsw_status_t fill_pack(const tsw_group_t *group, const tsw_cli_verdict_t *verdict,
                              tsw_table_pack_t *pack, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    pack->name = tsw_strdup(group->pack);
    pack->variant = group->variant != NULL ? tsw_strdup(group->variant) : NULL;
    pack->configs = tsw_calloc(group->selected_count + 1, sizeof(*pack->configs));
    pack->rows = tsw_calloc(group->cell_count + 1, sizeof(*pack->rows));
    pack->verdict = tsw_strdup(tsw_verdict_name(verdict->verdict));
    if (pack->name == NULL || pack->verdict == NULL ||
        (group->variant != NULL && pack->variant == NULL) || pack->configs == NULL ||
        pack->rows == NULL)
        return tsw_err_nomem(err);
    pack->pack_key = group->cells[0]->cell->pack_key;
    pack->mean_regret = group->mean_regret;
    pack->worst_regret = group->worst_regret;
    pack->baseline_mean_regret = group->baseline_mean_regret;
    pack->baseline_worst_regret = group->baseline_worst_regret;
    pack->candidate_count = group->candidate_count;
    pack->gain = group->gain.ratio;
    pack->gain_low = group->gain.low;
    pack->gain_high = group->gain.high;
    for (; pack->config_count < group->selected_count; pack->config_count++) {
        pack->configs[pack->config_count] = tsw_strdup(group->selected[pack->config_count]);
        if (pack->configs[pack->config_count] == NULL)
            return tsw_err_nomem(err);
    }
    for (size_t i = 0; status == TSW_OK && i < group->cell_count; i++) {
        const tsw_config_result_t *config = tsw_cli_chosen(group, i);
        if (config != NULL) /* a shape that no chosen config can do has no row */
            status = fill_row(group, i, config, &pack->rows[pack->row_count++], err);
    }
    return status;
}

/* "NVIDIA H100, NVIDIA H200": the devices that measured for an arch, each once, by name. */
static void list_devices(const tsw_dataset_t *dataset, uint32_t arch, tsw_buf_t *out)
{
    const char *last = "";
    for (;;) {
        const char *next = NULL;
        for (size_t i = 0; i < dataset->cell_count; i++) {
            const char *name = dataset->cells[i].gpu.name;
            if (dataset->cells[i].arch == arch && strcmp(name, last) > 0 &&
                (next == NULL || strcmp(name, next) < 0))
                next = name;
        }
        if (next == NULL)
            return;
        tsw_buf_printf(out, "%s%s", out->size > 0 ? ", " : "", next);
        last = next;
    }
}

static char *copy_or_empty(const char *text)
{
    return tsw_strdup(text != NULL ? text : "");
}

static tsw_status_t fill_head(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                              uint32_t arch, uint8_t cache_mode, tsw_table_t *table, tsw_err_t *err)
{
    const tsw_run_meta_t *meta = &dataset->meta;
    tsw_buf_t devices = TSW_BUF_INIT;
    list_devices(dataset, arch, &devices);
    table->schema = TSW_TABLE_SCHEMA;
    table->arch = arch;
    table->mode = copy_or_empty(meta->mode);
    table->purpose = copy_or_empty(meta->purpose);
    table->toolchain = copy_or_empty(meta->toolchain);
    table->device = tsw_buf_ok(&devices) ? tsw_strdup(tsw_buf_text(&devices)) : NULL;
    table->clocks = copy_or_empty(meta->clocks);
    table->cache_mode = tsw_strdup(cache_mode == TSW_CACHE_HOT ? "hot" : "cold");
    table->objective = tsw_strdup(meta->objective != NULL && meta->objective[0] != '\0'
                                      ? meta->objective
                                      : tsw_objective_name(TSW_OBJECTIVE_MEDIAN));
    table->digest = reduction->digest;
    tsw_buf_fini(&devices);
    if (table->mode == NULL || table->purpose == NULL || table->toolchain == NULL ||
        table->device == NULL || table->clocks == NULL || table->cache_mode == NULL ||
        table->objective == NULL)
        return tsw_err_nomem(err);
    return TSW_OK;
}

static tsw_status_t fill_table(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                               const tsw_cli_verdicts_t *verdicts, uint32_t arch,
                               tsw_table_t *table, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    table->packs = tsw_calloc(reduction->group_count, sizeof(*table->packs));
    if (table->packs == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; status == TSW_OK && i < reduction->group_count; i++) {
        const tsw_group_t *group = &reduction->groups[i];
        if (group->arch != arch || group->cell_count == 0)
            continue;
        if (table->pack_count == 0)
            status =
                fill_head(dataset, reduction, arch, group->cells[0]->cell->cache_mode, table, err);
        if (status == TSW_OK)
            status = fill_pack(group, &verdicts->items[i], &table->packs[table->pack_count++], err);
    }
    if (status == TSW_OK)
        tsw_table_sort(table);
    return status;
}

/* The archs of all groups with a cell, ascending; archs has room for one per group. */
static size_t list_archs(const tsw_reduction_t *reduction, uint32_t *archs)
{
    size_t count = 0;
    for (size_t i = 0; i < reduction->group_count; i++) {
        if (reduction->groups[i].cell_count == 0)
            continue;
        const uint32_t arch = reduction->groups[i].arch;
        size_t at = 0;
        while (at < count && archs[at] < arch)
            at++;
        if (at < count && archs[at] == arch)
            continue;
        memmove(archs + at + 1, archs + at, (count - at) * sizeof(*archs));
        archs[at] = arch;
        count++;
    }
    return count;
}

tsw_status_t tsw_cli_tables_make(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                                 const tsw_cli_verdicts_t *verdicts, tsw_cli_tables_t *tables_p,
                                 tsw_err_t *err)
{
    tsw_cli_tables_t tables = {0};
    if (strcmp(dataset->meta.purpose, tsw_purpose_name(TSW_PURPOSE_RELEASE)) != 0)
        return tsw_err_set(err, TSW_ERR_UNSUPPORTED,
                           "the job's purpose is '%s': its configs never enter a release table",
                           dataset->meta.purpose);
    if (reduction->group_count == 0) {
        *tables_p = tables;
        return TSW_OK;
    }
    uint32_t *archs = tsw_calloc(reduction->group_count, sizeof(*archs));
    tables.items = tsw_calloc(reduction->group_count, sizeof(*tables.items));
    tsw_status_t status = archs != NULL && tables.items != NULL ? TSW_OK : tsw_err_nomem(err);
    const size_t count = status == TSW_OK ? list_archs(reduction, archs) : 0;
    for (size_t i = 0; status == TSW_OK && i < count; i++)
        status =
            fill_table(dataset, reduction, verdicts, archs[i], &tables.items[tables.count++], err);
    tsw_free(archs);
    if (status != TSW_OK) {
        tsw_cli_tables_fini(&tables);
        return status;
    }
    *tables_p = tables;
    return TSW_OK;
}

void tsw_cli_tables_fini(tsw_cli_tables_t *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        tsw_table_fini(&tables->items[i]);
    tsw_free(tables->items);
    *tables = (tsw_cli_tables_t){0};
}

static tsw_status_t write_table(const tsw_table_t *table, const char *dir, tsw_buf_t *out,
                                tsw_err_t *err)
{
    char arch[16], name[32];
    tsw_buf_t json = TSW_BUF_INIT;
    snprintf(name, sizeof(name), "%s.json", tsw_arch_format(table->arch, arch));
    char *path = tsw_path_join(dir, name);
    tsw_status_t status = path != NULL ? tsw_table_write(table, &json, err) : tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_file_write_atomic(path, json.data, json.size, err);
    if (status == TSW_OK)
        tsw_buf_printf(out, "%s\n", path);
    tsw_free(path);
    tsw_buf_fini(&json);
    return status;
}

tsw_status_t tsw_cli_tables_write(const tsw_cli_tables_t *tables, const char *dir, tsw_buf_t *out,
                                  tsw_err_t *err)
{
    tsw_status_t status = tables->count > 0 ? tsw_dir_make(dir, err) : TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < tables->count; i++)
        status = write_table(&tables->items[i], dir, out, err);
    return status;
}

tsw_status_t tsw_cli_tables_json(const tsw_cli_tables_t *tables, tsw_buf_t *out, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    tsw_buf_append_text(out, "[");
    for (size_t i = 0; status == TSW_OK && i < tables->count; i++) {
        tsw_buf_append_text(out, i > 0 ? ",\n" : "\n");
        status = tsw_table_write(&tables->items[i], out, err);
    }
    tsw_buf_append_text(out, "]\n");
    return status == TSW_OK && !tsw_buf_ok(out) ? tsw_err_nomem(err) : status;
}
