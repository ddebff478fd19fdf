/* What a launch left behind. */
#include "measure/measure_cell.h"

#include <inttypes.h>
#include <stdio.h>

/* The reference is plain and slow on purpose. */
static const double least_reference_timeout_s = 60.0;

typedef struct {
    const tsw_memory_t *memory;
    const char *name; /* of the argument */
    const char *kind; /* "", "the input of", ... */
} buffer_t;

enum { BUFFERS_OF_ARG = 3 };

/* Buffer number `which` of argument `at`, what is written first; no bytes: not there. */
static buffer_t buffer_of(const tsw_measure_t *measure, size_t at, int which)
{
    const tsw_measure_arg_t *arg = &measure->args[at];
    switch (which) {
    case 0:
        return (buffer_t){&arg->output, arg->arg->name, ""};
    case 1:
        return (buffer_t){&arg->input, arg->arg->name, "the input "};
    default:
        return (buffer_t){&arg->reference, arg->arg->name, "the reference's copy of "};
    }
}

tsw_status_t tsw_measure_poison(tsw_measure_t *measure, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < measure->arg_count && status == TSW_OK; i++)
        if (measure->args[i].output.total > 0)
            status = measure->dev->ops->poison(measure->dev, &measure->args[i].output, false, err);
    return status;
}

static void say_fence(const buffer_t *buffer, uint64_t damaged, int64_t first, char *detail)
{
    uint64_t behind = (uint64_t)first - buffer->memory->bytes;
    if (first < 0)
        snprintf(detail, TSW_DETAIL_MAX,
                 "writes outside %s%s: %" PRIu64 " bytes changed, the first %" PRId64
                 " bytes before its start",
                 buffer->kind, buffer->name, damaged, -first);
    else
        snprintf(detail, TSW_DETAIL_MAX,
                 "writes outside %s%s: %" PRIu64 " bytes changed, the first %" PRIu64
                 " bytes behind its end",
                 buffer->kind, buffer->name, damaged, behind);
}

/* Damaged fences are mended. */
static tsw_status_t judge_fences(tsw_measure_t *measure, const tsw_inspection_t *item,
                                 const buffer_t *buffer, char *detail, tsw_err_t *err)
{
    if (item->damaged == 0)
        return TSW_OK;
    if (detail[0] == '\0')
        say_fence(buffer, item->damaged, item->first, detail);
    return measure->dev->ops->poison(measure->dev, buffer->memory, true, err);
}

/* Whether an input or a reference output changed. */
static bool is_changed(const tsw_measure_t *measure, const tsw_inspection_t *item, size_t at,
                       int which, char *detail)
{
    const tsw_measure_arg_t *arg = &measure->args[at];
    bool is_input = which == 1;
    if (!item->with_sum || item->sum == (is_input ? arg->input_sum : arg->reference_sum))
        return false;
    if (detail[0] == '\0')
        snprintf(detail, TSW_DETAIL_MAX, "changes %s%s, which it must only read",
                 is_input ? "the input " : "the reference's copy of ", arg->arg->name);
    return true;
}

/* Inspection i is that of buffer i / arg_count of argument i % arg_count. */
static buffer_t buffer_at(const tsw_measure_t *measure, size_t i)
{
    return buffer_of(measure, i % measure->arg_count, (int)(i / measure->arg_count));
}

static void add_facts(tsw_verify_facts_t *facts, const tsw_compare_t *compare)
{
    facts->elements += compare->elements;
    facts->mismatches += compare->mismatches;
    facts->nans += compare->nans;
    facts->unwritten += compare->unwritten;
    facts->max_abs = compare->max_abs > facts->max_abs ? compare->max_abs : facts->max_abs;
    facts->max_rel = compare->max_rel > facts->max_rel ? compare->max_rel : facts->max_rel;
}

static void say_compare(const tsw_measure_arg_t *arg, const tsw_compare_t *compare, double atol,
                        double rtol, char *detail)
{
    const char *name = arg->arg->name;
    if (compare->mismatches == compare->nans)
        snprintf(detail, TSW_DETAIL_MAX,
                 "%s: %" PRIu64 " of %" PRIu64 " elements are NaN where the reference's are not, "
                 "the first at %" PRIu64,
                 name, compare->nans, compare->elements, compare->first_bad);
    else if (compare->mismatches == compare->unwritten)
        snprintf(detail, TSW_DETAIL_MAX,
                 "%s: %" PRIu64 " of %" PRIu64 " elements never written, the first at %" PRIu64,
                 name, compare->unwritten, compare->elements, compare->first_bad);
    else
        snprintf(detail, TSW_DETAIL_MAX,
                 "%s: %" PRIu64 " of %" PRIu64 " elements differ, the first at %" PRIu64
                 " (NaN: %" PRIu64 ", never written: %" PRIu64
                 "; largest error %.3g, relative %.3g; allowed %g + %g * |reference|)",
                 name, compare->mismatches, compare->elements, compare->first_bad, compare->nans,
                 compare->unwritten, compare->max_abs, compare->max_rel, atol, rtol);
}

/* The pack's tolerance for the argument's dtype, else exact. */
static tsw_tolerance_t tolerance_of(const tsw_measure_t *measure, const tsw_measure_arg_t *arg)
{
    const tsw_tolerance_t *found = tsw_pack_tolerance(measure->cell.variant->pack, arg->dtype);
    if (found == NULL && tsw_dtype_is_floating(arg->dtype))
        found = tsw_pack_tolerance(measure->cell.variant->pack, measure->cell.variant->dtype);
    return found != NULL ? *found : (tsw_tolerance_t){.dtype = arg->dtype};
}

/* Outputs with a reference are compared with it, if that is asked for. */
static void ask(tsw_measure_t *measure, bool with_compare)
{
    for (size_t i = 0; i < measure->arg_count * BUFFERS_OF_ARG; i++) {
        const tsw_measure_arg_t *arg = &measure->args[i % measure->arg_count];
        const tsw_memory_t *memory = buffer_at(measure, i).memory;
        bool is_output = i < measure->arg_count;
        tsw_inspection_t item = {.memory = memory, .with_sum = memory->total > 0 && !is_output};
        if (with_compare && is_output && arg->reference.total > 0) {
            tsw_tolerance_t tolerance = tolerance_of(measure, arg);
            item.want = &arg->reference;
            item.dtype = arg->dtype;
            item.elements = arg->elements;
            item.atol = tolerance.atol;
            item.rtol = tolerance.rtol;
        }
        measure->inspections[i] = item;
    }
}

static tsw_status_t judge_all_fences(tsw_measure_t *measure, char *detail, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    detail[0] = '\0';
    for (size_t i = 0; i < measure->arg_count * BUFFERS_OF_ARG && status == TSW_OK; i++) {
        buffer_t buffer = buffer_at(measure, i);
        status = judge_fences(measure, &measure->inspections[i], &buffer, detail, err);
    }
    return status;
}

/* What damage the answers show, mended. */
static tsw_status_t judge_damage(tsw_measure_t *measure, char *detail, tsw_err_t *err)
{
    const size_t count = measure->arg_count * BUFFERS_OF_ARG;
    const tsw_inspection_t *items = measure->inspections;
    bool changed = false;
    char unused[TSW_DETAIL_MAX];
    tsw_status_t status = judge_all_fences(measure, detail, err);
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        changed = is_changed(measure, &items[i], i % measure->arg_count,
                             (int)(i / measure->arg_count), detail) ||
                  changed;
    if (status == TSW_OK && changed)
        status = tsw_measure_args_fill(measure, err);
    if (status == TSW_OK && changed)
        status = tsw_measure_run_reference(measure, unused, err);
    return status;
}

static void judge_values(const tsw_measure_t *measure, tsw_outcome_t *outcome_p, char *detail,
                         tsw_verify_facts_t *facts_p)
{
    tsw_verify_facts_t facts = {.elements = 0};
    detail[0] = '\0';
    for (size_t i = 0; i < measure->arg_count; i++) {
        const tsw_inspection_t *item = &measure->inspections[i];
        if (item->want == NULL)
            continue;
        add_facts(&facts, &item->compare);
        if (item->compare.mismatches > 0 && detail[0] == '\0')
            say_compare(&measure->args[i], &item->compare, item->atol, item->rtol, detail);
    }
    *outcome_p = TSW_OUTCOME_OK;
    if (facts.mismatches > 0)
        *outcome_p =
            facts.mismatches == facts.nans ? TSW_OUTCOME_NAN_RESULT : TSW_OUTCOME_WRONG_RESULT;
    *facts_p = facts;
}

static tsw_status_t inspect(tsw_measure_t *measure, bool with_compare, tsw_err_t *err)
{
    ask(measure, with_compare);
    return measure->dev->ops->inspect(measure->dev, measure->inspections,
                                      measure->arg_count * BUFFERS_OF_ARG, err);
}

/* Note what must not change: inputs and the reference's outputs. Damaged fences are mended; detail
 * as below. */
static tsw_status_t seal(tsw_measure_t *measure, char *detail, tsw_err_t *err)
{
    tsw_status_t status = inspect(measure, false, err);
    const tsw_inspection_t *inputs = measure->inspections + measure->arg_count;
    const tsw_inspection_t *references = inputs + measure->arg_count;
    for (size_t i = 0; i < measure->arg_count && status == TSW_OK; i++) {
        measure->args[i].input_sum = inputs[i].sum;
        measure->args[i].reference_sum = references[i].sum;
    }
    return status == TSW_OK ? judge_all_fences(measure, detail, err) : status;
}

tsw_status_t tsw_measure_run_reference(tsw_measure_t *measure, char *detail, tsw_err_t *err)
{
    double timeout_s = 10 * measure->cell.policy.launch_timeout_s;
    if (timeout_s < least_reference_timeout_s)
        timeout_s = least_reference_timeout_s;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < measure->arg_count && status == TSW_OK; i++)
        if (measure->args[i].reference.total > 0)
            status =
                measure->dev->ops->poison(measure->dev, &measure->args[i].reference, false, err);
    if (status == TSW_OK)
        status = measure->dev->ops->run(measure->dev, &measure->reference_launch, timeout_s, err);
    if (status == TSW_OK)
        status = seal(measure, detail, err);
    return status;
}

tsw_status_t tsw_measure_inspect(tsw_measure_t *measure, char *detail, tsw_err_t *err)
{
    tsw_status_t status = inspect(measure, false, err);
    return status == TSW_OK ? judge_damage(measure, detail, err) : status;
}

tsw_status_t tsw_measure_judge(tsw_measure_t *measure, tsw_outcome_t *outcome_p, char *detail,
                               tsw_verify_facts_t *facts_p, tsw_err_t *err)
{
    char damage[TSW_DETAIL_MAX] = "";
    tsw_status_t status = inspect(measure, true, err);
    if (status != TSW_OK)
        return status;
    judge_values(measure, outcome_p, detail, facts_p);
    status = judge_damage(measure, damage, err);
    if (status == TSW_OK && damage[0] != '\0') {
        *outcome_p = TSW_OUTCOME_WRONG_RESULT;
        snprintf(detail, TSW_DETAIL_MAX, "%s", damage);
    }
    return status;
}
