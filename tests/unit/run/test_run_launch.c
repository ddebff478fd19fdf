/* What identifies a launch, what a replay finds in a recorded sweep, which builds are slow. */
#include "base/mem.h"
#include "run/run_state.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static tsw_run_t run;
static const tsw_cell_t *cell; /* of tiny_cuda: THREADS 128 (baseline), 64, 256, 512 */

static int set_up(void **state)
{
    (void)state;
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_job_snapshot(TSW_SOURCE_DIR "/tests/data/jobs/tiny_compile.yaml",
                                           TSW_SOURCE_DIR "/kernels", &snapshot, &err);
    if (status == TSW_OK)
        status = tsw_job_read(&snapshot, &run.job, &err);
    if (status == TSW_OK)
        status = tsw_plan_make(run.job, &run.plan, &err);
    if (status == TSW_OK)
        status = tsw_eval_new(&run.eval, &err);
    tsw_fileset_fini(&snapshot);
    if (status != TSW_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    for (size_t i = 0; i < run.plan->cell_count; i++) {
        if (!run.plan->cells[i].compile_only)
            cell = &run.plan->cells[i];
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tsw_eval_free(run.eval);
    tsw_plan_free(run.plan);
    tsw_job_free(run.job);
    return 0;
}

static int64_t threads_of(uint32_t index)
{
    return run.plan->variants[cell->variant].configs[cell->configs[index]].values[0];
}

static tsw_lane_built_t describe(uint32_t index, tsw_key_t cubin)
{
    tsw_lane_built_t built = {.facts = {.cubin_key = cubin, .cluster = 1}};
    assert_int_equal(tsw_run_launch_describe(&run, cell, index, 132, &built, NULL), TSW_OK);
    return built;
}

static void test_launch_when_described_then_grid_and_block(void **state)
{
    (void)state;
    tsw_lane_built_t built = describe(0, (tsw_key_t){.lo = 1});
    uint32_t threads = (uint32_t)threads_of(0);
    assert_int_equal(threads, 128);
    assert_int_equal(built.block[0], threads);
    assert_int_equal(built.grid[0], (100000 + threads - 1) / threads);
    assert_int_equal(built.grid[1], 1);
    assert_int_equal(built.dynamic_shared_bytes, 0);
}

static void test_launch_when_all_is_equal_then_the_same_key(void **state)
{
    (void)state;
    tsw_key_t cubin = {.lo = 1};
    tsw_key_t other = {.lo = 2};
    tsw_key_t key = describe(0, cubin).launch_key;
    assert_true(tsw_key_equal(key, describe(0, cubin).launch_key));
    assert_false(tsw_key_equal(key, describe(0, other).launch_key));
    assert_false(tsw_key_equal(key, describe(1, cubin).launch_key)); /* another grid */
}

static void test_launch_when_no_cubin_is_known_then_configs_differ(void **state)
{
    (void)state;
    tsw_key_t none = {0};
    assert_false(tsw_key_equal(describe(0, none).launch_key, describe(1, none).launch_key));
}

static void test_max_tile_when_over_configs_then_the_largest(void **state)
{
    (void)state;
    assert_int_equal(tsw_run_max_tile(&run, cell), 512);
}

/* A sweep in which config 0 is ok, config 1 hung, and the others are not there. */
static void test_replay_when_recorded_then_outcomes_and_samples(void **state)
{
    (void)state;
    const tsw_plan_variant_t *variant = &run.plan->variants[cell->variant];
    tsw_sample_t samples[] = {{.interval_ns = 900, .launches = 2, .stage = TSW_STAGE_WARMUP},
                              {.interval_ns = 100, .launches = 2, .stage = TSW_STAGE_ROUND},
                              {.interval_ns = 102, .launches = 2, .stage = TSW_STAGE_ROUND}};
    tsw_record_t records[2] = {{.config_key = variant->configs[cell->configs[0]].key,
                                .samples = samples,
                                .sample_count = 3},
                               {.config_key = variant->configs[cell->configs[1]].key,
                                .outcome = TSW_OUTCOME_RUN_TIMEOUT,
                                .detail = "hung"}};
    tsw_cell_result_t recorded = {.key = cell->key, .records = records, .record_count = 2};
    run.replay = true;
    run.recorded = (tsw_dataset_t){.cells = &recorded, .cell_count = 1};

    uint64_t *ns = NULL;
    size_t count = 0;
    assert_int_equal(tsw_run_recorded_samples(&run, cell, 0, &ns, &count, NULL), TSW_OK);
    assert_int_equal(count, 2);
    assert_int_equal(ns[0], 50);
    assert_int_equal(ns[1], 51);
    tsw_free(ns);
    ns = NULL;
    count = 0;
    assert_int_equal(tsw_run_recorded_samples(&run, cell, 1, &ns, &count, NULL), TSW_OK);
    assert_null(ns);
    assert_int_equal(count, 0);

    tsw_outcome_t outcome = TSW_OUTCOME_OK;
    const char *detail = NULL;
    assert_false(tsw_run_recorded_failure(&run, cell, 0, &outcome, &detail));
    assert_true(tsw_run_recorded_failure(&run, cell, 1, &outcome, &detail));
    assert_int_equal(outcome, TSW_OUTCOME_RUN_TIMEOUT);
    assert_string_equal(detail, "hung");
    assert_true(tsw_run_recorded_failure(&run, cell, 2, &outcome, &detail));
    assert_int_equal(outcome, TSW_OUTCOME_SKIPPED);

    tsw_mem_fail_at(1);
    assert_int_equal(tsw_run_recorded_samples(&run, cell, 0, &ns, &count, NULL), TSW_ERR_NOMEM);
    tsw_mem_fail_at(0);
    run.replay = false;
    run.recorded = (tsw_dataset_t){0};
    assert_false(tsw_run_recorded_failure(&run, cell, 2, &outcome, &detail));
}

static void test_slow_builds_when_over_five_minutes_then_named(void **state)
{
    (void)state;
    char *texts[] = {"A=1", "A=2", "A=3", "A=4"};
    tsw_record_t records[4] = {{.build = {.compile_wall_ns = 10000000000u}},
                               {.build = {.compile_wall_ns = 200000000000u}},
                               {.build = {.compile_wall_ns = 0}},
                               {.build = {.compile_wall_ns = 90000000000u}}};
    tsw_cell_result_t slow = {.pack = "p",
                              .variant = "dtype=f16",
                              .shape = "M=1",
                              .arch = 90,
                              .config_texts = texts,
                              .records = records,
                              .record_count = 4};
    tsw_buf_t line = TSW_BUF_INIT;
    assert_false(tsw_run_slow_builds(&slow, &line)); /* 300 s and not more */
    records[2].build.compile_wall_ns = 1;
    assert_true(tsw_run_slow_builds(&slow, &line));
    assert_string_equal(tsw_buf_text(&line),
                        "p dtype=f16 M=1 sm_90: compilation took 5.0 min; slowest: A=2 (200.0 s), "
                        "A=4 (90.0 s), A=1 (10.0 s)");
    tsw_buf_fini(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch_when_described_then_grid_and_block),
        cmocka_unit_test(test_launch_when_all_is_equal_then_the_same_key),
        cmocka_unit_test(test_launch_when_no_cubin_is_known_then_configs_differ),
        cmocka_unit_test(test_max_tile_when_over_configs_then_the_largest),
        cmocka_unit_test(test_slow_builds_when_over_five_minutes_then_named),
        cmocka_unit_test(test_replay_when_recorded_then_outcomes_and_samples),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
