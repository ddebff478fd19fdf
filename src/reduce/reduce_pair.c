/* Configs of a cell against each other. */
#include "reduce/reduce_work.h"

#include <math.h>
#include <string.h>

/* Warm-up samples and those before are compared only for what they threw out. */
static bool may_compare(const tsw_reduce_work_t *w, size_t a, size_t b, tsw_reduce_class_t class)
{
    return class < TSW_CLASS_WARMUP || w->times[a].is_hopeless || w->times[b].is_hopeless;
}

tsw_paired_t tsw_reduce_pair(const tsw_reduce_work_t *w, size_t a, int32_t b)
{
    tsw_paired_t paired = {0};
    if (b < 0 || !w->summary->configs[b].usable)
        return paired;
    for (tsw_reduce_class_t class = 0; class < TSW_CLASS_COUNT && paired.n == 0; class ++) {
        const tsw_reduce_series_t *x = &w->times[a].of[class];
        const tsw_reduce_series_t *y = &w->times[b].of[class];
        if (may_compare(w, a, (size_t)b, class))
            paired = tsw_stats_paired(x->values, x->count, y->values, y->count,
                                      w->options->confidence, w->scratch);
        if (paired.n > 0 && (class != TSW_CLASS_DECISIVE || paired.n == 1)) {
            paired.low = paired.high = NAN;
            paired.confidence = 0.0;
        }
    }
    return paired;
}

double tsw_reduce_log_ratio(const tsw_reduce_work_t *w, size_t a, int32_t b,
                            const tsw_paired_t *paired)
{
    if (paired->n > 0)
        return paired->log_ratio;
    for (tsw_reduce_class_t class = 0; class < TSW_CLASS_COUNT; class ++) {
        const tsw_summary_t *x = &w->times[a].of[class].summary;
        const tsw_summary_t *y = &w->times[b].of[class].summary;
        if (x->n > 0 && y->n > 0 && may_compare(w, a, (size_t)b, class))
            return log(x->median / y->median);
    }
    return log(w->summary->configs[a].time_ns.median / w->summary->configs[b].time_ns.median);
}

void tsw_reduce_estimate(tsw_reduce_work_t *w, size_t index)
{
    tsw_cell_summary_t *s = w->summary;
    tsw_config_result_t *result = &s->configs[index];
    if (w->times[index].basis == w->times[w->fastest].basis)
        return;
    tsw_paired_t paired = tsw_reduce_pair(w, index, w->fastest);
    double ratio = tsw_reduce_log_ratio(w, index, w->fastest, &paired);
    double factor = s->configs[w->fastest].time_ns.median * exp(ratio) / result->time_ns.median;
    tsw_summary_t *time = &result->time_ns;
    double *values[] = {&time->min,  &time->q1,  &time->median, &time->q3, &time->max,
                        &time->mean, &time->std, &time->p90,    &time->p99};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        *values[i] *= factor;
}

bool tsw_reduce_goes_first(const tsw_reduce_work_t *w, int32_t a, int32_t b)
{
    const tsw_cell_summary_t *s = w->summary;
    if (a == s->baseline || b == s->baseline)
        return a == s->baseline;
    return strcmp(s->configs[a].config, s->configs[b].config) < 0;
}
