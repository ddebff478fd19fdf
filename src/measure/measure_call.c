/* What all parts ask of the cell in hand and its device, and what a call that failed means. */
#include "measure/measure_cell.h"

bool tsw_measure_is_fixed(const tsw_measure_t *measure)
{
    return measure->cell.policy.protocol == TSW_PROTOCOL_FIXED;
}

uint64_t tsw_measure_now_ns(const tsw_measure_t *measure)
{
    return measure->dev->ops->now_ns(measure->dev);
}

tsw_use_t tsw_measure_turn(tsw_measure_t *measure, tsw_use_t use)
{
    return tsw_watch_turn(measure->watch, measure->dev, use);
}

tsw_status_t tsw_measure_launch(tsw_measure_t *measure, const tsw_launch_t *launch, uint64_t *ns_p,
                                tsw_err_t *err)
{
    const tsw_shot_t shot = {.launches = launch, .set_count = 1, .repeat = 1};
    const tsw_wave_plan_t plan = {.timeout_s = measure->cell.policy.launch_timeout_s};
    size_t finished = 0;
    return measure->dev->ops->wave(measure->dev, &shot, 1, &plan, ns_p, &finished, err);
}

/* ---- outcomes ---- */

/* What a failed call means for the config that made it; device_outcome: for a plain refusal. */
static tsw_outcome_t outcome_of(tsw_status_t status, tsw_outcome_t device_outcome)
{
    switch (status) {
    case TSW_ERR_DEVICE:
        return device_outcome;
    case TSW_ERR_DEVICE_MEMORY:
        return TSW_OUTCOME_OUT_OF_MEMORY;
    case TSW_ERR_DEVICE_LOST:
        return TSW_OUTCOME_DEVICE_LOST;
    case TSW_ERR_TIMEOUT:
        return TSW_OUTCOME_RUN_TIMEOUT;
    default:
        return TSW_OUTCOME_INVALID;
    }
}

bool tsw_measure_is_fatal(tsw_status_t status)
{
    return status == TSW_ERR_DEVICE_LOST || status == TSW_ERR_TIMEOUT || status == TSW_ERR_NOMEM;
}

void tsw_measure_tell(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_outcome_t outcome,
                      const char *detail, const tsw_verify_facts_t *verify)
{
    entry->is_ok = outcome == TSW_OUTCOME_OK;
    measure->sink.config_state(measure->sink.user, entry->index, outcome, detail, verify);
}

tsw_status_t tsw_measure_blame(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                               tsw_status_t status, tsw_outcome_t device_outcome,
                               const tsw_err_t *err)
{
    if (status != TSW_ERR_NOMEM)
        tsw_measure_tell(measure, entry, outcome_of(status, device_outcome), err->text, NULL);
    return tsw_measure_is_fatal(status) ? status : TSW_OK;
}
