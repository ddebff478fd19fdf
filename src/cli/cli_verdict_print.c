/* Verdicts for people. */
#include "cli/cli_verdict.h"

#include "space/kind.h"
#include "space/space_probe.h"

#include <math.h>
#include <string.h>

static void print_gain(const tsw_group_t *group, const tsw_cli_verdict_t *verdict, tsw_buf_t *out)
{
    const tsw_speedup_t *gain = &group->gain;
    tsw_buf_printf(out, "best other config %.3f", gain->ratio);
    if (!isnan(gain->low))
        tsw_buf_printf(out, " (%.3f, %.3f)", gain->low, gain->high);
    tsw_buf_printf(out, " x baseline over %zu shape%s", gain->cell_count,
                   gain->cell_count == 1 ? "" : "s");
    if (verdict->pack != NULL) {
        tsw_kind_gain_t expected = tsw_kind_gain(verdict->pack);
        tsw_buf_printf(out, "; %+.1f %%, expected %.0f to %.0f %% (%s)", 100 * (gain->ratio - 1),
                       expected.low, expected.high, tsw_kind_of(verdict->pack)->name);
    }
    tsw_buf_append_text(out, "\n");
}

static void print_missing(const tsw_cli_verdict_t *verdict, tsw_buf_t *out)
{
    if (verdict->pack == NULL)
        tsw_buf_append_text(out,
                            "    what is covered is not known: the pack's files are neither in "
                            "the run nor among the shipped ones\n");
    for (size_t i = 0; i < verdict->missing.count; i++) {
        const tsw_finding_t *finding = &verdict->missing.findings[i];
        tsw_buf_printf(out, "    widen, %s %s: %s; %s\n", finding->number, finding->rule,
                       finding->text, finding->fix);
        if (finding->row != NULL)
            tsw_buf_printf(out, "      - %s\n", finding->row);
    }
}

static void print_roles(const tsw_pack_t *pack, tsw_probe_role_t role, const char *word,
                        tsw_buf_t *out)
{
    const char *between = "";
    for (size_t k = 0; k < pack->knob_count; k++) {
        if (tsw_space_probe_role(pack, k) != role)
            continue;
        if (*between == '\0')
            tsw_buf_printf(out, "; %s: ", word);
        tsw_buf_printf(out, "%s%s", between, pack->knobs[k].name);
        between = ", ";
    }
}

static void print_probe(const tsw_pack_t *pack, tsw_buf_t *out)
{
    tsw_buf_append_text(out,
                        "    next: a directed probe of 30 to 100 configs, or of all there are");
    if (pack != NULL) {
        print_roles(pack, TSW_PROBE_FIXED, "fixed", out);
        print_roles(pack, TSW_PROBE_VARIED, "varied", out);
        print_roles(pack, TSW_PROBE_FREE, "fixed or varied", out);
    }
    tsw_buf_append_text(out, "\n");
}

/* Where only the occupancy is searched there is no more to try than coverage asks for. */
static void print_spent(const tsw_pack_t *pack, const char *head, tsw_buf_t *out)
{
    const tsw_kind_t *kind = tsw_kind_of(pack);
    tsw_buf_printf(out,
                   "    %s: of a %s kernel the occupancy alone is searched, and all of it is "
                   "tried\n    what is left: %s\n",
                   head, kind->name, kind->left);
}

/* What is missing is all that a probe of such a kind would try. */
static void print_probe_needed(const tsw_cli_verdict_t *verdict, tsw_buf_t *out)
{
    if (verdict->is_spent)
        print_spent(verdict->pack, "but there is nothing to probe", out);
    else if (verdict->pack != NULL && !tsw_kind_of(verdict->pack)->tiles)
        print_missing(verdict, out);
    else
        print_probe(verdict->pack, out);
}

static void print_suggestions(const tsw_cli_verdict_t *verdict, tsw_buf_t *out)
{
    tsw_buf_t lines = TSW_BUF_INIT;
    if (verdict->pack != NULL)
        tsw_suggest(verdict->pack, &verdict->facts, "    ", &lines);
    if (lines.size > 0)
        tsw_buf_printf(out, "  beyond tuning, and not tried:\n%s", tsw_buf_text(&lines));
    tsw_buf_fini(&lines);
}

/* Verdicts are for the lists of packs; who looks around learns what was found. What follows is
 * clear for a probe alone: research may look for a constant. */
static void print_found(const char *purpose, const tsw_group_t *group,
                        const tsw_cli_verdict_t *verdict, tsw_buf_t *out)
{
    const bool is_probe = strcmp(purpose, "probe") == 0;
    if (verdict->verdict == TSW_VERDICT_NONE)
        return;
    tsw_buf_append_text(out, "  found: ");
    print_gain(group, verdict, out);
    if (is_probe && group->selected_count > 1)
        tsw_buf_printf(out, "    next: tilesweep promote RUN %s, then a run of the new list\n",
                       group->pack);
    else if (is_probe)
        tsw_buf_append_text(out, "    next: nothing, the baseline is the best for all shapes\n");
    print_suggestions(verdict, out);
}

/* Whether there was nothing but the baseline to be had. */
static bool is_alone(const tsw_group_t *group)
{
    bool alone = true;
    for (size_t i = 0; i < group->cell_count; i++)
        alone = alone && group->cells[i]->config_count == 1;
    return alone;
}

void tsw_cli_verdict_print(const char *purpose, const tsw_group_t *group,
                           const tsw_cli_verdict_t *verdict, tsw_buf_t *out)
{
    if (strcmp(purpose, "fixed") == 0)
        return;
    if (strcmp(purpose, "release") != 0) {
        print_found(purpose, group, verdict, out);
        return;
    }
    if (verdict->broken > 0)
        tsw_buf_printf(out, "  the pack breaks rules of tuning, %zu of them: 'tilesweep lint'\n",
                       verdict->broken);
    tsw_buf_printf(out, "  verdict %s", tsw_verdict_name(verdict->verdict));
    if (verdict->verdict == TSW_VERDICT_NONE) {
        tsw_buf_printf(out, ": no shape has both the baseline and another config%s%s\n",
                       is_alone(group) ? ": " : "",
                       is_alone(group) ? tsw_entry_anchor(TSW_ENTRY_EMPTY_SPACE) : "");
        return;
    }
    tsw_buf_append_text(out, ": ");
    print_gain(group, verdict, out);
    switch (verdict->verdict) {
    case TSW_VERDICT_DONE:
        tsw_buf_append_text(out, "    next: nothing, tuning is done\n");
        break;
    case TSW_VERDICT_UNDECIDED:
        tsw_buf_append_text(out,
                            "    the interval reaches 1: more shapes decide, not another run\n");
        break;
    case TSW_VERDICT_NO_EFFECT:
        print_missing(verdict, out);
        break;
    case TSW_VERDICT_STOP_COVERED:
        if (group->gain.ratio < 1)
            print_spent(verdict->pack, "next: nothing", out);
        else
            tsw_buf_append_text(out, "    next: nothing, each main dimension is covered\n");
        break;
    case TSW_VERDICT_PROBE_NEEDED:
        print_probe_needed(verdict, out);
        break;
    default:
        break;
    }
    print_suggestions(verdict, out);
}
