#include "base/file.h"
#include "record/calibration.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tsw_calibration_t sample(void)
{
    tsw_calibration_t calibration = {
        .gpu = {.uuid = "GPU-1", .name = "H200", .mode = "cuda"},
        .values = tsw_calibration_unknown(),
    };
    calibration.values.copy_bytes_per_s = 4e12;
    calibration.values.f16_flops_per_s = 700e12;
    return calibration;
}

static void test_fields_reach_every_value_once(void **state)
{
    (void)state;
    size_t count = 0;
    const tsw_calibration_field_t *fields = tsw_calibration_fields(&count);
    tsw_calibration_values_t values = tsw_calibration_unknown();
    for (size_t i = 0; i < count; i++) {
        assert_true(isnan(tsw_calibration_get(&values, i)));
        tsw_calibration_set(&values, i, (double)i);
        assert_true(strlen(fields[i].meaning) > 0);
    }
    for (size_t i = 0; i < count; i++)
        assert_true(tsw_calibration_get(&values, i) == (double)i);
    assert_true(values.timer_step_ns == 0);
    assert_true(values.e4m3_flops_per_s == (double)(count - 1));
}

static void test_fits_by_uuid_or_by_name(void **state)
{
    (void)state;
    const tsw_calibration_t calibration = sample();
    tsw_gpu_t gpu = calibration.gpu;
    assert_true(tsw_calibration_fits(&calibration, &gpu, true));
    snprintf(gpu.uuid, sizeof(gpu.uuid), "GPU-2");
    assert_false(tsw_calibration_fits(&calibration, &gpu, true));
    assert_true(tsw_calibration_fits(&calibration, &gpu, false));
    snprintf(gpu.mode, sizeof(gpu.mode), "sim"); /* never across modes */
    assert_false(tsw_calibration_fits(&calibration, &gpu, false));
}

static void assert_roof(const tsw_calibration_t *calibration, const char *variant, double flops,
                        double bytes, double want)
{
    const double got = tsw_calibration_roof_ns(calibration, variant, flops, bytes);
    if (!(fabs(got - want) <= 1e-9 * want))
        fail_msg("%g is not %g", got, want);
}

static void test_roof_is_the_higher_of_memory_and_products(void **state)
{
    (void)state;
    const tsw_calibration_t calibration = sample();
    assert_roof(&calibration, "dtype=f16", 700e6, 4e3, 1000);
    assert_roof(&calibration, "dtype=f16 causal=1", 700e6, 4e9, 1e6);
    assert_roof(&calibration, "dtype=f32", 4e6, 4e6, 1000);
}

static void test_roof_is_unknown_where_nothing_was_measured(void **state)
{
    (void)state;
    tsw_calibration_t calibration = sample();
    assert_roof(&calibration, "dtype=f32", 4e9, 4e6, 0);  /* flops of a type without a rate */
    assert_roof(&calibration, "dtype=f16x", 4e9, 4e6, 0); /* another word */
    assert_roof(&calibration, "dtype=f16", 0, 0, 0);
    calibration.values.copy_bytes_per_s = (double)NAN;
    assert_roof(&calibration, "dtype=f16", 700e6, 4e3, 0);
}

static void test_the_page_has_every_field(void **state)
{
    (void)state;
    size_t count = 0;
    const tsw_calibration_field_t *fields = tsw_calibration_fields(&count);
    tsw_buf_t page = TSW_BUF_INIT;
    assert_int_equal(tsw_file_read(TSW_SOURCE_DIR "/docs/calibration.md", &page, NULL), TSW_OK);
    for (size_t i = 0; i < count; i++) {
        char line[256];
        snprintf(line, sizeof(line), "| `%s` | %s |", fields[i].name, fields[i].meaning);
        if (strstr(tsw_buf_text(&page), line) == NULL)
            fail_msg("docs/calibration.md lacks: %s", line);
    }
    tsw_buf_fini(&page);
}

static void test_what_cannot_be_is_a_failed_probe(void **state)
{
    (void)state;
    tsw_calibration_t good = sample(), fast = sample(), none = sample(), unknown = sample();
    tsw_calibration_check(&good);
    assert_true(good.values.copy_bytes_per_s == 4e12);
    assert_string_equal(good.absent, "");

    fast.values.copy_bytes_per_s = 8.053e17; /* the nominal one is 4.8e12 */
    tsw_calibration_add_absent(&fast, "e4m3: none");
    tsw_calibration_check(&fast);
    assert_true(isnan(fast.values.copy_bytes_per_s));
    assert_string_equal(fast.absent,
                        "e4m3: none; copy: failed, 8.053e+08 GB/s where the device has 4800");
    assert_true(fast.values.f16_flops_per_s == 700e12);

    none.values.copy_bytes_per_s = (double)NAN;
    tsw_calibration_check(&none);
    assert_non_null(strstr(none.absent, "copy: "));

    snprintf(unknown.gpu.name, sizeof(unknown.gpu.name), "X9000"); /* no bound to hold against */
    unknown.values.copy_bytes_per_s = 8e17;
    tsw_calibration_check(&unknown);
    assert_true(unknown.values.copy_bytes_per_s == 8e17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_reach_every_value_once),
        cmocka_unit_test(test_the_page_has_every_field),
        cmocka_unit_test(test_fits_by_uuid_or_by_name),
        cmocka_unit_test(test_roof_is_the_higher_of_memory_and_products),
        cmocka_unit_test(test_roof_is_unknown_where_nothing_was_measured),
        cmocka_unit_test(test_what_cannot_be_is_a_failed_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
