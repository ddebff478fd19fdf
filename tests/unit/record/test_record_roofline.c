#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/roofline.h"

#include <stdio.h>

static tsw_gpu_t gpu_of(const char *name)
{
    tsw_gpu_t gpu = {.l2_bytes = 50u << 20};
    snprintf(gpu.name, sizeof(gpu.name), "%s", name);
    return gpu;
}

static void assert_floor(const char *name, const char *dtype, bool is_cold, double flops,
                         double bytes, double wanted)
{
    tsw_gpu_t gpu = gpu_of(name);
    double floor = tsw_roofline_floor_ns(&gpu, dtype, is_cold, flops, bytes);
    if (!(floor >= 0.999 * wanted && floor <= 1.001 * wanted))
        fail_msg("%s %s: %g, wanted %g", name, dtype, floor, wanted);
}

static void test_floor_is_the_larger_of_memory_and_arithmetic(void **state)
{
    (void)state;
    assert_floor("NVIDIA H200", "f16", true, 989.4e6, 0, 980); /* 1 us, less 2 % */
    assert_floor("NVIDIA H200", "bf16", true, 989.4e6, 0, 980);
    assert_floor("NVIDIA H200", "f32", true, 494.7e6, 0, 980);
    assert_floor("NVIDIA H200", "f16", true, 1, 480e6, 98e3);
    assert_floor("NVIDIA H200", "f64", true, 1e15, 480e6, 98e3); /* no peak of f64 */
    assert_floor("NVIDIA A100-SXM4-40GB", "f16", true, 0, 155.5e6, 98e3);
    assert_floor("NVIDIA A100-SXM4-80GB", "f16", true, 0, 203.9e6, 98e3);
}

static void test_memory_counts_only_where_the_cache_cannot_help(void **state)
{
    (void)state;
    assert_floor("NVIDIA H200", "f16", false, 0, 480e6, 0);
    assert_floor("NVIDIA H200", "f16", true, 0, 40e6, 0); /* fits the L2 */
}

static void test_unknown_device_has_no_floor(void **state)
{
    (void)state;
    assert_floor("NVIDIA X9000", "f16", true, 1e15, 1e12, 0);
    assert_floor("", "f16", true, 1e15, 1e12, 0);
}

static void test_memory_has_a_nominal_bandwidth(void **state)
{
    (void)state;
    const tsw_gpu_t known = gpu_of("NVIDIA H200"), unknown = gpu_of("NVIDIA X9000");
    assert_true(tsw_roofline_memory_bytes_per_s(&known) == 4.8e12);
    assert_true(tsw_roofline_memory_bytes_per_s(&unknown) == 0);
}

static void test_cell_floor_reads_its_dtype(void **state)
{
    (void)state;
    tsw_cell_result_t cell = {.variant = "causal=1 dtype=f16", .flops = 989.4e6};
    cell.gpu = gpu_of("NVIDIA H200");
    assert_true(tsw_roofline_cell_floor_ns(&cell) > 979);
    snprintf(cell.variant, sizeof(cell.variant), "causal=1");
    assert_true(tsw_roofline_cell_floor_ns(&cell) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floor_is_the_larger_of_memory_and_arithmetic),
        cmocka_unit_test(test_memory_counts_only_where_the_cache_cannot_help),
        cmocka_unit_test(test_unknown_device_has_no_floor),
        cmocka_unit_test(test_memory_has_a_nominal_bandwidth),
        cmocka_unit_test(test_cell_floor_reads_its_dtype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
