#include "cli/cli_effort.h"

#include "base/text.h"
#include "rules/lint.h"

#include <math.h>
#include <string.h>

#define CHOSEN_MAX_S 25.0  /* of one shape, with what was chosen */
#define ALL_MAX_S    300.0 /* with the whole list */

static bool is_selected(const tsw_group_t *group, const char *config)
{
    for (size_t s = 0; s < group->selected_count; s++) {
        if (strcmp(group->selected[s], config) == 0)
            return true;
    }
    return false;
}

/* What it took to build and time configs in one cell, from nothing, on one core and one device.
 * False: a build is not known, as it came from a cache. */
static bool time_of(const tsw_group_t *group, const tsw_cell_summary_t *cell, bool all,
                    double *ns_p)
{
    double ns = 0;
    for (size_t i = 0; i < cell->config_count; i++) {
        const tsw_record_t *record = cell->configs[i].record;
        if (!all && !is_selected(group, cell->configs[i].config))
            continue;
        if (record->build.compile_cpu_ns == 0 && !tsw_outcome_is_fault(record->outcome))
            return false;
        ns += (double)record->build.compile_cpu_ns;
        for (size_t k = 0; k < record->sample_count; k++)
            ns += (double)record->samples[k].interval_ns;
    }
    *ns_p = ns;
    return true;
}

/* Of the dearest cell; 0: not known of any. */
static double worst_of(const tsw_group_t *group, bool all)
{
    double worst = 0;
    for (size_t i = 0; i < group->cell_count; i++) {
        double ns = 0;
        if (time_of(group, group->cells[i], all, &ns))
            worst = fmax(worst, ns);
    }
    return worst;
}

static void print_slow(const char *what, double ns, double limit_s, tsw_buf_t *out)
{
    char time[32];
    if (ns > limit_s * 1e9)
        tsw_buf_printf(out, "  slow to tune: %s took %s for one shape, more than %.0f s: %s\n",
                       what, tsw_text_format_seconds(ns / 1e9, time), limit_s,
                       tsw_entry_anchor(TSW_ENTRY_SLOW_TUNING));
}

void tsw_cli_effort_print(const tsw_dataset_t *dataset, const tsw_group_t *group, tsw_buf_t *out)
{
    const double chosen = worst_of(group, false), all = worst_of(group, true);
    char text[32], all_text[32];
    if (chosen > 0 && all > 0)
        tsw_buf_printf(out,
                       "  tuning a shape takes at most %s with these, %s with all; builds on one "
                       "core\n",
                       tsw_text_format_ns(chosen, text), tsw_text_format_ns(all, all_text));
    print_slow("these alone", chosen, CHOSEN_MAX_S, out);
    if (strcmp(dataset->meta.purpose, "research") != 0)
        print_slow("all of them", all, ALL_MAX_S, out);
}
