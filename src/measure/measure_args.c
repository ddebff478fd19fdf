#include "measure/measure_cell.h"

#include "base/mem.h"
#include "base/rng.h"
#include "device/tool_host.h"

#include <inttypes.h>

#define MIB (1ull << 20)

static const uint64_t least_fence_bytes = 2 * MIB;
static const uint64_t most_fence_bytes = 256 * MIB;
static const uint64_t most_elements = 1ull << 60;

static const tsw_pack_t *pack_of(const tsw_measure_t *measure)
{
    return measure->cell.variant->pack;
}

static bool has_input(const tsw_measure_arg_t *arg)
{
    return arg->arg->role == TSW_ROLE_IN || arg->arg->role == TSW_ROLE_INOUT;
}

static bool has_reference(const tsw_measure_arg_t *arg)
{
    return arg->arg->role == TSW_ROLE_OUT || arg->arg->role == TSW_ROLE_INOUT;
}

static bool has_output(const tsw_measure_arg_t *arg)
{
    return has_reference(arg) || arg->arg->role == TSW_ROLE_WORKSPACE;
}

static tsw_status_t count_of(tsw_measure_t *measure, const tsw_arg_t *arg, const tsw_expr_t *expr,
                             const char *what, uint64_t *count_p, tsw_err_t *err)
{
    int64_t count = 0;
    tsw_status_t status = tsw_eval_i64(measure->eval, expr, &count, err);
    if (status != TSW_OK) {
        tsw_err_wrap(err, "argument %s: %s", arg->name, what);
        return status;
    }
    if (count < 0)
        return tsw_err_set(err, TSW_ERR_INPUT, "argument %s: %s %" PRId64 " is negative", arg->name,
                           what, count);
    if ((uint64_t)count > most_elements)
        return tsw_err_set(err, TSW_ERR_OVERFLOW,
                           "argument %s: %s %" PRId64 " is beyond any device", arg->name, what,
                           count);
    *count_p = (uint64_t)count;
    return TSW_OK;
}

/* At least one span of the largest tile over the rows of this argument. */
static tsw_status_t fence_of(tsw_measure_t *measure, const tsw_measure_arg_t *arg,
                             uint64_t *bytes_p, tsw_err_t *err)
{
    uint64_t row = 1;
    tsw_status_t status = TSW_OK;
    if (arg->arg->row.text != NULL)
        status = count_of(measure, arg->arg, &arg->arg->row, "row", &row, err);
    if (status != TSW_OK)
        return status;
    uint64_t tile = measure->cell.max_tile > 0 ? (uint64_t)measure->cell.max_tile : 1;
    uint64_t row_bytes = row * tsw_dtype_bytes(arg->dtype);
    uint64_t bytes = row_bytes > most_fence_bytes / tile ? most_fence_bytes : row_bytes * tile;
    bytes = bytes < least_fence_bytes ? least_fence_bytes : bytes;
    *bytes_p = (bytes + least_fence_bytes - 1) / least_fence_bytes * least_fence_bytes;
    return TSW_OK;
}

static tsw_status_t memory_new(tsw_measure_t *measure, const tsw_measure_arg_t *arg,
                               uint64_t fence_bytes, tsw_memory_t *memory_p, tsw_err_t *err)
{
    const tsw_device_ops_t *ops = measure->dev->ops;
    uint64_t bytes = arg->elements * tsw_dtype_bytes(arg->dtype);
    tsw_status_t status = measure->is_ahead
                              ? ops->memory_ahead(measure->dev, bytes, fence_bytes, memory_p, err)
                              : ops->memory_new(measure->dev, bytes, fence_bytes, memory_p, err);
    if (status == TSW_OK)
        status = ops->poison(measure->dev, memory_p, false, err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "argument %s", arg->arg->name);
    return status;
}

static tsw_status_t allocate(tsw_measure_t *measure, tsw_measure_arg_t *arg, bool with_reference,
                             tsw_err_t *err)
{
    uint64_t fence_bytes = 0;
    tsw_status_t status = count_of(measure, arg->arg, &arg->arg->size, "size", &arg->elements, err);
    if (status == TSW_OK)
        status = fence_of(measure, arg, &fence_bytes, err);
    if (status == TSW_OK && has_input(arg))
        status = memory_new(measure, arg, fence_bytes, &arg->input, err);
    if (status == TSW_OK && has_output(arg))
        status = memory_new(measure, arg, fence_bytes, &arg->output, err);
    if (status == TSW_OK && has_reference(arg) && with_reference)
        status = memory_new(measure, arg, fence_bytes, &arg->reference, err);
    return status;
}

static tsw_status_t fill_bound(tsw_measure_t *measure, const tsw_arg_t *arg, const tsw_expr_t *expr,
                               int64_t *value_p, tsw_err_t *err)
{
    if (expr->text == NULL)
        return TSW_OK;
    tsw_status_t status = tsw_eval_i64(measure->eval, expr, value_p, err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "argument %s: fill", arg->name);
    return status;
}

/* Bytes for a dataset fill. */
static tsw_status_t check_data(const tsw_measure_t *measure, size_t at, tsw_err_t *err)
{
    const tsw_measure_arg_t *arg = &measure->args[at];
    if (measure->cell.fill_data == NULL || measure->cell.fill_data[at] == NULL)
        return tsw_err_set(err, TSW_ERR_UNSUPPORTED, "argument %s: nobody read its dataset",
                           arg->arg->name);
    if (measure->cell.fill_sizes[at] != arg->input.bytes)
        return tsw_err_set(err, TSW_ERR_INPUT,
                           "argument %s: its dataset has %zu bytes, %" PRIu64 " are needed",
                           arg->arg->name, measure->cell.fill_sizes[at], arg->input.bytes);
    return TSW_OK;
}

static tsw_status_t fill_arg(tsw_measure_t *measure, size_t at, tsw_err_t *err)
{
    tsw_measure_arg_t *arg = &measure->args[at];
    const tsw_measure_cell_t *cell = &measure->cell;
    const tsw_fill_t *fill = &arg->arg->fill;
    bool given = fill->kind == TSW_FILL_DATASET;
    int64_t lo = 0, hi = 0;
    tsw_status_t status = given ? check_data(measure, at, err) : TSW_OK;
    if (status == TSW_OK)
        status = fill_bound(measure, arg->arg, &fill->lo, &lo, err);
    if (status == TSW_OK)
        status = fill_bound(measure, arg->arg, &fill->hi, &hi, err);
    if (status != TSW_OK)
        return status;
    if (fill->kind == TSW_FILL_INDEX && lo > hi)
        return tsw_err_set(err, TSW_ERR_INPUT, "argument %s: no index from %" PRId64 " to %" PRId64,
                           arg->arg->name, lo, hi);
    if (fill->kind == TSW_FILL_OFFSETS && hi < 0)
        return tsw_err_set(err, TSW_ERR_INPUT, "argument %s: offsets up to %" PRId64,
                           arg->arg->name, hi);
    uint64_t seed = tsw_rng_u64(cell->policy.seed, tsw_rng_fold(cell->cell_key), at, 0xf111u, 0);
    status = measure->dev->ops->fill(measure->dev, &arg->input, arg->dtype, arg->elements, fill, lo,
                                     hi, seed, given ? cell->fill_data[at] : NULL,
                                     given ? cell->fill_sizes[at] : 0, err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "argument %s: fill", arg->arg->name);
    return status;
}

tsw_status_t tsw_measure_args_fill(tsw_measure_t *measure, tsw_err_t *err)
{
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_FILL);
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < measure->arg_count && status == TSW_OK; i++)
        if (has_input(&measure->args[i]))
            status = fill_arg(measure, i, err);
    tsw_measure_turn(measure, use);
    return status;
}

tsw_status_t tsw_measure_args_new(tsw_measure_t *measure, bool with_reference, tsw_err_t *err)
{
    const tsw_pack_t *pack = pack_of(measure);
    measure->args = tsw_calloc(pack->arg_count, sizeof(*measure->args));
    if (measure->args == NULL)
        return tsw_err_nomem(err);
    measure->arg_count = pack->arg_count;
    measure->inspections = tsw_calloc(3 * pack->arg_count, sizeof(*measure->inspections));
    if (measure->inspections == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < pack->arg_count; i++) {
        tsw_measure_arg_t *arg = &measure->args[i];
        arg->arg = &pack->args[i];
        arg->dtype =
            arg->arg->dtype == TSW_DTYPE_OF_CELL ? measure->cell.variant->dtype : arg->arg->dtype;
    }
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_ALLOCATE);
    for (size_t i = 0; i < pack->arg_count && status == TSW_OK; i++)
        if (pack->args[i].role != TSW_ROLE_SCALAR)
            status = allocate(measure, &measure->args[i], with_reference, err);
    tsw_measure_turn(measure, use);
    return status == TSW_OK ? tsw_measure_args_fill(measure, err) : status;
}

static void memory_free(tsw_measure_t *measure, tsw_memory_t *memory)
{
    if (memory->total > 0)
        measure->dev->ops->memory_free(measure->dev, memory);
}

void tsw_measure_args_free(tsw_measure_t *measure)
{
    for (size_t i = 0; i < measure->arg_count; i++) {
        memory_free(measure, &measure->args[i].input);
        memory_free(measure, &measure->args[i].output);
        memory_free(measure, &measure->args[i].reference);
    }
    tsw_free(measure->args);
    tsw_free(measure->inspections);
    measure->inspections = NULL;
    measure->args = NULL;
    measure->arg_count = 0;
}

static tsw_status_t scalar_of(const tsw_measure_t *measure, const tsw_measure_arg_t *arg,
                              uint64_t *bits_p, tsw_err_t *err)
{
    int64_t whole = 0;
    double real = 0;
    tsw_status_t status = TSW_OK;
    if (tsw_dtype_is_floating(arg->dtype))
        status = tsw_eval_f64(measure->eval, &arg->arg->value, &real, err);
    else
        status = tsw_eval_i64(measure->eval, &arg->arg->value, &whole, err);
    if (status != TSW_OK) {
        tsw_err_wrap(err, "argument %s", arg->arg->name);
        return status;
    }
    if (tsw_dtype_is_floating(arg->dtype)) {
        *bits_p = tsw_tool_encode(real, arg->dtype);
        return TSW_OK;
    }
    unsigned shift = 64 - 8 * (unsigned)tsw_dtype_bytes(arg->dtype);
    int64_t limit = INT64_MAX >> shift;
    if (whole > limit || whole < -limit - 1)
        return tsw_err_set(err, TSW_ERR_OVERFLOW, "argument %s: %" PRId64 " does not fit into %s",
                           arg->arg->name, whole, tsw_dtype_name(arg->dtype));
    *bits_p = (uint64_t)whole;
    return TSW_OK;
}

static uint32_t params_of(const tsw_measure_arg_t *arg)
{
    return arg->arg->role == TSW_ROLE_INOUT ? 2 : 1;
}

void tsw_measure_pointers(const tsw_measure_t *measure, tsw_buffers_t buffers, uint32_t set,
                          tsw_launch_t *launch)
{
    uint32_t at = 0;
    for (size_t i = 0; i < measure->arg_count; i++) {
        const tsw_measure_arg_t *arg = &measure->args[i];
        bool refers = buffers == TSW_BUFFERS_REFERENCE && has_reference(arg);
        uint64_t output = tsw_measure_ring_address(measure, &arg->output, arg->output_offset, set);
        uint64_t read = tsw_measure_ring_address(measure, &arg->input, arg->input_offset, set);
        uint64_t written = refers ? arg->reference.address : output;
        if (arg->arg->role == TSW_ROLE_IN)
            launch->params[at] = read;
        else if (arg->arg->role == TSW_ROLE_INOUT)
            launch->params[at] = buffers == TSW_BUFFERS_IN_PLACE ? written : read;
        if (arg->arg->role != TSW_ROLE_IN && arg->arg->role != TSW_ROLE_SCALAR)
            launch->params[at + params_of(arg) - 1] = written;
        at += params_of(arg);
    }
}

tsw_status_t tsw_measure_params(const tsw_measure_t *measure, tsw_buffers_t buffers,
                                tsw_launch_t *launch, tsw_err_t *err)
{
    uint32_t at = 0;
    for (size_t i = 0; i < measure->arg_count; i++) {
        const tsw_measure_arg_t *arg = &measure->args[i];
        if (at + params_of(arg) > TSW_PARAM_MAX)
            return tsw_err_set(err, TSW_ERR_INPUT, "more than %d kernel parameters", TSW_PARAM_MAX);
        tsw_status_t status = TSW_OK;
        if (arg->arg->role == TSW_ROLE_SCALAR)
            status = scalar_of(measure, arg, &launch->params[at], err);
        if (status != TSW_OK)
            return status;
        at += params_of(arg);
    }
    launch->param_count = at;
    tsw_measure_pointers(measure, buffers, 0, launch);
    return TSW_OK;
}
