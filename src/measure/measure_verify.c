/* Right or wrong: the first launch, the last, and the one in place. */
#include "base/log.h"
#include "measure/measure_cell.h"

#include <inttypes.h>
#include <stdio.h>

/* One launch, and all that it left behind. */
static tsw_status_t launch_and_check(tsw_measure_t *measure, const tsw_launch_t *launch,
                                     uint64_t *ns_p, tsw_outcome_t *outcome_p, char *detail,
                                     tsw_verify_facts_t *facts_p, tsw_err_t *err)
{
    tsw_status_t status = tsw_measure_launch(measure, launch, ns_p, err);
    if (status == TSW_OK)
        status = tsw_measure_judge(measure, outcome_p, detail, facts_p, err);
    return status;
}

tsw_status_t tsw_measure_verify(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_err_t *err)
{
    tsw_outcome_t outcome = TSW_OUTCOME_OK;
    tsw_verify_facts_t facts = {.elements = 0};
    char detail[TSW_DETAIL_MAX] = "";
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_VERIFY);
    tsw_status_t status = tsw_measure_poison(measure, err);
    if (status == TSW_OK)
        status = launch_and_check(measure, &entry->launch, &entry->first_ns, &outcome, detail,
                                  &facts, err);
    tsw_measure_turn(measure, use);
    if (status != TSW_OK)
        return tsw_measure_blame(measure, entry, status, TSW_OUTCOME_LAUNCH_FAILED, err);
    tsw_measure_tell(measure, entry, outcome, detail, &facts);
    return TSW_OK;
}

/* The last launch, over what the launches before it left in the outputs. */
static tsw_status_t verify_last(tsw_measure_t *measure, tsw_measure_entry_t *entry, tsw_err_t *err)
{
    tsw_outcome_t outcome = TSW_OUTCOME_OK;
    tsw_verify_facts_t facts = {.elements = 0};
    char detail[TSW_DETAIL_MAX] = "", text[2 * TSW_DETAIL_MAX];
    uint64_t ns = 0;
    tsw_status_t status =
        launch_and_check(measure, &entry->launch, &ns, &outcome, detail, &facts, err);
    if (status != TSW_OK)
        return tsw_measure_blame(measure, entry, status, TSW_OUTCOME_LAUNCH_FAILED, err);
    if (outcome == TSW_OUTCOME_OK)
        return TSW_OK;
    snprintf(
        text, sizeof(text),
        "right at the first launch, wrong at the last: does it read what it wrote (an in-place "
        "kernel)? %s",
        detail);
    tsw_measure_tell(measure, entry, outcome, text, &facts);
    return TSW_OK;
}

static bool has_inout(const tsw_measure_t *measure)
{
    for (size_t i = 0; i < measure->arg_count; i++)
        if (measure->args[i].arg->role == TSW_ROLE_INOUT)
            return true;
    return false;
}

static tsw_status_t copy_pristine(tsw_measure_t *measure, tsw_err_t *err)
{
    tsw_status_t status = tsw_measure_poison(measure, err);
    for (size_t i = 0; i < measure->arg_count && status == TSW_OK; i++) {
        const tsw_measure_arg_t *arg = &measure->args[i];
        if (arg->arg->role == TSW_ROLE_INOUT)
            status = measure->dev->ops->copy(measure->dev, &arg->output, &arg->input, err);
    }
    return status;
}

/* As applications run it: one buffer that is read and written. */
static tsw_status_t verify_in_place(tsw_measure_t *measure, tsw_measure_entry_t *entry,
                                    tsw_err_t *err)
{
    tsw_outcome_t outcome = TSW_OUTCOME_OK;
    tsw_verify_facts_t facts = {.elements = 0};
    char detail[TSW_DETAIL_MAX] = "", text[2 * TSW_DETAIL_MAX];
    tsw_launch_t launch = entry->launch;
    tsw_measure_pointers(measure, TSW_BUFFERS_IN_PLACE, 0, &launch);
    uint64_t ns = 0;
    tsw_status_t status = copy_pristine(measure, err);
    if (status == TSW_OK)
        status = launch_and_check(measure, &launch, &ns, &outcome, detail, &facts, err);
    if (status != TSW_OK)
        return tsw_measure_blame(measure, entry, status, TSW_OUTCOME_LAUNCH_FAILED, err);
    if (outcome == TSW_OUTCOME_OK)
        return TSW_OK;
    snprintf(text, sizeof(text), "right with split buffers, wrong in place: %s", detail);
    tsw_measure_tell(measure, entry, outcome, text, &facts);
    return TSW_OK;
}

static tsw_status_t verify_again(tsw_measure_t *measure, tsw_err_t *err)
{
    char detail[TSW_DETAIL_MAX] = "";
    bool inout = has_inout(measure);
    uint64_t damaged = 0;
    /* Whoever damaged something during the rounds will do it again, alone. */
    tsw_status_t status = tsw_measure_inspect(measure, detail, err);
    if (status == TSW_OK)
        status = tsw_measure_ring_check(measure, &damaged, err);
    if (status == TSW_OK && damaged > 0)
        tsw_log(TSW_LOG_WARN, "%" PRIu64 " bytes between the rotated buffers changed", damaged);
    for (size_t i = 0; i < measure->entry_count && status == TSW_OK; i++) {
        tsw_measure_entry_t *entry = &measure->entries[i];
        if (!entry->is_ok)
            continue;
        measure->sink.busy(measure->sink.user, (int32_t)entry->index);
        if (entry->interval.launches > 0) /* it ran since it was verified */
            status = verify_last(measure, entry, err);
        if (status == TSW_OK && inout && entry->is_ok)
            status = verify_in_place(measure, entry, err);
        if (!tsw_measure_is_fatal(status))
            measure->sink.busy(measure->sink.user, -1);
    }
    return status;
}

tsw_status_t tsw_measure_verify_again(tsw_measure_t *measure, tsw_err_t *err)
{
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_VERIFY);
    tsw_status_t status = verify_again(measure, err);
    tsw_measure_turn(measure, use);
    return status;
}
