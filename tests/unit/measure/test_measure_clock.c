/* Which rounds ran at another clock than the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "measure/measure_cell.h"

static tsw_measure_clock_t clock_of(uint32_t mhz, size_t readings)
{
    tsw_measure_clock_t clock = {.count = 0};
    tsw_telemetry_t now = {.sm_clock_mhz = mhz};
    for (size_t i = 0; i < readings; i++)
        tsw_measure_clock_note(&clock, &now);
    return clock;
}

static bool is_off(const tsw_measure_clock_t *clock, uint32_t mhz, uint64_t reasons)
{
    tsw_telemetry_t now = {
        .sm_clock_mhz = mhz, .throttle_reasons = reasons, .max_sm_clock_mhz = 2000};
    return tsw_measure_clock_is_off(clock, &now);
}

static void test_two_percent_of_the_median_are_allowed(void **state)
{
    (void)state;
    tsw_measure_clock_t clock = clock_of(1500, 4);
    assert_false(is_off(&clock, 1500, 0));
    assert_false(is_off(&clock, 1530, 0));
    assert_false(is_off(&clock, 1470, 0));
    assert_true(is_off(&clock, 1531, 0));
    assert_true(is_off(&clock, 1469, 0));
}

static void test_a_locked_clock_is_held_to_its_step(void **state)
{
    (void)state;
    tsw_measure_clock_t clock = clock_of(1400, 10); /* whatever came before */
    clock.locked_mhz = 1500;
    assert_false(is_off(&clock, 1500, 0));
    assert_false(is_off(&clock, 1485, 0x4));
    assert_false(is_off(&clock, 1515, 0));
    assert_true(is_off(&clock, 1484, 0));
    assert_true(is_off(&clock, 1516, 0));
    assert_false(is_off(&clock, 0, 0)); /* cannot be read */
}

static void test_few_readings_have_no_median(void **state)
{
    (void)state;
    tsw_measure_clock_t clock = clock_of(1500, 3);
    assert_false(is_off(&clock, 1000, 0));
}

static void test_a_lasting_change_becomes_the_median(void **state)
{
    (void)state;
    tsw_measure_clock_t clock = clock_of(1500, 10);
    tsw_telemetry_t now = {.sm_clock_mhz = 1400};
    assert_true(is_off(&clock, 1400, 0));
    for (size_t i = 0; i < TSW_MEASURE_CLOCKS; i++)
        tsw_measure_clock_note(&clock, &now);
    assert_false(is_off(&clock, 1400, 0));
    assert_true(is_off(&clock, 1500, 0));
}

static void test_throttling_is_more_than_the_power_cap(void **state)
{
    (void)state;
    tsw_measure_clock_t clock = clock_of(1400, 1);
    assert_false(is_off(&clock, 1400, 0x4)); /* normal under load */
    assert_false(is_off(&clock, 1400, 0x1));
    assert_true(is_off(&clock, 1400, 0x4 | 0x40)); /* too hot */
    assert_false(is_off(&clock, 1500, 0x40));
}

static void test_what_cannot_be_read_is_not_judged(void **state)
{
    (void)state;
    tsw_measure_clock_t clock = clock_of(0, 10);
    assert_int_equal(clock.count, 0);
    clock = clock_of(1500, 10);
    assert_false(is_off(&clock, 0, 0x40));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_percent_of_the_median_are_allowed),
        cmocka_unit_test(test_a_locked_clock_is_held_to_its_step),
        cmocka_unit_test(test_few_readings_have_no_median),
        cmocka_unit_test(test_a_lasting_change_becomes_the_median),
        cmocka_unit_test(test_throttling_is_more_than_the_power_cap),
        cmocka_unit_test(test_what_cannot_be_read_is_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
