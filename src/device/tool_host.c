#include "device/tool_host.h"

#include "device/tool_values.h"

#define SAME(_a, _b) _Static_assert((int)(_a) == (int)(_b), #_a)
SAME(TOOL_F16, TSW_DTYPE_F16);
SAME(TOOL_BF16, TSW_DTYPE_BF16);
SAME(TOOL_F32, TSW_DTYPE_F32);
SAME(TOOL_TF32, TSW_DTYPE_TF32);
SAME(TOOL_E4M3, TSW_DTYPE_E4M3);
SAME(TOOL_E5M2, TSW_DTYPE_E5M2);
SAME(TOOL_I8, TSW_DTYPE_I8);
SAME(TOOL_I32, TSW_DTYPE_I32);
SAME(TOOL_I64, TSW_DTYPE_I64);
SAME(TOOL_I64 + 1, TSW_DTYPE_COUNT);
SAME(TOOL_NORMAL, TSW_FILL_NORMAL);
SAME(TOOL_UNIFORM, TSW_FILL_UNIFORM);
SAME(TOOL_INDEX, TSW_FILL_INDEX);
SAME(TOOL_SEQUENCE, TSW_FILL_SEQUENCE);
SAME(TOOL_OFFSETS, TSW_FILL_OFFSETS);

uint64_t tsw_tool_encode(double value, tsw_dtype_t dtype)
{
    return tool_from_double(value, (int)dtype);
}

double tsw_tool_decode(uint64_t bits, tsw_dtype_t dtype)
{
    return tool_to_double(bits, (int)dtype);
}

void tsw_tool_host_fill(void *out, tsw_dtype_t dtype, tsw_fill_kind_t kind, double a, double b,
                        int64_t lo, int64_t hi, uint64_t seed, uint64_t elements)
{
    for (uint64_t i = 0; i < elements; i++)
        tool_store(out, i, (int)dtype,
                   tool_fill_value((int)dtype, (int)kind, a, b, lo, hi, seed, i, elements));
}

uint64_t tsw_tool_host_fence(const void *bytes, uint64_t size, uint64_t *first_p)
{
    const unsigned char *at = bytes;
    uint64_t damaged = 0;
    *first_p = UINT64_MAX;
    for (uint64_t i = 0; i < size; i++) {
        if (at[i] == 0xff)
            continue;
        if (damaged++ == 0)
            *first_p = i;
    }
    return damaged;
}

void tsw_tool_host_compare(const void *got, const void *want, tsw_dtype_t dtype, uint64_t elements,
                           double atol, double rtol, tsw_compare_t *compare_p)
{
    tsw_compare_t sum = {.elements = elements};
    for (uint64_t i = 0; i < elements; i++) {
        double abs_error, rel_error;
        unsigned flags =
            tool_compare_value(tool_load(got, i, (int)dtype), tool_load(want, i, (int)dtype),
                               (int)dtype, atol, rtol, &abs_error, &rel_error);
        if ((flags & TOOL_MISMATCH) != 0 && sum.mismatches++ == 0)
            sum.first_bad = i;
        sum.nans += (flags & TOOL_NAN) != 0;
        sum.unwritten += (flags & TOOL_UNWRITTEN) != 0;
        sum.max_abs = abs_error > sum.max_abs ? abs_error : sum.max_abs;
        sum.max_rel = rel_error > sum.max_rel ? rel_error : sum.max_rel;
    }
    *compare_p = sum;
}

uint64_t tsw_tool_host_checksum(const void *bytes, uint64_t size)
{
    const unsigned char *at = bytes;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < (size + 7) / 8; i++) {
        uint64_t word = 0;
        for (uint64_t k = 8 * i; k < size && k < 8 * i + 8; k++)
            word |= (uint64_t)at[k] << (8 * (k % 8));
        sum += tool_checksum_word(word, i);
    }
    return sum;
}

uint64_t tsw_tool_host_canary(uint64_t seed)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < TSW_CANARY_THREADS; i++)
        sum += tool_random(seed, i);
    return sum;
}
