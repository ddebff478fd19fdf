/* Which cells of a search decide, and what is said of its space. */
#include "record/coverage.h"

#include "sample_dataset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A cell of a generation with configs first..last; odd ones have failed. */
static tsw_cell_result_t *add(tsw_dataset_t *dataset, const char *shape, uint32_t generation,
                              int first, int last)
{
    tsw_cell_result_t *cell = sample_dataset_cell(dataset, "matmul", "dtype=f16", shape, 90);
    cell->key.lo += generation;
    cell->coverage = (tsw_coverage_t){.generation = generation, .space_configs = 99};
    strcpy(cell->coverage.untried, generation == 2 ? "TILE_M=512" : "TILE_M=512 TILE_N=512");
    for (int i = first; i <= last; i++) {
        char config[16] = {'c', (char)('a' + i), '\0'};
        tsw_record_t *record = i % 2 == 0
                                   ? sample_dataset_timed(cell, config, 1000)
                                   : sample_dataset_record(cell, config, TSW_OUTCOME_WRONG_RESULT);
        record->config_key = tsw_key_of_text(config);
    }
    return cell;
}

static void test_the_highest_complete_generation_of_a_shape_decides(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    add(&dataset, "M=1", 1, 0, 3);
    add(&dataset, "M=1", 2, 0, 5);
    add(&dataset, "M=1", 3, 0, 5)->complete = 0;
    add(&dataset, "M=2", 1, 0, 3);
    add(&dataset, "M=1", 0, 0, 3); /* no search */
    const bool wanted[] = {true, false, false, false, false};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(tsw_coverage_is_superseded(&dataset, i), wanted[i]);
    strcpy(dataset.cells[1].variant, "dtype=bf16"); /* another kernel */
    assert_false(tsw_coverage_is_superseded(&dataset, 0));
    tsw_dataset_fini(&dataset);
}

static void test_the_coverage_counts_configs_once(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_buf_t out = TSW_BUF_INIT;
    assert_int_equal(tsw_coverage_print(&dataset, &out, NULL), TSW_OK);
    assert_int_equal(out.size, 0);
    add(&dataset, "M=1", 1, 0, 3);
    assert_int_equal(tsw_coverage_print(&dataset, &out, NULL), TSW_OK);
    assert_non_null(strstr(tsw_buf_text(&out), " in 1 generation; "));
    tsw_buf_fini(&out);
    add(&dataset, "M=2", 1, 0, 4);
    add(&dataset, "M=1", 2, 2, 6);
    assert_int_equal(tsw_coverage_print(&dataset, &out, NULL), TSW_OK);
    assert_string_equal(tsw_buf_text(&out),
                        "searched: matmul dtype=f16 on sm_90: 7 of 99 configs built, 4 timed, in 2 "
                        "generations; never tried: TILE_M=512\n");
    tsw_buf_fini(&out);
    tsw_dataset_fini(&dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_highest_complete_generation_of_a_shape_decides),
        cmocka_unit_test(test_the_coverage_counts_configs_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
