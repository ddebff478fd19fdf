/* The element arithmetic that the device kernels share with the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/tool_host.h"

#include <math.h>
#include <string.h>

#define COUNT 20000

static void check_code(tsw_dtype_t dtype, double value, uint64_t bits)
{
    assert_int_equal(tsw_tool_encode(value, dtype), bits);
    assert_true(tsw_tool_decode(bits, dtype) == value);
}

static void test_codes_of_known_values(void **state)
{
    (void)state;
    check_code(TSW_DTYPE_F16, 1.0, 0x3c00);
    check_code(TSW_DTYPE_F16, -2.0, 0xc000);
    check_code(TSW_DTYPE_F16, 65504.0, 0x7bff);
    check_code(TSW_DTYPE_F16, 0x1p-24, 0x0001); /* smallest subnormal */
    check_code(TSW_DTYPE_F16, 0x1p-14, 0x0400); /* smallest normal */
    check_code(TSW_DTYPE_BF16, 1.0, 0x3f80);
    check_code(TSW_DTYPE_BF16, -0x1p-126, 0x8080);
    check_code(TSW_DTYPE_E4M3, 448.0, 0x7e);
    check_code(TSW_DTYPE_E4M3, 0x1p-9, 0x01);
    check_code(TSW_DTYPE_E5M2, 57344.0, 0x7b);
    check_code(TSW_DTYPE_E5M2, 1.5, 0x3e);
    check_code(TSW_DTYPE_F32, 1.0, 0x3f800000);
    check_code(TSW_DTYPE_TF32, 0.5, 0x3f000000);
    check_code(TSW_DTYPE_I8, -3.0, 0xfd);
    check_code(TSW_DTYPE_I32, -3.0, 0xfffffffdu);
    check_code(TSW_DTYPE_I64, -3.0, UINT64_MAX - 2);
}

static void test_ties_go_to_even_and_range_saturates(void **state)
{
    (void)state;
    assert_int_equal(tsw_tool_encode(1.0 + 0x1p-11, TSW_DTYPE_F16), 0x3c00);
    assert_int_equal(tsw_tool_encode(1.0 + 3 * 0x1p-11, TSW_DTYPE_F16), 0x3c02);
    assert_int_equal(tsw_tool_encode(0x1p-25, TSW_DTYPE_F16), 0);
    assert_int_equal(tsw_tool_encode(0x1.8p-24, TSW_DTYPE_F16), 2);
    assert_int_equal(tsw_tool_encode(1e9, TSW_DTYPE_F16), 0x7bff);
    assert_int_equal(tsw_tool_encode(-1e9, TSW_DTYPE_E4M3), 0xfe);
    assert_int_equal(tsw_tool_encode(2047.9999, TSW_DTYPE_F16), 0x6800);
    assert_int_equal(tsw_tool_encode(300, TSW_DTYPE_I8), 127);
    assert_int_equal(tsw_tool_encode(-300, TSW_DTYPE_I8), 0x80);
    assert_int_equal(tsw_tool_encode(1e300, TSW_DTYPE_I64), INT64_MAX);
}

/* Every code of the small types survives the way through double. */
static void check_round_trip(tsw_dtype_t dtype, unsigned codes)
{
    for (unsigned bits = 0; bits < codes; bits++) {
        double value = tsw_tool_decode(bits, dtype);
        if (isfinite(value))
            assert_int_equal(tsw_tool_encode(value, dtype), bits);
    }
}

static void test_every_small_code_makes_the_round_trip(void **state)
{
    (void)state;
    check_round_trip(TSW_DTYPE_F16, 1u << 16);
    check_round_trip(TSW_DTYPE_BF16, 1u << 16);
    check_round_trip(TSW_DTYPE_E4M3, 1u << 8);
    check_round_trip(TSW_DTYPE_E5M2, 1u << 8);
    check_round_trip(TSW_DTYPE_I8, 1u << 8);
}

static void test_specials_decode(void **state)
{
    (void)state;
    assert_true(isinf(tsw_tool_decode(0x7c00, TSW_DTYPE_F16)));
    assert_true(isnan(tsw_tool_decode(0x7e00, TSW_DTYPE_F16)));
    assert_true(isnan(tsw_tool_decode(0xffff, TSW_DTYPE_BF16)));
    assert_true(isnan(tsw_tool_decode(0x7f, TSW_DTYPE_E4M3)));
    assert_true(isfinite(tsw_tool_decode(0x78, TSW_DTYPE_E4M3)));
    assert_true(isinf(tsw_tool_decode(0xfc, TSW_DTYPE_E5M2)));
}

static void test_normal_fill_has_its_mean_and_deviation(void **state)
{
    (void)state;
    static float out[COUNT];
    double sum = 0, squares = 0;
    size_t beyond_two = 0;
    tsw_tool_host_fill(out, TSW_DTYPE_F32, TSW_FILL_NORMAL, 3.0, 2.0, 0, 0, 77, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        sum += (double)out[i];
        squares += ((double)out[i] - 3.0) * ((double)out[i] - 3.0);
        beyond_two += fabs((double)out[i] - 3.0) > 4.0;
    }
    assert_true(fabs(sum / COUNT - 3.0) < 0.06);
    assert_true(fabs(sqrt(squares / COUNT) - 2.0) < 0.06);
    assert_in_range(beyond_two, 700, 1150); /* 4.55 % of 20,000 are 910 */
}

static void test_fills_stay_in_their_bounds(void **state)
{
    (void)state;
    static float real[COUNT];
    static int32_t whole[COUNT];
    size_t seen[7] = {0};
    tsw_tool_host_fill(real, TSW_DTYPE_F32, TSW_FILL_UNIFORM, -1.0, 1.0, 0, 0, 5, COUNT);
    tsw_tool_host_fill(whole, TSW_DTYPE_I32, TSW_FILL_INDEX, 0, 0, -3, 3, 5, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(real[i] >= -1.0f && real[i] <= 1.0f);
        assert_in_range(whole[i] + 3, 0, 6);
        seen[whole[i] + 3]++;
    }
    for (size_t i = 0; i < 7; i++)
        assert_in_range(seen[i], COUNT / 7 - 300, COUNT / 7 + 300);
}

static void test_sequences_and_offsets(void **state)
{
    (void)state;
    int64_t out[1001];
    tsw_tool_host_fill(out, TSW_DTYPE_I64, TSW_FILL_SEQUENCE, 0, 0, 10, -3, 1, 4);
    assert_int_equal(out[0], 10);
    assert_int_equal(out[3], 1);
    tsw_tool_host_fill(out, TSW_DTYPE_I64, TSW_FILL_OFFSETS, 0, 0, 0, 54321, 1, 1001);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1000], 54321);
    size_t empty = 0, different = 0;
    for (size_t i = 1; i < 1001; i++) {
        assert_true(out[i] >= out[i - 1]);
        different += out[i] - out[i - 1] != out[1];
        empty += out[i] == out[i - 1];
    }
    assert_true(different > 900);
    tsw_tool_host_fill(out, TSW_DTYPE_I64, TSW_FILL_OFFSETS, 0, 0, 0, 9, 1, 1);
    assert_int_equal(out[0], 0);
    tsw_tool_host_fill(out, TSW_DTYPE_I64, TSW_FILL_OFFSETS, 0, 0, 0, 0, 1, 50);
    assert_int_equal(out[49], 0);
}

static void test_fills_depend_on_the_seed_alone(void **state)
{
    (void)state;
    static uint16_t a[COUNT], b[COUNT];
    tsw_tool_host_fill(a, TSW_DTYPE_F16, TSW_FILL_NORMAL, 0, 1, 0, 0, 9, COUNT);
    tsw_tool_host_fill(b, TSW_DTYPE_F16, TSW_FILL_NORMAL, 0, 1, 0, 0, 9, COUNT);
    assert_memory_equal(a, b, sizeof(a));
    tsw_tool_host_fill(b, TSW_DTYPE_F16, TSW_FILL_NORMAL, 0, 1, 0, 0, 10, COUNT);
    assert_memory_not_equal(a, b, sizeof(a));
}

static tsw_compare_t compare_f16(const uint16_t *got, const uint16_t *want, uint64_t elements)
{
    tsw_compare_t compare;
    tsw_tool_host_compare(got, want, TSW_DTYPE_F16, elements, 0.01, 0.1, &compare);
    return compare;
}

static void test_compare_counts_each_kind(void **state)
{
    (void)state;
    /*                       equal   close   far     NaN     both NaN poison inf-inf inf-big */
    const uint16_t want[] = {0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x7e00, 0x3c00, 0x7c00, 0x7c00};
    const uint16_t got[] = {0x3c00, 0x3c10, 0x4000, 0x7e00, 0x7e01, 0xffff, 0x7c00, 0x7bff};
    tsw_compare_t compare = compare_f16(got, want, 8);
    assert_int_equal(compare.elements, 8);
    assert_int_equal(compare.mismatches, 4);
    assert_int_equal(compare.nans, 1);
    assert_int_equal(compare.unwritten, 1);
    assert_int_equal(compare.first_bad, 2);
    assert_true(compare.max_abs == 1.0);
    assert_true(compare.max_rel == 1.0);
}

static void test_poison_counts_unless_it_is_wanted(void **state)
{
    (void)state;
    const uint16_t nan[] = {0x7fff}, poison[] = {0xffff};
    assert_int_equal(compare_f16(poison, nan, 1).unwritten, 1);
    assert_int_equal(compare_f16(poison, poison, 1).mismatches, 0);
    int8_t got[] = {-1, -1}, want[] = {-1, 4};
    tsw_compare_t compare;
    tsw_tool_host_compare(got, want, TSW_DTYPE_I8, 2, 0, 0, &compare);
    assert_int_equal(compare.unwritten, 1);
    assert_int_equal(compare.first_bad, 1);
}

static void test_big_integers_compare_exactly(void **state)
{
    (void)state;
    int64_t got[] = {INT64_MAX - 1, 5}, want[] = {INT64_MAX, 5};
    tsw_compare_t compare;
    tsw_tool_host_compare(got, want, TSW_DTYPE_I64, 2, 0, 0, &compare);
    assert_int_equal(compare.mismatches, 1);
    tsw_tool_host_compare(got, want, TSW_DTYPE_I64, 2, 1, 0, &compare);
    assert_int_equal(compare.mismatches, 0);
    assert_true(compare.max_abs == 1.0);
}

static void test_checksums_see_places_and_tails(void **state)
{
    (void)state;
    uint8_t a[21] = "abcdefghijklmnopqrst", b[21] = "ijklmnopabcdefghqrst";
    assert_int_not_equal(tsw_tool_host_checksum(a, 20), tsw_tool_host_checksum(b, 20));
    uint64_t whole = tsw_tool_host_checksum(a, 20);
    a[19] = 'x';
    assert_int_not_equal(whole, tsw_tool_host_checksum(a, 20));
    a[20] = 1;
    a[19] = 't';
    assert_int_equal(whole, tsw_tool_host_checksum(a, 20));
}

static void test_fence_finds_the_first_damage(void **state)
{
    (void)state;
    uint8_t fence[100];
    uint64_t first = 0;
    memset(fence, 0xff, sizeof(fence));
    assert_int_equal(tsw_tool_host_fence(fence, 100, &first), 0);
    assert_true(first == UINT64_MAX);
    fence[41] = 0xfe;
    fence[99] = 0;
    assert_int_equal(tsw_tool_host_fence(fence, 100, &first), 2);
    assert_int_equal(first, 41);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes_of_known_values),
        cmocka_unit_test(test_ties_go_to_even_and_range_saturates),
        cmocka_unit_test(test_every_small_code_makes_the_round_trip),
        cmocka_unit_test(test_specials_decode),
        cmocka_unit_test(test_normal_fill_has_its_mean_and_deviation),
        cmocka_unit_test(test_fills_stay_in_their_bounds),
        cmocka_unit_test(test_sequences_and_offsets),
        cmocka_unit_test(test_fills_depend_on_the_seed_alone),
        cmocka_unit_test(test_compare_counts_each_kind),
        cmocka_unit_test(test_poison_counts_unless_it_is_wanted),
        cmocka_unit_test(test_big_integers_compare_exactly),
        cmocka_unit_test(test_checksums_see_places_and_tails),
        cmocka_unit_test(test_fence_finds_the_first_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
