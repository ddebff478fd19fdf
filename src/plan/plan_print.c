#include "plan/plan.h"

#include "base/text.h"
#include "plan/plan_cost.h"

#include <string.h>

enum { CELLS_SHOWN = 20 }; /* per arch */

static void print_removals(const tsw_filter_report_t *report, const char *between, tsw_buf_t *out)
{
    bool first = true;
    for (size_t i = 0; i < report->count; i++) {
        const tsw_filter_t *filter = &report->filters[i];
        if (filter->removed == 0)
            continue;
        tsw_buf_printf(out, "%s%s removed %zu (%s)", first ? "" : between, filter->name,
                       filter->removed, filter->reason);
        first = false;
    }
}

static void print_space(const tsw_plan_t *plan, const tsw_plan_variant_t *variant, size_t arch,
                        tsw_buf_t *out)
{
    const tsw_space_t *space = &variant->spaces[arch];
    char name[16];
    tsw_buf_printf(out, "  %-7s %4zu configs of %zu", tsw_arch_format(plan->job->archs[arch], name),
                   space->count, space->listed);
    if (space->count < space->listed) {
        tsw_buf_append_text(out, tsw_space_only_baseline(space) ? ": only the baseline is left: "
                                                                : ": ");
        print_removals(&space->report, ", ", out);
    }
    if (tsw_job_searches(plan->job, space->count))
        tsw_buf_printf(out, "; searched: at most %u are built, %u at a time",
                       plan->job->search.builds, plan->job->search.per_generation);
    tsw_buf_append_text(out, "\n");
}

static void print_variants(const tsw_plan_t *plan, tsw_buf_t *out)
{
    for (size_t v = 0; v < plan->variant_count; v++) {
        const tsw_plan_variant_t *variant = &plan->variants[v];
        tsw_buf_printf(out, "\n%s ", variant->id.pack->name);
        tsw_variant_format(&variant->id, out);
        tsw_buf_append_text(out, "\n");
        for (size_t a = 0; a < plan->job->arch_count; a++)
            print_space(plan, variant, a, out);
    }
}

static void print_cell(const tsw_plan_t *plan, const tsw_cell_t *cell, tsw_buf_t *out)
{
    const tsw_variant_t *variant = &plan->variants[cell->variant].id;
    char time[32];
    tsw_buf_printf(out, "  %s ", variant->pack->name);
    tsw_variant_format_flags(variant, out);
    tsw_buf_append_text(out, " ");
    tsw_shape_format(variant->pack, cell->dims, out);
    if (cell->skip_reason != NULL) {
        tsw_buf_printf(out, ": skipped: %s\n", cell->skip_reason);
        return;
    }
    tsw_buf_printf(out, ": %zu configs", cell->config_count);
    if (!cell->compile_only)
        tsw_buf_printf(out, ", about %s", tsw_text_format_ns(cell->cost_ns, time));
    if (cell->report.count > 0) {
        tsw_buf_append_text(out, "; ");
        print_removals(&cell->report, ", ", out);
    }
    tsw_buf_append_text(out, "\n");
}

typedef struct {
    size_t live, empty, skipped;
    double cost_ns;
    bool has_search;
} totals_t;

static totals_t totals_of(const tsw_plan_t *plan, size_t arch)
{
    totals_t totals = {0};
    for (size_t i = 0; i < plan->cell_count; i++) {
        const tsw_cell_t *cell = &plan->cells[i];
        if (cell->arch_index != arch)
            continue;
        if (cell->skip_reason == NULL)
            totals.live++;
        else if (strcmp(cell->skip_reason, "empty") == 0)
            totals.empty++;
        else
            totals.skipped++;
        totals.cost_ns += cell->cost_ns;
        totals.has_search = totals.has_search || cell->is_searched;
    }
    return totals;
}

static void print_arch(const tsw_plan_t *plan, size_t arch, tsw_buf_t *out)
{
    totals_t totals = totals_of(plan, arch);
    char name[16];
    char time[32];
    tsw_buf_printf(out, "\n%s: %zu cells", tsw_arch_format(plan->job->archs[arch], name),
                   totals.live);
    if (totals.empty > 0)
        tsw_buf_printf(out, ", %zu skipped: empty", totals.empty);
    if (totals.skipped > 0)
        tsw_buf_printf(out, ", %zu skipped: dtype not there", totals.skipped);
    if (plan->job->compile_only[arch])
        tsw_buf_append_text(out, ", compiled only\n");
    else
        tsw_buf_printf(out, ", about %s of one device%s; the largest first\n",
                       tsw_text_format_ns(totals.cost_ns, time),
                       totals.has_search ? " for all configs, of which a search times some" : "");
    size_t shown = 0;
    for (size_t i = 0; i < plan->cell_count; i++) {
        if (plan->cells[i].arch_index != arch)
            continue;
        if (shown++ < CELLS_SHOWN)
            print_cell(plan, &plan->cells[i], out);
    }
    if (shown > CELLS_SHOWN)
        tsw_buf_printf(out, "  ... and %zu more\n", shown - CELLS_SHOWN);
}

static void print_builds(const tsw_plan_t *plan, tsw_buf_t *out)
{
    size_t counts[3] = {0};
    size_t cubins = 0;
    double cost_ns = 0.0;
    char time[32];
    for (size_t i = 0; i < plan->build_count; i++) {
        counts[plan->builds[i].kind]++;
        for (uint32_t mask = plan->builds[i].arch_mask; mask != 0; mask &= mask - 1)
            cubins++;
        cost_ns += tsw_plan_cost_build_ns(&plan->builds[i]);
    }
    tsw_buf_printf(out,
                   "\nbuilds: %zu of configs, %zu of references, %zu of the tool: %zu cubins, "
                   "about %s of one core without a cache\n",
                   counts[TSW_BUILD_CONFIG], counts[TSW_BUILD_REFERENCE], counts[TSW_BUILD_TOOL],
                   cubins, tsw_text_format_ns(cost_ns, time));
    if (tsw_plan_is_searched(plan))
        tsw_buf_printf(out, "  of which a search makes at most %u for each searched space\n",
                       plan->job->search.builds);
}

void tsw_plan_print(const tsw_plan_t *plan, tsw_buf_t *out)
{
    char key[TSW_KEY_TEXT_SIZE];
    tsw_buf_printf(out, "job %s, purpose %s: %zu cells, %zu builds, key %s\n", plan->job->name,
                   tsw_purpose_name(plan->job->purpose), plan->cell_count, plan->build_count,
                   tsw_key_format(plan->key, key));
    if (plan->duplicate_count > 0)
        tsw_buf_printf(out, "%zu cells are asked for again; each is planned once\n",
                       plan->duplicate_count);
    print_variants(plan, out);
    for (size_t a = 0; a < plan->job->arch_count; a++)
        print_arch(plan, a, out);
    print_builds(plan, out);
}
