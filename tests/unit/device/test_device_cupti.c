/* CUPTI through a stand-in: fake_cupti.c. */
#include "device/cupti.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_kernels_alone_are_seen_each_time_anew(void **state)
{
    (void)state;
    tsw_cupti_t *cupti = NULL;
    setenv("TSW_LIBCUPTI", getenv("TSW_TEST_CUPTI"), 1);
    setenv("TSW_FAKE_CUPTI", "5000 memset 5100 4900", 1);
    assert_int_equal(tsw_cupti_open(&cupti, NULL), TSW_OK);
    for (int i = 0; i < 2; i++) {
        tsw_span_t *spans = NULL;
        size_t count = 0;
        assert_int_equal(tsw_cupti_begin(cupti, NULL), TSW_OK);
        assert_int_equal(tsw_cupti_end(cupti, &spans, &count, NULL), TSW_OK);
        assert_int_equal(count, 3);
        assert_int_equal(spans[0].end_ns - spans[0].start_ns, 5000);
        assert_int_equal(spans[1].end_ns - spans[1].start_ns, 5100);
        assert_int_equal(spans[2].end_ns - spans[2].start_ns, 4900);
        assert_true(spans[0].end_ns <= spans[1].start_ns && spans[1].end_ns <= spans[2].start_ns);
        tsw_free(spans);
    }
    tsw_cupti_close(cupti);
}

static void test_what_fails_is_told(void **state)
{
    (void)state;
    tsw_cupti_t *cupti = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    setenv("TSW_LIBCUPTI", "/nowhere/libcupti.so", 1);
    assert_int_equal(tsw_cupti_open(&cupti, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "needs CUPTI"));
    assert_non_null(strstr(err.text, "/nowhere/libcupti.so"));
    tsw_err_clear(&err);
    setenv("TSW_LIBCUPTI", getenv("TSW_TEST_NVML"), 1); /* another library */
    assert_int_equal(tsw_cupti_open(&cupti, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "lacks the activity functions"));
    tsw_err_clear(&err);
    setenv("TSW_LIBCUPTI", getenv("TSW_TEST_CUPTI"), 1);
    setenv("TSW_FAKE_CUPTI", "refuse", 1);
    assert_int_equal(tsw_cupti_open(&cupti, &err), TSW_OK);
    assert_int_equal(tsw_cupti_begin(cupti, &err), TSW_ERR_DEVICE);
    assert_non_null(
        strstr(err.text, "cuptiActivityEnable failed (35): profiling needs more rights"));
    tsw_cupti_close(cupti);
}

/* The cuda body: gate and lead stand in front of a wave, and are not among its launches. */
static void test_the_launches_of_a_wave_are_seen_without_its_lead(void **state)
{
    (void)state;
    const tsw_device_spec_t spec = {.kind = "cuda"};
    const tsw_kernel_model_t model = {.flops = 1};
    tsw_device_t *dev = NULL;
    tsw_kernel_t *kernel = NULL;
    tsw_memory_t out;
    tsw_span_t *spans = NULL;
    uint64_t interval_ns[1];
    size_t finished = 0, count = 0;
    tsw_err_t err = TSW_ERR_INIT;
    setenv("TSW_LIBCUPTI", getenv("TSW_TEST_CUPTI"), 1);
    setenv("TSW_FAKE_CUPTI", "90 50 memset 5000 5100", 1);
    assert_int_equal(tsw_device_open(&spec, &dev, &err), TSW_OK);
    assert_int_equal(dev->ops->load_tool(dev, "fake", 4, &err), TSW_OK);
    assert_int_equal(dev->ops->memory_new(dev, 64, 256, &out, &err), TSW_OK);
    assert_int_equal(dev->ops->kernel_load(dev, "fake", 4, "fake_write", &model, &kernel, &err),
                     TSW_OK);
    const tsw_launch_t launch = {.kernel = kernel,
                                 .geometry = {.grid = {1, 1, 1}, .block = {32, 1, 1}},
                                 .params = {out.address, out.bytes},
                                 .param_count = 2};
    const tsw_shot_t lead = {.launches = &launch, .set_count = 1, .repeat = 1};
    const tsw_shot_t shot = {.launches = &launch, .set_count = 1, .repeat = 2};
    const tsw_wave_plan_t plan = {.lead = &lead, .timeout_s = 30};
    assert_int_equal(dev->ops->trace_begin(dev, &err), TSW_OK);
    assert_int_equal(dev->ops->wave(dev, &shot, 1, &plan, interval_ns, &finished, &err), TSW_OK);
    assert_int_equal(dev->ops->trace_end(dev, &spans, &count, &err), TSW_OK);
    assert_int_equal(count, 2);
    assert_int_equal(spans[0].end_ns - spans[0].start_ns, 5000);
    assert_int_equal(spans[1].end_ns - spans[1].start_ns, 5100);
    tsw_free(spans);
    setenv("TSW_FAKE_CUPTI", "90", 1);
    assert_int_equal(dev->ops->trace_begin(dev, &err), TSW_OK);
    assert_int_equal(dev->ops->trace_end(dev, &spans, &count, &err), TSW_ERR_DEVICE);
    assert_string_equal(err.text, "CUPTI saw 1 kernels, not even the first 2");
    dev->ops->kernel_unload(dev, kernel);
    dev->ops->memory_free(dev, &out);
    tsw_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_launches_of_a_wave_are_seen_without_its_lead),
        cmocka_unit_test(test_kernels_alone_are_seen_each_time_anew),
        cmocka_unit_test(test_what_fails_is_told),
    };
    return cmocka_run_group_tests_name("device_cupti", tests, NULL, NULL);
}
