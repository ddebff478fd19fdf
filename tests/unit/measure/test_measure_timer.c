/* Our timer beside CUPTI's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "measure_bench.h"
#include "record/timer_check.h"

#include <string.h>

static const char *const args =
    "  - {name: A, role: in, type: cell, size: M * N, row: N, fill: {normal: [0, 1]}}\n"
    "  - {name: C, role: out, type: cell, size: M * N, row: N}\n";

static bench_t bench;
static tsw_timer_checks_t told;

static void on_timer(void *user, uint32_t index, double own_ns, double cupti_ns)
{
    (void)user;
    told.items[told.count++] =
        (tsw_timer_check_t){.config_index = index, .own_ns = own_ns, .cupti_ns = cupti_ns};
}

static int setup(void **state)
{
    (void)state;
    told.count = 0;
    bench_init(&bench, args, "k");
    bench.sink.timer = on_timer;
    bench_open(&bench, "sim", "");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bench_fini(&bench);
    return 0;
}

/* Times so many configs. */
static void measure(uint32_t configs)
{
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
    for (uint32_t i = 0; i < configs; i++)
        assert_int_equal(bench_add(&bench, i, "", false, &err), TSW_OK);
    assert_int_equal(tsw_measure_time(bench.measure, 0, &err), TSW_OK);
}

static void test_both_of_two_configs_are_checked(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    measure(2);
    assert_int_equal(tsw_measure_check_timer(bench.measure, &err), TSW_OK);
    assert_int_equal(told.count, 2);
    for (size_t i = 0; i < told.count; i++) {
        assert_int_equal(told.items[i].config_index, i);
        assert_true(told.items[i].cupti_ns > 0);
        assert_true(told.items[i].cupti_ns < told.items[i].own_ns);
        assert_true(tsw_timer_check_agrees(&told.items[i]));
    }
}

static void test_of_many_the_baseline_and_the_pick_are_checked(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    bench.cell.policy.protocol = TSW_PROTOCOL_KT7;
    measure(5);
    int32_t pick = tsw_measure_pick(bench.measure);
    assert_true(pick >= 0);
    assert_int_equal(tsw_measure_check_timer(bench.measure, &err), TSW_OK);
    assert_int_equal(told.count, pick == 0 ? 1 : 2);
    assert_int_equal(told.items[0].config_index, 0);
    assert_int_equal(told.items[told.count - 1].config_index, pick);
}

static tsw_status_t too_few(tsw_device_t *dev, uint64_t **ns_p, size_t *count_p, tsw_err_t *err)
{
    (void)dev;
    (void)err;
    *ns_p = tsw_calloc(7, sizeof(**ns_p));
    *count_p = 7;
    return TSW_OK;
}

static void test_kernels_that_cupti_did_not_see_are_no_time(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    measure(1);
    const tsw_device_ops_t *kept = bench.dev->ops;
    tsw_device_ops_t ops = *kept;
    ops.trace_end = too_few;
    bench.dev->ops = &ops;
    assert_int_equal(tsw_measure_check_timer(bench.measure, &err), TSW_ERR_DEVICE);
    bench.dev->ops = kept;
    assert_string_equal(err.text, "check of the timer: CUPTI saw 7 kernels instead of 31");
    assert_int_equal(told.count, 0);
}

static bool agrees(double own_ns, double cupti_ns)
{
    tsw_timer_check_t check = {.own_ns = own_ns, .cupti_ns = cupti_ns};
    return tsw_timer_check_agrees(&check);
}

static void test_two_percent_or_half_a_microsecond_agree(void **state)
{
    (void)state;
    assert_true(agrees(5500, 5000));
    assert_false(agrees(5501, 5000));
    assert_true(agrees(4500, 5000));
    assert_true(agrees(102000, 100000));
    assert_false(agrees(102001, 100000));
    assert_false(agrees(97999, 100000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, teardown)
        TEST(test_both_of_two_configs_are_checked),
        TEST(test_of_many_the_baseline_and_the_pick_are_checked),
        TEST(test_kernels_that_cupti_did_not_see_are_no_time),
        TEST(test_two_percent_or_half_a_microsecond_agree),
    };
    return cmocka_run_group_tests_name("measure_timer", tests, NULL, NULL);
}
