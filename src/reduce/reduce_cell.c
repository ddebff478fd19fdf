#include "reduce/reduce_cell.h"

#include "base/mem.h"
#include "record/roofline.h"
#include "stats/energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An interval that cannot tell a config from the winner makes a tie only up to this many times the
 * indifference: a few noisy rounds must not turn a real loss into a tie. */
#define NOISE_FACTOR 4.0

/* Samples that may be compared with each other. */
typedef enum {
    CLASS_DECISIVE,
    CLASS_EARLY,  /* single launches of a race's first waves */
    CLASS_WARMUP, /* of configs that were hopeless at once, and of those beside them */
    CLASS_VERIFY, /* the same, by the launch that was verified */
    CLASS_COUNT,  /* of time */
    CLASS_ENERGY = CLASS_COUNT,
    CLASS_NONE,
} class_t;

/* Samples of one config and class, per launch. */
typedef struct {
    tsw_round_value_t *values; /* a round at most once, ascending */
    size_t count;
    tsw_summary_t summary;
} series_t;

typedef struct {
    series_t of[CLASS_NONE];
    class_t basis; /* what its time comes from */
    bool is_hopeless;
} times_t;

/* What a winner has least of. */
typedef struct {
    const char *name;
    size_t offset; /* in tsw_summary_t */
} objective_t;

/* Its figure is none of time: the winner comes of another stage. */
#define OF_ENERGY SIZE_MAX

static const objective_t objectives[] = {
    {"median", offsetof(tsw_summary_t, median)}, /* first: what is taken without a word */
    {"p90", offsetof(tsw_summary_t, p90)},       {"p99", offsetof(tsw_summary_t, p99)},
    {"mean", offsetof(tsw_summary_t, mean)},     {"energy", OF_ENERGY},
};

typedef struct {
    const tsw_cell_result_t *cell;
    const tsw_reduce_options_t *options;
    tsw_cell_summary_t *summary;
    times_t *times; /* per record */
    const objective_t *objective;
    int32_t fastest; /* that times are told from; the winner, unless that is one by energy */
    tsw_round_value_t *pool; /* memory of all series */
    tsw_round_value_t *room; /* what is left of it */
    double floor_ns;         /* no launch can be faster; 0: unknown */
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

/* CLASS_NONE: of no use. */
static class_t class_of(const tsw_sample_t *sample)
{
    if (sample->interval_ns == 0 || sample->launches == 0)
        return CLASS_NONE;
    if (sample->stage == TSW_STAGE_ENERGY)
        return sample->energy_mj > 0 ? CLASS_ENERGY : CLASS_NONE;
    if (tsw_stage_decides((tsw_stage_t)sample->stage))
        return CLASS_DECISIVE;
    if (sample->stage == TSW_STAGE_EARLY)
        return CLASS_EARLY;
    if (sample->stage == TSW_STAGE_WARMUP)
        return CLASS_WARMUP;
    return sample->stage == TSW_STAGE_VERIFY ? CLASS_VERIFY : CLASS_NONE;
}

static bool is_by_energy(const cell_work_t *w)
{
    return w->objective->offset == OF_ENERGY;
}

static bool has_energy(const cell_work_t *w, size_t index)
{
    return w->times[index].of[CLASS_ENERGY].summary.n > 0;
}

/* The counter stood still in one of its blocks, or went back. */
static bool has_broken_energy(const tsw_record_t *record)
{
    for (size_t i = 0; i < record->sample_count; i++)
        if (record->samples[i].stage == TSW_STAGE_ENERGY && record->samples[i].energy_mj == 0)
            return true;
    return false;
}

static bool has_zero(const tsw_record_t *record)
{
    for (size_t i = 0; i < record->sample_count; i++)
        if (record->samples[i].interval_ns == 0)
            return true;
    return false;
}

/* The samples of one class; w->room moves behind its values. w->scratch holds them all, sorted. */
static tsw_status_t make_series(cell_work_t *w, const tsw_record_t *record, class_t class,
                                series_t *series, tsw_err_t *err)
{
    timed_t *timed = tsw_calloc(record->sample_count, sizeof(*timed));
    if (timed == NULL)
        return tsw_err_nomem(err);
    size_t n = 0;
    for (size_t i = 0; i < record->sample_count; i++) {
        const tsw_sample_t *sample = &record->samples[i];
        if (class_of(sample) == class)
            timed[n++] = (timed_t){sample->round, sample->slot,
                                   class == CLASS_ENERGY ? tsw_sample_joules(sample)
                                                         : tsw_sample_ns(sample)};
    }
    if (n > 0)
        qsort(timed, n, sizeof(*timed), compare_timed);
    series->values = w->room;
    for (size_t i = 0; i < n; i++) {
        w->scratch[i] = timed[i].value;
        if (i == 0 || timed[i].round != timed[i - 1].round)
            series->values[series->count++] =
                (tsw_round_value_t){.round = timed[i].round, .value = timed[i].value};
    }
    w->room += series->count;
    tsw_free(timed);
    series->summary = tsw_stats_summary(w->scratch, n);
    return TSW_OK;
}

/* Whether the class may stand for the config's time. */
static bool can_stand(const times_t *times, class_t class)
{
    return times->of[class].summary.n > 0 && (class < CLASS_WARMUP || times->is_hopeless);
}

static void mark_suspect(tsw_config_result_t *result, const char *why)
{
    result->outcome = TSW_OUTCOME_SUSPECT;
    result->detail = why;
    result->usable = false;
}

/* Of the median of the sorted samples. A single one, or those of another kind than decide, have
 * none: no interval is better than one that looks like certainty. */
static void set_interval(const cell_work_t *w, tsw_config_result_t *result)
{
    result->ci_low_ns = result->ci_high_ns = NAN;
    result->ci_confidence = 0.0;
    if (!result->is_estimate && result->time_ns.n > 1)
        tsw_stats_median_ci(w->scratch, result->time_ns.n, w->options->confidence,
                            &result->ci_low_ns, &result->ci_high_ns, &result->ci_confidence);
}

/* Of the blocks of one record. */
static tsw_status_t take_energy(cell_work_t *w, size_t index, tsw_err_t *err)
{
    const tsw_record_t *record = &w->cell->records[index];
    tsw_config_result_t *result = &w->summary->configs[index];
    series_t *series = &w->times[index].of[CLASS_ENERGY];
    double mj = 0.0, ns = 0.0, confidence;
    tsw_status_t status = make_series(w, record, CLASS_ENERGY, series, err);
    if (status != TSW_OK || series->summary.n == 0)
        return status;
    result->joules = series->summary.median;
    tsw_stats_median_ci(w->scratch, series->summary.n, w->options->confidence, &result->joules_low,
                        &result->joules_high, &confidence);
    for (size_t i = 0; i < record->sample_count; i++) {
        if (class_of(&record->samples[i]) != CLASS_ENERGY)
            continue;
        mj += record->samples[i].energy_mj;
        ns += (double)record->samples[i].interval_ns;
    }
    result->watts = 1e6 * mj / ns;
    return TSW_OK;
}

/* Times of one record: its series, and its summary with interval from the best class it has. */
static tsw_status_t time_record(cell_work_t *w, size_t index, tsw_err_t *err)
{
    const tsw_record_t *record = &w->cell->records[index];
    tsw_config_result_t *result = &w->summary->configs[index];
    times_t *times = &w->times[index];
    times->is_hopeless = record->fate == TSW_FATE_HOPELESS;
    tsw_status_t status = take_energy(w, index, err);
    if (status != TSW_OK)
        return status;
    /* From the last class on, so that scratch holds the samples of the one that counts. */
    for (class_t class = CLASS_COUNT; class -- > 0;) {
        status = make_series(w, record, class, &times->of[class], err);
        if (status != TSW_OK)
            return status;
        if (!can_stand(times, class))
            continue;
        times->basis = class;
        result->usable = true;
        result->is_estimate = class != CLASS_DECISIVE;
        result->time_ns = times->of[class].summary;
        set_interval(w, result);
    }
    if (is_by_energy(w) && has_broken_energy(record))
        mark_suspect(result, "the energy counter stood still, or went back");
    else if (record->fate == TSW_FATE_SUSPECT)
        mark_suspect(result, "a time that cannot be: zero, or faster than the device's limits");
    else if (result->usable && result->time_ns.median < w->floor_ns)
        mark_suspect(result, "faster than the memory or arithmetic of the device allows");
    else if (!result->usable && record->sample_count > 0 && has_zero(record))
        mark_suspect(result, "the timer gave 0 for every launch");
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
    result->unstable = from->unstable;
    result->is_estimate = from->is_estimate;
    result->joules = from->joules;
    result->joules_low = from->joules_low;
    result->joules_high = from->joules_high;
    result->watts = from->watts;
    result->time_ns = from->time_ns;
    result->ci_low_ns = from->ci_low_ns;
    result->ci_high_ns = from->ci_high_ns;
    result->ci_confidence = from->ci_confidence;
    w->times[index] = w->times[target];
}

static tsw_status_t time_all(cell_work_t *w, tsw_err_t *err)
{
    const tsw_cell_result_t *cell = w->cell;
    tsw_status_t status = TSW_OK;
    w->room = w->pool;
    for (size_t i = 0; status == TSW_OK && i < cell->record_count; i++) {
        tsw_config_result_t *result = &w->summary->configs[i];
        result->config = cell->config_texts[i];
        result->record = &cell->records[i];
        result->outcome = cell->records[i].outcome;
        result->detail = cell->records[i].detail;
        result->unstable = cell->records[i].unstable;
        result->is_alias = result->outcome == TSW_OUTCOME_ALIAS;
        result->regret = INFINITY;
        result->joules = result->joules_low = result->joules_high = result->watts = NAN;
        if (result->outcome == TSW_OUTCOME_OK)
            status = time_record(w, i, err);
    }
    for (size_t i = 0; status == TSW_OK && i < cell->record_count; i++) {
        if (w->summary->configs[i].is_alias)
            copy_target(w, i);
    }
    return status;
}

static double figure_of(const cell_work_t *w, int32_t index)
{
    double value;
    if (is_by_energy(w)) /* who is fastest, before who takes least */
        return w->summary->configs[index].time_ns.median;
    memcpy(&value, (const char *)&w->summary->configs[index].time_ns + w->objective->offset,
           sizeof(value));
    return value;
}

/* Whether a is the better winner. Early samples never win against decisive ones. */
static bool wins_over(const cell_work_t *w, int32_t a, int32_t b)
{
    const tsw_cell_summary_t *s = w->summary;
    if (w->times[a].basis != w->times[b].basis)
        return w->times[a].basis < w->times[b].basis;
    double x = figure_of(w, a);
    double y = figure_of(w, b);
    if (x != y)
        return x < y;
    if (a == s->baseline || b == s->baseline)
        return a == s->baseline;
    return strcmp(s->configs[a].config, s->configs[b].config) < 0;
}

static int32_t find_winner(const cell_work_t *w)
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

/* Warm-up samples and those before are compared only for what they threw out. */
static bool may_compare(const cell_work_t *w, size_t a, size_t b, class_t class)
{
    return class < CLASS_WARMUP || w->times[a].is_hopeless || w->times[b].is_hopeless;
}

/* Over the rounds of the best class that has common ones. Without an interval (NaN) where these do
 * not decide, or where there is only one. */
static tsw_paired_t pair(const cell_work_t *w, size_t a, int32_t b)
{
    tsw_paired_t paired = {0};
    if (b < 0 || !w->summary->configs[b].usable)
        return paired;
    for (class_t class = 0; class < CLASS_COUNT && paired.n == 0; class ++) {
        const series_t *x = &w->times[a].of[class];
        const series_t *y = &w->times[b].of[class];
        if (may_compare(w, a, (size_t)b, class))
            paired = tsw_stats_paired(x->values, x->count, y->values, y->count,
                                      w->options->confidence, w->scratch);
        if (paired.n > 0 && (class != CLASS_DECISIVE || paired.n == 1)) {
            paired.low = paired.high = NAN;
            paired.confidence = 0.0;
        }
    }
    return paired;
}

/* The paired log ratio, or that of the medians of a common class where no round is common. */
static double log_ratio_of(const cell_work_t *w, size_t a, int32_t b, const tsw_paired_t *paired)
{
    if (paired->n > 0)
        return paired->log_ratio;
    for (class_t class = 0; class < CLASS_COUNT; class ++) {
        const tsw_summary_t *x = &w->times[a].of[class].summary;
        const tsw_summary_t *y = &w->times[b].of[class].summary;
        if (x->n > 0 && y->n > 0 && may_compare(w, a, (size_t)b, class))
            return log(x->median / y->median);
    }
    return log(w->summary->configs[a].time_ns.median / w->summary->configs[b].time_ns.median);
}

/* A config without samples of the fastest one's kind gets its time from the ratio to it. */
static void estimate(cell_work_t *w, size_t index)
{
    tsw_cell_summary_t *s = w->summary;
    tsw_config_result_t *result = &s->configs[index];
    if (w->times[index].basis == w->times[w->fastest].basis)
        return;
    tsw_paired_t paired = pair(w, index, w->fastest);
    double ratio = log_ratio_of(w, index, w->fastest, &paired);
    double factor = s->configs[w->fastest].time_ns.median * exp(ratio) / result->time_ns.median;
    tsw_summary_t *time = &result->time_ns;
    double *values[] = {&time->min,  &time->q1,  &time->median, &time->q3, &time->max,
                        &time->mean, &time->std, &time->p90,    &time->p99};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        *values[i] *= factor;
}

static void compare_to_winner(cell_work_t *w, size_t index)
{
    tsw_cell_summary_t *s = w->summary;
    tsw_config_result_t *result = &s->configs[index];
    result->vs_best = pair(w, index, s->winner);
    result->vs_baseline = pair(w, index, s->baseline);
    estimate(w, index);
    bool of_median = w->objective == objectives;
    bool same_kind = w->times[index].basis == w->times[s->winner].basis;
    double ratio = of_median || !same_kind
                       ? log_ratio_of(w, index, s->winner, &result->vs_best)
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

/* ---- by energy ---- */

static bool takes_less(const cell_work_t *w, int32_t a, int32_t b)
{
    const tsw_cell_summary_t *s = w->summary;
    if (s->configs[a].joules != s->configs[b].joules)
        return s->configs[a].joules < s->configs[b].joules;
    if (a == s->baseline || b == s->baseline)
        return a == s->baseline;
    return strcmp(s->configs[a].config, s->configs[b].config) < 0;
}

static int32_t find_thriftiest(const cell_work_t *w)
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

static tsw_paired_t pair_energy(const cell_work_t *w, size_t a, int32_t b)
{
    tsw_paired_t paired = {0};
    if (b < 0 || !w->summary->configs[b].usable)
        return paired;
    const series_t *x = &w->times[a].of[CLASS_ENERGY];
    const series_t *y = &w->times[b].of[CLASS_ENERGY];
    paired = tsw_stats_paired(x->values, x->count, y->values, y->count, w->options->confidence,
                              w->scratch);
    if (paired.n == 1)
        paired.low = paired.high = NAN;
    return paired;
}

/* Who was not tried is taken to draw the winner's power, and was left out for a reason. */
static void compare_energy(cell_work_t *w, size_t index)
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

static void judge_energy(cell_work_t *w)
{
    tsw_cell_summary_t *s = w->summary;
    s->winner = find_thriftiest(w);
    for (size_t i = 0; i < s->config_count; i++) {
        if (s->configs[i].usable)
            estimate(w, i);
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

/* ---- the whole ---- */

static void compare_to_baseline(const cell_work_t *w)
{
    tsw_cell_summary_t *s = w->summary;
    if (s->baseline < 0 || !s->configs[s->baseline].usable)
        return;
    const tsw_paired_t *paired = &s->configs[s->winner].vs_baseline;
    double ratio = log_ratio_of(w, (size_t)s->winner, s->baseline, paired);
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
    s->winner = find_winner(w);
    s->compile_only = is_compile_only(w->cell);
    s->roof_ns = roof_of(w);
    if (s->winner < 0)
        return;
    w->fastest = s->winner;
    if (is_by_energy(w)) {
        judge_energy(w);
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

static const objective_t *find_objective(const char *name)
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
    cell_work_t w = {.cell = cell,
                     .options = options,
                     .summary = &summary,
                     .objective = find_objective(objective),
                     .floor_ns = tsw_roofline_cell_floor_ns(cell)};
    if (w.objective == NULL)
        return tsw_err_set(err, TSW_ERR_UNSUPPORTED,
                           "the objective '%.40s' is none of median, p90, "
                           "p99, mean, energy",
                           objective);
    summary.configs = tsw_calloc(cell->record_count, sizeof(*summary.configs));
    w.times = tsw_calloc(cell->record_count, sizeof(*w.times));
    w.pool = tsw_calloc(total, sizeof(*w.pool));
    w.scratch = tsw_calloc(longest, sizeof(*w.scratch));
    tsw_status_t status = TSW_OK;
    if (summary.configs == NULL || w.times == NULL || w.pool == NULL || w.scratch == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = time_all(&w, err);
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
