/* Whole runs of one coordinator and 1..9 lanes under seeded orders and faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan_builder.h"
#include "sched_sim.h"

#define SEED      20240611u
#define RANKS_MAX 9
#define RUNS      40 /* per case: seeds SEED .. SEED + RUNS - 1 */

static tsw_coord_rank_t ranks[RANKS_MAX];

/* Ranks in turn on the archs that have devices, two to a node. */
static void deal_ranks(size_t count, int device_archs)
{
    for (size_t r = 0; r < count; r++)
        ranks[r] = (tsw_coord_rank_t){.arch_index = device_archs > 0 ? (int)r % device_archs : -1,
                                      .node = (uint32_t)r / 2,
                                      .build_slots = 1 + (uint32_t)r % 3};
}

static sched_sim_report_t run(const sched_sim_t *sim)
{
    sched_sim_report_t report;
    sched_sim_run(sim, &report);
    if (report.problem[0] != '\0')
        fail_msg("seed %llu, %zu ranks: %s", (unsigned long long)sim->seed, sim->rank_count,
                 report.problem);
    return report;
}

static void test_sim_without_faults_does_every_cell_once_for_1_to_9_ranks(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 3, .configs = 5, .cells_per_arch = 17};
    tsw_plan_t *plan = plan_build(&what);
    for (size_t count = 1; count <= RANKS_MAX; count++) {
        deal_ranks(count, 1);
        sched_sim_t sim = {
            .seed = SEED, .plan = plan, .ranks = ranks, .rank_count = count, .aliases = 200};
        sched_sim_report_t report = run(&sim);
        assert_int_equal(report.cells_complete, 17);
        assert_int_equal(report.records, 17 * 5);
        assert_int_equal(report.builds_made, plan->build_count);
        assert_int_equal(report.worker_deaths, 0);
    }
    plan_built_free(plan);
}

static void test_sim_with_faults_keeps_all_promises(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 3,
                         .variants = 4,
                         .configs = 6,
                         .cells_per_arch = 9,
                         .compile_only = 4,
                         .backwards = true};
    tsw_plan_t *plan = plan_build(&what);
    size_t outcomes[TSW_OUTCOME_COUNT] = {0};
    for (uint64_t i = 0; i < RUNS; i++) {
        size_t count = 2 + i % (RANKS_MAX - 1);
        deal_ranks(count, 2);
        sched_sim_t sim = {.seed = SEED + i,
                           .plan = plan,
                           .ranks = ranks,
                           .rank_count = count,
                           .config_faults = 400,
                           .aliases = 300,
                           .bad_reference = 100};
        sched_sim_report_t report = run(&sim);
        assert_int_equal(report.cells_complete, 27);
        assert_int_equal(report.records, 27 * 6);
        for (size_t o = 0; o < TSW_OUTCOME_COUNT; o++)
            outcomes[o] += report.outcomes[o];
    }
    /* The harness really makes what it checks. */
    static const tsw_outcome_t wanted[] = {
        TSW_OUTCOME_OK,           TSW_OUTCOME_INVALID,     TSW_OUTCOME_COMPILE_FAILED,
        TSW_OUTCOME_WRONG_RESULT, TSW_OUTCOME_RUN_TIMEOUT, TSW_OUTCOME_DEVICE_LOST,
        TSW_OUTCOME_ALIAS,        TSW_OUTCOME_COMPILED};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_true(outcomes[wanted[i]] > 0);
    plan_built_free(plan);
}

static void test_sim_with_workers_that_die_and_gpus_that_go_still_ends(void **state)
{
    (void)state;
    plan_build_t what = {
        .archs = 3, .variants = 3, .configs = 4, .cells_per_arch = 8, .compile_only = 4};
    tsw_plan_t *plan = plan_build(&what);
    size_t retired = 0;
    size_t unreachable = 0;
    for (uint64_t i = 0; i < RUNS; i++) {
        size_t count = 2 + i % (RANKS_MAX - 1);
        deal_ranks(count, 2);
        sched_sim_t sim = {.seed = SEED + 1000 + i,
                           .plan = plan,
                           .ranks = ranks,
                           .rank_count = count,
                           .config_faults = 200,
                           .aliases = 200,
                           .blank_deaths = 30,
                           .start_failures = 300};
        sched_sim_report_t report = run(&sim);
        assert_int_equal(report.cells_complete + report.cells_unreachable, 24);
        assert_true(report.cells_complete >= 8); /* compile-only cells need no GPU */
        retired += report.ranks_retired;
        unreachable += report.cells_unreachable;
    }
    assert_true(retired > 0);
    assert_true(unreachable > 0);
    plan_built_free(plan);
}

static void test_sim_drained_at_any_step_ends_without_double_results(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 2, .variants = 2, .configs = 4, .cells_per_arch = 6};
    tsw_plan_t *plan = plan_build(&what);
    size_t complete = 0;
    size_t partial = 0;
    for (size_t step = 1; step < 400; step += 7) {
        deal_ranks(4, 2);
        sched_sim_t sim = {.seed = SEED + step,
                           .plan = plan,
                           .ranks = ranks,
                           .rank_count = 4,
                           .config_faults = 200,
                           .start_failures = 100,
                           .drain_at_step = step};
        sched_sim_report_t report = run(&sim);
        complete += report.cells_complete;
        partial += report.cells_partial;
    }
    assert_true(complete > 0);
    assert_true(partial > 0);
    plan_built_free(plan);
}

static void test_sim_without_devices_does_compile_only_cells(void **state)
{
    (void)state;
    plan_build_t what = {
        .archs = 2, .variants = 2, .configs = 4, .cells_per_arch = 6, .compile_only = 3};
    tsw_plan_t *plan = plan_build(&what);
    deal_ranks(3, 0);
    sched_sim_t sim = {.seed = SEED, .plan = plan, .ranks = ranks, .rank_count = 3};
    sched_sim_report_t report = run(&sim);
    assert_int_equal(report.cells_complete, 12);
    assert_int_equal(report.outcomes[TSW_OUTCOME_COMPILED], 12 * 4);
    plan_built_free(plan);
}

static void test_sim_resumed_builds_only_what_is_left(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 3, .configs = 4, .cells_per_arch = 6};
    tsw_plan_t *plan = plan_build(&what);
    bool done[6] = {false, true, true, false, true, true}; /* left: variant 0 */
    deal_ranks(2, 1);
    sched_sim_t sim = {.seed = SEED, .plan = plan, .ranks = ranks, .rank_count = 2, .done = done};
    sched_sim_report_t report = run(&sim);
    assert_int_equal(report.cells_complete, 2);
    assert_int_equal(report.builds_made, 1 + 1 + 4);
    plan_built_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_without_faults_does_every_cell_once_for_1_to_9_ranks),
        cmocka_unit_test(test_sim_with_faults_keeps_all_promises),
        cmocka_unit_test(test_sim_with_workers_that_die_and_gpus_that_go_still_ends),
        cmocka_unit_test(test_sim_drained_at_any_step_ends_without_double_results),
        cmocka_unit_test(test_sim_without_devices_does_compile_only_cells),
        cmocka_unit_test(test_sim_resumed_builds_only_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
