/* Our timer against CUPTI's. After all rounds: CUPTI slows every launch of the process from then
 * on. */
#include "base/mem.h"
#include "measure/measure_cell.h"
#include "stats/stats.h"

#define LAUNCHES 31

typedef struct {
    tsw_shot_t lead, shots[LAUNCHES];
    uint64_t interval_ns[LAUNCHES];
    double ns[LAUNCHES];
} check_t;

static tsw_status_t fire(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                         tsw_measure_interval_t interval, bool is_led, check_t *check,
                         tsw_err_t *err)
{
    tsw_wave_plan_t plan = {.lead = is_led ? &check->lead : NULL,
                            .timeout_s = measure->cell.policy.launch_timeout_s + 1,
                            .per_round = 1};
    size_t finished = 0;
    tsw_status_t status = TSW_OK;
    if (is_led)
        status = tsw_measure_shot(measure, entry, TSW_WAVE_KIND_CELL, interval, &check->lead, err);
    for (size_t i = 0; i < LAUNCHES && status == TSW_OK; i++)
        status =
            tsw_measure_shot(measure, entry, TSW_WAVE_KIND_CELL, interval, &check->shots[i], err);
    if (status == TSW_OK)
        status = measure->dev->ops->wave(measure->dev, check->shots, LAUNCHES, &plan,
                                         check->interval_ns, &finished, err);
    return status;
}

static tsw_status_t own_time(tsw_measure_t *measure, tsw_measure_entry_t *entry, check_t *check,
                             double *ns_p, tsw_err_t *err)
{
    tsw_status_t status = fire(measure, entry, entry->interval, true, check, err);
    for (size_t i = 0; i < LAUNCHES && status == TSW_OK; i++)
        check->ns[i] = (double)check->interval_ns[i] / entry->interval.launches;
    if (status == TSW_OK)
        *ns_p = tsw_stats_median(check->ns, LAUNCHES);
    return status;
}

/* One by one, since that is what CUPTI sees best. */
static tsw_status_t traced_time(tsw_measure_t *measure, tsw_measure_entry_t *entry, check_t *check,
                                double *ns_p, tsw_err_t *err)
{
    const tsw_device_ops_t *ops = measure->dev->ops;
    uint64_t *ns = NULL;
    size_t count = 0;
    tsw_status_t status = ops->trace_begin(measure->dev, err);
    if (status == TSW_OK)
        status = fire(measure, entry, (tsw_measure_interval_t){1, false}, false, check, err);
    if (status == TSW_OK)
        status = ops->trace_end(measure->dev, &ns, &count, err);
    if (status == TSW_OK && count != LAUNCHES)
        status = tsw_err_set(err, TSW_ERR_DEVICE, "CUPTI saw %zu kernels instead of %d", count,
                             LAUNCHES);
    for (size_t i = 0; i < LAUNCHES && status == TSW_OK; i++)
        check->ns[i] = (double)ns[i];
    if (status == TSW_OK)
        *ns_p = tsw_stats_median(check->ns, LAUNCHES);
    tsw_free(ns);
    return status;
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
    for (size_t i = 0; i < measure->entry_count && status == TSW_OK; i++) {
        tsw_measure_entry_t *entry = &measure->entries[i];
        double own_ns = 0, cupti_ns = 0;
        if (!is_final(measure, entry))
            continue;
        status = own_time(measure, entry, check, &own_ns, err);
        if (status == TSW_OK)
            status = traced_time(measure, entry, check, &cupti_ns, err);
        if (status == TSW_OK)
            measure->sink.timer(measure->sink.user, entry->index, own_ns, cupti_ns);
    }
    if (status != TSW_OK)
        tsw_err_wrap(err, "check of the timer");
    tsw_free(check);
    return status;
}
