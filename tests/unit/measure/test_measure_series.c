/* What series say, on series made by hand. */
#include "measure/calibrate_series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(_array) (sizeof(_array) / sizeof(_array[0]))

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g is not %.12g", got, want);
}

static void test_step_is_the_smallest_difference(void **state)
{
    (void)state;
    double values[] = {320, 64, 64, 160, 224, 320};
    assert_near(tsw_series_step(values, COUNT(values)), 64);
}

static void test_step_of_equal_values_is_unknown(void **state)
{
    (void)state;
    double values[] = {7, 7, 7};
    assert_true(isnan(tsw_series_step(values, COUNT(values))));
    assert_true(isnan(tsw_series_median(values, 0)));
}

static void test_paired_sees_a_slower_second_through_drift(void **state)
{
    (void)state;
    double a[101], b[101], ratio = 0, sigma = 0;
    for (size_t i = 0; i < COUNT(a); i++) {
        a[i] = 100 + (double)i; /* the drift is 100 %, the difference 2 % */
        b[i] = 1.02 * a[i];
    }
    tsw_series_paired(a, b, COUNT(a), &ratio, &sigma);
    assert_near(ratio, 0.02);
    assert_true(sigma < 1e-9);
}

static void test_paired_tells_the_spread(void **state)
{
    (void)state;
    double a[] = {100, 100, 100, 100, 100};
    double b[] = {98, 99, 100, 101, 300}; /* one outlier does not count */
    double ratio = 1, sigma = 0;
    tsw_series_paired(a, b, COUNT(a), &ratio, &sigma);
    assert_true(fabs(ratio) < 1e-12);
    assert_near(sigma, 1.4826 * fabs(log(0.99)));
}

static void test_ramp_ends_when_the_clock_stays(void **state)
{
    (void)state;
    const double at_ns[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const double mhz[] = {300, 1500, 1980, 1200, 1950, 1980, 1980, 1980};
    double steady = 0, ramp = 0;
    tsw_series_ramp(at_ns, mhz, COUNT(mhz), &steady, &ramp);
    assert_near(steady, 1980);
    assert_near(ramp, 5); /* at 3 it fell again */
}

static void test_ramp_of_an_unreadable_clock_is_unknown(void **state)
{
    (void)state;
    const double at_ns[] = {1, 2}, mhz[] = {0, 0};
    double steady = 0, ramp = 0;
    tsw_series_ramp(at_ns, mhz, COUNT(mhz), &steady, &ramp);
    assert_true(isnan(steady) && isnan(ramp));
    tsw_series_ramp(at_ns, mhz, 0, &steady, &ramp);
    assert_true(isnan(steady) && isnan(ramp));
}

static void test_bandwidth_forgets_what_every_copy_costs(void **state)
{
    (void)state;
    /* 10 us each, and 1,000 bytes read and written a us */
    assert_near(tsw_series_bandwidth(1e6, 10000 + 2e6, 10000 + 1e6), 1e9);
    assert_true(isnan(tsw_series_bandwidth(1e6, 500, 500)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_is_the_smallest_difference),
        cmocka_unit_test(test_step_of_equal_values_is_unknown),
        cmocka_unit_test(test_paired_sees_a_slower_second_through_drift),
        cmocka_unit_test(test_paired_tells_the_spread),
        cmocka_unit_test(test_ramp_ends_when_the_clock_stays),
        cmocka_unit_test(test_ramp_of_an_unreadable_clock_is_unknown),
        cmocka_unit_test(test_bandwidth_forgets_what_every_copy_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
