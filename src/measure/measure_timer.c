/* Our timer against CUPTI's, on the same launches: whatever the clock does, both see it. After all
 * rounds: CUPTI slows every launch of the process from then on. */
#include "base/mem.h"
#include "measure/measure_cell.h"
#include "stats/stats.h"

#define INTERVALS 31

/* Of an interval: more would not fit behind one gate. */
static const uint32_t most_launches = 64;
/* In the queue at a time: CUPTI puts commands of its own between ours. */
static const uint32_t most_commands = 250, commands_of_shot = 5;

typedef struct {
    tsw_shot_t lead, shots[INTERVALS];
    uint64_t interval_ns[INTERVALS];
    double own_ns[INTERVALS], cupti_ns[INTERVALS], off_ns[INTERVALS]; /* of a launch */
    size_t count;                                                     /* intervals so far */
} check_t;

/* Launches one by one: a graph is handed over as a whole, and under CUPTI too late. All wait behind
 * a gate, so that the host's pace is in no interval. */
static tsw_status_t fire(tsw_measure_t *measure, tsw_measure_entry_t *entry, uint32_t launches,
                         size_t count, check_t *check, tsw_err_t *err)
{
    const tsw_wave_plan_t plan = {.lead = &check->lead,
                                  .timeout_s = measure->cell.policy.launch_timeout_s + 1,
                                  .per_round = 1};
    size_t finished = 0;
    tsw_status_t status = tsw_measure_shot(measure, entry, TSW_WAVE_KIND_CELL,
                                           (tsw_measure_interval_t){1, false}, &check->lead, err);
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        status = tsw_measure_shot(measure, entry, TSW_WAVE_KIND_CELL,
                                  (tsw_measure_interval_t){launches, false}, &check->shots[i], err);
    if (status == TSW_OK)
        status = measure->dev->ops->wave(measure->dev, check->shots, count, &plan,
                                         check->interval_ns, &finished, err);
    return status;
}

/* From the start of its first kernel to the end of its last, with the gaps in between, which our
 * events see too. */
static void pair(const tsw_span_t *spans, uint32_t launches, size_t count, check_t *check)
{
    for (size_t i = 0; i < count; i++, spans += launches, check->count++) {
        const uint64_t traced_ns = spans[launches - 1].end_ns - spans[0].start_ns;
        const double own_ns = (double)check->interval_ns[i] / launches;
        const double cupti_ns = (double)traced_ns / launches;
        check->own_ns[check->count] = own_ns;
        check->cupti_ns[check->count] = cupti_ns;
        check->off_ns[check->count] = own_ns - cupti_ns;
    }
}

static tsw_status_t trace(tsw_measure_t *measure, tsw_measure_entry_t *entry, uint32_t launches,
                          size_t count, check_t *check, tsw_err_t *err)
{
    const tsw_device_ops_t *ops = measure->dev->ops;
    tsw_span_t *spans = NULL;
    size_t seen = 0;
    tsw_status_t status = ops->trace_begin(measure->dev, err);
    if (status == TSW_OK)
        status = fire(measure, entry, launches, count, check, err);
    if (status == TSW_OK)
        status = ops->trace_end(measure->dev, &spans, &seen, err);
    if (status == TSW_OK && seen != count * launches)
        status = tsw_err_set(err, TSW_ERR_DEVICE, "CUPTI saw %zu kernels instead of %zu", seen,
                             count * launches);
    if (status == TSW_OK)
        pair(spans, launches, count, check);
    tsw_free(spans);
    return status;
}

static tsw_status_t check_entry(tsw_measure_t *measure, tsw_measure_entry_t *entry, check_t *check,
                                tsw_err_t *err)
{
    const uint32_t whole = entry->interval.launches;
    const uint32_t launches = whole < most_launches ? whole : most_launches;
    const size_t most = most_commands / (commands_of_shot + launches);
    tsw_status_t status = TSW_OK;
    check->count = 0;
    while (status == TSW_OK && check->count < INTERVALS) {
        const size_t left = INTERVALS - check->count;
        status = trace(measure, entry, launches, left < most ? left : most, check, err);
    }
    if (status != TSW_OK)
        return status;
    const tsw_timer_check_t result = {.config_index = entry->index,
                                      .launches = launches,
                                      .own_ns = tsw_stats_median(check->own_ns, INTERVALS),
                                      .cupti_ns = tsw_stats_median(check->cupti_ns, INTERVALS),
                                      .off_ns = tsw_stats_median(check->off_ns, INTERVALS)};
    measure->sink.timer(measure->sink.user, &result);
    return TSW_OK;
}

static bool is_final(const tsw_measure_t *measure, const tsw_measure_entry_t *entry)
{
    bool is_named = entry->index == 0 || (int64_t)entry->index == measure->pick;
    return entry->is_ok && entry->interval.launches > 0 && (is_named || measure->entry_count <= 2);
}

tsw_status_t tsw_measure_check_timer(tsw_measure_t *measure, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    check_t *check = tsw_calloc(1, sizeof(*check));
    if (check == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < measure->entry_count && status == TSW_OK; i++)
        if (is_final(measure, &measure->entries[i]))
            status = check_entry(measure, &measure->entries[i], check, err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "check of the timer");
    tsw_free(check);
    return status;
}
