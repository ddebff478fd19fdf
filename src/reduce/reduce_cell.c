#include "reduce/reduce_cell.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An interval that cannot tell a config from the winner makes a tie only up to this many times the
 * indifference: a few noisy rounds must not turn a real loss into a tie. */
#define NOISE_FACTOR 4.0

/* Decisive samples of one config, per launch. */
typedef struct {
    tsw_round_value_t *values; /* a round at most once, ascending */
    size_t count;
} series_t;

typedef struct {
    const tsw_cell_result_t *cell;
    const tsw_reduce_options_t *options;
    tsw_cell_summary_t *summary;
    series_t *series;        /* per record */
    tsw_round_value_t *pool; /* memory of all series */
    double *scratch;         /* room for the samples of the longest record */
} cell_work_t;

typedef struct {
    uint32_t round;
    uint16_t slot;
    double value;
} timed_t;

static int compare_timed(const void *a, const void *b)
{
    const timed_t *x = a;
    const timed_t *y = b;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static bool is_decisive(const tsw_sample_t *sample)
{
    return tsw_stage_decides((tsw_stage_t)sample->stage) && sample->interval_ns > 0 &&
           sample->launches > 0;
}

static size_t decisive_count(const tsw_record_t *record)
{
    size_t n = 0;
    for (size_t i = 0; i < record->sample_count; i++)
        n += is_decisive(&record->samples[i]);
    return n;
}

/* Times of one record: its series, its summary with interval. */
static tsw_status_t time_record(cell_work_t *w, size_t index, tsw_err_t *err)
{
    const tsw_record_t *record = &w->cell->records[index];
    size_t n = decisive_count(record);
    timed_t *timed = tsw_calloc(n, sizeof(*timed));
    if (timed == NULL)
        return tsw_err_nomem(err);
    size_t at = 0;
    for (size_t i = 0; i < record->sample_count; i++) {
        const tsw_sample_t *sample = &record->samples[i];
        if (is_decisive(sample))
            timed[at++] = (timed_t){sample->round, sample->slot, tsw_sample_ns(sample)};
    }
    qsort(timed, n, sizeof(*timed), compare_timed);
    series_t *series = &w->series[index];
    for (size_t i = 0; i < n; i++) {
        w->scratch[i] = timed[i].value;
        if (i == 0 || timed[i].round != timed[i - 1].round)
            series->values[series->count++] =
                (tsw_round_value_t){.round = timed[i].round, .value = timed[i].value};
    }
    tsw_free(timed);
    tsw_config_result_t *result = &w->summary->configs[index];
    result->time_ns = tsw_stats_summary(w->scratch, n);
    tsw_stats_median_ci(w->scratch, n, w->options->confidence, &result->ci_low_ns,
                        &result->ci_high_ns, &result->ci_confidence);
    result->usable = n > 0;
    return TSW_OK;
}

/* Index of the record with a config_index; -1: none. */
static int32_t find_record(const tsw_cell_result_t *cell, uint32_t config_index)
{
    for (size_t i = 0; i < cell->record_count; i++) {
        if (cell->records[i].config_index == config_index)
            return (int32_t)i;
    }
    return -1;
}

/* The record whose values an alias has; -1 when it leads nowhere (or in a circle). */
static int32_t alias_target(const tsw_cell_result_t *cell, size_t index)
{
    int32_t at = (int32_t)index;
    for (size_t steps = 0; at >= 0 && steps <= cell->record_count; steps++) {
        if (cell->records[at].outcome != TSW_OUTCOME_ALIAS)
            return at;
        at = find_record(cell, cell->records[at].alias_of);
    }
    return -1;
}

static void copy_target(cell_work_t *w, size_t index)
{
    int32_t target = alias_target(w->cell, index);
    if (target < 0 || !w->summary->configs[target].usable)
        return;
    tsw_config_result_t *result = &w->summary->configs[index];
    const tsw_config_result_t *from = &w->summary->configs[target];
    result->usable = true;
    result->time_ns = from->time_ns;
    result->ci_low_ns = from->ci_low_ns;
    result->ci_high_ns = from->ci_high_ns;
    result->ci_confidence = from->ci_confidence;
    w->series[index] = w->series[target];
}

static tsw_status_t time_all(cell_work_t *w, tsw_err_t *err)
{
    const tsw_cell_result_t *cell = w->cell;
    tsw_status_t status = TSW_OK;
    tsw_round_value_t *room = w->pool;
    for (size_t i = 0; status == TSW_OK && i < cell->record_count; i++) {
        tsw_config_result_t *result = &w->summary->configs[i];
        result->config = cell->config_texts[i];
        result->record = &cell->records[i];
        result->outcome = cell->records[i].outcome;
        result->detail = cell->records[i].detail;
        result->is_alias = result->outcome == TSW_OUTCOME_ALIAS;
        result->regret = INFINITY;
        w->series[i].values = room;
        room += cell->records[i].sample_count;
        if (result->outcome == TSW_OUTCOME_OK)
            status = time_record(w, i, err);
    }
    for (size_t i = 0; status == TSW_OK && i < cell->record_count; i++) {
        if (w->summary->configs[i].is_alias)
            copy_target(w, i);
    }
    return status;
}

/* Whether a is the better winner. */
static bool wins_over(const tsw_cell_summary_t *s, int32_t a, int32_t b)
{
    double x = s->configs[a].time_ns.median;
    double y = s->configs[b].time_ns.median;
    if (x != y)
        return x < y;
    if (a == s->baseline || b == s->baseline)
        return a == s->baseline;
    return strcmp(s->configs[a].config, s->configs[b].config) < 0;
}

static int32_t find_winner(const tsw_cell_summary_t *s)
{
    int32_t winner = -1;
    for (size_t i = 0; i < s->config_count; i++) {
        if (s->configs[i].usable && !s->configs[i].is_alias &&
            (winner < 0 || wins_over(s, (int32_t)i, winner)))
            winner = (int32_t)i;
    }
    return winner;
}

static tsw_paired_t pair(const cell_work_t *w, size_t a, int32_t b)
{
    if (b < 0 || !w->summary->configs[b].usable)
        return (tsw_paired_t){0};
    return tsw_stats_paired(w->series[a].values, w->series[a].count, w->series[b].values,
                            w->series[b].count, w->options->confidence, w->scratch);
}

/* The paired log ratio, or that of the medians where no round is common. */
static double log_ratio_of(const tsw_cell_summary_t *s, size_t a, int32_t b,
                           const tsw_paired_t *paired)
{
    if (paired->n > 0)
        return paired->log_ratio;
    return log(s->configs[a].time_ns.median / s->configs[b].time_ns.median);
}

static void compare_to_winner(cell_work_t *w, size_t index)
{
    tsw_cell_summary_t *s = w->summary;
    tsw_config_result_t *result = &s->configs[index];
    result->vs_best = pair(w, index, s->winner);
    result->vs_baseline = pair(w, index, s->baseline);
    double ratio = log_ratio_of(s, index, s->winner, &result->vs_best);
    bool close = ratio <= log1p(w->options->indifference);
    bool hidden = result->vs_best.n > 0 && result->vs_best.low <= 0.0 &&
                  ratio <= log1p(NOISE_FACTOR * w->options->indifference);
    result->in_tie_set = (int32_t)index == s->winner || close || hidden;
    result->regret = result->in_tie_set ? 0.0 : expm1(ratio);
    s->tie_count += result->in_tie_set && (int32_t)index != s->winner;
}

static void compare_to_baseline(tsw_cell_summary_t *s)
{
    if (s->baseline < 0 || !s->configs[s->baseline].usable)
        return;
    const tsw_paired_t *paired = &s->configs[s->winner].vs_baseline;
    double ratio = log_ratio_of(s, (size_t)s->winner, s->baseline, paired);
    s->speedup = exp(-ratio);
    s->speedup_low = exp(-(paired->n > 0 ? paired->high : ratio));
    s->speedup_high = exp(-(paired->n > 0 ? paired->low : ratio));
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
static double roof_of(const cell_work_t *w)
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

static void judge(cell_work_t *w)
{
    tsw_cell_summary_t *s = w->summary;
    s->baseline = find_record(w->cell, 0);
    s->winner = find_winner(s);
    s->compile_only = is_compile_only(w->cell);
    s->roof_ns = roof_of(w);
    if (s->winner < 0)
        return;
    for (size_t i = 0; i < s->config_count; i++) {
        if (s->configs[i].usable)
            compare_to_winner(w, i);
    }
    compare_to_baseline(s);
    s->roof_ratio = s->roof_ns / s->configs[s->winner].time_ns.median;
}

void tsw_reduce_cell_fini(tsw_cell_summary_t *summary)
{
    tsw_free(summary->configs);
    *summary = (tsw_cell_summary_t){0};
}

tsw_status_t tsw_reduce_cell(const tsw_cell_result_t *cell, const tsw_reduce_options_t *options,
                             tsw_cell_summary_t *summary_p, tsw_err_t *err)
{
    size_t total = 0;
    size_t longest = 0;
    for (size_t i = 0; i < cell->record_count; i++) {
        total += cell->records[i].sample_count;
        if (cell->records[i].sample_count > longest)
            longest = cell->records[i].sample_count;
    }
    tsw_cell_summary_t summary = {.cell = cell, .config_count = cell->record_count};
    cell_work_t w = {.cell = cell, .options = options, .summary = &summary};
    summary.configs = tsw_calloc(cell->record_count, sizeof(*summary.configs));
    w.series = tsw_calloc(cell->record_count, sizeof(*w.series));
    w.pool = tsw_calloc(total, sizeof(*w.pool));
    w.scratch = tsw_calloc(longest, sizeof(*w.scratch));
    tsw_status_t status = TSW_OK;
    if (summary.configs == NULL || w.series == NULL || w.pool == NULL || w.scratch == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = time_all(&w, err);
    if (status == TSW_OK)
        judge(&w);
    tsw_free(w.series);
    tsw_free(w.pool);
    tsw_free(w.scratch);
    if (status == TSW_OK)
        *summary_p = summary;
    else
        tsw_reduce_cell_fini(&summary);
    return status;
}
