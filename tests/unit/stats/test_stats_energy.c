/* Who is tried by energy, and who wins. */
#include "stats/energy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_chosen(const tsw_energy_entrant_t *entrants, size_t count,
                          const uint32_t *wanted, size_t wanted_count)
{
    uint32_t chosen[TSW_ENERGY_MOST];
    assert_int_equal(tsw_energy_choose(entrants, count, chosen), wanted_count);
    for (size_t i = 0; i < wanted_count; i++)
        assert_int_equal(chosen[i], wanted[i]);
}

static void test_the_fastest_within_a_limit_are_tried(void **state)
{
    (void)state;
    const tsw_energy_entrant_t entrants[] = {{.time_ns = 100}, {.time_ns = 0},   {.time_ns = 161},
                                             {.time_ns = 160}, {.time_ns = 130}, {.time_ns = 110}};
    assert_chosen(entrants, 6, (const uint32_t[]){0, 5, 4, 3}, 4);
    assert_chosen(entrants, 0, NULL, 0);
    assert_chosen(entrants + 1, 1, NULL, 0);
}

static void test_the_baseline_and_finalists_come_first(void **state)
{
    (void)state;
    tsw_energy_entrant_t entrants[10];
    for (size_t i = 0; i < 10; i++)
        entrants[i] = (tsw_energy_entrant_t){.time_ns = 100 + (double)i};
    assert_chosen(entrants, 10, (const uint32_t[]){0, 1, 2, 3, 4, 5}, 6);
    entrants[8].is_finalist = true;
    entrants[9].is_baseline = true;
    entrants[9].time_ns = 900;
    assert_chosen(entrants, 10, (const uint32_t[]){9, 8, 0, 1, 2, 3}, 6);
    entrants[9].time_ns = 0; /* it cannot run */
    assert_chosen(entrants, 10, (const uint32_t[]){8, 0, 1, 2, 3, 4}, 6);
}

static void test_the_least_median_wins(void **state)
{
    (void)state;
    double joules[] = {0.3, 0.1, 0.2}, broken[] = {0.3, 0.0, 0.2};
    assert_true(tsw_energy_median(joules, 3) == 0.2);
    assert_true(isnan(tsw_energy_median(broken, 3)));
    assert_true(isnan(tsw_energy_median(joules, 0)));
    const double medians[] = {NAN, 0.5, 0.4, 0.4}, none[] = {NAN, NAN};
    assert_int_equal(tsw_energy_least(medians, 4), 2);
    assert_int_equal(tsw_energy_least(none, 2), -1);
    assert_int_equal(tsw_energy_least(NULL, 0), -1);
    assert_true(tsw_energy_is_tie(1.0099, 1.0));
    assert_false(tsw_energy_is_tie(1.0101, 1.0));
    assert_false(tsw_energy_is_tie(NAN, 1.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_fastest_within_a_limit_are_tried),
        cmocka_unit_test(test_the_baseline_and_finalists_come_first),
        cmocka_unit_test(test_the_least_median_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
