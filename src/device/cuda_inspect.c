/* Fences and contents of many memories: kernel after kernel into result buffers of their own, and
 * one wait for all. */
#include "device/cuda_body.h"

/* Result buffers of an item. */
enum { FRONT, BACK, SUM, COMPARE, RESULTS_OF_ITEM };

enum { ITEMS_MAX = TSW_CUDA_RESULTS / RESULTS_OF_ITEM };

/* A kernel that looks at a range of bytes. */
static tsw_status_t queue_range(tsw_cuda_t *cuda, tsw_tool_kernel_t kernel, uint64_t from,
                                uint64_t bytes, size_t result, tsw_err_t *err)
{
    uint64_t to = cuda->results + result * TOOL_RESULT_COUNT * sizeof(uint64_t);
    void *params[] = {&from, &bytes, &to};
    return tsw_cuda_tool(cuda, kernel, bytes / 8 + 1, params, err);
}

static tsw_status_t queue_compare(tsw_cuda_t *cuda, const tsw_inspection_t *item, size_t result,
                                  tsw_err_t *err)
{
    uint64_t to = cuda->results + result * TOOL_RESULT_COUNT * sizeof(uint64_t);
    uint64_t got = item->memory->address, want = item->want->address, elements = item->elements;
    int dtype = (int)item->dtype;
    double atol = item->atol, rtol = item->rtol;
    void *params[] = {&got, &want, &dtype, &elements, &atol, &rtol, &to};
    return tsw_cuda_tool(cuda, TSW_TOOL_COMPARE, elements, params, err);
}

static tsw_compare_t take_compare(const volatile uint64_t *result, uint64_t elements)
{
    bool bad = result[TOOL_RESULT_MISMATCHES] > 0;
    return (tsw_compare_t){
        .elements = elements,
        .mismatches = result[TOOL_RESULT_MISMATCHES],
        .nans = result[TOOL_RESULT_NANS],
        .unwritten = result[TOOL_RESULT_UNWRITTEN],
        .first_bad = bad ? result[TOOL_RESULT_FIRST] : 0,
        .max_abs = tool_double(result[TOOL_RESULT_ABS]),
        .max_rel = tool_double(result[TOOL_RESULT_REL]),
    };
}

tsw_status_t tsw_cuda_compare(tsw_device_t *dev, const tsw_memory_t *got, const tsw_memory_t *want,
                              tsw_dtype_t dtype, uint64_t elements, double atol, double rtol,
                              tsw_compare_t *compare_p, tsw_err_t *err)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    tsw_inspection_t item = {.memory = got,
                             .want = want,
                             .dtype = dtype,
                             .elements = elements,
                             .atol = atol,
                             .rtol = rtol};
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status == TSW_OK)
        status = tsw_cuda_results_clear(cuda, 1, err);
    if (status == TSW_OK)
        status = queue_compare(cuda, &item, 0, err);
    if (status == TSW_OK)
        status = tsw_cuda_results_read(cuda, 1, err);
    if (status == TSW_OK)
        *compare_p = take_compare(cuda->shared->results[0], elements);
    return status;
}

static tsw_status_t queue_item(tsw_cuda_t *cuda, const tsw_inspection_t *item, size_t at,
                               tsw_err_t *err)
{
    const tsw_memory_t *memory = item->memory;
    size_t result = at * RESULTS_OF_ITEM;
    uint64_t end = memory->address + memory->bytes;
    if (memory->total == 0)
        return TSW_OK;
    tsw_status_t status = queue_range(cuda, TSW_TOOL_FENCE, memory->base,
                                      memory->address - memory->base, result + FRONT, err);
    if (status == TSW_OK)
        status = queue_range(cuda, TSW_TOOL_FENCE, end, memory->base + memory->total - end,
                             result + BACK, err);
    if (status == TSW_OK && item->with_sum)
        status =
            queue_range(cuda, TSW_TOOL_CHECKSUM, memory->address, memory->bytes, result + SUM, err);
    if (status == TSW_OK && item->want != NULL)
        status = queue_compare(cuda, item, result + COMPARE, err);
    return status;
}

static void take_item(const tsw_cuda_t *cuda, tsw_inspection_t *item, size_t at)
{
    size_t result = at * RESULTS_OF_ITEM;
    const volatile uint64_t *front = cuda->shared->results[result + FRONT];
    const volatile uint64_t *back = cuda->shared->results[result + BACK];
    const tsw_memory_t *memory = item->memory;
    uint64_t before = front[TOOL_RESULT_MISMATCHES], behind = back[TOOL_RESULT_MISMATCHES];
    int64_t start = (int64_t)memory->base - (int64_t)memory->address;
    item->damaged = before + behind;
    item->first = (int64_t)(memory->bytes + (behind > 0 ? back[TOOL_RESULT_FIRST] : 0));
    if (before > 0)
        item->first = start + (int64_t)front[TOOL_RESULT_FIRST];
    if (item->with_sum)
        item->sum = cuda->shared->results[result + SUM][TOOL_RESULT_MISMATCHES];
    if (item->want != NULL)
        item->compare = take_compare(cuda->shared->results[result + COMPARE], item->elements);
}

static tsw_status_t inspect_some(tsw_cuda_t *cuda, tsw_inspection_t *items, size_t count,
                                 tsw_err_t *err)
{
    tsw_status_t status = tsw_cuda_results_clear(cuda, count * RESULTS_OF_ITEM, err);
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        status = queue_item(cuda, &items[i], i, err);
    if (status == TSW_OK)
        status = tsw_cuda_results_read(cuda, count * RESULTS_OF_ITEM, err);
    for (size_t i = 0; i < count && status == TSW_OK; i++)
        take_item(cuda, &items[i], i);
    return status;
}

tsw_status_t tsw_cuda_inspect(tsw_device_t *dev, tsw_inspection_t *items, size_t count,
                              tsw_err_t *err)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    for (size_t i = 0; i < count && status == TSW_OK; i += ITEMS_MAX)
        status = inspect_some(cuda, items + i, count - i < ITEMS_MAX ? count - i : ITEMS_MAX, err);
    return status;
}
