/* Times and energies of a cell's configs, from their samples. */
#include "reduce/reduce_cell.h"
#include "reduce/reduce_work.h"

#include "base/mem.h"
#include "record/roofline.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    uint32_t round;
    uint16_t slot;
    double value;
} timed_t;

int32_t tsw_reduce_find_record(const tsw_cell_result_t *cell, uint32_t config_index)
{
    for (size_t i = 0; i < cell->record_count; i++) {
        if (cell->records[i].config_index == config_index)
            return (int32_t)i;
    }
    return -1;
}

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

/* TSW_CLASS_NONE: of no use. */
static tsw_reduce_class_t class_of(const tsw_sample_t *sample)
{
    if (sample->interval_ns == 0 || sample->launches == 0)
        return TSW_CLASS_NONE;
    if (sample->stage == TSW_STAGE_ENERGY)
        return sample->energy_mj > 0 ? TSW_CLASS_ENERGY : TSW_CLASS_NONE;
    if (tsw_stage_decides((tsw_stage_t)sample->stage))
        return TSW_CLASS_DECISIVE;
    if (sample->stage == TSW_STAGE_EARLY)
        return TSW_CLASS_EARLY;
    if (sample->stage == TSW_STAGE_WARMUP)
        return TSW_CLASS_WARMUP;
    return sample->stage == TSW_STAGE_VERIFY ? TSW_CLASS_VERIFY : TSW_CLASS_NONE;
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
static tsw_status_t make_series(tsw_reduce_work_t *w, const tsw_record_t *record,
                                tsw_reduce_class_t class, tsw_reduce_series_t *series,
                                tsw_err_t *err)
{
    timed_t *timed = tsw_calloc(record->sample_count, sizeof(*timed));
    if (timed == NULL)
        return tsw_err_nomem(err);
    size_t n = 0;
    for (size_t i = 0; i < record->sample_count; i++) {
        const tsw_sample_t *sample = &record->samples[i];
        if (class_of(sample) == class)
            timed[n++] = (timed_t){sample->round, sample->slot,
                                   class == TSW_CLASS_ENERGY ? tsw_sample_joules(sample)
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
static bool can_stand(const tsw_reduce_times_t *times, tsw_reduce_class_t class)
{
    return times->of[class].summary.n > 0 && (class < TSW_CLASS_WARMUP || times->is_hopeless);
}

static void mark_suspect(tsw_config_result_t *result, const char *why)
{
    result->outcome = TSW_OUTCOME_SUSPECT;
    result->detail = why;
    result->usable = false;
}

/* Of the median of the sorted samples. A single one, or those of another kind than decide, have
 * none: no interval is better than one that looks like certainty. */
static void set_interval(const tsw_reduce_work_t *w, tsw_config_result_t *result)
{
    result->ci_low_ns = result->ci_high_ns = NAN;
    result->ci_confidence = 0.0;
    if (!result->is_estimate && result->time_ns.n > 1)
        tsw_stats_median_ci(w->scratch, result->time_ns.n, w->options->confidence,
                            &result->ci_low_ns, &result->ci_high_ns, &result->ci_confidence);
}

/* Of the blocks of one record. */
static tsw_status_t take_energy(tsw_reduce_work_t *w, size_t index, tsw_err_t *err)
{
    const tsw_record_t *record = &w->cell->records[index];
    tsw_config_result_t *result = &w->summary->configs[index];
    tsw_reduce_series_t *series = &w->times[index].of[TSW_CLASS_ENERGY];
    double mj = 0.0, ns = 0.0, confidence;
    tsw_status_t status = make_series(w, record, TSW_CLASS_ENERGY, series, err);
    if (status != TSW_OK || series->summary.n == 0)
        return status;
    result->joules = series->summary.median;
    tsw_stats_median_ci(w->scratch, series->summary.n, w->options->confidence, &result->joules_low,
                        &result->joules_high, &confidence);
    for (size_t i = 0; i < record->sample_count; i++) {
        if (class_of(&record->samples[i]) != TSW_CLASS_ENERGY)
            continue;
        mj += record->samples[i].energy_mj;
        ns += (double)record->samples[i].interval_ns;
    }
    result->watts = 1e6 * mj / ns;
    return TSW_OK;
}

/* Times of one record: its series, and its summary with interval from the best class it has. */
static tsw_status_t time_record(tsw_reduce_work_t *w, size_t index, tsw_err_t *err)
{
    const tsw_record_t *record = &w->cell->records[index];
    tsw_config_result_t *result = &w->summary->configs[index];
    tsw_reduce_times_t *times = &w->times[index];
    times->is_hopeless = record->fate == TSW_FATE_HOPELESS;
    tsw_status_t status = take_energy(w, index, err);
    if (status != TSW_OK)
        return status;
    /* From the last class on, so that scratch holds the samples of the one that counts. */
    for (tsw_reduce_class_t class = TSW_CLASS_COUNT; class -- > 0;) {
        status = make_series(w, record, class, &times->of[class], err);
        if (status != TSW_OK)
            return status;
        if (!can_stand(times, class))
            continue;
        times->basis = class;
        result->usable = true;
        result->is_estimate = class != TSW_CLASS_DECISIVE;
        result->time_ns = times->of[class].summary;
        set_interval(w, result);
    }
    if (w->by_energy && has_broken_energy(record))
        mark_suspect(result, "the energy counter stood still, or went back");
    else if (record->fate == TSW_FATE_SUSPECT)
        mark_suspect(result, "a time that cannot be: zero, or faster than the device's limits");
    else if (result->usable && result->time_ns.median < w->floor_ns)
        mark_suspect(result, "faster than the memory or arithmetic of the device allows");
    else if (!result->usable && record->sample_count > 0 && has_zero(record))
        mark_suspect(result, "the timer gave 0 for every launch");
    return TSW_OK;
}

/* Any of the above. */
static bool may_be_suspect(const tsw_record_t *record, double floor_ns)
{
    if (record->fate == TSW_FATE_SUSPECT || has_zero(record) || has_broken_energy(record))
        return true;
    for (size_t i = 0; i < record->sample_count; i++)
        if (tsw_sample_ns(&record->samples[i]) < floor_ns)
            return true;
    return false;
}

bool tsw_reduce_may_suspect(const tsw_cell_result_t *cell)
{
    const double floor_ns = tsw_roofline_cell_floor_ns(cell);
    for (size_t i = 0; i < cell->record_count; i++)
        if (may_be_suspect(&cell->records[i], floor_ns))
            return true;
    return false;
}

/* The record whose values an alias has; -1 when it leads nowhere (or in a circle). */
static int32_t alias_target(const tsw_cell_result_t *cell, size_t index)
{
    int32_t at = (int32_t)index;
    for (size_t steps = 0; at >= 0 && steps <= cell->record_count; steps++) {
        if (cell->records[at].outcome != TSW_OUTCOME_ALIAS)
            return at;
        at = tsw_reduce_find_record(cell, cell->records[at].alias_of);
    }
    return -1;
}

static void copy_target(tsw_reduce_work_t *w, size_t index)
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

tsw_status_t tsw_reduce_time_all(tsw_reduce_work_t *w, tsw_err_t *err)
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
