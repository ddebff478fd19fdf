/* Tiles along a scaled dim of fp8 are the block of the scales; others are removed, not measured. */
#include "space/space_scales.h"

#include "rules_pack.h"
#include "space/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROWS "TILE_M: [64, 128], TILE_K: 128, occupancy: [1, 2], num_ctas: [1, 2]"
#define WIDE "TILE_M: [64, 128], TILE_K: [64, 128], occupancy: [1, 2], num_ctas: [1, 2]"

static tsw_space_t space_of(const tsw_pack_t *pack)
{
    const tsw_variant_t variant = {.pack = pack, .dtype = TSW_DTYPE_E4M3};
    tsw_space_t space = {0};
    tsw_eval_t *eval = NULL;
    assert_int_equal(tsw_eval_new(&eval, NULL), TSW_OK);
    assert_int_equal(tsw_space_make(&variant, 90, TSW_PURPOSE_RELEASE, NULL, eval, &space, NULL),
                     TSW_OK);
    tsw_eval_free(eval);
    return space;
}

static const tsw_filter_t *find_filter(const tsw_space_t *space, const char *name)
{
    for (size_t i = 0; i < space->report.count; i++) {
        if (strcmp(space->report.filters[i].name, name) == 0)
            return &space->report.filters[i];
    }
    return NULL;
}

static void test_block_comes_from_the_sizes_of_the_scales(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_fp8, NULL, NULL);
    assert_int_equal(tsw_space_scale_block(pack, "K"), 128);
    assert_int_equal(tsw_space_scale_block(pack, "M"), 0); /* padded to 4, not cut into blocks */
    assert_int_equal(tsw_space_scale_block(pack, "N"), 0);
    tsw_pack_free(pack);
    pack = rules_pack_new(&rules_fp8, "template: T6", "template: T3");
    assert_int_equal(tsw_space_scale_block(pack, "K"), 0);
    tsw_pack_free(pack);
}

static void test_other_tiles_are_removed(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_fp8, ROWS, WIDE);
    const int knob = tsw_pack_knob_index(pack, "TILE_K");
    assert_true(tsw_space_fits_scales(pack, (size_t)knob, 128));
    assert_false(tsw_space_fits_scales(pack, (size_t)knob, 64));
    tsw_space_t space = space_of(pack);
    const tsw_filter_t *filter = find_filter(&space, "fp8_block");
    assert_non_null(filter);
    assert_int_equal(filter->in, 16);
    assert_int_equal(filter->removed, 8);
    assert_int_equal(space.count, 8);
    for (size_t i = 0; i < space.count; i++)
        assert_int_equal(space.configs[i].values[knob], 128);
    tsw_space_fini(&space);
    tsw_pack_free(pack);
}

static void test_exception_keeps_them(void **state)
{
    (void)state;
    char rule[] = "fp8_block";
    tsw_pack_t *pack = rules_pack_new(&rules_fp8, ROWS, WIDE);
    tsw_exception_t exception = {.rule = rule, .reason = rule};
    tsw_exception_t *own = pack->exceptions;
    pack->exceptions = &exception;
    pack->exception_count = 1;
    tsw_space_t space = space_of(pack);
    assert_null(find_filter(&space, "fp8_block"));
    assert_int_equal(space.count, 16);
    tsw_space_fini(&space);
    pack->exceptions = own;
    pack->exception_count = 0;
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_comes_from_the_sizes_of_the_scales),
        cmocka_unit_test(test_other_tiles_are_removed),
        cmocka_unit_test(test_exception_keeps_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
