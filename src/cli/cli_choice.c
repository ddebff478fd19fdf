#include "cli/cli_choice.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli_grid.h"
#include "cli/cli_input.h"
#include "pack/job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

tsw_reduce_options_t tsw_cli_reduce_options(size_t max_configs)
{
    return (tsw_reduce_options_t){
        .max_configs = max_configs, .indifference = 0.005, .confidence = 0.95};
}

/* ---- text ---- */

static const char *mode_word(const tsw_dataset_t *dataset)
{
    const char *mode = dataset->meta.mode;
    return strcmp(mode, "sim") == 0      ? ", simulated"
           : strcmp(mode, "replay") == 0 ? ", replayed"
                                         : "";
}

/* The result of a config in a cell; NULL when the cell does not have it. */
static const tsw_config_result_t *find_config(const tsw_cell_summary_t *cell, const char *text)
{
    for (size_t i = 0; i < cell->config_count; i++)
        if (strcmp(cell->configs[i].config, text) == 0)
            return &cell->configs[i];
    return NULL;
}

static uint32_t count_ties(const tsw_cell_summary_t *cell)
{
    uint32_t ties = 0;
    for (size_t i = 0; i < cell->config_count; i++)
        ties += cell->configs[i].in_tie_set && (int32_t)i != cell->winner ? 1 : 0;
    return ties;
}

static double speedup_of(const tsw_config_result_t *config)
{
    return config->vs_baseline.n > 0 ? exp(-config->vs_baseline.log_ratio) : 0;
}

/* "(1.180, 1.220)"; "-" where there is no pair. */
static void format_ratio_interval(const tsw_paired_t *pair, char *out, size_t size)
{
    if (pair->n == 0)
        snprintf(out, size, "-");
    else
        snprintf(out, size, "(%.3f, %.3f)", exp(-pair->high), exp(-pair->low));
}

static void format_time_interval(const tsw_config_result_t *config, char *out, size_t size)
{
    char low[32], high[32];
    snprintf(out, size, "(%s, %s)", tsw_text_format_ns(config->ci_low_ns, low),
             tsw_text_format_ns(config->ci_high_ns, high));
}

static void add_cell_row(tsw_grid_t *grid, const tsw_group_t *group, size_t index)
{
    const tsw_cell_summary_t *cell = group->cells[index];
    const char *chosen = group->selected[group->choice[index]];
    const tsw_config_result_t *config = find_config(cell, chosen);
    char time[32], interval[80], ratio_interval[48];
    if (config == NULL)
        return;
    format_time_interval(config, interval, sizeof(interval));
    format_ratio_interval(&config->vs_baseline, ratio_interval, sizeof(ratio_interval));
    tsw_grid_text(grid, cell->cell->shape);
    tsw_grid_text(grid, cell->cell->variant);
    tsw_grid_number(grid, group->choice[index]);
    tsw_grid_text(grid, tsw_text_format_ns(config->time_ns.median, time));
    tsw_grid_text(grid, interval);
    tsw_grid_number(grid, speedup_of(config));
    tsw_grid_text(grid, ratio_interval);
    tsw_grid_number(grid, count_ties(cell));
    tsw_grid_number(grid, 100 * group->choice_regret[index]);
}

static tsw_status_t print_rows(const tsw_group_t *group, tsw_buf_t *out, tsw_err_t *err)
{
    static const tsw_column_t columns[] = {
        {"shape", false, 0},    {"variant", false, 0},  {"use", true, 0},
        {"median", false, 0},   {"interval", false, 0}, {"x baseline", true, 3},
        {"interval", false, 0}, {"ties", true, 0},      {"regret %", true, 2},
    };
    tsw_grid_t grid = tsw_grid(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < group->cell_count; i++)
        if (group->cells[i]->winner >= 0)
            add_cell_row(&grid, group, i);
    tsw_status_t status = tsw_grid_render(&grid, TSW_FORMAT_TEXT, out, err);
    tsw_grid_fini(&grid);
    return status;
}

static tsw_status_t print_group(const tsw_dataset_t *dataset, const tsw_group_t *group,
                                tsw_buf_t *out, tsw_err_t *err)
{
    char arch[16];
    tsw_buf_printf(out, "\n%s%s%s on %s%s: %zu of %zu configs for %zu shapes\n", group->pack,
                   group->variant != NULL ? " " : "", group->variant != NULL ? group->variant : "",
                   tsw_arch_format(group->arch, arch), mode_word(dataset), group->selected_count,
                   group->candidate_count, group->cell_count);
    tsw_buf_printf(out,
                   "  regret, mean and worst: these %.2f %% %.2f %%, all configs %.2f %% %.2f %%, "
                   "baseline alone %.2f %% %.2f %%\n",
                   100 * group->mean_regret, 100 * group->worst_regret,
                   100 * group->full_mean_regret, 100 * group->full_worst_regret,
                   100 * group->baseline_mean_regret, 100 * group->baseline_worst_regret);
    if (group->dropped_winner_count > 0)
        tsw_buf_printf(out, "  winners of a shape that did not fit: %zu\n",
                       group->dropped_winner_count);
    for (size_t i = 0; i < group->selected_count; i++)
        tsw_buf_printf(out, "  %2zu  %s%s\n", i, group->selected[i], i == 0 ? "  (baseline)" : "");
    return print_rows(group, out, err);
}

/* "sm_90 matmul dtype=f16 M=8 N=8: nothing usable: 3 wrong_result, 1 compile_failed" */
static void print_unusable(const tsw_cell_summary_t *cell, tsw_buf_t *out)
{
    char arch[16];
    size_t counts[TSW_OUTCOME_COUNT] = {0};
    const char *details[TSW_OUTCOME_COUNT] = {NULL};
    for (size_t i = 0; i < cell->config_count; i++) {
        const tsw_outcome_t outcome = cell->configs[i].outcome;
        if (counts[outcome]++ == 0)
            details[outcome] = cell->configs[i].detail;
    }
    tsw_buf_printf(out, "\n%s on %s, %s %s: nothing usable\n", cell->cell->pack,
                   tsw_arch_format(cell->cell->arch, arch), cell->cell->variant, cell->cell->shape);
    for (int o = 0; o < TSW_OUTCOME_COUNT; o++)
        if (counts[o] > 0)
            tsw_buf_printf(out, "  %zu x %s%s%s\n", counts[o], tsw_outcome_name((tsw_outcome_t)o),
                           details[o] != NULL && details[o][0] != '\0' ? ", first: " : "",
                           details[o] != NULL ? details[o] : "");
}

tsw_status_t tsw_cli_choice_print(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                                  tsw_buf_t *out, tsw_err_t *err)
{
    tsw_buf_append_text(out, tsw_cli_mark(dataset->meta.mode));
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < reduction->group_count; i++)
        status = print_group(dataset, &reduction->groups[i], out, err);
    for (size_t i = 0; i < reduction->cell_count; i++)
        if (reduction->cells[i].winner < 0)
            print_unusable(&reduction->cells[i], out);
    if (status == TSW_OK && !tsw_buf_ok(out))
        status = tsw_err_nomem(err);
    return status;
}

/* ---- tables ---- */

static tsw_status_t fill_row(const tsw_group_t *group, size_t index, tsw_table_row_t *row,
                             tsw_err_t *err)
{
    const tsw_cell_summary_t *cell = group->cells[index];
    const tsw_config_result_t *config = find_config(cell, group->selected[group->choice[index]]);
    row->variant = tsw_strdup(cell->cell->variant);
    row->shape = tsw_strdup(cell->cell->shape);
    if (row->variant == NULL || row->shape == NULL)
        return tsw_err_nomem(err);
    if (config == NULL)
        return tsw_err_set(err, TSW_ERR_BUG, "the chosen config is not in its cell");
    row->config = group->choice[index];
    row->time_ns = config->time_ns.median;
    row->ci_low_ns = config->ci_low_ns;
    row->ci_high_ns = config->ci_high_ns;
    row->speedup = speedup_of(config);
    row->regret = group->choice_regret[index];
    row->tie_count = count_ties(cell);
    return TSW_OK;
}

static tsw_status_t fill_pack(const tsw_group_t *group, tsw_table_pack_t *pack, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    pack->name = tsw_strdup(group->pack);
    pack->variant = group->variant != NULL ? tsw_strdup(group->variant) : NULL;
    pack->configs = tsw_calloc(group->selected_count + 1, sizeof(*pack->configs));
    pack->rows = tsw_calloc(group->cell_count + 1, sizeof(*pack->rows));
    if (pack->name == NULL || (group->variant != NULL && pack->variant == NULL) ||
        pack->configs == NULL || pack->rows == NULL)
        return tsw_err_nomem(err);
    pack->pack_key = group->cells[0]->cell->pack_key;
    pack->mean_regret = group->mean_regret;
    pack->worst_regret = group->worst_regret;
    pack->baseline_mean_regret = group->baseline_mean_regret;
    pack->baseline_worst_regret = group->baseline_worst_regret;
    pack->candidate_count = group->candidate_count;
    for (; pack->config_count < group->selected_count; pack->config_count++) {
        pack->configs[pack->config_count] = tsw_strdup(group->selected[pack->config_count]);
        if (pack->configs[pack->config_count] == NULL)
            return tsw_err_nomem(err);
    }
    for (size_t i = 0; status == TSW_OK && i < group->cell_count; i++)
        if (group->cells[i]->winner >= 0)
            status = fill_row(group, i, &pack->rows[pack->row_count++], err);
    return status;
}

static tsw_status_t fill_head(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                              const tsw_cell_result_t *cell, tsw_table_t *table, tsw_err_t *err)
{
    table->schema = 1;
    table->arch = cell->arch;
    table->mode = tsw_strdup(dataset->meta.mode);
    table->purpose = tsw_strdup(dataset->meta.purpose);
    table->toolchain = tsw_strdup(dataset->meta.toolchain);
    table->device = tsw_strdup(cell->gpu.name);
    table->clocks = tsw_strdup(dataset->meta.clocks);
    table->cache_mode = tsw_strdup(cell->cache_mode == TSW_CACHE_HOT ? "hot" : "cold");
    table->digest = reduction->digest;
    if (table->mode == NULL || table->purpose == NULL || table->toolchain == NULL ||
        table->device == NULL || table->clocks == NULL || table->cache_mode == NULL)
        return tsw_err_nomem(err);
    return TSW_OK;
}

static tsw_status_t fill_table(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                               uint32_t arch, tsw_table_t *table, tsw_err_t *err)
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
            status = fill_head(dataset, reduction, group->cells[0]->cell, table, err);
        if (status == TSW_OK)
            status = fill_pack(group, &table->packs[table->pack_count++], err);
    }
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

tsw_status_t tsw_tables_make(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                             tsw_tables_t *tables_p, tsw_err_t *err)
{
    tsw_tables_t tables = {0};
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
        status = fill_table(dataset, reduction, archs[i], &tables.items[tables.count++], err);
    tsw_free(archs);
    if (status != TSW_OK) {
        tsw_tables_fini(&tables);
        return status;
    }
    *tables_p = tables;
    return TSW_OK;
}

void tsw_tables_fini(tsw_tables_t *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        tsw_table_fini(&tables->items[i]);
    tsw_free(tables->items);
    *tables = (tsw_tables_t){0};
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

tsw_status_t tsw_tables_write(const tsw_tables_t *tables, const char *dir, tsw_buf_t *out,
                              tsw_err_t *err)
{
    tsw_status_t status = tsw_dir_make(dir, err);
    for (size_t i = 0; status == TSW_OK && i < tables->count; i++)
        status = write_table(&tables->items[i], dir, out, err);
    return status;
}

tsw_status_t tsw_tables_json(const tsw_tables_t *tables, tsw_buf_t *out, tsw_err_t *err)
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
