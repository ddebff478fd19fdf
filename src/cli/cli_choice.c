#include "cli/cli_choice.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli_effort.h"
#include "cli/cli_failures.h"
#include "cli/cli_grid.h"
#include "cli/cli_input.h"
#include "cli/cli_roof.h"
#include "pack/arch.h"
#include "record/coverage.h"
#include "record/stability.h"
#include "table/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX     400 /* on a terminal; a table has them all */
#define UNSTABLE_MAX 8

tsw_status_t tsw_cli_reduce_with_roofs(const tsw_dataset_t *dataset, size_t max_configs,
                                       tsw_reduction_t **reduction_p, tsw_err_t *err)
{
    tsw_reduce_options_t options = tsw_reduce_options(max_configs);
    tsw_calibration_t *roofs = NULL;
    tsw_status_t status = tsw_roof_gather(dataset, &roofs, &options.calibration_count, err);
    options.calibrations = roofs;
    if (status == TSW_OK)
        status = tsw_reduce(dataset, &options, reduction_p, err);
    tsw_free(roofs);
    return status;
}

static const char *mode_word(const tsw_dataset_t *dataset)
{
    const char *mode = dataset->meta.mode;
    return strcmp(mode, "sim") == 0      ? ", simulated"
           : strcmp(mode, "replay") == 0 ? ", replayed"
                                         : "";
}

const tsw_config_result_t *tsw_cli_chosen(const tsw_group_t *group, size_t index)
{
    const tsw_cell_summary_t *cell = group->cells[index];
    if (group->choice[index] >= group->selected_count)
        return NULL;
    for (size_t i = 0; i < cell->config_count; i++)
        if (strcmp(cell->configs[i].config, group->selected[group->choice[index]]) == 0)
            return &cell->configs[i];
    return NULL;
}

double tsw_cli_speedup(const tsw_config_result_t *config)
{
    return config->vs_baseline.n > 0 ? exp(-config->vs_baseline.log_ratio) : (double)NAN;
}

/* Brackets tell an interval, (..), from the range of rounds that are too few for one, [..]. */
static void format_pair(const char *low, const char *high, double confidence, char *out,
                        size_t size)
{
    bool is_range = confidence < TSW_REDUCE_CONFIDENCE;
    snprintf(out, size, "%c%s, %s%c", is_range ? '[' : '(', low, high, is_range ? ']' : ')');
}

/* "(1.180, 1.220)"; "-" where the pairs are none, or do not decide. */
static void format_ratio_interval(const tsw_paired_t *pair, char *out, size_t size)
{
    char low[32], high[32];
    snprintf(out, size, "-");
    if (pair->n == 0 || isnan(pair->low))
        return;
    snprintf(low, sizeof(low), "%.3f", exp(-pair->high));
    snprintf(high, sizeof(high), "%.3f", exp(-pair->low));
    format_pair(low, high, pair->confidence, out, size);
}

/* "1.234 us", an estimate as "~1.234 us". */
static void format_time(const tsw_config_result_t *config, char *out, size_t size)
{
    char time[32];
    snprintf(out, size, "%s%s", config->is_estimate ? "~" : "",
             tsw_text_format_ns(config->time_ns.median, time));
}

static void format_time_interval(const tsw_config_result_t *config, char *out, size_t size)
{
    char low[32], high[32];
    snprintf(out, size, "-");
    if (!isnan(config->ci_low_ns))
        format_pair(tsw_text_format_ns(config->ci_low_ns, low),
                    tsw_text_format_ns(config->ci_high_ns, high), config->ci_confidence, out, size);
}

/* Whether a row has the range of too few rounds in place of an interval. */
static bool has_range(const tsw_group_t *group)
{
    for (size_t i = 0; i < group->cell_count; i++) {
        const tsw_config_result_t *config = tsw_cli_chosen(group, i);
        if (config != NULL &&
            ((!isnan(config->ci_low_ns) && config->ci_confidence < TSW_REDUCE_CONFIDENCE) ||
             (config->vs_baseline.n > 0 && !isnan(config->vs_baseline.low) &&
              config->vs_baseline.confidence < TSW_REDUCE_CONFIDENCE)))
            return true;
    }
    return false;
}

static bool knows_roof(const tsw_group_t *group)
{
    for (size_t i = 0; i < group->cell_count; i++)
        if (group->cells[i]->roof_ns > 0)
            return true;
    return false;
}

/* Whether winners are those of the energy. */
static bool is_by_energy(const tsw_group_t *group)
{
    for (size_t i = 0; i < group->cell_count; i++)
        if (!isnan(group->cells[i]->configs[group->cells[i]->winner].joules))
            return true;
    return false;
}

/* A shape that no chosen config can do has a row all the same. */
static void add_cell_row(tsw_grid_t *grid, const tsw_group_t *group, size_t index, bool by_energy,
                         bool with_roof)
{
    const tsw_cell_summary_t *cell = group->cells[index];
    const tsw_config_result_t *config = tsw_cli_chosen(group, index);
    char time[48] = "unusable", interval[80] = "", ratio_interval[80] = "";
    if (config != NULL) {
        format_time(config, time, sizeof(time));
        format_time_interval(config, interval, sizeof(interval));
        format_ratio_interval(&config->vs_baseline, ratio_interval, sizeof(ratio_interval));
    }
    tsw_grid_text(grid, cell->cell->shape);
    tsw_grid_text(grid, cell->cell->variant);
    tsw_grid_number(grid, config != NULL ? group->choice[index] : (double)NAN);
    tsw_grid_text(grid, time);
    tsw_grid_text(grid, interval);
    tsw_grid_measure(grid, config != NULL ? tsw_cli_speedup(config) : (double)NAN,
                     config != NULL && isnan(config->vs_baseline.low));
    tsw_grid_text(grid, ratio_interval);
    tsw_grid_number(grid, cell->tie_count);
    tsw_grid_number(grid, 100 * group->choice_regret[index]);
    if (by_energy) {
        tsw_grid_number(grid, config != NULL ? config->joules : (double)NAN);
        tsw_grid_number(grid, config != NULL ? config->watts : (double)NAN);
    }
    if (with_roof)
        tsw_grid_number(grid, config != NULL && cell->roof_ns > 0
                                  ? cell->roof_ns / config->time_ns.median
                                  : (double)NAN);
}

typedef struct {
    const tsw_cell_result_t *cell;
    size_t index; /* in the group */
} row_t;

static int compare_rows(const void *a, const void *b)
{
    const row_t *x = a, *y = b;
    int order = tsw_table_compare(x->cell->variant, y->cell->variant);
    if (order == 0)
        order = tsw_table_compare(x->cell->shape, y->cell->shape);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* The cells as a table has its rows; heap, NULL when out of memory. */
static row_t *order_of_cells(const tsw_group_t *group)
{
    row_t *rows = tsw_calloc(group->cell_count, sizeof(*rows));
    for (size_t i = 0; rows != NULL && i < group->cell_count; i++)
        rows[i] = (row_t){group->cells[i]->cell, i};
    if (rows != NULL)
        qsort(rows, group->cell_count, sizeof(*rows), compare_rows);
    return rows;
}

static tsw_status_t print_rows(const tsw_group_t *group, tsw_buf_t *out, tsw_err_t *err)
{
    tsw_column_t columns[12] = {
        {"shape", false, 0, false},    {"variant", false, 0, false},
        {"use", true, 0, false},       {"median", false, 0, false},
        {"interval", false, 0, false}, {"x baseline", true, 3, false},
        {"interval", false, 0, false}, {"ties", true, 0, false},
        {"regret %", true, 2, false},
    };
    bool by_energy = is_by_energy(group), with_roof = knows_roof(group);
    size_t count = 9;
    if (by_energy) {
        columns[count++] = (tsw_column_t){"J", true, 6, false};
        columns[count++] = (tsw_column_t){"W", true, 1, false};
    }
    if (with_roof)
        columns[count++] = (tsw_column_t){"x roof", true, 3, false};
    tsw_grid_t grid = tsw_grid(columns, count);
    row_t *rows = order_of_cells(group);
    tsw_status_t status = rows != NULL ? TSW_OK : tsw_err_nomem(err);
    for (size_t i = 0; status == TSW_OK && i < group->cell_count && i < ROWS_MAX; i++)
        add_cell_row(&grid, group, rows[i].index, by_energy, with_roof);
    if (status == TSW_OK)
        status = tsw_grid_render(&grid, TSW_FORMAT_TEXT, out, err);
    if (has_range(group))
        tsw_buf_append_text(out,
                            "  [a, b]: the range of fewer than 6 rounds, which covers less than "
                            "the 95 % of (a, b)\n");
    if (group->cell_count > ROWS_MAX)
        tsw_buf_printf(out, "  ... and %zu more: they are in the table, and in `show`\n",
                       group->cell_count - ROWS_MAX);
    tsw_free(rows);
    tsw_grid_fini(&grid);
    return status;
}

static void print_regret(const char *what, double mean, double worst, tsw_buf_t *out)
{
    if (isfinite(mean))
        tsw_buf_printf(out, "%s %.2f %% %.2f %%", what, 100 * mean, 100 * worst);
    else
        tsw_buf_printf(out, "%s: not usable for every shape", what);
}

static void print_dropped_dims(const tsw_group_t *group, tsw_buf_t *out)
{
    tsw_buf_t dims = TSW_BUF_INIT;
    tsw_reduce_dropped_dims(group, &dims);
    if (dims.size > 0)
        tsw_buf_printf(out, "  other values are dropped: %s is enough\n", tsw_buf_text(&dims));
    tsw_buf_fini(&dims);
}

/* For those who look around: which value of each dimension would do alone. */
static tsw_status_t print_values(const tsw_group_t *group, tsw_buf_t *out, tsw_err_t *err)
{
    tsw_value_regret_t *values = NULL;
    size_t count = 0;
    tsw_status_t status = tsw_reduce_values(group, &values, &count, err);
    for (size_t i = 0; status == TSW_OK && i < count; i++) {
        bool is_first = i == 0 || values[i].name_index != values[i - 1].name_index;
        if (is_first && (i + 1 == count || values[i + 1].name_index != values[i].name_index))
            continue; /* it has one value */
        if (is_first)
            tsw_buf_printf(out, "  one value alone, regret mean and worst: best %s",
                           values[i].text);
        else
            tsw_buf_printf(out, ", %s", values[i].text + values[i].name_size + 1);
        print_regret("", values[i].mean_regret, values[i].worst_regret, out);
        if (i + 1 == count || values[i + 1].name_index != values[i].name_index)
            tsw_buf_append_text(out, "\n");
    }
    tsw_free(values);
    return status;
}

/* Choices whose times did not stand still. */
static void print_unstable(const tsw_group_t *group, tsw_buf_t *out)
{
    char text[TSW_UNSTABLE_TEXT_SIZE];
    size_t count = 0;
    for (size_t i = 0; i < group->cell_count; i++) {
        const tsw_config_result_t *config = tsw_cli_chosen(group, i);
        if (config == NULL || config->unstable == 0 || count++ >= UNSTABLE_MAX)
            continue;
        tsw_buf_printf(out, "  unstable: %s %s (%s)\n", group->cells[i]->cell->shape,
                       group->cells[i]->cell->variant, tsw_unstable_format(config->unstable, text));
    }
    if (count > UNSTABLE_MAX)
        tsw_buf_printf(out, "  unstable: %zu more\n", count - UNSTABLE_MAX);
}

/* One table serves an arch; who measured on two models should know. */
static void print_models(const tsw_group_t *group, tsw_buf_t *out)
{
    const char *first = group->cells[0]->cell->gpu.name;
    for (size_t i = 1; i < group->cell_count; i++) {
        const char *name = group->cells[i]->cell->gpu.name;
        if (strcmp(name, first) == 0)
            continue;
        tsw_buf_printf(out,
                       "  measured on several models of GPU, such as %s and %s: what is best on "
                       "one need not be so on the other\n",
                       first, name);
        return;
    }
}

static tsw_status_t print_group(const tsw_dataset_t *dataset, const tsw_group_t *group,
                                const tsw_cli_verdict_t *verdict, tsw_buf_t *out, tsw_err_t *err)
{
    char arch[16];
    tsw_buf_printf(out, "\n%s%s%s on %s%s%s: %zu of %zu configs for %zu shape%s\n", group->pack,
                   group->variant != NULL ? " " : "", group->variant != NULL ? group->variant : "",
                   tsw_arch_format(group->arch, arch), mode_word(dataset),
                   is_by_energy(group) ? ", by energy" : "", group->selected_count,
                   group->candidate_count, group->cell_count, group->cell_count == 1 ? "" : "s");
    tsw_buf_append_text(out, "  regret, mean and worst:");
    print_regret(" these", group->mean_regret, group->worst_regret, out);
    print_regret(", all configs", group->full_mean_regret, group->full_worst_regret, out);
    print_regret(", baseline alone", group->baseline_mean_regret, group->baseline_worst_regret,
                 out);
    tsw_buf_append_text(out, "\n");
    tsw_cli_verdict_print(dataset->meta.purpose, group, verdict, out);
    print_dropped_dims(group, out);
    if (strcmp(dataset->meta.purpose, "release") != 0) {
        tsw_status_t status = print_values(group, out, err);
        if (status != TSW_OK)
            return status;
    }
    for (size_t i = 0; i < group->dropped_winner_count; i++)
        tsw_buf_printf(out, "  left out: %s, best of %zu shapes; costs up to %.2f %%\n",
                       group->dropped_winners[i].config, group->dropped_winners[i].cell_count,
                       100 * group->dropped_winners[i].worst_regret);
    if (group->close_count > 0)
        tsw_buf_printf(out,
                       "  left out, though within 5 %% of the best on some shape: %zu config%s\n",
                       group->close_count, group->close_count == 1 ? "" : "s");
    for (size_t i = 0; i < group->selected_count; i++)
        tsw_buf_printf(out, "  %2zu  %s%s\n", i, group->selected[i], i == 0 ? "  (baseline)" : "");
    print_unstable(group, out);
    print_models(group, out);
    tsw_cli_failures_of_group(group, out);
    tsw_cli_effort_print(dataset, group, out);
    return print_rows(group, out, err);
}

bool tsw_cli_is_unusable(const tsw_cell_summary_t *cell)
{
    return cell->winner < 0 && !cell->compile_only;
}

/* "sm_90 matmul dtype=f16 M=8 N=8: nothing usable: 3 wrong_result, 1 compile_failed" */
static void print_unusable(const tsw_cell_summary_t *cell, tsw_buf_t *out)
{
    char arch[16];
    tsw_buf_printf(out, "\n%s on %s, %s %s: nothing usable\n", cell->cell->pack,
                   tsw_arch_format(cell->cell->arch, arch), cell->cell->variant, cell->cell->shape);
    tsw_cli_failures_of_cell(cell, out);
}

tsw_status_t tsw_cli_choice_print(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                                  const tsw_cli_verdicts_t *verdicts, tsw_buf_t *out,
                                  tsw_err_t *err)
{
    tsw_buf_append_text(out, tsw_cli_mark(dataset->meta.mode));
    tsw_status_t status = tsw_coverage_print(dataset, out, err);
    for (size_t i = 0; status == TSW_OK && i < reduction->group_count; i++)
        status = print_group(dataset, &reduction->groups[i], &verdicts->items[i], out, err);
    const char *protocol = dataset->meta.protocol;
    const bool decides = protocol == NULL || strcmp(protocol, "fixed") != 0;
    if (!decides)
        tsw_buf_append_text(out, "\nprotocol fixed launches and no more: nothing is decided\n");
    for (size_t i = 0; decides && i < reduction->cell_count; i++)
        if (tsw_cli_is_unusable(&reduction->cells[i]))
            print_unusable(&reduction->cells[i], out);
    if (reduction->incomplete_count > 0)
        tsw_buf_printf(out, "\n%zu cells are not finished and left out\n",
                       reduction->incomplete_count);
    if (status == TSW_OK && !tsw_buf_ok(out))
        status = tsw_err_nomem(err);
    return status;
}
