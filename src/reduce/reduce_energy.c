/* The winner by energy. */
#include "reduce/reduce_work.h"

#include "stats/energy.h"

#include <math.h>

static bool has_energy(const tsw_reduce_work_t *w, size_t index)
{
    return w->times[index].of[TSW_CLASS_ENERGY].summary.n > 0;
}

static bool takes_less(const tsw_reduce_work_t *w, int32_t a, int32_t b)
{
    const tsw_cell_summary_t *s = w->summary;
    if (s->configs[a].joules != s->configs[b].joules)
        return s->configs[a].joules < s->configs[b].joules;
    return tsw_reduce_goes_first(w, a, b);
}

static int32_t find_thriftiest(const tsw_reduce_work_t *w)
{
    const tsw_cell_summary_t *s = w->summary;
    int32_t winner = -1;
    for (size_t i = 0; i < s->config_count; i++) {
        if (s->configs[i].usable && !s->configs[i].is_alias && has_energy(w, i) &&
            (winner < 0 || takes_less(w, (int32_t)i, winner)))
            winner = (int32_t)i;
    }
    return winner;
}

static tsw_paired_t pair_energy(const tsw_reduce_work_t *w, size_t a, int32_t b)
{
    tsw_paired_t paired = {0};
    if (b < 0 || !w->summary->configs[b].usable)
        return paired;
    const tsw_reduce_series_t *x = &w->times[a].of[TSW_CLASS_ENERGY];
    const tsw_reduce_series_t *y = &w->times[b].of[TSW_CLASS_ENERGY];
    paired = tsw_stats_paired(x->values, x->count, y->values, y->count, w->options->confidence,
                              w->scratch);
    if (paired.n == 1)
        paired.low = paired.high = NAN;
    return paired;
}

/* Who was not tried is taken to draw the winner's power, and was left out for a reason. */
static void compare_energy(tsw_reduce_work_t *w, size_t index)
{
    tsw_cell_summary_t *s = w->summary;
    tsw_config_result_t *result = &s->configs[index];
    const tsw_config_result_t *winner = &s->configs[s->winner];
    double limit = fmax(w->options->indifference, TSW_ENERGY_INDIFFERENCE);
    double ratio = fmax(result->time_ns.median / winner->time_ns.median, 1.0 + limit);
    bool is_tried = has_energy(w, index);
    result->vs_best = pair_energy(w, index, s->winner);
    result->vs_baseline = pair_energy(w, index, s->baseline);
    if (is_tried)
        ratio = result->joules / winner->joules;
    result->in_tie_set = is_tried && ratio <= 1.0 + limit;
    result->regret = result->in_tie_set ? 0.0 : ratio - 1.0;
    s->tie_count += result->in_tie_set && (int32_t)index != s->winner;
}

void tsw_reduce_judge_energy(tsw_reduce_work_t *w)
{
    tsw_cell_summary_t *s = w->summary;
    s->winner = find_thriftiest(w);
    for (size_t i = 0; i < s->config_count; i++) {
        if (s->configs[i].usable)
            tsw_reduce_estimate(w, i);
    }
    for (size_t i = 0; s->winner >= 0 && i < s->config_count; i++) {
        if (s->configs[i].usable)
            compare_energy(w, i);
    }
    const tsw_paired_t *paired =
        s->winner >= 0 ? &s->configs[s->winner].vs_baseline : &(const tsw_paired_t){0};
    if (paired->n == 0)
        return;
    s->speedup = exp(-paired->log_ratio);
    s->speedup_low = exp(-paired->high);
    s->speedup_high = exp(-paired->low);
}
