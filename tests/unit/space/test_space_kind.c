/* The decision tree, leaf by leaf. */
#include "space/kind.h"

#include "rules_pack.h"
#include "space/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check(const rules_base_t *base, const char *old, const char *new_text, const char *name,
                  bool tiles, bool num_ctas, int64_t occupancy_max)
{
    tsw_pack_t *pack = rules_pack_new(base, old, new_text);
    const tsw_kind_t *kind = tsw_kind_of(pack);
    assert_string_equal(kind->name, name);
    assert_int_equal(kind->tiles, tiles);
    assert_int_equal(kind->num_ctas, num_ctas);
    assert_int_equal(kind->occupancy_max, occupancy_max);
    tsw_pack_free(pack);
}

static void test_every_leaf(void **state)
{
    size_t count = 0;
    (void)state;
    check(&rules_matmul, NULL, NULL, "compute-bound with tile sizes", true, true, 32);
    check(&rules_dual, NULL, NULL, "compute-bound, several matmuls in one", true, true, 2);
    check(&rules_rows, "class: memory", "class: compute", "compute-bound without tile sizes", false,
          false, 32);
    check(&rules_rows, "class: memory", "class: balanced", "balanced", false, false, 32);
    check(&rules_rows, NULL, NULL, "memory-bound", false, false, 32);
    tsw_kind_all(&count);
    assert_int_equal(count, 5);
}

static void check_values(const rules_base_t *base, const char *name, size_t count, int64_t first,
                         int64_t last)
{
    int64_t values[TSW_KIND_VALUES_MAX];
    tsw_pack_t *pack = rules_pack_new(base, NULL, NULL);
    assert_int_equal(tsw_kind_values(pack, (size_t)tsw_pack_knob_index(pack, name), values), count);
    assert_int_equal(values[0], first);
    assert_int_equal(values[count - 1], last);
    tsw_pack_free(pack);
}

static void test_values_for_a_probe_are_those_of_the_kind(void **state)
{
    (void)state;
    check_values(&rules_matmul, "occupancy", 3, 1, 4);
    check_values(&rules_matmul, "num_ctas", 5, 1, 16);
    check_values(&rules_matmul, "TILE_M", 5, 16, 256);
    check_values(&rules_dual, "occupancy", 2, 1, 2);
    check_values(&rules_rows, "occupancy", 4, 1, 8);
}

/* The shapes do not matter: a matmul whose intensity is that of a copy keeps its tiles. */
static void test_intensity_chooses_nothing(void **state)
{
    (void)state;
    check(&rules_matmul, "flops: 2 * M * N * K", "flops: 1", "compute-bound with tile sizes", true,
          true, 32);
}

static void test_intensity_at_its_bounds(void **state)
{
    (void)state;
    assert_int_equal(tsw_class_of_intensity(9.99), TSW_CLASS_MEMORY);
    assert_int_equal(tsw_class_of_intensity(10), TSW_CLASS_BALANCED);
    assert_int_equal(tsw_class_of_intensity(50), TSW_CLASS_BALANCED);
    assert_int_equal(tsw_class_of_intensity(50.01), TSW_CLASS_COMPUTE);
}

static void check_range(const rules_base_t *base, const char *old, const char *new_text, int low,
                        int high)
{
    tsw_pack_t *pack = rules_pack_new(base, old, new_text);
    assert_int_equal(tsw_kind_occupancies(pack)->low, low);
    assert_int_equal(tsw_kind_occupancies(pack)->high, high);
    tsw_pack_free(pack);
}

static void test_occupancies_by_kind(void **state)
{
    (void)state;
    check_range(&rules_matmul, NULL, NULL, 1, 4);
    check_range(&rules_rows, "class: memory", "class: balanced", 4, 8);
    check_range(&rules_rows, NULL, NULL, 8, 16);
    check_range(&rules_rows, "flops: M", "flops: 0", 16, 32);
    assert_int_equal(tsw_kind_occupancy_only[0], 1);
    assert_int_equal(tsw_kind_occupancy_only[3], 8);
}

/* A grid over rows, min(NUM_SM * occupancy, M): below, at and above what the device holds. */
static void test_grid_of_rows_is_bounded_by_the_device(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, occupancy;
        uint32_t blocks;
    } cases[] = {{1, 4, 1},     {527, 4, 527}, {528, 4, 528},
                 {529, 4, 528}, {529, 8, 529}, {1000000, 8, 1056}};
    tsw_pack_t *pack = rules_pack_new(&rules_rows, NULL, NULL);
    const tsw_variant_t variant = {.pack = pack, .dtype = TSW_DTYPE_F16};
    tsw_eval_t *eval = NULL;
    assert_int_equal(tsw_eval_new(&eval, NULL), TSW_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int64_t dims[TSW_DIM_MAX] = {cases[i].rows};
        const tsw_config_t config = {.values = {cases[i].occupancy}};
        tsw_geometry_t geometry;
        assert_int_equal(tsw_variant_bind(&variant, dims, &config, 132, eval, NULL), TSW_OK);
        assert_int_equal(tsw_geometry_of(&pack->kernel, eval, &geometry, NULL), TSW_OK);
        assert_int_equal(geometry.grid[0], cases[i].blocks);
    }
    tsw_eval_free(eval);
    tsw_pack_free(pack);
}

static void check_gain(const rules_base_t *base, const char *old, const char *new_text, int low,
                       int high)
{
    tsw_pack_t *pack = rules_pack_new(base, old, new_text);
    tsw_kind_gain_t gain = tsw_kind_gain(pack);
    assert_int_equal((int)gain.low, low);
    assert_int_equal((int)gain.high, high);
    tsw_pack_free(pack);
}

static void test_expected_gain_by_kind(void **state)
{
    (void)state;
    check_gain(&rules_rows, NULL, NULL, 0, 15);
    check_gain(&rules_rows, "class: memory", "class: balanced", 2, 15);
    check_gain(&rules_matmul, NULL, NULL, 5, 30);
    check_gain(&rules_matmul, "template: T3", "template: T5", 5, 20);
    check_gain(&rules_matmul, "template: T3", "template: T7", 2, 10);
    check_gain(&rules_fp8, NULL, NULL, 10, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_leaf),
        cmocka_unit_test(test_values_for_a_probe_are_those_of_the_kind),
        cmocka_unit_test(test_intensity_chooses_nothing),
        cmocka_unit_test(test_intensity_at_its_bounds),
        cmocka_unit_test(test_occupancies_by_kind),
        cmocka_unit_test(test_grid_of_rows_is_bounded_by_the_device),
        cmocka_unit_test(test_expected_gain_by_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
