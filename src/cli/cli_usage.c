#include "cli/cli_usage.h"

#include <string.h>

static const double least_percent = 0.05; /* that is worth a word */

/* Of all cells. */
static tsw_usage_t usage_of(const tsw_dataset_t *dataset)
{
    tsw_usage_t sum = {{0}};
    for (size_t i = 0; i < dataset->cell_count; i++)
        tsw_usage_add(&sum, &dataset->cells[i].usage);
    return sum;
}

/* The largest part of that kind below `limit`, and behind `last` among equals; TSW_USE_COUNT: none
 * is left. */
static tsw_use_t next_use(const tsw_usage_t *usage, bool measuring, uint64_t limit, int last)
{
    tsw_use_t best = TSW_USE_COUNT;
    for (int i = 0; i < TSW_USE_COUNT; i++) {
        uint64_t ns = usage->ns[i];
        if (tsw_use_is_measuring((tsw_use_t)i) != measuring || ns > limit ||
            (ns == limit && i <= last))
            continue;
        if (best == TSW_USE_COUNT || ns > usage->ns[best])
            best = (tsw_use_t)i;
    }
    return best;
}

static void format_parts(const tsw_usage_t *usage, bool measuring, const char *before,
                         tsw_buf_t *out)
{
    const double total = (double)tsw_usage_total(usage);
    uint64_t limit = UINT64_MAX;
    int last = -1;
    for (;;) {
        tsw_use_t use = next_use(usage, measuring, limit, last);
        double percent = use < TSW_USE_COUNT ? 100 * (double)usage->ns[use] / total : 0;
        if (percent < least_percent)
            return;
        tsw_buf_printf(out, "%s %s %.1f", before, tsw_use_name(use), percent);
        before = ",";
        limit = usage->ns[use];
        last = (int)use;
    }
}

void tsw_cli_usage_format(const tsw_usage_t *usage, tsw_buf_t *out)
{
    const uint64_t total = tsw_usage_total(usage);
    if (total == 0)
        return;
    tsw_buf_printf(out, "  the workers measured %.1f %% of their %.1f s:",
                   100 * (double)tsw_usage_measuring(usage) / (double)total, (double)total * 1e-9);
    format_parts(usage, true, "", out);
    format_parts(usage, false, "; else", out);
    tsw_buf_append_text(out, " %\n");
}

void tsw_cli_usage_print(const tsw_dataset_t *dataset, tsw_buf_t *out)
{
    tsw_usage_t usage = usage_of(dataset);
    if (strcmp(dataset->meta.mode, "cuda") == 0)
        tsw_cli_usage_format(&usage, out);
}
