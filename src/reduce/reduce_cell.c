#include "reduce/reduce_cell.h"

#include "base/mem.h"
#include "record/roofline.h"
#include "reduce/reduce_work.h"

#include <math.h>
#include <string.h>

/* An interval that cannot tell a config from the winner makes a tie only up to this many times the
 * indifference: a few noisy rounds must not turn a real loss into a tie. */
#define NOISE_FACTOR 4.0

/* Its figure is none of time. */
#define OF_ENERGY SIZE_MAX

static const tsw_reduce_objective_t objectives[] = {
    {"median", offsetof(tsw_summary_t, median)}, /* first: what is taken without a word */
    {"p90", offsetof(tsw_summary_t, p90)},       {"p99", offsetof(tsw_summary_t, p99)},
    {"mean", offsetof(tsw_summary_t, mean)},     {"energy", OF_ENERGY},
};

static double figure_of(const tsw_reduce_work_t *w, int32_t index)
{
    double value;
    if (w->by_energy) /* who is fastest, before who takes least */
        return w->summary->configs[index].time_ns.median;
    memcpy(&value, (const char *)&w->summary->configs[index].time_ns + w->objective->offset,
           sizeof(value));
    return value;
}

/* Whether a is the better winner. Early samples never win against decisive ones. */
static bool wins_over(const tsw_reduce_work_t *w, int32_t a, int32_t b)
{
    if (w->times[a].basis != w->times[b].basis)
        return w->times[a].basis < w->times[b].basis;
    double x = figure_of(w, a);
    double y = figure_of(w, b);
    if (x != y)
        return x < y;
    return tsw_reduce_goes_first(w, a, b);
}

static int32_t find_winner(const tsw_reduce_work_t *w)
{
    const tsw_cell_summary_t *s = w->summary;
    int32_t winner = -1;
    for (size_t i = 0; i < s->config_count; i++) {
        if (s->configs[i].usable && !s->configs[i].is_alias &&
            (winner < 0 || wins_over(w, (int32_t)i, winner)))
            winner = (int32_t)i;
    }
    return winner;
}

static void compare_to_winner(tsw_reduce_work_t *w, size_t index)
{
    tsw_cell_summary_t *s = w->summary;
    tsw_config_result_t *result = &s->configs[index];
    result->vs_best = tsw_reduce_pair(w, index, s->winner);
    result->vs_baseline = tsw_reduce_pair(w, index, s->baseline);
    tsw_reduce_estimate(w, index);
    bool of_median = w->objective == objectives;
    bool same_kind = w->times[index].basis == w->times[s->winner].basis;
    double ratio = of_median || !same_kind
                       ? tsw_reduce_log_ratio(w, index, s->winner, &result->vs_best)
                       : log(figure_of(w, (int32_t)index) / figure_of(w, s->winner));
    bool close = ratio <= log1p(w->options->indifference);
    bool hidden = of_median && result->vs_best.n > 0 && result->vs_best.low <= 0.0 &&
                  ratio <= log1p(NOISE_FACTOR * w->options->indifference);
    /* Of those that were left without being told apart, the race would have kept more. */
    bool may_tie = same_kind || result->record->fate == TSW_FATE_NOT_FINAL;
    result->in_tie_set = (int32_t)index == s->winner || (may_tie && close) || (same_kind && hidden);
    result->regret = result->in_tie_set ? 0.0 : expm1(ratio);
    if (!may_tie && result->regret < w->options->indifference)
        result->regret = w->options->indifference; /* it was left for a reason */
    s->tie_count += result->in_tie_set && (int32_t)index != s->winner;
}

static void compare_to_baseline(const tsw_reduce_work_t *w)
{
    tsw_cell_summary_t *s = w->summary;
    if (s->baseline < 0 || !s->configs[s->baseline].usable)
        return;
    const tsw_paired_t *paired = &s->configs[s->winner].vs_baseline;
    double ratio = tsw_reduce_log_ratio(w, (size_t)s->winner, s->baseline, paired);
    s->speedup = exp(-ratio);
    s->speedup_low = paired->n > 0 ? exp(-paired->high) : NAN;
    s->speedup_high = paired->n > 0 ? exp(-paired->low) : NAN;
}

static bool is_compile_only(const tsw_cell_result_t *cell)
{
    bool compiled = false;
    for (size_t i = 0; i < cell->record_count; i++) {
        if (cell->records[i].sample_count > 0)
            return false;
        compiled = compiled || cell->records[i].outcome == TSW_OUTCOME_COMPILED;
    }
    return compiled;
}

/* By the calibration of this very device, else of one of its name. */
static double roof_of(const tsw_reduce_work_t *w)
{
    const tsw_cell_result_t *cell = w->cell;
    const tsw_calibration_t *best = NULL;
    for (size_t i = 0; i < w->options->calibration_count; i++) {
        const tsw_calibration_t *one = &w->options->calibrations[i];
        if (tsw_calibration_fits(one, &cell->gpu, true))
            best = one;
        else if (best == NULL && tsw_calibration_fits(one, &cell->gpu, false))
            best = one;
    }
    return best != NULL ? tsw_calibration_roof_ns(best, cell->variant, cell->flops, cell->bytes)
                        : 0;
}

static void judge(tsw_reduce_work_t *w)
{
    tsw_cell_summary_t *s = w->summary;
    s->baseline = tsw_reduce_find_record(w->cell, 0);
    s->winner = find_winner(w);
    s->compile_only = is_compile_only(w->cell);
    s->roof_ns = roof_of(w);
    if (s->winner < 0)
        return;
    w->fastest = s->winner;
    if (w->by_energy) {
        tsw_reduce_judge_energy(w);
    } else {
        for (size_t i = 0; i < s->config_count; i++) {
            if (s->configs[i].usable)
                compare_to_winner(w, i);
        }
        compare_to_baseline(w);
    }
    if (s->winner < 0)
        return;
    s->roof_ratio = s->roof_ns / s->configs[s->winner].time_ns.median;
}

void tsw_reduce_cell_fini(tsw_cell_summary_t *summary)
{
    tsw_free(summary->configs);
    *summary = (tsw_cell_summary_t){0};
}

static const tsw_reduce_objective_t *find_objective(const char *name)
{
    if (name == NULL || name[0] == '\0')
        return objectives;
    for (size_t i = 0; i < sizeof(objectives) / sizeof(objectives[0]); i++)
        if (strcmp(objectives[i].name, name) == 0)
            return &objectives[i];
    return NULL;
}

tsw_status_t tsw_reduce_cell(const tsw_cell_result_t *cell, const tsw_reduce_options_t *options,
                             const char *objective, tsw_cell_summary_t *summary_p, tsw_err_t *err)
{
    size_t total = 0;
    size_t longest = 0;
    for (size_t i = 0; i < cell->record_count; i++) {
        total += cell->records[i].sample_count;
        if (cell->records[i].sample_count > longest)
            longest = cell->records[i].sample_count;
    }
    tsw_cell_summary_t summary = {.cell = cell, .config_count = cell->record_count};
    tsw_reduce_work_t w = {.cell = cell,
                           .options = options,
                           .summary = &summary,
                           .objective = find_objective(objective),
                           .floor_ns = tsw_roofline_cell_floor_ns(cell)};
    if (w.objective == NULL)
        return tsw_err_set(err, TSW_ERR_UNSUPPORTED,
                           "the objective '%.40s' is none of median, p90, "
                           "p99, mean, energy",
                           objective);
    w.by_energy = w.objective->offset == OF_ENERGY;
    summary.configs = tsw_calloc(cell->record_count, sizeof(*summary.configs));
    w.times = tsw_calloc(cell->record_count, sizeof(*w.times));
    w.pool = tsw_calloc(total, sizeof(*w.pool));
    w.scratch = tsw_calloc(longest, sizeof(*w.scratch));
    tsw_status_t status = TSW_OK;
    if (summary.configs == NULL || w.times == NULL || w.pool == NULL || w.scratch == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_reduce_time_all(&w, err);
    if (status == TSW_OK)
        judge(&w);
    tsw_free(w.times);
    tsw_free(w.pool);
    tsw_free(w.scratch);
    if (status == TSW_OK)
        *summary_p = summary;
    else
        tsw_reduce_cell_fini(&summary);
    return status;
}
