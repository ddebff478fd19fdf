/* How many buffer sets, and how many launches per interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "measure/measure_cell.h"

#define MIB ((uint64_t)1 << 20)

static const uint64_t l2 = 50 * MIB;
static const uint64_t plenty = 30000 * MIB;

static void check_rotation(tsw_cache_mode_t cache, uint64_t touched, uint64_t footprint,
                           uint64_t budget, uint32_t sets, tsw_cache_state_t state)
{
    tsw_measure_rotation_t rotation = tsw_measure_rotation(cache, l2, touched, footprint, budget);
    assert_int_equal(rotation.sets, sets);
    assert_int_equal(rotation.state, state);
}

static void test_sets_hold_three_times_the_l2(void **state)
{
    (void)state;
    check_rotation(TSW_CACHE_COLD, 24 * MIB, 25 * MIB, plenty, 8, TSW_CACHE_STATE_COLD_ROTATION);
    check_rotation(TSW_CACHE_COLD, 150 * MIB, 151 * MIB, plenty, 2, TSW_CACHE_STATE_COLD_ROTATION);
    check_rotation(TSW_CACHE_COLD, MIB, 2 * MIB, plenty, 151, TSW_CACHE_STATE_COLD_ROTATION);
}

static void test_a_large_set_is_cold_by_itself(void **state)
{
    (void)state;
    check_rotation(TSW_CACHE_COLD, 250 * MIB, 251 * MIB, 0, 1, TSW_CACHE_STATE_COLD_ROTATION);
    check_rotation(TSW_CACHE_COLD, 250 * MIB - 1, 251 * MIB, 0, 1, TSW_CACHE_STATE_COLD_FLUSH);
}

static void test_the_l2_is_flushed_where_sets_do_not_do(void **state)
{
    (void)state;
    /* Too many would be needed; too little memory, for some or for all. */
    check_rotation(TSW_CACHE_COLD, MIB / 2, MIB, plenty, 200, TSW_CACHE_STATE_COLD_FLUSH);
    check_rotation(TSW_CACHE_COLD, 24 * MIB, 25 * MIB, 60 * MIB, 3, TSW_CACHE_STATE_COLD_FLUSH);
    check_rotation(TSW_CACHE_COLD, 24 * MIB, 25 * MIB, 0, 1, TSW_CACHE_STATE_COLD_FLUSH);
    check_rotation(TSW_CACHE_COLD, 0, 0, plenty, 1, TSW_CACHE_STATE_COLD_FLUSH);
}

static void test_hot_has_one_set(void **state)
{
    (void)state;
    check_rotation(TSW_CACHE_HOT, 24 * MIB, 25 * MIB, plenty, 1, TSW_CACHE_STATE_HOT);
    check_rotation(TSW_CACHE_HOT, 500 * MIB, 500 * MIB, plenty, 1, TSW_CACHE_STATE_HOT);
}

static uint32_t launches(uint32_t sets, tsw_cache_state_t state, uint64_t single_ns,
                         uint64_t best_ns)
{
    tsw_measure_rotation_t rotation = {sets, state};
    const tsw_wave_t wave = {.interval_ns = 250000, .graph_below_ns = 100000};
    tsw_measure_interval_t made = tsw_measure_interval(&rotation, &wave, single_ns, best_ns);
    assert_int_equal(made.is_graph, made.launches > 1);
    return made.launches;
}

/* Without graphs. */
static uint32_t queued(uint32_t sets, tsw_cache_state_t state, uint64_t single_ns, uint64_t best_ns)
{
    tsw_measure_rotation_t rotation = {sets, state};
    const tsw_wave_t wave = {.interval_ns = 100000, .graph_below_ns = 25000};
    tsw_measure_interval_t made = tsw_measure_interval(&rotation, &wave, single_ns, best_ns);
    assert_false(made.is_graph);
    return made.launches;
}

static void test_longer_kernels_are_queued_alike(void **state)
{
    (void)state;
    const tsw_cache_state_t rotation = TSW_CACHE_STATE_COLD_ROTATION;
    assert_int_equal(queued(8, rotation, 30000, 30000), 4); /* no whole laps */
    assert_int_equal(queued(8, rotation, 39000, 30000), 4);
    assert_int_equal(queued(8, rotation, 46000, 30000), 2); /* not among the best */
    assert_int_equal(queued(8, rotation, 90000, 90000), 2); /* a launch is off by 1 us */
    assert_int_equal(queued(8, rotation, 60000, 10000), 1); /* cannot win */
    assert_int_equal(queued(8, rotation, 100000, 100000), 1);
    assert_int_equal(queued(2, TSW_CACHE_STATE_COLD_FLUSH, 30000, 30000), 2);
    assert_int_equal(queued(8, rotation, 0, 0), 1);
}

/* As before a race's final. */
static uint32_t early(uint64_t single_ns)
{
    const tsw_measure_rotation_t rotation = {8, TSW_CACHE_STATE_COLD_ROTATION};
    const tsw_wave_t wave = {.interval_ns = 30000};
    tsw_measure_interval_t made = tsw_measure_interval(&rotation, &wave, single_ns, single_ns);
    assert_false(made.is_graph);
    return made.launches;
}

static void test_launches_one_by_one_have_bounds(void **state)
{
    (void)state;
    assert_int_equal(early(200), 64);
    assert_int_equal(early(5000), 10);
    assert_int_equal(early(60000), 2);
    assert_int_equal(early(100000), 1);
}

static void test_short_kernels_share_an_interval(void **state)
{
    (void)state;
    const tsw_cache_state_t hot = TSW_CACHE_STATE_HOT;
    assert_int_equal(launches(1, hot, 6000, 6000), 63); /* 250 us of 4 us each */
    assert_int_equal(launches(1, hot, 52000, 52000), 5);
    assert_int_equal(launches(1, hot, 1000, 1000), 200);
    assert_int_equal(launches(1, hot, 1, 1), 200);
    assert_int_equal(launches(1, hot, 100000, 100000), 1);
    assert_int_equal(launches(1, hot, 5000000000, 5000000000), 1);
    assert_int_equal(launches(1, hot, 0, 0), 1); /* unknown */
}

static void test_rivals_are_measured_alike(void **state)
{
    (void)state;
    assert_int_equal(launches(1, TSW_CACHE_STATE_HOT, 102000, 99000), 3);
    assert_int_equal(launches(1, TSW_CACHE_STATE_HOT, 102000, 100000), 1);
    assert_int_equal(launches(1, TSW_CACHE_STATE_HOT, 200000, 99000), 1);
}

static void test_graphs_are_as_long_as_wanted_whatever_the_lap(void **state)
{
    (void)state;
    const tsw_cache_state_t rotation = TSW_CACHE_STATE_COLD_ROTATION;
    assert_int_equal(launches(8, rotation, 30000, 30000), 9);
    assert_int_equal(launches(101, rotation, 6000, 6000), 63);
    assert_int_equal(launches(130, rotation, 2500, 2500), 200);
    assert_int_equal(launches(3, rotation, 90000, 90000), 3);
}

static void test_a_flush_serves_each_set_once(void **state)
{
    (void)state;
    const tsw_cache_state_t flush = TSW_CACHE_STATE_COLD_FLUSH;
    assert_int_equal(launches(200, flush, 6000, 6000), 63);
    assert_int_equal(launches(3, flush, 6000, 6000), 3);
    assert_int_equal(launches(1, flush, 6000, 6000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets_hold_three_times_the_l2),
        cmocka_unit_test(test_a_large_set_is_cold_by_itself),
        cmocka_unit_test(test_the_l2_is_flushed_where_sets_do_not_do),
        cmocka_unit_test(test_hot_has_one_set),
        cmocka_unit_test(test_short_kernels_share_an_interval),
        cmocka_unit_test(test_rivals_are_measured_alike),
        cmocka_unit_test(test_longer_kernels_are_queued_alike),
        cmocka_unit_test(test_launches_one_by_one_have_bounds),
        cmocka_unit_test(test_graphs_are_as_long_as_wanted_whatever_the_lap),
        cmocka_unit_test(test_a_flush_serves_each_set_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
