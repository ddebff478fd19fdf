/* What the tool's device kernels compute for one element: fills, conversions, comparison. One text
 * for both sides, so that they cannot differ: C17 here on the host, and plain CUDA C++ without any
 * header on the device, where it stands before tool_kernels.cu. Exact on both: integer arithmetic,
 * IEEE double, explicit fused multiply-add. */
#ifndef TSW_DEVICE_TOOL_VALUES_H
#define TSW_DEVICE_TOOL_VALUES_H

typedef unsigned long long tool_u64;
typedef long long tool_i64;

#ifdef __CUDACC_RTC__
#define TOOL_FN   static __device__ inline
#define tool_fma  __fma_rn
#define tool_rint rint
TOOL_FN tool_u64 tool_bits(double value)
{
    return (tool_u64)__double_as_longlong(value);
}
TOOL_FN double tool_double(tool_u64 bits)
{
    return __longlong_as_double((tool_i64)bits);
}
TOOL_FN unsigned tool_bits_f32(float value)
{
    return __float_as_uint(value);
}
TOOL_FN float tool_f32(unsigned bits)
{
    return __uint_as_float(bits);
}
#else
#include <math.h>
#include <string.h>
#define TOOL_FN   static inline
#define tool_fma  fma
#define tool_rint rint
TOOL_FN tool_u64 tool_bits(double value)
{
    tool_u64 bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
TOOL_FN double tool_double(tool_u64 bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
TOOL_FN unsigned tool_bits_f32(float value)
{
    unsigned bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
TOOL_FN float tool_f32(unsigned bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
#endif

/* Numbers of tsw_dtype_t and tsw_fill_kind_t; tool_host.c asserts that they agree. */
enum {
    TOOL_F16,
    TOOL_BF16,
    TOOL_F32,
    TOOL_TF32,
    TOOL_E4M3,
    TOOL_E5M2,
    TOOL_I8,
    TOOL_I32,
    TOOL_I64
};
enum { TOOL_NORMAL = 1, TOOL_UNIFORM, TOOL_INDEX, TOOL_SEQUENCE, TOOL_OFFSETS };

/* Finaliser of SplitMix64. */
TOOL_FN tool_u64 tool_mix(tool_u64 x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Word `counter` of the stream `seed`. */
TOOL_FN tool_u64 tool_random(tool_u64 seed, tool_u64 counter)
{
    return tool_mix(seed + 0x9e3779b97f4a7c15ull * (counter + 1));
}

TOOL_FN unsigned tool_bytes(int dtype)
{
    switch (dtype) {
    case TOOL_F16:
    case TOOL_BF16:
        return 2;
    case TOOL_F32:
    case TOOL_TF32:
    case TOOL_I32:
        return 4;
    case TOOL_I64:
        return 8;
    default:
        return 1;
    }
}

/* The nearest value (ties to even) of a float with so many exponent and mantissa bits; beyond
 * max_bits, the largest finite one. */
TOOL_FN unsigned tool_encode(double value, int exponent_bits, int mantissa_bits, unsigned max_bits)
{
    tool_u64 bits = tool_bits(value);
    unsigned sign = (unsigned)(bits >> 63) << (exponent_bits + mantissa_bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023 + (1 << (exponent_bits - 1)) - 1;
    tool_u64 significand = (bits & 0xfffffffffffffull) | 1ull << 52;
    if (value != value)
        return sign | ((1u << (exponent_bits + mantissa_bits)) - 1);
    int shift = 52 - mantissa_bits;
    if (exponent < 1) { /* subnormal there */
        shift += 1 - exponent;
        exponent = 1;
    }
    if (shift > 54)
        return sign;
    tool_u64 rounded = significand >> shift;
    tool_u64 rest = significand & ((1ull << shift) - 1);
    tool_u64 half = 1ull << (shift - 1);
    if (rest > half || (rest == half && (rounded & 1)))
        rounded++;
    /* A normal value brings its leading 1 along: it adds the last unit to the exponent. */
    tool_u64 magnitude = ((tool_u64)(exponent - 1) << mantissa_bits) + rounded;
    return sign | (magnitude > max_bits ? max_bits : (unsigned)magnitude);
}

/* ieee: an exponent of all ones is infinity or NaN; else only all ones at all is NaN (e4m3). */
TOOL_FN double tool_decode(unsigned bits, int exponent_bits, int mantissa_bits, int ieee)
{
    unsigned exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
    unsigned fraction = bits & ((1u << mantissa_bits) - 1);
    tool_u64 sign = (tool_u64)(bits >> (exponent_bits + mantissa_bits) & 1) << 63;
    unsigned ones = (1u << exponent_bits) - 1;
    int bias = (1 << (exponent_bits - 1)) - 1;
    if (exponent == ones && (ieee || fraction == (1u << mantissa_bits) - 1)) {
        tool_u64 nan = ieee ? (tool_u64)fraction << (52 - mantissa_bits) : 1ull << 51;
        return tool_double(sign | 0x7ff0000000000000ull | nan);
    }
    if (exponent == 0) {
        double unit = tool_double((tool_u64)(1024 - bias - mantissa_bits) << 52);
        double magnitude = (double)fraction * unit;
        return sign ? -magnitude : magnitude;
    }
    return tool_double(sign | (tool_u64)((int)exponent - bias + 1023) << 52 |
                       (tool_u64)fraction << (52 - mantissa_bits));
}

TOOL_FN double tool_to_double(tool_u64 bits, int dtype)
{
    switch (dtype) {
    case TOOL_F16:
        return tool_decode((unsigned)bits, 5, 10, 1);
    case TOOL_BF16:
        return tool_decode((unsigned)bits, 8, 7, 1);
    case TOOL_E4M3:
        return tool_decode((unsigned)bits, 4, 3, 0);
    case TOOL_E5M2:
        return tool_decode((unsigned)bits, 5, 2, 1);
    case TOOL_I8:
        return (double)(signed char)bits;
    case TOOL_I32:
        return (double)(int)bits;
    case TOOL_I64:
        return (double)(tool_i64)bits;
    default:
        return (double)tool_f32((unsigned)bits);
    }
}

TOOL_FN tool_u64 tool_clamp_integer(double value, double limit)
{
    if (value != value)
        return 0;
    double rounded = tool_rint(value);
    if (rounded >= limit)
        return (tool_u64)(tool_i64)(limit - 1);
    return (tool_u64)(tool_i64)(rounded < -limit ? -limit : rounded);
}

/* Bits of the element nearest to value; integers saturate. */
TOOL_FN tool_u64 tool_from_double(double value, int dtype)
{
    switch (dtype) {
    case TOOL_F16:
        return tool_encode(value, 5, 10, 0x7bff);
    case TOOL_BF16:
        return tool_encode(value, 8, 7, 0x7f7f);
    case TOOL_E4M3:
        return tool_encode(value, 4, 3, 0x7e);
    case TOOL_E5M2:
        return tool_encode(value, 5, 2, 0x7b);
    case TOOL_I8:
        return tool_clamp_integer(value, 128.0) & 0xff;
    case TOOL_I32:
        return tool_clamp_integer(value, 2147483648.0) & 0xffffffffu;
    case TOOL_I64:
        if (value >= 9223372036854775808.0)
            return 0x7fffffffffffffffull;
        return tool_clamp_integer(value, 9223372036854775808.0);
    default:
        return tool_bits_f32((float)value);
    }
}

TOOL_FN tool_u64 tool_from_integer(tool_i64 value, int dtype)
{
    if (dtype == TOOL_I64)
        return (tool_u64)value;
    return tool_from_double((double)value, dtype);
}

/* Elements are little-endian and aligned to their size. */
TOOL_FN tool_u64 tool_load(const void *base, tool_u64 index, int dtype)
{
    switch (tool_bytes(dtype)) {
    case 1:
        return ((const unsigned char *)base)[index];
    case 2:
        return ((const unsigned short *)base)[index];
    case 4:
        return ((const unsigned *)base)[index];
    default:
        return ((const tool_u64 *)base)[index];
    }
}

TOOL_FN void tool_store(void *base, tool_u64 index, int dtype, tool_u64 bits)
{
    switch (tool_bytes(dtype)) {
    case 1:
        ((unsigned char *)base)[index] = (unsigned char)bits;
        break;
    case 2:
        ((unsigned short *)base)[index] = (unsigned short)bits;
        break;
    case 4:
        ((unsigned *)base)[index] = (unsigned)bits;
        break;
    default:
        ((tool_u64 *)base)[index] = bits;
        break;
    }
}

/* Standard normal as the sum of twelve 16-bit uniforms (Irwin-Hall): exact, within 6 deviations. */
TOOL_FN double tool_normal(tool_u64 seed, tool_u64 index)
{
    tool_i64 sum = 0;
    for (int word = 0; word < 3; word++) {
        tool_u64 bits = tool_random(seed, 3 * index + (tool_u64)word);
        for (int part = 0; part < 4; part++)
            sum += (tool_i64)(bits >> (16 * part) & 0xffff);
    }
    return (double)(sum - 393210) / 65536.0;
}

/* Offset `index` of `count`: from 0 to total, never decreasing, segments of 0 to twice the mean. */
TOOL_FN tool_i64 tool_offset(tool_u64 seed, tool_u64 index, tool_u64 count, tool_i64 total)
{
    if (index == 0 || total <= 0)
        return 0;
    tool_u64 segments = count - 1;
    if (index >= segments)
        return total;
    tool_u64 whole = (tool_u64)total / segments;
    tool_u64 rest = (tool_u64)total % segments;
    tool_u64 jitter = tool_random(seed, index) % (tool_u64)total;
    return (tool_i64)(index * whole + (index * rest + jitter) / segments);
}

/* Bits of element `index` of a fill. normal: a mean, b deviation; uniform: [a, b); index: lo..hi;
 * sequence: lo + index * hi; offsets: 0..hi. */
TOOL_FN tool_u64 tool_fill_value(int dtype, int kind, double a, double b, tool_i64 lo, tool_i64 hi,
                                 tool_u64 seed, tool_u64 index, tool_u64 count)
{
    tool_u64 range;
    switch (kind) {
    case TOOL_NORMAL:
        return tool_from_double(tool_fma(b, tool_normal(seed, index), a), dtype);
    case TOOL_UNIFORM:
        return tool_from_double(
            tool_fma(b - a, (double)(tool_random(seed, index) >> 11) / 9007199254740992.0, a),
            dtype);
    case TOOL_INDEX:
        range = (tool_u64)hi - (tool_u64)lo + 1;
        if (range == 0)
            return tool_from_integer((tool_i64)tool_random(seed, index), dtype);
        return tool_from_integer((tool_i64)((tool_u64)lo + tool_random(seed, index) % range),
                                 dtype);
    case TOOL_SEQUENCE:
        return tool_from_integer((tool_i64)((tool_u64)lo + index * (tool_u64)hi), dtype);
    default:
        return tool_from_integer(tool_offset(seed, index, count, hi), dtype);
    }
}

enum { TOOL_MISMATCH = 1, TOOL_NAN = 2, TOOL_UNWRITTEN = 4 };

TOOL_FN double tool_difference(tool_u64 got, tool_u64 want, double got_value, double want_value,
                               int dtype)
{
    if (dtype == TOOL_I64) { /* beyond 2^53 doubles would hide it */
        tool_i64 x = (tool_i64)got, y = (tool_i64)want;
        return (double)(x > y ? got - want : want - got);
    }
    double difference = got_value - want_value;
    return difference < 0 ? -difference : difference;
}

/* What is wrong with one element (bits as above), and by how much where both are finite. NaN in
 * both is right, unless what is there is the poison that nobody overwrote. */
TOOL_FN unsigned tool_compare_value(tool_u64 got, tool_u64 want, int dtype, double atol,
                                    double rtol, double *abs_p, double *rel_p)
{
    *abs_p = 0;
    *rel_p = 0;
    if (got == want)
        return 0;
    if (got == ~0ull >> (64 - 8 * tool_bytes(dtype)))
        return TOOL_MISMATCH | TOOL_UNWRITTEN;
    double got_value = tool_to_double(got, dtype);
    double want_value = tool_to_double(want, dtype);
    if (got_value != got_value)
        return want_value != want_value ? 0 : TOOL_MISMATCH | TOOL_NAN;
    double difference = tool_difference(got, want, got_value, want_value, dtype);
    if (!(difference < 1.7e308)) /* infinities that differ, or NaN wanted */
        return TOOL_MISMATCH;
    double magnitude = want_value < 0 ? -want_value : want_value;
    *abs_p = difference;
    *rel_p = magnitude > 0 ? difference / magnitude : 0;
    return difference <= tool_fma(rtol, magnitude, atol) ? 0 : TOOL_MISMATCH;
}

/* One word of a checksum; words are summed, so their order of arrival does not matter. */
TOOL_FN tool_u64 tool_checksum_word(tool_u64 word, tool_u64 index)
{
    return tool_mix(word + tool_mix(index + 0x9e3779b97f4a7c15ull));
}

/* Slots of the result buffer. */
enum {
    TOOL_RESULT_MISMATCHES, /* also: damaged bytes, checksum, canary */
    TOOL_RESULT_NANS,
    TOOL_RESULT_UNWRITTEN,
    TOOL_RESULT_FIRST, /* smallest index or offset; starts at all ones */
    TOOL_RESULT_ABS,   /* bits of a double; such bits of values >= 0 sort like the values */
    TOOL_RESULT_REL,
    TOOL_RESULT_COUNT
};

#endif
