/* The tool's own device kernels. Plain CUDA C++ without any header; tool_values.h stands before
 * this text in the source that is compiled (device_tool.c). Grids stride over all elements. */

static __device__ inline tool_u64 first_index()
{
    return (tool_u64)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline tool_u64 all_threads()
{
    return (tool_u64)gridDim.x * blockDim.x;
}

/* Over a warp, all of whose threads must be here; every thread gets it. One atomic operation for each
 * warp instead of each thread: those on one address go one after the other. */
static __device__ inline tool_u64 warp_sum(tool_u64 value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, lanes);
    return value;
}

static __device__ inline tool_u64 warp_most(tool_u64 value)
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        tool_u64 other = __shfl_xor_sync(0xffffffffu, value, lanes);
        value = other > value ? other : value;
    }
    return value;
}

static __device__ inline bool leads_warp()
{
    return threadIdx.x % 32 == 0;
}

extern "C" __global__ void tsw_tool_fill(void *out, int dtype, int kind, double a, double b,
                                         tool_i64 lo, tool_i64 hi, tool_u64 seed, tool_u64 count)
{
    for (tool_u64 i = first_index(); i < count; i += all_threads())
        tool_store(out, i, dtype, tool_fill_value(dtype, kind, a, b, lo, hi, seed, i, count));
}

/* The word at address, as far as it lies between start and end: counts bytes that are no longer
 * poison, and finds the first, counted from `from`. */
static __device__ inline void check_word(tool_u64 address, tool_u64 start, tool_u64 end,
                                         tool_u64 from, tool_u64 *result)
{
    tool_u64 word = *(const tool_u64 *)address;
    if (word == ~0ull)
        return;
    for (unsigned k = 0; k < 8; k++) {
        if (address + k < start || address + k >= end || (word >> (8 * k) & 0xff) == 0xff)
            continue;
        atomicAdd(&result[TOOL_RESULT_MISMATCHES], 1ull);
        atomicMin(&result[TOOL_RESULT_FIRST], address + k - from);
    }
}

/* The words at both ends may reach past the range, never past the allocation. */
extern "C" __global__ void tsw_tool_fence(const unsigned char *bytes, tool_u64 size,
                                          tool_u64 *result)
{
    tool_u64 start = (tool_u64)bytes, end = start + size;
    tool_u64 first_word = start / 8, words = (end + 7) / 8 - first_word;
    for (tool_u64 i = first_index(); i < words; i += all_threads())
        check_word((first_word + i) * 8, start, end, start, result);
}

/* `count` ranges of `size` bytes, one every `period`, a multiple of 8. */
extern "C" __global__ void tsw_tool_gaps(const unsigned char *bytes, tool_u64 size, tool_u64 period,
                                         tool_u64 count, tool_u64 *result)
{
    tool_u64 from = (tool_u64)bytes;
    tool_u64 first_word = from / 8, words = (from + size + 7) / 8 - first_word;
    for (tool_u64 i = first_index(); i < words * count; i += all_threads()) {
        tool_u64 shift = i / words * period;
        check_word((first_word + i % words) * 8 + shift, from + shift, from + shift + size, from,
                   result);
    }
}

extern "C" __global__ void tsw_tool_compare(const void *got, const void *want, int dtype,
                                            tool_u64 count, double atol, double rtol,
                                            tool_u64 *result)
{
    tool_u64 mismatches = 0, nans = 0, unwritten = 0, first = ~0ull;
    double max_abs = 0, max_rel = 0;
    for (tool_u64 i = first_index(); i < count; i += all_threads()) {
        double abs_error, rel_error;
        unsigned flags = tool_compare_value(tool_load(got, i, dtype), tool_load(want, i, dtype),
                                            dtype, atol, rtol, &abs_error, &rel_error);
        max_abs = abs_error > max_abs ? abs_error : max_abs;
        max_rel = rel_error > max_rel ? rel_error : max_rel;
        if (flags && i < first)
            first = i;
        mismatches += (flags & TOOL_MISMATCH) != 0;
        nans += (flags & TOOL_NAN) != 0;
        unwritten += (flags & TOOL_UNWRITTEN) != 0;
    }
    mismatches = warp_sum(mismatches);
    nans = warp_sum(nans);
    unwritten = warp_sum(unwritten);
    first = ~warp_most(~first);
    tool_u64 most_abs = warp_most(tool_bits(max_abs)), most_rel = warp_most(tool_bits(max_rel));
    if (mismatches > 0 && leads_warp()) {
        atomicAdd(&result[TOOL_RESULT_MISMATCHES], mismatches);
        atomicAdd(&result[TOOL_RESULT_NANS], nans);
        atomicAdd(&result[TOOL_RESULT_UNWRITTEN], unwritten);
        atomicMin(&result[TOOL_RESULT_FIRST], first);
    }
    if (most_abs > 0 && leads_warp()) {
        atomicMax(&result[TOOL_RESULT_ABS], most_abs);
        atomicMax(&result[TOOL_RESULT_REL], most_rel);
    }
}

/* bytes is aligned to 8; the last word may be a part. */
extern "C" __global__ void tsw_tool_checksum(const unsigned char *bytes, tool_u64 size,
                                             tool_u64 *result)
{
    tool_u64 sum = 0;
    for (tool_u64 i = first_index(); i < (size + 7) / 8; i += all_threads()) {
        tool_u64 word = 0;
        if (8 * i + 8 <= size)
            word = ((const tool_u64 *)bytes)[i];
        else
            for (tool_u64 k = 8 * i; k < size; k++)
                word |= (tool_u64)bytes[k] << (8 * (k % 8));
        sum += tool_checksum_word(word, i);
    }
    sum = warp_sum(sum);
    if (sum != 0 && leads_warp())
        atomicAdd(&result[TOOL_RESULT_MISMATCHES], sum);
}

extern "C" __global__ void tsw_tool_canary(tool_u64 seed, tool_u64 *result)
{
    atomicAdd(&result[TOOL_RESULT_MISMATCHES], tool_random(seed, first_index()));
}

/* Loads that wait for each other, past the L1. The words are zero, which only we know. */
extern "C" __global__ void tsw_tool_chase(const tool_u64 *words, tool_u64 count, tool_u64 stride,
                                          tool_u64 *result)
{
    tool_u64 at = 0;
    for (tool_u64 i = 0; i < count; i++) {
        tool_u64 word;
        asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(word) : "l"(words + at));
        at += stride + word;
    }
    if (at != count * stride)
        result[TOOL_RESULT_MISMATCHES] = at;
}

/* Holds the stream until the host has queued all that is to follow, or for limit_ns at most: a
 * queue behind it can never hang. */
extern "C" __global__ void tsw_tool_gate(const volatile unsigned *flag, unsigned ticket,
                                         tool_u64 limit_ns)
{
    tool_u64 start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (*flag != ticket && now - start < limit_ns);
}
