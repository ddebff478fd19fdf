#include "plan/plan.h"
#include "sample_dataset.h"
#include "sample_job.h"
#include "sample_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { CELLS = 6 };

/* What a run of the cell would have left. */
static tsw_cell_result_t *add_result(tsw_dataset_t *dataset, const tsw_plan_t *plan,
                                     const tsw_cell_t *cell)
{
    const tsw_plan_variant_t *variant = &plan->variants[cell->variant];
    tsw_cell_result_t *result = sample_dataset_cell(dataset, "mini", "v", "s", 90);
    result->key = cell->key;
    for (size_t i = 0; i < cell->config_count; i++)
        sample_dataset_record(result, "c", TSW_OUTCOME_OK)->config_key =
            variant->configs[cell->configs[i]].key;
    return result;
}

static void test_resume_skips_what_is_final(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    tsw_plan_t *plan = NULL;
    sample_job_t s;
    sample_job_init(&s);
    s.job.arch_count = 1;
    sample_job_entry(&s, pack);
    for (int64_t i = 1; i < CELLS; i++)
        sample_job_shape(&s, 256 * i, 256, 64);
    sample_job_shape(&s, 0, 256, 64);
    assert_int_equal(tsw_plan_make(&s.job, &plan, NULL), TSW_OK);
    tsw_dataset_t dataset = sample_dataset_new();
    add_result(&dataset, plan, &plan->cells[0]);                      /* done */
    add_result(&dataset, plan, &plan->cells[1])->complete = 0;        /* partial */
    add_result(&dataset, plan, &plan->cells[2])->records[3].outcome = /* once more */
        TSW_OUTCOME_COMPILE_TIMEOUT;
    add_result(&dataset, plan, &plan->cells[3])->records[3].config_key.lo++; /* config missing */
    tsw_cell_result_t *failed =
        add_result(&dataset, plan, &plan->cells[4]); /* failures are final */
    for (size_t i = 0; i < failed->record_count; i++)
        failed->records[i].outcome = TSW_OUTCOME_WRONG_RESULT;
    tsw_dataset_canonicalise(&dataset);
    bool done[CELLS];
    tsw_plan_resume(plan, &dataset, done);
    const bool wanted[CELLS] = {true, false, false, false, true, false};
    for (int i = 0; i < CELLS; i++)
        assert_int_equal(done[i], wanted[i]);
    tsw_dataset_fini(&dataset);
    dataset = sample_dataset_new();
    tsw_plan_resume(plan, &dataset, done);
    for (int i = 0; i < CELLS; i++)
        assert_false(done[i]);
    tsw_dataset_fini(&dataset);
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume_skips_what_is_final),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
