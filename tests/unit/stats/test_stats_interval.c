#include "stats/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MANY = 20000 };

static void assert_near(double value, double wanted, double within)
{
    if (!(fabs(value - wanted) <= within))
        fail_msg("%.17g is not %.17g", value, wanted);
}

/* Values 1..n: the interval is its ranks. */
static void check_ranks(size_t n, double low, double high, double covered)
{
    double sorted[64];
    for (size_t i = 0; i < n; i++)
        sorted[i] = (double)(i + 1);
    double a = 0.0;
    double b = 0.0;
    double c = 0.0;
    assert_true(tsw_stats_median_ci(sorted, n, 0.95, &a, &b, &c));
    assert_near(a, low, 0.0);
    assert_near(b, high, 0.0);
    assert_near(c, covered, 0.0005);
}

static void test_interval_has_the_published_ranks(void **state)
{
    (void)state;
    check_ranks(6, 1, 6, 0.969);
    check_ranks(9, 2, 8, 0.961);
    check_ranks(10, 2, 9, 0.979);
    check_ranks(20, 6, 15, 0.959);
    check_ranks(25, 8, 18, 0.957);
}

static void test_interval_of_too_few_is_the_range_with_its_coverage(void **state)
{
    (void)state;
    const double sorted[] = {1, 2, 3, 4, 5};
    double a = -1.0;
    double b = -1.0;
    double c = -1.0;
    assert_false(tsw_stats_median_ci(sorted, 5, 0.95, &a, &b, &c));
    assert_near(a, 1.0, 0.0);
    assert_near(b, 5.0, 0.0);
    assert_near(c, 0.9375, 1e-12);
    assert_false(tsw_stats_median_ci(sorted, 1, 0.95, &a, &b, &c));
    assert_near(b, 1.0, 0.0);
    assert_near(c, 0.0, 0.0);
    c = -1.0;
    assert_false(tsw_stats_median_ci(sorted, 0, 0.95, &a, &b, &c));
    assert_near(a, 0.0, 0.0);
    assert_near(b, 0.0, 0.0);
    assert_near(c, 0.0, 0.0);
}

/* The normal approximation: n/2 -+ 1.96 sqrt(n)/2. */
static void test_interval_of_many_does_not_underflow(void **state)
{
    (void)state;
    static double sorted[MANY];
    for (int i = 0; i < MANY; i++)
        sorted[i] = i + 1;
    double a = 0.0;
    double b = 0.0;
    double c = 0.0;
    assert_true(tsw_stats_median_ci(sorted, MANY, 0.95, &a, &b, &c));
    double half = 1.96 * sqrt(MANY) / 2.0;
    assert_near(a, MANY / 2.0 - half, 2.0);
    assert_near(b, MANY / 2.0 + half, 2.0);
    assert_true(c >= 0.95 && c < 0.953);
}

static void test_paired_uses_common_rounds_only(void **state)
{
    (void)state;
    const tsw_round_value_t a[] = {{0, 999}, {2, 110}, {3, 220}, {5, 330}, {7, 1}};
    const tsw_round_value_t b[] = {{1, 1}, {2, 100}, {3, 200}, {4, 5}, {5, 300}};
    double scratch[5];
    tsw_paired_t p = tsw_stats_paired(a, 5, b, 5, 0.95, scratch);
    assert_int_equal(p.n, 3);
    assert_near(p.log_ratio, log(1.1), 1e-12);
    assert_near(p.low, log(1.1), 1e-12);
    assert_near(p.high, log(1.1), 1e-12);
    assert_near(p.confidence, 0.75, 1e-12);
}

/* Drift that both share cancels; it would swamp a comparison of medians. */
static void test_paired_cancels_drift(void **state)
{
    (void)state;
    tsw_round_value_t a[20];
    tsw_round_value_t b[20];
    double scratch[20];
    for (uint32_t i = 0; i < 20; i++) {
        double drift = 1.0 + 0.05 * i;
        a[i] = (tsw_round_value_t){i, 101.0 * drift};
        b[i] = (tsw_round_value_t){i, 100.0 * drift};
    }
    tsw_paired_t p = tsw_stats_paired(a, 20, b, 20, 0.95, scratch);
    assert_near(p.low, log(1.01), 1e-9);
    assert_near(p.high, log(1.01), 1e-9);
    assert_true(p.confidence >= 0.95);
}

static void test_paired_without_common_rounds_is_zero(void **state)
{
    (void)state;
    const tsw_round_value_t a[] = {{0, 1}};
    const tsw_round_value_t b[] = {{1, 1}};
    double scratch[1];
    tsw_paired_t p = tsw_stats_paired(a, 1, b, 1, 0.95, scratch);
    assert_int_equal(p.n, 0);
    assert_near(p.log_ratio, 0.0, 0.0);
    assert_near(p.high, 0.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval_has_the_published_ranks),
        cmocka_unit_test(test_interval_of_too_few_is_the_range_with_its_coverage),
        cmocka_unit_test(test_interval_of_many_does_not_underflow),
        cmocka_unit_test(test_paired_uses_common_rounds_only),
        cmocka_unit_test(test_paired_cancels_drift),
        cmocka_unit_test(test_paired_without_common_rounds_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
