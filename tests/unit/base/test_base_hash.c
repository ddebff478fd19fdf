#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/linux.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

static tsw_key_t key_of_two(const char *a, const char *b)
{
    tsw_hash_t *hash = tsw_hash_new();
    assert_non_null(hash);
    tsw_hash_text(hash, a);
    tsw_hash_text(hash, b);
    const tsw_key_t key = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return key;
}

static void test_hash_when_fields_shift_then_differs(void **state)
{
    (void)state;
    assert_false(tsw_key_equal(key_of_two("ab", "c"), key_of_two("a", "bc")));
    assert_false(tsw_key_equal(key_of_two("abc", ""), key_of_two("", "abc")));
    assert_true(tsw_key_equal(key_of_two("ab", "c"), key_of_two("ab", "c")));
}

static void test_key_when_formatted_then_parsed_back(void **state)
{
    (void)state;
    const tsw_key_t key = tsw_key_of_text("tilesweep");
    char text[TSW_KEY_TEXT_SIZE];
    tsw_key_t back = {0};
    assert_int_equal(strlen(tsw_key_format(key, text)), 32);
    assert_true(tsw_key_parse(text, &back));
    assert_true(tsw_key_equal(key, back));
}

static void test_key_when_text_is_bad_then_refused(void **state)
{
    (void)state;
    tsw_key_t key = {.hi = 1, .lo = 2};
    assert_false(tsw_key_parse("", &key));
    assert_false(tsw_key_parse("0123456789abcdef0123456789abcde", &key));
    assert_false(tsw_key_parse("0123456789abcdef0123456789abcdef0", &key));
    assert_false(tsw_key_parse("0123456789abcdefg123456789abcdef", &key));
    assert_true(key.hi == 1 && key.lo == 2);
}

static void test_key_when_compared_then_total_order(void **state)
{
    (void)state;
    const tsw_key_t small = {.hi = 1, .lo = 9}, large = {.hi = 2, .lo = 0};
    assert_true(tsw_key_compare(small, large) < 0);
    assert_true(tsw_key_compare(large, small) > 0);
    assert_int_equal(tsw_key_compare(small, small), 0);
}

static void test_rng_when_same_counters_then_same_value(void **state)
{
    (void)state;
    assert_true(tsw_rng_u64(1, 2, 3, 4, 5) == tsw_rng_u64(1, 2, 3, 4, 5));
    const uint64_t base = tsw_rng_u64(1, 2, 3, 4, 5);
    assert_true(base != tsw_rng_u64(2, 2, 3, 4, 5));
    assert_true(base != tsw_rng_u64(1, 3, 3, 4, 5));
    assert_true(base != tsw_rng_u64(1, 2, 3, 5, 4));
    assert_true(base != tsw_rng_u64(1, 2, 3, 4, 6));
}

static void test_rng_when_many_then_moments_fit(void **state)
{
    (void)state;
    const int count = 20000;
    double uniform = 0, sum = 0, squares = 0;
    for (int i = 0; i < count; i++) {
        const double u = tsw_rng_uniform(tsw_rng_u64(7, (uint64_t)i, 0, 0, 0));
        const double z = tsw_rng_normal(tsw_rng_u64(7, (uint64_t)i, 1, 0, 0));
        assert_true(u >= 0 && u < 1);
        assert_true(isfinite(z));
        uniform += u;
        sum += z;
        squares += z * z;
    }
    /* The seed is fixed; the bounds are more than six standard errors wide. */
    assert_true(fabs(uniform / count - 0.5) < 0.0125);
    assert_true(fabs(sum / count) < 0.045);
    assert_true(fabs(squares / count - 1) < 0.065);
}

static void test_rng_when_bits_are_extreme_then_finite(void **state)
{
    (void)state;
    assert_true(isfinite(tsw_rng_normal(0)));
    assert_true(isfinite(tsw_rng_normal(UINT64_MAX)));
    assert_true(tsw_rng_uniform(UINT64_MAX) < 1);
}

static void test_permutation_when_drawn_then_each_once(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    uint32_t order[COUNT], again[COUNT], other[COUNT];
    bool seen[COUNT] = {false};
    tsw_rng_permutation(1, 2, 3, order, COUNT);
    tsw_rng_permutation(1, 2, 3, again, COUNT);
    tsw_rng_permutation(1, 2, 4, other, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(order[i] < COUNT && !seen[order[i]]);
        seen[order[i]] = true;
    }
    assert_memory_equal(order, again, sizeof(order));
    assert_memory_not_equal(order, other, sizeof(order));
    tsw_rng_permutation(1, 2, 3, order, 0);
}

static void test_cpus_when_merged_then_union(void **state)
{
    (void)state;
    tsw_cpus_t a = {0}, b = {0}, here = {0};
    a.words[0] = 5;
    b.words[0] = 6;
    b.words[TSW_CPU_WORDS - 1] = 1;
    tsw_cpus_merge(&a, &b);
    assert_int_equal(tsw_cpus_count(&a), 4);
    tsw_cpus_of_process(&here);
    assert_true(tsw_cpus_count(&here) >= 1);
}

static void test_node_name_when_room_is_small_then_terminated(void **state)
{
    (void)state;
    char name[4] = {'x', 'x', 'x', 'x'};
    tsw_node_name(name, sizeof(name));
    assert_true(strlen(name) < sizeof(name));
    assert_null(strchr(name, '.'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_when_fields_shift_then_differs),
        cmocka_unit_test(test_key_when_formatted_then_parsed_back),
        cmocka_unit_test(test_key_when_text_is_bad_then_refused),
        cmocka_unit_test(test_key_when_compared_then_total_order),
        cmocka_unit_test(test_rng_when_same_counters_then_same_value),
        cmocka_unit_test(test_rng_when_many_then_moments_fit),
        cmocka_unit_test(test_rng_when_bits_are_extreme_then_finite),
        cmocka_unit_test(test_permutation_when_drawn_then_each_once),
        cmocka_unit_test(test_cpus_when_merged_then_union),
        cmocka_unit_test(test_node_name_when_room_is_small_then_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
