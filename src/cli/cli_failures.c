#include "cli/cli_failures.h"

#include "rules/lint.h"

/* Of one outcome. */
typedef struct {
    size_t count;
    const tsw_config_result_t *first;
    const char *shape; /* of the first */
} tally_t;

static void count_cell(const tsw_cell_summary_t *cell, tally_t tallies[TSW_OUTCOME_COUNT])
{
    for (size_t i = 0; i < cell->config_count; i++) {
        tally_t *tally = &tallies[cell->configs[i].outcome];
        if (tally->count++ > 0)
            continue;
        tally->first = &cell->configs[i];
        tally->shape = cell->cell->shape;
    }
}

static bool has_detail(const tally_t *tally)
{
    return tally->first->detail != NULL && tally->first->detail[0] != '\0';
}

static void print_entries(const tally_t tallies[TSW_OUTCOME_COUNT], tsw_buf_t *out)
{
    if (tallies[TSW_OUTCOME_WRONG_RESULT].count + tallies[TSW_OUTCOME_NAN_RESULT].count > 0)
        tsw_buf_printf(out, "  what it often is: %s\n", tsw_entry_anchor(TSW_ENTRY_CORRUPT_RESULT));
    if (tallies[TSW_OUTCOME_COMPILE_TIMEOUT].count > 0)
        tsw_buf_printf(out, "  what takes so long: %s\n", tsw_entry_anchor(TSW_ENTRY_SLOW_TUNING));
}

void tsw_cli_failures_of_cell(const tsw_cell_summary_t *cell, tsw_buf_t *out)
{
    tally_t tallies[TSW_OUTCOME_COUNT] = {{0}};
    count_cell(cell, tallies);
    for (int o = 0; o < TSW_OUTCOME_COUNT; o++) {
        if (tallies[o].count == 0)
            continue;
        tsw_buf_printf(out, "  %zu x %s", tallies[o].count, tsw_outcome_name((tsw_outcome_t)o));
        if (has_detail(&tallies[o]))
            tsw_buf_printf(out, ", first: %s", tallies[o].first->detail);
        tsw_buf_append_text(out, "\n");
    }
    print_entries(tallies, out);
}

void tsw_cli_failures_of_group(const tsw_group_t *group, tsw_buf_t *out)
{
    tally_t tallies[TSW_OUTCOME_COUNT] = {{0}};
    for (size_t i = 0; i < group->cell_count; i++)
        count_cell(group->cells[i], tallies);
    for (int o = 0; o < TSW_OUTCOME_COUNT; o++) {
        if (tallies[o].count == 0 || !tsw_outcome_is_fault((tsw_outcome_t)o))
            continue;
        tsw_buf_printf(out, "  not usable: %zu x %s, first: %s at %s%s%s\n", tallies[o].count,
                       tsw_outcome_name((tsw_outcome_t)o), tallies[o].first->config,
                       tallies[o].shape, has_detail(&tallies[o]) ? ": " : "",
                       has_detail(&tallies[o]) ? tallies[o].first->detail : "");
    }
    print_entries(tallies, out);
}
