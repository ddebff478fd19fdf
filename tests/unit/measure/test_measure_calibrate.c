/* The probes over the sim body, and over the real cuda body with the fake driver. */
#include "measure/calibrate.h"

#include "fake_libcuda.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tsw_device_t *dev;

static int setup(void **state)
{
    (void)state;
    fake_cuda_reset();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (dev != NULL)
        tsw_device_close(dev);
    dev = NULL;
    return 0;
}

static void open_device(const char *kind, const char *scenario)
{
    char text[128];
    tsw_device_spec_t spec = {.model = "h200", .seed = 5, .scenario = text};
    tsw_err_t err = TSW_ERR_INIT;
    snprintf(text, sizeof(text), "%s", scenario);
    snprintf(spec.kind, sizeof(spec.kind), "%s", kind);
    if (tsw_device_open(&spec, &dev, &err) != TSW_OK)
        fail_msg("%s", err.text);
    assert_int_equal(dev->ops->load_tool(dev, "fake", 5, NULL), TSW_OK);
}

static tsw_calibration_t calibrate(void)
{
    tsw_calibration_t calibration;
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_calibrate(dev, "fake", 5, 0, &calibration, &err) != TSW_OK)
        fail_msg("%s", err.text);
    return calibration;
}

static void assert_within(double got, double want, double ratio)
{
    if (!(fabs(got / want - 1) <= ratio))
        fail_msg("%g is not %g", got, want);
}

static void test_sim_gives_its_model(void **state)
{
    (void)state;
    open_device("sim", "");
    const tsw_calibration_t calibration = calibrate();
    const tsw_calibration_values_t *values = &calibration.values;
    assert_string_equal(calibration.gpu.mode, "sim");
    assert_string_equal(calibration.absent, "");
    assert_within(values->copy_bytes_per_s, 4.8e12, 0.001);
    assert_within(values->read_bytes, 15 * 1048576.0, 0);
    assert_true(values->empty_launch_ns > 1000 && values->empty_launch_ns < 5000);
    assert_true(values->read_hot_ns > values->empty_launch_ns);
    assert_within(values->idle_mhz, values->steady_mhz, 0);
    assert_int_equal((int)values->queue_depth, 1022);
    assert_true(fabs(values->window_ratio) < 0.02);
    assert_true(isnan(values->f16_flops_per_s)); /* a pack's affair */
}

static void test_equal_devices_give_equal_values(void **state)
{
    (void)state;
    open_device("sim", "");
    const tsw_calibration_t first = calibrate();
    teardown(NULL);
    open_device("sim", "");
    const tsw_calibration_t second = calibrate();
    size_t count = 0;
    tsw_calibration_fields(&count);
    for (size_t i = 0; i < count; i++) {
        const double a = tsw_calibration_get(&first.values, i);
        const double b = tsw_calibration_get(&second.values, i);
        assert_true(a == b || (isnan(a) && isnan(b)));
    }
}

static void test_sim_without_memory_is_refused(void **state)
{
    (void)state;
    tsw_calibration_t calibration = {.wall_ns = 77};
    tsw_err_t err = TSW_ERR_INIT;
    open_device("sim", "capacity 1000000\n");
    assert_int_equal(tsw_calibrate(dev, "fake", 5, 0, &calibration, &err), TSW_ERR_DEVICE_MEMORY);
    assert_int_equal(calibration.wall_ns, 77);
    assert_non_null(strstr(err.text, "calibration: "));
}

static void test_the_cuda_body_runs_all_probes_and_leaks_nothing(void **state)
{
    (void)state;
    fake_cuda_counts_t before, after;
    open_device("cuda", "");
    fake_cuda_counts(&before);
    const tsw_calibration_t calibration = calibrate();
    fake_cuda_counts(&after);
    assert_string_equal(calibration.gpu.mode, "cuda");
    assert_within(calibration.values.idle_mhz, 1500, 0);
    assert_true(calibration.values.empty_launch_ns > 0);
    assert_int_equal((int)calibration.values.queue_depth, 0); /* the fake's queue is never full */
    assert_int_equal(after.flushes - before.flushes, 100 + 1);
    assert_int_equal(after.events, before.events);
    teardown(NULL);
    fake_cuda_counts(&after);
    assert_int_equal(after.modules, 0);
    assert_int_equal(after.memories, 0);
}

static void test_a_driver_that_refuses_ends_it_without_a_leak(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuMemAlloc", "cuModuleLoadData", "cuMemsetD8Async",
                                        "cuLaunchKernel", "cuMemcpyDtoDAsync"};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        tsw_calibration_t calibration;
        tsw_err_t err = TSW_ERR_INIT;
        fake_cuda_counts_t after;
        fake_cuda_reset();
        open_device("cuda", "");
        fake_cuda_fail(calls[i], 1, 701);
        assert_int_equal(tsw_calibrate(dev, "fake", 5, 0, &calibration, &err), TSW_ERR_DEVICE);
        assert_non_null(strstr(err.text, calls[i]));
        teardown(NULL);
        fake_cuda_counts(&after);
        assert_int_equal(after.modules, 0);
        assert_int_equal(after.memories, 0);
    }
}

#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sim_gives_its_model),
        TEST(test_equal_devices_give_equal_values),
        TEST(test_sim_without_memory_is_refused),
        TEST(test_the_cuda_body_runs_all_probes_and_leaks_nothing),
        TEST(test_a_driver_that_refuses_ends_it_without_a_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
