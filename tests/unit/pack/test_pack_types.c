#include "pack/arch.h"
#include "pack/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_dtype_every_name_parses_back(void **state)
{
    (void)state;
    for (int i = 0; i < TSW_DTYPE_COUNT; i++) {
        tsw_dtype_t parsed = TSW_DTYPE_COUNT;
        assert_true(tsw_dtype_parse(tsw_dtype_name((tsw_dtype_t)i), &parsed));
        assert_int_equal(parsed, i);
    }
}

static void test_dtype_facts(void **state)
{
    (void)state;
    tsw_dtype_t dtype = TSW_DTYPE_F16;
    assert_false(tsw_dtype_parse("fp16", &dtype));
    assert_false(tsw_dtype_parse("cell", &dtype));
    assert_int_equal(dtype, TSW_DTYPE_F16);
    assert_string_equal(tsw_dtype_c_type(TSW_DTYPE_BF16), "__nv_bfloat16");
    assert_string_equal(tsw_dtype_name(TSW_DTYPE_OF_CELL), "cell");
    assert_int_equal(tsw_dtype_bytes(TSW_DTYPE_E4M3), 1);
    assert_int_equal(tsw_dtype_bytes(TSW_DTYPE_OF_CELL), 0);
    assert_true(tsw_dtype_is_floating(TSW_DTYPE_TF32));
    assert_false(tsw_dtype_is_floating(TSW_DTYPE_I64));
}

static void test_arch_every_name_parses_back(void **state)
{
    (void)state;
    size_t count = 0;
    const tsw_arch_traits_t *all = tsw_arch_all(&count);
    assert_true(count >= 10);
    for (size_t i = 0; i < count; i++) {
        char text[16];
        tsw_arch_t arch = 0;
        assert_true(tsw_arch_parse(tsw_arch_format(all[i].arch, text), &arch));
        assert_int_equal(arch, all[i].arch);
        assert_ptr_equal(tsw_arch_traits(arch), &all[i]);
        assert_true(i == 0 || all[i - 1].arch < arch);
        assert_int_equal(all[i].smem_per_block_bytes + 1024, all[i].smem_per_sm_bytes);
    }
}

static void test_arch_unknown_is_refused(void **state)
{
    (void)state;
    tsw_arch_t arch = 7;
    const char *bad[] = {"sm_91", "90", "sm_90a", "sm_", "", "SM_90", "sm_090"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(tsw_arch_parse(bad[i], &arch));
    assert_int_equal(arch, 7);
    assert_null(tsw_arch_traits(91));
    assert_false(tsw_arch_has_dtype(91, TSW_DTYPE_F16));
}

static void test_arch_facts(void **state)
{
    (void)state;
    assert_false(tsw_arch_has_dtype(80, TSW_DTYPE_E4M3));
    assert_false(tsw_arch_has_dtype(86, TSW_DTYPE_E5M2));
    assert_true(tsw_arch_has_dtype(89, TSW_DTYPE_E4M3));
    assert_true(tsw_arch_has_dtype(80, TSW_DTYPE_F16));
    assert_int_equal(tsw_arch_traits(80)->max_cluster, 1);
    assert_true(tsw_arch_traits(90)->max_cluster > 1);
    assert_int_equal(tsw_arch_traits(90)->smem_per_block_bytes, 232448);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_every_name_parses_back),
        cmocka_unit_test(test_dtype_facts),
        cmocka_unit_test(test_arch_every_name_parses_back),
        cmocka_unit_test(test_arch_unknown_is_refused),
        cmocka_unit_test(test_arch_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
