#include "record/stability.h"

#include "base/mem.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double control_limit = 0.003, drift_limit = 0.005;
static const double trend_z = 3.29; /* 0.1 %, two-sided */
enum { LEAST_ROUNDS = 8, LEAST_CONFIGS = 3 };
enum { MOST = 400 }; /* values of a test: a trend shows in these */

const char *tsw_unstable_format(uint8_t mask, char text[TSW_UNSTABLE_TEXT_SIZE])
{
    static const char *const names[] = {"clock", "control", "drift", "shared"};
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((mask >> i & 1) != 0)
            length += (size_t)snprintf(text + length, TSW_UNSTABLE_TEXT_SIZE - length, "%s%s",
                                       length > 0 ? "+" : "", names[i]);
    return text;
}

/* One deciding sample. */
typedef struct {
    uint32_t round;
    uint32_t record;
    double value; /* log of ns per launch; then what is left of it */
} point_t;

typedef struct {
    tsw_cell_result_t *cell;
    point_t *points;
    size_t count;
    double *values; /* room for as many */
    double scratch[MOST];
    double pairs[MOST * (MOST + 1) / 2];
} work_t;

static bool is_of_use(const tsw_sample_t *sample)
{
    return sample->interval_ns > 0 && sample->launches > 0;
}

/* ---- clock ---- */

static void judge_clock(work_t *w)
{
    const tsw_cell_result_t *cell = w->cell;
    for (size_t r = 0; r < cell->round_count; r++) {
        const tsw_round_t *round = &cell->rounds[r];
        if (!round->is_unstable || !tsw_stage_decides((tsw_stage_t)round->stage))
            continue;
        uint8_t why = round->foreign_processes > 0 ? TSW_UNSTABLE_SHARED : TSW_UNSTABLE_CLOCK;
        for (size_t i = 0; i < w->count; i++)
            if (w->points[i].round == round->round)
                cell->records[w->points[i].record].unstable |= why;
    }
}

/* ---- control ---- */

/* log(control / leader) for each round of the final that has both, up to MOST of them. */
static size_t find_controls(work_t *w, const tsw_record_t *record)
{
    size_t count = 0;
    for (size_t i = 0; i < record->sample_count && count < MOST; i++) {
        const tsw_sample_t *control = &record->samples[i];
        if (control->stage != TSW_STAGE_CONTROL || !is_of_use(control))
            continue;
        for (size_t k = 0; k < record->sample_count; k++) {
            const tsw_sample_t *leader = &record->samples[k];
            if (leader->stage != TSW_STAGE_FINAL || leader->round != control->round ||
                !is_of_use(leader))
                continue;
            w->values[count++] = log(tsw_sample_ns(control) / tsw_sample_ns(leader));
            break;
        }
    }
    return count;
}

static void judge_control(work_t *w)
{
    tsw_cell_result_t *cell = w->cell;
    bool off = false;
    for (size_t i = 0; i < cell->record_count; i++) {
        size_t count = find_controls(w, &cell->records[i]);
        off = off || tsw_stats_is_off(w->values, count, control_limit, w->scratch, w->pairs);
    }
    for (size_t i = 0; off && i < cell->record_count; i++) {
        tsw_fate_t fate = cell->records[i].fate;
        if (fate == TSW_FATE_WINNER || fate == TSW_FATE_TIED || fate == TSW_FATE_BEATEN)
            cell->records[i].unstable |= TSW_UNSTABLE_CONTROL;
    }
}

/* ---- drift ---- */

static int by_round(const void *a, const void *b)
{
    const point_t *x = a, *y = b;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

static int by_record(const void *a, const void *b)
{
    const point_t *x = a, *y = b;
    if (x->record != y->record)
        return x->record < y->record ? -1 : 1;
    return (x->round > y->round) - (x->round < y->round);
}

/* From each run of points of one record, or one round, its median is taken away. Runs of fewer than
 * `least` become NaN. */
static void centre(work_t *w, bool is_record, size_t least)
{
    for (size_t begin = 0, end; begin < w->count; begin = end) {
        for (end = begin; end < w->count; end++) {
            const point_t *first = &w->points[begin], *point = &w->points[end];
            if (is_record ? point->record != first->record : point->round != first->round)
                break;
            w->values[end - begin] = point->value;
        }
        double median =
            end - begin < least ? (double)NAN : tsw_stats_median(w->values, end - begin);
        for (size_t i = begin; i < end; i++)
            w->points[i].value -= median;
    }
}

/* Thins the values out evenly; how many are left. */
static size_t thin(double *values, size_t n)
{
    size_t step = (n + MOST - 1) / MOST, left = 0;
    for (size_t i = 0; i < n; i += step)
        values[left++] = values[i];
    return left;
}

static void judge_drift(work_t *w)
{
    qsort(w->points, w->count, sizeof(*w->points), by_record);
    centre(w, true, 1);
    qsort(w->points, w->count, sizeof(*w->points), by_round);
    centre(w, false, LEAST_CONFIGS);
    qsort(w->points, w->count, sizeof(*w->points), by_record);
    for (size_t i = 0; i < w->count;) {
        uint32_t record = w->points[i].record;
        size_t n = 0;
        for (; i < w->count && w->points[i].record == record; i++)
            if (!isnan(w->points[i].value))
                w->values[n++] = w->points[i].value;
        n = thin(w->values, n);
        if (n < LEAST_ROUNDS || fabs(tsw_stats_trend(w->values, n)) < trend_z)
            continue;
        double moved = tsw_stats_slope(w->values, n, w->pairs) * (double)(n - 1);
        if (fabs(moved) > drift_limit)
            w->cell->records[record].unstable |= TSW_UNSTABLE_DRIFT;
    }
}

/* ---- all of it ---- */

static void find_points(work_t *w)
{
    for (size_t i = 0; i < w->cell->record_count; i++) {
        const tsw_record_t *record = &w->cell->records[i];
        for (size_t k = 0; k < record->sample_count; k++)
            if (tsw_stage_decides((tsw_stage_t)record->samples[k].stage) &&
                is_of_use(&record->samples[k]))
                w->points[w->count++] = (point_t){.round = record->samples[k].round,
                                                  .record = (uint32_t)i,
                                                  .value = log(tsw_sample_ns(&record->samples[k]))};
    }
}

tsw_status_t tsw_stability_judge(tsw_cell_result_t *cell, tsw_err_t *err)
{
    size_t total = 0;
    for (size_t i = 0; i < cell->record_count; i++) {
        cell->records[i].unstable = 0;
        total += cell->records[i].sample_count;
    }
    work_t *w = tsw_calloc(1, sizeof(*w));
    if (w == NULL)
        return tsw_err_nomem(err);
    w->cell = cell;
    w->points = tsw_calloc(total, sizeof(*w->points));
    w->values = tsw_calloc(total, sizeof(*w->values));
    tsw_status_t status = TSW_OK;
    if (w->points == NULL || w->values == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK) {
        find_points(w);
        judge_clock(w);
        judge_control(w);
        judge_drift(w);
    }
    tsw_free(w->points);
    tsw_free(w->values);
    tsw_free(w);
    return status;
}
