#include "device/cuda_body.h"

/* A tool kernel over the largest buffer takes milliseconds. */
static const double tool_timeout_s = 60.0;

static const uint64_t alignment = 256;

static tsw_cuda_t *body(tsw_device_t *dev)
{
    return (tsw_cuda_t *)dev;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static void give_to_driver(tsw_cuda_t *cuda, tsw_cuda_block_t *block)
{
    if (!cuda->lost)
        tsw_cuda_warn(&cuda->api, cuda->api.memory_free(block->address), "cuMemFree");
    *block = (tsw_cuda_block_t){.address = 0};
}

/* The kept block whose turn was longest ago; NULL: none is kept. */
static tsw_cuda_block_t *oldest_kept(tsw_cuda_t *cuda)
{
    tsw_cuda_block_t *oldest = NULL;
    for (size_t i = 0; i < TSW_CUDA_BLOCKS; i++) {
        tsw_cuda_block_t *block = &cuda->blocks[i];
        if (block->address != 0 && !block->is_used &&
            (oldest == NULL || block->turn < oldest->turn))
            oldest = block;
    }
    return oldest;
}

static uint64_t most_kept(const tsw_cuda_t *cuda)
{
    return cuda->gpu.memory_bytes / 4;
}

/* Keeps at most so many bytes; how many it gave back. */
static uint64_t trim(tsw_cuda_t *cuda, uint64_t most)
{
    uint64_t kept = 0, given = 0;
    for (size_t i = 0; i < TSW_CUDA_BLOCKS; i++)
        kept += cuda->blocks[i].is_used ? 0 : cuda->blocks[i].bytes;
    while (kept - given > most) {
        tsw_cuda_block_t *block = oldest_kept(cuda);
        given += block->bytes;
        give_to_driver(cuda, block);
    }
    return given;
}

uint64_t tsw_cuda_memory_trim(tsw_cuda_t *cuda)
{
    return trim(cuda, 0);
}

/* Larger ones are a little larger than asked for, so that the next cell can use them. */
static uint64_t block_bytes(uint64_t total)
{
    const uint64_t unit = 2u << 20;
    return total > unit ? round_up(total, unit) : total;
}

/* The smallest kept block that serves, unless most of it would lie idle. */
static bool take_block(tsw_cuda_t *cuda, uint64_t bytes, cu_address_t *address_p)
{
    tsw_cuda_block_t *best = NULL;
    for (size_t i = 0; i < TSW_CUDA_BLOCKS; i++) {
        tsw_cuda_block_t *block = &cuda->blocks[i];
        if (block->address != 0 && !block->is_used && block->bytes >= bytes &&
            block->bytes / 2 <= bytes && (best == NULL || block->bytes < best->bytes))
            best = block;
    }
    if (best == NULL)
        return false;
    best->is_used = true;
    *address_p = best->address;
    return true;
}

/* A place in the table, if need be that of a kept block; NULL: all are in use. */
static tsw_cuda_block_t *free_place(tsw_cuda_t *cuda)
{
    for (size_t i = 0; i < TSW_CUDA_BLOCKS; i++)
        if (cuda->blocks[i].address == 0)
            return &cuda->blocks[i];
    tsw_cuda_block_t *oldest = oldest_kept(cuda);
    if (oldest != NULL)
        give_to_driver(cuda, oldest);
    return oldest;
}

/* Whether so many more, with all in use and all that is kept, are at most a quarter of the GPU's
 * memory. */
static bool is_little(const tsw_cuda_t *cuda, uint64_t bytes)
{
    for (size_t i = 0; i < TSW_CUDA_BLOCKS; i++)
        bytes += cuda->blocks[i].bytes;
    return bytes <= most_kept(cuda);
}

static tsw_status_t allocate(tsw_cuda_t *cuda, uint64_t bytes, bool is_ahead,
                             cu_address_t *address_p, tsw_err_t *err)
{
    if (take_block(cuda, bytes, address_p))
        return TSW_OK;
    if (is_ahead && !is_little(cuda, bytes))
        return tsw_err_set(err, TSW_ERR_DEVICE_MEMORY, "too much to be taken ahead");
    cu_result_t result = cuda->api.memory_alloc(address_p, bytes);
    if (result == CU_OUT_OF_MEMORY && !is_ahead && tsw_cuda_memory_trim(cuda) > 0)
        result = cuda->api.memory_alloc(address_p, bytes);
    tsw_status_t status = tsw_cuda_call(cuda, result, "cuMemAlloc", err);
    tsw_cuda_block_t *place = status == TSW_OK ? free_place(cuda) : NULL;
    if (place != NULL)
        *place = (tsw_cuda_block_t){.address = *address_p, .bytes = bytes, .is_used = true};
    return status;
}

/* Kept, where there is room for it. */
static void release(tsw_cuda_t *cuda, cu_address_t address)
{
    tsw_cuda_block_t unlisted = {.address = address}, *block = &unlisted;
    for (size_t i = 0; i < TSW_CUDA_BLOCKS; i++)
        if (cuda->blocks[i].address == address)
            block = &cuda->blocks[i];
    block->is_used = false;
    block->turn = ++cuda->block_turn;
    if (block == &unlisted)
        give_to_driver(cuda, block);
    else
        (void)trim(cuda, most_kept(cuda));
}

static tsw_status_t make(tsw_cuda_t *cuda, uint64_t bytes, uint64_t fence_bytes, bool is_ahead,
                         tsw_memory_t *memory_p, tsw_err_t *err)
{
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status != TSW_OK)
        return status;
    if (bytes > UINT64_MAX / 4 || fence_bytes > UINT64_MAX / 8)
        return tsw_err_set(err, TSW_ERR_DEVICE_MEMORY, "%llu bytes are more than any device has",
                           (unsigned long long)bytes);
    uint64_t front = round_up(fence_bytes, alignment);
    tsw_memory_t memory = {.bytes = bytes, .fence_bytes = front};
    memory.total = front + round_up(bytes + front, alignment);
    status = allocate(cuda, block_bytes(memory.total), is_ahead, &memory.base, err);
    if (status != TSW_OK) {
        tsw_err_wrap(err, "%llu bytes and fences of %llu", (unsigned long long)bytes,
                     (unsigned long long)front);
        return status;
    }
    memory.address = memory.base + front;
    *memory_p = memory;
    return TSW_OK;
}

tsw_status_t tsw_cuda_memory_new(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                 tsw_memory_t *memory_p, tsw_err_t *err)
{
    return make(body(dev), bytes, fence_bytes, false, memory_p, err);
}

tsw_status_t tsw_cuda_memory_ahead(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                   tsw_memory_t *memory_p, tsw_err_t *err)
{
    return make(body(dev), bytes, fence_bytes, true, memory_p, err);
}

void tsw_cuda_memory_free(tsw_device_t *dev, tsw_memory_t *memory)
{
    tsw_cuda_t *cuda = body(dev);
    if (memory->base != 0)
        release(cuda, memory->base);
    *memory = (tsw_memory_t){.address = 0};
}

static tsw_status_t set_bytes(tsw_cuda_t *cuda, uint64_t address, uint64_t bytes,
                              unsigned char value, tsw_err_t *err)
{
    if (bytes == 0)
        return TSW_OK;
    return tsw_cuda_call(cuda, cuda->api.set_d8_async(address, value, bytes, cuda->stream),
                         "cuMemsetD8Async", err);
}

tsw_status_t tsw_cuda_poison(tsw_device_t *dev, const tsw_memory_t *memory, bool fences_only,
                             tsw_err_t *err)
{
    tsw_cuda_t *cuda = body(dev);
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status == TSW_OK && !fences_only)
        return set_bytes(cuda, memory->base, memory->total, 0xff, err);
    uint64_t end = memory->address + memory->bytes;
    if (status == TSW_OK)
        status = set_bytes(cuda, memory->base, memory->address - memory->base, 0xff, err);
    if (status == TSW_OK)
        status = set_bytes(cuda, end, memory->base + memory->total - end, 0xff, err);
    return status;
}

tsw_status_t tsw_cuda_copy(tsw_device_t *dev, const tsw_memory_t *to, const tsw_memory_t *from,
                           tsw_err_t *err)
{
    tsw_cuda_t *cuda = body(dev);
    TSW_ASSERT(to->bytes == from->bytes);
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status == TSW_OK && to->bytes > 0)
        status = tsw_cuda_call(
            cuda, cuda->api.copy_async(to->address, from->address, to->bytes, cuda->stream),
            "cuMemcpyDtoDAsync", err);
    return status;
}

static tsw_status_t fill_from_data(tsw_cuda_t *cuda, const tsw_memory_t *memory, const void *data,
                                   size_t data_size, tsw_err_t *err)
{
    if (data == NULL || data_size != memory->bytes)
        return tsw_err_set(err, TSW_ERR_ARG, "the dataset has %zu bytes, the argument needs %llu",
                           data_size, (unsigned long long)memory->bytes);
    tsw_status_t status =
        tsw_cuda_call(cuda, cuda->api.copy_in_async(memory->address, data, data_size, cuda->stream),
                      "cuMemcpyHtoDAsync", err);
    return status == TSW_OK ? tsw_cuda_finish(cuda, "fill", tool_timeout_s, err) : status;
}

tsw_status_t tsw_cuda_fill(tsw_device_t *dev, const tsw_memory_t *memory, tsw_dtype_t dtype,
                           uint64_t elements, const tsw_fill_t *fill, int64_t lo, int64_t hi,
                           uint64_t seed, const void *data, size_t data_size, tsw_err_t *err)
{
    tsw_cuda_t *cuda = body(dev);
    int dtype_id = (int)dtype, kind = (int)fill->kind;
    double a = fill->a, b = fill->b;
    uint64_t address = memory->address;
    void *params[] = {&address, &dtype_id, &kind, &a, &b, &lo, &hi, &seed, &elements};
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status == TSW_OK && fill->kind == TSW_FILL_DATASET)
        return fill_from_data(cuda, memory, data, data_size, err);
    if (status == TSW_OK && fill->kind != TSW_FILL_NONE && elements > 0)
        status = tsw_cuda_tool(cuda, TSW_TOOL_FILL, elements, params, err);
    return status;
}

tsw_status_t tsw_cuda_check_fences(tsw_device_t *dev, const tsw_memory_t *memory,
                                   uint64_t *damaged_p, int64_t *first_p, tsw_err_t *err)
{
    tsw_inspection_t item = {.memory = memory};
    tsw_status_t status = tsw_cuda_inspect(dev, &item, 1, err);
    if (status != TSW_OK)
        return status;
    *damaged_p = item.damaged;
    *first_p = item.first;
    return TSW_OK;
}

tsw_status_t tsw_cuda_check_gaps(tsw_device_t *dev, const tsw_memory_t *memory,
                                 const tsw_gaps_t *gaps, uint64_t *damaged_p, tsw_err_t *err)
{
    tsw_cuda_t *cuda = body(dev);
    uint64_t from = memory->address + gaps->offset, results[TOOL_RESULT_COUNT];
    uint64_t bytes = gaps->bytes, period = gaps->period, count = gaps->count;
    void *params[] = {&from, &bytes, &period, &count, &cuda->results};
    TSW_ASSERT(period % 8 == 0);
    tsw_status_t status =
        tsw_cuda_tool_result(cuda, TSW_TOOL_GAPS, (bytes / 8 + 2) * count, params, results, err);
    if (status == TSW_OK)
        *damaged_p = results[TOOL_RESULT_MISMATCHES];
    return status;
}

tsw_status_t tsw_cuda_checksum(tsw_device_t *dev, const tsw_memory_t *memory, uint64_t *sum_p,
                               tsw_err_t *err)
{
    tsw_cuda_t *cuda = body(dev);
    uint64_t address = memory->address, bytes = memory->bytes;
    uint64_t results[TOOL_RESULT_COUNT];
    void *params[] = {&address, &bytes, &cuda->results};
    tsw_status_t status =
        tsw_cuda_tool_result(cuda, TSW_TOOL_CHECKSUM, bytes / 8 + 1, params, results, err);
    if (status == TSW_OK)
        *sum_p = results[TOOL_RESULT_MISMATCHES];
    return status;
}
