#include "reduce/reduce_gain.h"

#include <math.h>
#include <string.h>

/* A ratio without an interval may be off by what single timings vary by, and none by more: the
 * interval of few samples is their range, which one outlier widens and the median does not feel. */
static const double widest_spread = 0.1;

/* The range of n rounds covers 1 - 2^(1 - n) of its median: as if they were normal, it becomes an
 * interval of 95 % when it is so many times as wide (1.96 / z of the coverage). */
static double widening_of(size_t rounds)
{
    static const double widening[] = {[2] = 2.906, [3] = 1.704, [4] = 1.278, [5] = 1.052};
    const size_t count = sizeof(widening) / sizeof(widening[0]);
    return rounds >= 2 && rounds < count ? widening[rounds] : 1.0;
}

/* log(baseline / best other config) of one cell, and how far it may be off either way. */
typedef struct {
    double log_ratio, below, above;
    bool has_interval;
} cell_gain_t;

static bool is_better(const tsw_config_result_t *a, const tsw_config_result_t *b)
{
    if (!isnan(a->joules) && !isnan(b->joules) && a->joules != b->joules)
        return a->joules < b->joules;
    if (a->is_estimate != b->is_estimate)
        return b->is_estimate;
    if (a->time_ns.median != b->time_ns.median)
        return a->time_ns.median < b->time_ns.median;
    return strcmp(a->config, b->config) < 0;
}

/* The best config that is not the baseline, nor the same launch under another name. */
static const tsw_config_result_t *find_rival(const tsw_cell_summary_t *cell)
{
    const tsw_config_result_t *rival = NULL;
    if (cell->winner >= 0 && cell->winner != cell->baseline)
        return &cell->configs[cell->winner];
    for (size_t i = 0; i < cell->config_count; i++) {
        const tsw_config_result_t *one = &cell->configs[i];
        if (one->usable && !one->is_alias && (int32_t)i != cell->baseline &&
            (rival == NULL || is_better(one, rival)))
            rival = one;
    }
    return rival;
}

static bool gain_of(const tsw_cell_summary_t *cell, cell_gain_t *gain)
{
    const tsw_config_result_t *rival = find_rival(cell);
    if (rival == NULL || cell->baseline < 0 || !cell->configs[cell->baseline].usable)
        return false;
    const tsw_paired_t *pair = &rival->vs_baseline;
    double medians = cell->configs[cell->baseline].time_ns.median / rival->time_ns.median;
    *gain = (cell_gain_t){.log_ratio = pair->n > 0 ? -pair->log_ratio : log(medians),
                          .below = widest_spread,
                          .above = widest_spread,
                          .has_interval = pair->n > 0 && !isnan(pair->low)};
    if (gain->has_interval) {
        double widening = widening_of(pair->n);
        gain->below = fmin(widening * (pair->high - pair->log_ratio), widest_spread);
        gain->above = fmin(widening * (pair->log_ratio - pair->low), widest_spread);
    }
    return true;
}

/* Cells err independently, so their half-widths add as squares. */
tsw_speedup_t tsw_reduce_gain(const tsw_group_t *group)
{
    tsw_speedup_t result = {.low = NAN, .high = NAN};
    double weights = 0, sum = 0, below = 0, above = 0;
    bool has_interval = false;
    for (size_t i = 0; i < group->cell_count; i++) {
        double weight = group->cells[i]->cell->weight;
        cell_gain_t gain;
        if (!(weight > 0 && isfinite(weight)) || !gain_of(group->cells[i], &gain))
            continue;
        result.cell_count++;
        weights += weight;
        sum += weight * gain.log_ratio;
        below += weight * gain.below * weight * gain.below;
        above += weight * gain.above * weight * gain.above;
        has_interval = has_interval || gain.has_interval;
    }
    if (result.cell_count == 0)
        return result;
    double mean = sum / weights;
    result.ratio = exp(mean);
    if (has_interval) {
        result.low = exp(mean - sqrt(below) / weights);
        result.high = exp(mean + sqrt(above) / weights);
    }
    return result;
}
