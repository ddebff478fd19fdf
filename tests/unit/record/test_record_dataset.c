#include "record/dataset.h"

#include "base/mem.h"
#include "dataset_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const tsw_make_t small = {
    .seed = 1, .cells = 4, .configs = 4, .rounds = 5, .nodes = 2, .attempt = 1};

static tsw_key_t digest_of(const tsw_dataset_t *dataset)
{
    tsw_key_t key = {0};
    assert_int_equal(tsw_dataset_digest(dataset, &key, NULL), TSW_OK);
    return key;
}

static void add_variation(tsw_dataset_t *dataset, size_t index, uint32_t attempt, int32_t rank,
                          bool complete)
{
    tsw_make_t make = small;
    make.attempt = attempt;
    tsw_cell_result_t cell = tsw_make_cell(&make, index);
    cell.rank = rank;
    cell.complete = complete;
    assert_int_equal(tsw_dataset_add(dataset, &cell, NULL), TSW_OK);
    assert_null(cell.records);
}

static const tsw_cell_result_t *find(const tsw_dataset_t *dataset, const char *shape)
{
    for (size_t i = 0; i < dataset->cell_count; i++) {
        if (strcmp(dataset->cells[i].shape, shape) == 0)
            return &dataset->cells[i];
    }
    return NULL;
}

static void test_canonicalise_keeps_the_right_attempt(void **state)
{
    (void)state;
    tsw_dataset_t dataset = {.meta = tsw_make_meta(&small)};
    add_variation(&dataset, 0, 1, 3, false); /* partial, beaten by a later complete one */
    add_variation(&dataset, 0, 3, 0, true);
    add_variation(&dataset, 0, 2, 5, true);
    add_variation(&dataset, 0, 2, 4, true); /* lowest complete attempt, lowest rank */
    add_variation(&dataset, 1, 1, 0, false);
    add_variation(&dataset, 1, 2, 0, false); /* newest partial */
    tsw_dataset_canonicalise(&dataset);
    assert_int_equal(dataset.cell_count, 2);
    assert_true(tsw_key_compare(dataset.cells[0].key, dataset.cells[1].key) < 0);
    const tsw_cell_result_t *first = find(&dataset, "M=128 N=256");
    assert_int_equal(first->attempt, 2);
    assert_int_equal(first->rank, 4);
    const tsw_cell_result_t *second = find(&dataset, "M=256 N=256");
    assert_int_equal(second->attempt, 2);
    assert_false(second->complete);
    tsw_dataset_fini(&dataset);
}

/* A resume tries such a cell again: its result must count. */
static void test_canonicalise_prefers_an_attempt_without_again(void **state)
{
    (void)state;
    tsw_dataset_t dataset = {.meta = tsw_make_meta(&small)};
    add_variation(&dataset, 0, 1, 0, true);
    dataset.cells[0].records[0].outcome = TSW_OUTCOME_COMPILE_TIMEOUT;
    add_variation(&dataset, 0, 2, 0, true);
    add_variation(&dataset, 0, 3, 0, true);
    add_variation(&dataset, 0, 4, 0, false);
    tsw_dataset_canonicalise(&dataset);
    assert_int_equal(dataset.cell_count, 1);
    assert_int_equal(dataset.cells[0].attempt, 2);
    tsw_dataset_fini(&dataset);
}

static void test_find_when_there_then_it_else_null(void **state)
{
    (void)state;
    tsw_dataset_t dataset = tsw_make_dataset(&small);
    tsw_dataset_canonicalise(&dataset);
    for (size_t i = 0; i < dataset.cell_count; i++)
        assert_ptr_equal(tsw_dataset_find(&dataset, dataset.cells[i].key), &dataset.cells[i]);
    assert_null(tsw_dataset_find(&dataset, tsw_key_of("another", 7)));
    dataset.cell_count = 0;
    assert_null(tsw_dataset_find(&dataset, dataset.cells[0].key));
    dataset.cell_count = small.cells;
    tsw_dataset_fini(&dataset);
}

static void test_canonicalise_forgets_the_order_of_arrival(void **state)
{
    (void)state;
    tsw_dataset_t forward = tsw_make_dataset(&small);
    tsw_dataset_t backward = {.meta = tsw_make_meta(&small)};
    for (size_t i = small.cells; i > 0; i--)
        add_variation(&backward, i - 1, 1, forward.cells[i - 1].rank, true);
    add_variation(&backward, 2, 1, forward.cells[2].rank, true); /* the same segment twice */
    tsw_dataset_canonicalise(&forward);
    tsw_dataset_canonicalise(&backward);
    assert_null(tsw_dataset_difference(&forward, &backward));
    tsw_dataset_fini(&forward);
    tsw_dataset_fini(&backward);
}

static void test_canonicalise_sorts_records(void **state)
{
    (void)state;
    tsw_dataset_t sorted = tsw_make_dataset(&small);
    tsw_dataset_t mixed = tsw_make_dataset(&small);
    tsw_cell_result_t *cell = &mixed.cells[1];
    tsw_record_t record = cell->records[0];
    cell->records[0] = cell->records[3];
    cell->records[3] = record;
    char *text = cell->config_texts[0];
    cell->config_texts[0] = cell->config_texts[3];
    cell->config_texts[3] = text;
    tsw_dataset_canonicalise(&sorted);
    tsw_dataset_canonicalise(&mixed);
    assert_null(tsw_dataset_difference(&sorted, &mixed));
    tsw_dataset_fini(&sorted);
    tsw_dataset_fini(&mixed);
}

static void test_canonicalise_of_nothing(void **state)
{
    (void)state;
    tsw_dataset_t dataset = {0};
    tsw_dataset_canonicalise(&dataset);
    assert_int_equal(dataset.cell_count, 0);
    tsw_dataset_fini(&dataset);
}

static void test_digest_sees_samples_and_not_hosts(void **state)
{
    (void)state;
    tsw_dataset_t a = tsw_make_dataset(&small);
    tsw_dataset_t b = tsw_make_dataset(&small);
    tsw_key_t key = digest_of(&a);
    b.cells[0].rank = 7;
    b.cells[0].attempt = 9;
    b.cells[0].start_wall_ns += 5;
    b.cells[0].records[0].build.compile_wall_ns += 5;
    strcpy(b.cells[0].node, "elsewhere");
    strcpy(b.cells[0].gpu.uuid, "sim:h200:9");
    assert_true(tsw_key_equal(key, digest_of(&b)));
    b.cells[0].records[0].samples[3].interval_ns++;
    assert_false(tsw_key_equal(key, digest_of(&b)));
    b.cells[0].records[0].samples[3].interval_ns--;
    b.cells[1].records[1].outcome = TSW_OUTCOME_LOAD_FAILED;
    assert_false(tsw_key_equal(key, digest_of(&b)));
    tsw_dataset_fini(&a);
    tsw_dataset_fini(&b);
}

static void test_compatible_lists_each_difference(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_run_meta_t a = tsw_make_meta(&small);
    tsw_run_meta_t b = tsw_make_meta(&small);
    assert_int_equal(tsw_run_meta_compatible(&a, &b, &err), TSW_OK);
    b.plan_key.lo ^= 1;
    strcpy(b.clocks, "LOCK");
    strcpy(b.mode, "cud");
    assert_int_equal(tsw_run_meta_compatible(&a, &b, &err), TSW_ERR_ARG);
    assert_non_null(strstr(err.text, "\n  clocks: free -> LOCK"));
    assert_non_null(strstr(err.text, "\n  mode: sim -> cud\n"));
    assert_non_null(strstr(err.text, "\n  plan: "));
    assert_null(strstr(err.text, "toolchain"));
    strcpy(b.inputs, "measure.rounds: 6\npurpose: release\n");
    assert_int_equal(tsw_run_meta_compatible(&a, &b, &err), TSW_ERR_ARG);
    assert_non_null(strstr(err.text, "\n  measure.rounds: 5 -> 6\n"));
    assert_null(strstr(err.text, "plan: "));
    assert_null(strstr(err.text, "purpose"));
    tsw_run_meta_fini(&a);
    tsw_run_meta_fini(&b);
}

static void test_copy_of_meta_is_deep(void **state)
{
    (void)state;
    tsw_run_meta_t a = tsw_make_meta(&small);
    tsw_run_meta_t b = {0};
    assert_int_equal(tsw_run_meta_copy(&a, &b, NULL), TSW_OK);
    assert_null(tsw_meta_difference(&a, &b));
    assert_ptr_not_equal(a.job_text, b.job_text);
    tsw_run_meta_fini(&b);
    for (long n = 1; n <= 9; n++) {
        tsw_mem_fail_at(n);
        assert_int_equal(tsw_run_meta_copy(&a, &b, NULL), TSW_ERR_NOMEM);
        assert_null(b.job_text);
    }
    tsw_mem_fail_at(0);
    tsw_run_meta_fini(&a);
}

static void test_add_when_out_of_memory_leaves_the_cell(void **state)
{
    (void)state;
    tsw_dataset_t dataset = {0};
    tsw_cell_result_t cell = tsw_make_cell(&small, 0);
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_dataset_add(&dataset, &cell, NULL), TSW_ERR_NOMEM);
    assert_int_equal(cell.record_count, small.configs);
    tsw_cell_result_fini(&cell);
    tsw_cell_result_fini(&cell); /* of an emptied one is fine */

    tsw_record_t record = {0};
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_record_add_sample(&record, &(tsw_sample_t){0}, NULL), TSW_ERR_NOMEM);
    tsw_mem_fail_at(0);
    assert_int_equal(record.sample_count, 0);
    tsw_record_fini(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonicalise_keeps_the_right_attempt),
        cmocka_unit_test(test_canonicalise_prefers_an_attempt_without_again),
        cmocka_unit_test(test_find_when_there_then_it_else_null),
        cmocka_unit_test(test_canonicalise_forgets_the_order_of_arrival),
        cmocka_unit_test(test_canonicalise_sorts_records),
        cmocka_unit_test(test_canonicalise_of_nothing),
        cmocka_unit_test(test_digest_sees_samples_and_not_hosts),
        cmocka_unit_test(test_compatible_lists_each_difference),
        cmocka_unit_test(test_copy_of_meta_is_deep),
        cmocka_unit_test(test_add_when_out_of_memory_leaves_the_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
