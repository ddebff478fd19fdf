/* The window over a counter that moves in steps. */
#include "device/energy_window.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS 1000000ull

/* A load of so many watts whose counter moves every step_ms, read every read_ms, until it is
 * done; *ms_p: how long that took. */
static double watts_of(double watts, uint64_t step_ms, uint64_t read_ms, uint64_t *ms_p)
{
    tsw_energy_window_t window = {.has_begun = false};
    tsw_energy_step_t step = TSW_ENERGY_RUNNING;
    uint64_t ms = 0;
    for (; step == TSW_ENERGY_RUNNING; ms += read_ms)
        step = tsw_energy_window_add(
            &window, ms * MS, 7000 + (uint64_t)llround(watts * (double)(ms / step_ms * step_ms)));
    assert_int_equal(step, TSW_ENERGY_DONE);
    *ms_p = ms;
    return tsw_energy_window_watts(&window);
}

static void test_the_size_of_the_steps_does_not_matter(void **state)
{
    (void)state;
    for (uint64_t step_ms = 1; step_ms <= 120; step_ms += 7) {
        uint64_t ms = 0;
        double watts = watts_of(431.0, step_ms, 1, &ms);
        if (fabs(watts / 431.0 - 1) > 1e-3)
            fail_msg("steps of %d ms: %g W", (int)step_ms, watts);
        assert_true(ms >= 600 && ms <= 602 + 2 * step_ms);
    }
}

/* A reading sees a step late by as much as the pause between readings. */
static void test_a_slow_reader_is_off_by_its_pause_at_most(void **state)
{
    (void)state;
    uint64_t ms = 0;
    double watts = watts_of(431.0, 37, 10, &ms);
    assert_true(fabs(watts / 431.0 - 1) <= 0.01);
    assert_true(ms >= 2000 && ms <= 2300); /* two gaps of 10 ms are to be 1 % */
    (void)watts_of(431.0, 37, 30, &ms);
    assert_true(ms >= 2100 && ms <= 2400); /* no longer, however slow it is */
}

static void test_the_run_up_does_not_count(void **state)
{
    (void)state;
    tsw_energy_window_t window = {.has_begun = false};
    tsw_energy_step_t step = TSW_ENERGY_RUNNING;
    uint64_t mj = 0;
    for (uint64_t ms = 0; step == TSW_ENERGY_RUNNING; ms += 20) {
        step = tsw_energy_window_add(&window, ms * MS, mj);
        mj += ms < 80 ? 1000 : 8000;
    }
    assert_true(fabs(tsw_energy_window_watts(&window) - 400.0) < 1e-6);
}

static void test_a_counter_that_goes_back_is_broken(void **state)
{
    (void)state;
    tsw_energy_window_t window = {.has_begun = false};
    for (uint64_t ms = 0; ms < 400; ms += 50)
        assert_int_equal(tsw_energy_window_add(&window, ms * MS, 90000 + ms), TSW_ENERGY_RUNNING);
    assert_int_equal(tsw_energy_window_add(&window, 400 * MS, 12), TSW_ENERGY_BROKEN);
    assert_true(tsw_energy_window_watts(&window) == 0.0);
    tsw_energy_t energy = tsw_energy_of(&window, 10, 400 * MS);
    assert_int_equal(energy.energy_mj, 0);
    assert_int_equal(energy.launches, 10);
}

static void test_a_counter_that_stands_still_is_broken(void **state)
{
    (void)state;
    tsw_energy_window_t window = {.has_begun = false};
    tsw_energy_step_t step = TSW_ENERGY_RUNNING;
    uint64_t ms = 0;
    for (; step == TSW_ENERGY_RUNNING; ms += 10)
        step = tsw_energy_window_add(&window, ms * MS, 5);
    assert_int_equal(step, TSW_ENERGY_BROKEN);
    assert_int_equal(ms, 2020);
    assert_true(tsw_energy_window_watts(&window) == 0.0);
}

static void test_launches_take_power_by_their_time(void **state)
{
    (void)state;
    const tsw_energy_window_t window = {.has_begun = true,
                                        .is_open = true,
                                        .first_ns = 100 * MS,
                                        .first_mj = 1000,
                                        .newest_ns = 600 * MS,
                                        .newest_mj = 251000};
    tsw_energy_t energy = tsw_energy_of(&window, 7000, 700 * MS);
    assert_int_equal(energy.energy_mj, 350000);
    assert_int_equal(energy.interval_ns, 700 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_size_of_the_steps_does_not_matter),
        cmocka_unit_test(test_a_slow_reader_is_off_by_its_pause_at_most),
        cmocka_unit_test(test_the_run_up_does_not_count),
        cmocka_unit_test(test_a_counter_that_goes_back_is_broken),
        cmocka_unit_test(test_a_counter_that_stands_still_is_broken),
        cmocka_unit_test(test_launches_take_power_by_their_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
