/* Our timer beside CUPTI's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "measure_bench.h"
#include "record/timer_check.h"

#include <math.h>

static const char *const args =
    "  - {name: A, role: in, type: cell, size: M * N, row: N, fill: {normal: [0, 1]}}\n"
    "  - {name: C, role: out, type: cell, size: M * N, row: N}\n";

static bench_t bench;
static tsw_timer_checks_t told;

static void on_timer(void *user, const tsw_timer_check_t *check)
{
    (void)user;
    told.items[told.count++] = *check;
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
        /* What sim has between its events beside the kernels, 150 ns, is shared by all launches. */
        assert_true(told.items[i].launches > 1);
        assert_true(fabs(told.items[i].off_ns - 150.0 / told.items[i].launches) < 1e-6);
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

/* A GPU whose clock falls from interval to interval, and events that add 300 ns to each. */
static struct {
    double kernel_ns;
    uint64_t now_ns;
    tsw_span_t spans[4096];
    size_t count;
} falling;

static tsw_status_t falling_wave(tsw_device_t *dev, const tsw_shot_t *shots, size_t count,
                                 const tsw_wave_plan_t *plan, uint64_t *interval_ns,
                                 size_t *finished_p, tsw_err_t *err)
{
    (void)dev;
    (void)plan;
    (void)err;
    falling.count = 0;
    for (size_t i = 0; i < count; i++, falling.kernel_ns *= 1.05) {
        const uint64_t start_ns = falling.now_ns, gap_ns = 100;
        for (uint32_t k = 0; k < shots[i].repeat; k++) {
            const uint64_t end_ns = falling.now_ns + (uint64_t)falling.kernel_ns;
            falling.spans[falling.count++] = (tsw_span_t){falling.now_ns, end_ns};
            falling.now_ns = end_ns + gap_ns;
        }
        interval_ns[i] = falling.now_ns - gap_ns - start_ns + 300;
    }
    *finished_p = count;
    return TSW_OK;
}

static tsw_status_t falling_trace(tsw_device_t *dev, tsw_span_t **spans_p, size_t *count_p,
                                  tsw_err_t *err)
{
    (void)dev;
    (void)err;
    *spans_p = tsw_memdup(falling.spans, falling.count * sizeof(*falling.spans));
    *count_p = falling.count;
    return TSW_OK;
}

static void test_a_clock_that_moves_does_not_part_the_timers(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    measure(2);
    const tsw_device_ops_t *kept = bench.dev->ops;
    tsw_device_ops_t ops = *kept;
    ops.wave = falling_wave;
    ops.trace_end = falling_trace;
    bench.dev->ops = &ops;
    falling.kernel_ns = 10000;
    tsw_status_t status = tsw_measure_check_timer(bench.measure, &err);
    bench.dev->ops = kept;
    assert_int_equal(status, TSW_OK);
    assert_int_equal(told.count, 2);
    assert_true(told.items[1].own_ns > 2 * told.items[0].own_ns);
    for (size_t i = 0; i < told.count; i++)
        assert_true(fabs(told.items[i].off_ns - 300.0 / told.items[i].launches) < 1e-6);
}

static tsw_status_t too_few(tsw_device_t *dev, tsw_span_t **spans_p, size_t *count_p,
                            tsw_err_t *err)
{
    (void)dev;
    (void)err;
    *spans_p = tsw_calloc(7, sizeof(**spans_p));
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
    assert_string_equal(err.text, "check of the timer: CUPTI saw 7 kernels instead of 192");
    assert_int_equal(told.count, 0);
}

static bool agrees(double own_ns, double cupti_ns)
{
    tsw_timer_check_t check = {.own_ns = own_ns, .cupti_ns = cupti_ns, .off_ns = own_ns - cupti_ns};
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
        TEST(test_a_clock_that_moves_does_not_part_the_timers),
        TEST(test_kernels_that_cupti_did_not_see_are_no_time),
        TEST(test_two_percent_or_half_a_microsecond_agree),
    };
    return cmocka_run_group_tests_name("measure_timer", tests, NULL, NULL);
}
