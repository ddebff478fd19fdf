#include "wire/wire.h"

#include "base/mem.h"
#include "dataset_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const tsw_make_t small = {
    .seed = 3, .cells = 1, .configs = 4, .rounds = 3, .nodes = 1, .attempt = 2};

static void pack_cell(tsw_buf_t *out)
{
    tsw_cell_result_t cell = tsw_make_cell(&small, 0);
    cell.rank = -1;
    tsw_put_cell_result(out, &cell);
    tsw_cell_result_fini(&cell);
    assert_true(tsw_buf_ok(out));
}

static void assert_round_trip(const tsw_cell_result_t *cell)
{
    tsw_cell_result_t copy = {0};
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_put_cell_result(&out, cell);
    tsw_reader_t in = tsw_reader(out.data, out.size);
    assert_int_equal(tsw_get_cell_result(&in, &copy, NULL), TSW_OK);
    assert_true(tsw_reader_done(&in));
    assert_null(tsw_cell_difference(cell, &copy));
    tsw_cell_result_fini(&copy);
    tsw_buf_fini(&out);
}

static void test_cell_round_trip(void **state)
{
    (void)state;
    tsw_cell_result_t cell = tsw_make_cell(&small, 0);
    assert_round_trip(&cell);
    tsw_cell_result_fini(&cell);
}

/* The smallest form must not trip over the limits that counts have. */
static void test_smallest_cell_round_trip(void **state)
{
    (void)state;
    char *texts[2] = {"", ""};
    tsw_record_t records[2] = {{.outcome = TSW_OUTCOME_SKIPPED}, {.outcome = TSW_OUTCOME_OK}};
    tsw_round_t rounds[2] = {{.round = 0}, {.round = 1}};
    tsw_cell_result_t cell = {.config_texts = texts,
                              .records = records,
                              .record_count = 2,
                              .rounds = rounds,
                              .round_count = 2};
    assert_round_trip(&cell);
}

static void test_cell_cut_anywhere_is_corrupt(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    pack_cell(&out);
    for (size_t size = 0; size < out.size; size++) {
        /* An exact heap copy, so that a sanitizer sees any read beyond it. */
        void *part = tsw_malloc(size);
        assert_non_null(part);
        if (size > 0)
            memcpy(part, out.data, size);
        tsw_cell_result_t copy = {0};
        tsw_reader_t in = tsw_reader(part, size);
        assert_int_equal(tsw_get_cell_result(&in, &copy, NULL), TSW_ERR_CORRUPT);
        assert_null(copy.records);
        tsw_free(part);
    }
    tsw_buf_fini(&out);
}

static void test_cell_with_a_flipped_bit_never_grows(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    pack_cell(&out);
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * out.size; bit++) {
        out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        tsw_cell_result_t copy = {0};
        tsw_reader_t in = tsw_reader(out.data, out.size);
        tsw_status_t status = tsw_get_cell_result(&in, &copy, NULL);
        if (status == TSW_OK) {
            assert_true(copy.record_count <= small.configs);
            assert_true(copy.round_count <= small.rounds);
            for (size_t i = 0; i < copy.record_count; i++)
                assert_in_range(copy.records[i].outcome, 0, TSW_OUTCOME_COUNT - 1);
        } else {
            assert_int_equal(status, TSW_ERR_CORRUPT);
            refused++;
        }
        tsw_cell_result_fini(&copy);
        out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(refused > 64); /* lengths and counts at least */
    tsw_buf_fini(&out);
}

static void test_each_failing_allocation_is_survived(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    pack_cell(&out);
    tsw_cell_result_t copy = {0};
    tsw_status_t status = TSW_ERR_NOMEM;
    long n = 0;
    while (status == TSW_ERR_NOMEM) {
        tsw_reader_t in = tsw_reader(out.data, out.size);
        tsw_mem_fail_at(++n);
        status = tsw_get_cell_result(&in, &copy, NULL);
        tsw_mem_fail_at(0);
    }
    assert_int_equal(status, TSW_OK);
    assert_int_equal(n, 1 + 2 + 4 + 2 + 1); /* two arrays, 4 texts, 2 sample arrays, rounds */
    tsw_cell_result_fini(&copy);
    tsw_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cell_round_trip),
        cmocka_unit_test(test_smallest_cell_round_trip),
        cmocka_unit_test(test_cell_cut_anywhere_is_corrupt),
        cmocka_unit_test(test_cell_with_a_flipped_bit_never_grows),
        cmocka_unit_test(test_each_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
