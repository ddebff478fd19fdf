#include "base/mem.h"
#include "plan/plan.h"
#include "sample_job.h"
#include "sample_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SHAPES = 7, ARCHS = 2, CELLS = SHAPES * ARCHS };

static tsw_pack_t *pack;

static int set_up(void **state)
{
    (void)state;
    pack = sample_pack_new(sample_pack_lists, "");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tsw_pack_free(pack);
    return 0;
}

/* archs_reversed: the same job with its archs named in the other order. */
static tsw_plan_t *make(sample_job_t *s, bool archs_reversed)
{
    tsw_plan_t *plan = NULL;
    sample_job_init(s);
    sample_job_entry(s, pack);
    for (int64_t i = 1; i <= SHAPES; i++)
        sample_job_shape(s, 256 * i, 256, 64);
    if (archs_reversed) {
        tsw_arch_t first = s->archs[0];
        s->archs[0] = s->archs[1];
        s->archs[1] = first;
    }
    assert_int_equal(tsw_plan_make(&s->job, &plan, NULL), TSW_OK);
    assert_int_equal(plan->cell_count, CELLS);
    return plan;
}

static size_t count_arch(const tsw_plan_t *plan, size_t arch_index)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->cell_count; i++)
        count += plan->cells[i].arch_index == arch_index;
    return count;
}

static size_t times_in(const tsw_plan_t *plan, tsw_key_t key)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->cell_count; i++)
        count += tsw_key_equal(plan->cells[i].key, key);
    return count;
}

static void test_parts_of_any_number_hold_each_cell_once(void **state)
{
    (void)state;
    sample_job_t s;
    tsw_plan_t *whole = make(&s, false);
    for (uint32_t parts = 1; parts <= CELLS; parts++) {
        size_t seen[CELLS] = {0};
        for (uint32_t i = 1; i <= parts; i++) {
            sample_job_t t;
            tsw_plan_t *part = make(&t, i % 2 == 0); /* the order of archs makes no difference */
            assert_int_equal(tsw_plan_keep_part(part, (tsw_plan_part_t){i, parts}, NULL), TSW_OK);
            assert_true(tsw_key_equal(part->key, whole->key));
            assert_int_equal(part->build_count, whole->build_count);
            assert_in_range(part->cell_count, CELLS / parts, (CELLS + parts - 1) / parts);
            for (size_t c = 0; c < CELLS; c++)
                seen[c] += times_in(part, whole->cells[c].key);
            for (size_t c = 0; c < part->cell_count; c++)
                assert_int_equal(part->cells[c].id, c);
            tsw_plan_free(part);
        }
        for (size_t c = 0; c < CELLS; c++)
            assert_int_equal(seen[c], 1);
    }
    tsw_plan_free(whole);
}

static void test_part_has_its_share_of_each_arch(void **state)
{
    (void)state;
    sample_job_t s;
    tsw_plan_t *plan = make(&s, false);
    assert_int_equal(tsw_plan_keep_part(plan, (tsw_plan_part_t){2, 3}, NULL), TSW_OK);
    for (size_t a = 0; a < ARCHS; a++)
        assert_in_range(count_arch(plan, a), SHAPES / 3, SHAPES / 3 + 1);
    tsw_plan_free(plan);
}

static void test_part_when_zeroed_then_all_cells(void **state)
{
    (void)state;
    sample_job_t s;
    tsw_plan_t *plan = make(&s, false);
    assert_int_equal(tsw_plan_keep_part(plan, (tsw_plan_part_t){0, 0}, NULL), TSW_OK);
    assert_int_equal(plan->cell_count, CELLS);
    tsw_plan_free(plan);
}

static void test_part_without_cells_then_error(void **state)
{
    (void)state;
    sample_job_t s;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_plan_t *plan = make(&s, false);
    assert_int_equal(tsw_plan_keep_part(plan, (tsw_plan_part_t){CELLS + 1, CELLS + 1}, &err),
                     TSW_ERR_ARG);
    assert_string_equal(err.text, "part 15 of 15 has no cell: the job has 14");
    assert_int_equal(plan->cell_count, CELLS);
    tsw_plan_free(plan);
}

static void test_part_when_memory_runs_out_then_plan_is_whole(void **state)
{
    (void)state;
    sample_job_t s;
    tsw_plan_t *plan = make(&s, false);
    for (uint32_t i = 1; i <= 2; i++) {
        tsw_mem_fail_at(i);
        assert_int_equal(tsw_plan_keep_part(plan, (tsw_plan_part_t){1, 2}, NULL), TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
        assert_int_equal(plan->cell_count, CELLS);
    }
    tsw_plan_free(plan);
}

static void test_parse_takes_only_parts(void **state)
{
    (void)state;
    tsw_plan_part_t part = {7, 7};
    static const char *const bad[] = {"",
                                      "1",
                                      "/",
                                      "1/",
                                      "/2",
                                      "0/2",
                                      "3/2",
                                      "a/2",
                                      "1/2/",
                                      "-1/2",
                                      "1/ 2",
                                      "1/99999999999",
                                      "11111111111111111111/2"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tsw_err_t err = TSW_ERR_INIT;
        assert_int_equal(tsw_plan_part_parse(bad[i], &part, &err), TSW_ERR_ARG);
        assert_int_equal(part.number, 7);
    }
    assert_int_equal(tsw_plan_part_parse("2/8", &part, NULL), TSW_OK);
    assert_int_equal(part.number, 2);
    assert_int_equal(part.count, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_any_number_hold_each_cell_once),
        cmocka_unit_test(test_part_has_its_share_of_each_arch),
        cmocka_unit_test(test_part_when_zeroed_then_all_cells),
        cmocka_unit_test(test_part_without_cells_then_error),
        cmocka_unit_test(test_part_when_memory_runs_out_then_plan_is_whole),
        cmocka_unit_test(test_parse_takes_only_parts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
