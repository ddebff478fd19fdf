#include "base/rng.h"
#include "stats/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_close(double value, double wanted)
{
    if (fabs(value - wanted) > 1e-12 * fmax(1.0, fabs(wanted)))
        fail_msg("%.17g is not %.17g", value, wanted);
}

static void test_summary_of_nothing_is_zero(void **state)
{
    (void)state;
    tsw_summary_t s = tsw_stats_summary(NULL, 0);
    assert_int_equal(s.n, 0);
    assert_close(s.median, 0.0);
    assert_close(s.std, 0.0);
}

static void test_summary_of_one_has_no_spread(void **state)
{
    (void)state;
    double v[] = {7.0};
    tsw_summary_t s = tsw_stats_summary(v, 1);
    assert_close(s.min, 7.0);
    assert_close(s.q1, 7.0);
    assert_close(s.p99, 7.0);
    assert_close(s.std, 0.0);
}

/* Quantiles of 1..10 in R's default type 7: 3.25, 5.5, 7.75, 9.1, 9.91. */
static void test_summary_uses_type_7_quantiles(void **state)
{
    (void)state;
    double v[] = {10, 3, 8, 1, 7, 2, 9, 4, 6, 5};
    tsw_summary_t s = tsw_stats_summary(v, 10);
    assert_close(s.min, 1.0);
    assert_close(s.q1, 3.25);
    assert_close(s.median, 5.5);
    assert_close(s.q3, 7.75);
    assert_close(s.max, 10.0);
    assert_close(s.p90, 9.1);
    assert_close(s.p99, 9.91);
    assert_close(s.mean, 5.5);
    assert_close(s.std, sqrt(82.5 / 9.0));
    for (int i = 0; i < 10; i++)
        assert_close(v[i], i + 1);
}

/* A sum of squares would lose everything at this offset. */
static void test_summary_keeps_digits_far_from_zero(void **state)
{
    (void)state;
    double v[] = {1e12 + 1, 1e12 + 2, 1e12 + 3};
    tsw_summary_t s = tsw_stats_summary(v, 3);
    assert_close(s.std, 1.0);
    assert_close(s.median - 1e12, 2.0);
}

static void test_hodges_lehmann_of_three_is_their_median(void **state)
{
    (void)state;
    double pairs[10];
    assert_true(tsw_stats_hodges_lehmann((const double[]){1.0, 100.0, 2.0}, 3, pairs) == 2.0);
    assert_true(tsw_stats_hodges_lehmann((const double[]){1.0, 2.0, 3.0, 4.0}, 4, pairs) == 2.5);
}

/* -2 .. 2: their median distance from the middle is 1. */
static void test_middle_has_the_error_of_normal_values_or_of_the_least_spread(void **state)
{
    (void)state;
    const double values[] = {2.0, -1.0, 0.0, 1.0, -2.0};
    double scratch[5], pairs[15], se = 0.0;
    assert_close(tsw_stats_middle(values, 5, 0.1, scratch, pairs, &se), 0.0);
    assert_close(se, 1.0233 * 1.4826 / sqrt(5.0));
    tsw_stats_middle(values, 5, 3.0, scratch, pairs, &se);
    assert_close(se, 1.0233 * 3.0 / sqrt(5.0));
}

/* Four equal ratios have a standard error of 1.0233 * 0.5 % / 2; 1.645 of these are 0.42 %. */
static void test_ratios_are_off_beyond_the_limit_and_their_error(void **state)
{
    (void)state;
    double scratch[4], pairs[10];
    for (double sign = -1.0; sign < 2.0; sign += 2.0) {
        const double ratios[] = {0.01 * sign, 0.01 * sign, 0.01 * sign, 0.01 * sign};
        assert_true(tsw_stats_is_off(ratios, 4, 0.0057, scratch, pairs));
        assert_false(tsw_stats_is_off(ratios, 4, 0.0059, scratch, pairs));
    }
    assert_false(tsw_stats_is_off(NULL, 0, 0.0, scratch, pairs));
}

/* Of n = 5 that rise 10 pairs do, and the variance of that is n (n - 1) (2n + 5) / 18. */
static void test_trend_counts_pairs_that_rise_against_those_that_fall(void **state)
{
    (void)state;
    const double z = 9.0 / sqrt(5.0 * 4.0 * 15.0 / 18.0);
    assert_close(tsw_stats_trend((const double[]){1.0, 2.0, 5.0, 6.0, 9.0}, 5), z);
    assert_close(tsw_stats_trend((const double[]){9.0, 6.0, 5.0, 2.0, 1.0}, 5), -z);
    assert_close(tsw_stats_trend((const double[]){1.0, 3.0, 2.0, 4.0}, 4),
                 3.0 / sqrt(4.0 * 3.0 * 13.0 / 18.0)); /* 5 rise, 1 falls */
    assert_close(tsw_stats_trend((const double[]){4.0, 4.0, 4.0}, 3), 0.0);
    assert_close(tsw_stats_trend((const double[]){1.0, 2.0}, 2), 0.0);
}

static void test_slope_ignores_an_outlier(void **state)
{
    (void)state;
    double pairs[10];
    assert_close(tsw_stats_slope((const double[]){1.0, 3.0, 5.0, 7.0, 100.0}, 5, pairs), 2.0);
    assert_close(tsw_stats_slope((const double[]){100.0, 7.0, 5.0, 3.0, 1.0}, 5, pairs), -2.0);
}

static void test_median_of_any_order_and_many_equal_is_that_of_the_sorted(void **state)
{
    (void)state;
    for (uint64_t r = 0; r < 2000; r++) {
        double values[40], sorted[40];
        size_t n = 1 + (size_t)(tsw_rng_u64(3, r, 0, 0, 0) % 40);
        uint64_t kinds = 1 + tsw_rng_u64(3, r, 1, 0, 0) % 50;
        for (size_t i = 0; i < n; i++)
            values[i] = sorted[i] = (double)(tsw_rng_u64(3, r, 2, i, 0) % kinds);
        tsw_stats_sort(sorted, n);
        assert_close(tsw_stats_median(values, n), 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]));
        tsw_stats_sort(values, n); /* none was lost */
        assert_memory_equal(values, sorted, n * sizeof(double));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median_of_any_order_and_many_equal_is_that_of_the_sorted),
        cmocka_unit_test(test_hodges_lehmann_of_three_is_their_median),
        cmocka_unit_test(test_middle_has_the_error_of_normal_values_or_of_the_least_spread),
        cmocka_unit_test(test_ratios_are_off_beyond_the_limit_and_their_error),
        cmocka_unit_test(test_trend_counts_pairs_that_rise_against_those_that_fall),
        cmocka_unit_test(test_slope_ignores_an_outlier),
        cmocka_unit_test(test_summary_of_nothing_is_zero),
        cmocka_unit_test(test_summary_of_one_has_no_spread),
        cmocka_unit_test(test_summary_uses_type_7_quantiles),
        cmocka_unit_test(test_summary_keeps_digits_far_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
