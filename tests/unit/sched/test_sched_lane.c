#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "plan_builder.h"
#include "sched/lane.h"

/* Cells 0..2 of arch 0 are measured, 3..5 of arch 1 are compile-only; three configs each. */
static const plan_build_t small = {
    .archs = 2, .variants = 1, .configs = 3, .cells_per_arch = 3, .compile_only = 2};

typedef struct {
    tsw_plan_t *plan;
    tsw_lane_t *lane;
    tsw_lane_actions_t actions;
    tsw_err_t err;
} fixture_t;

static const tsw_gpu_t gpu = {.uuid = "GPU-1", .name = "test", .arch = 90};

static fixture_t open_lane(const plan_build_t *what)
{
    fixture_t f = {.plan = plan_build(what)};
    assert_int_equal(tsw_lane_new(f.plan, 5, "node7", &f.lane, &f.err), TSW_OK);
    return f;
}

static void close_lane(fixture_t *f)
{
    tsw_lane_actions_fini(&f->actions);
    tsw_lane_free(f->lane);
    plan_built_free(f->plan);
}

/* The last event led to exactly these actions. */
#define expect(_f, ...)                                                                            \
    do {                                                                                           \
        const tsw_lane_action_type_t _wanted[] = {__VA_ARGS__};                                    \
        assert_int_equal((_f)->actions.count, sizeof(_wanted) / sizeof(_wanted[0]));               \
        for (size_t _i = 0; _i < sizeof(_wanted) / sizeof(_wanted[0]); _i++)                       \
            assert_int_equal((_f)->actions.items[_i].type, _wanted[_i]);                           \
    } while (0)

static void expect_nothing(const fixture_t *f)
{
    assert_int_equal(f->actions.count, 0);
}

/* ---- events, all of which must be accepted ---- */

static void start(fixture_t *f)
{
    f->actions.count = 0;
    assert_int_equal(tsw_lane_start(f->lane, &f->actions, &f->err), TSW_OK);
}

static void ready(fixture_t *f)
{
    f->actions.count = 0;
    assert_int_equal(tsw_lane_worker_ready(f->lane, &gpu, &f->actions, &f->err), TSW_OK);
}

static void lease(fixture_t *f, uint32_t cell)
{
    f->actions.count = 0;
    assert_int_equal(tsw_lane_cell_leased(f->lane, cell, 4, &f->actions, &f->err), TSW_OK);
}

static void tell_built(fixture_t *f, tsw_lane_built_t built)
{
    f->actions.count = 0;
    assert_int_equal(tsw_lane_built(f->lane, &built, &f->actions, &f->err), TSW_OK);
}

static void found(fixture_t *f, uint32_t cell)
{
    tell_built(f, (tsw_lane_built_t){.cell = cell, .config_index = TSW_LANE_TOOL});
    tell_built(f, (tsw_lane_built_t){.cell = cell, .config_index = TSW_LANE_REFERENCE});
}

static void built(fixture_t *f, uint32_t cell, int32_t config, uint64_t launch)
{
    tell_built(f, (tsw_lane_built_t){.cell = cell,
                                     .config_index = config,
                                     .launch_key = {.hi = 0, .lo = launch},
                                     .facts = {.registers = 32 + (uint32_t)config},
                                     .grid = {7, 1, 1},
                                     .block = {128, 1, 1},
                                     .dynamic_shared_bytes = 1024});
}

static void build_failed(fixture_t *f, uint32_t cell, int32_t config, tsw_outcome_t outcome)
{
    tell_built(f, (tsw_lane_built_t){
                      .cell = cell, .config_index = config, .outcome = outcome, .detail = "why"});
}

static void config_state(fixture_t *f, uint32_t config, tsw_outcome_t outcome)
{
    tsw_verify_facts_t verify = {.elements = 100, .mismatches = outcome != TSW_OUTCOME_OK};
    f->actions.count = 0;
    assert_int_equal(tsw_lane_config_state(f->lane, config, outcome,
                                           outcome == TSW_OUTCOME_OK ? NULL : "so it is", &verify,
                                           &f->actions, &f->err),
                     TSW_OK);
}

/* A round of the given configs, UINT32_MAX at the end. */
static void round_of(fixture_t *f, tsw_stage_t stage, uint32_t number, const uint32_t *configs)
{
    tsw_round_t round = {
        .round = number, .stage = (uint16_t)stage, .cache_state = TSW_CACHE_STATE_HOT};
    tsw_sample_t samples[8];
    size_t n = 0;
    for (; configs[n] != UINT32_MAX; n++)
        samples[n] = (tsw_sample_t){.interval_ns = 1000 + configs[n],
                                    .launches = 2,
                                    .round = number,
                                    .stage = (uint16_t)stage,
                                    .slot = (uint16_t)n};
    f->actions.count = 0;
    assert_int_equal(tsw_lane_round(f->lane, &round, configs, samples, n, &f->actions, &f->err),
                     TSW_OK);
}

static void timed(fixture_t *f)
{
    const uint32_t indices[] = {0};
    const uint8_t fates[] = {TSW_FATE_WINNER};
    tsw_lane_timed_t end = {.peak_memory_bytes = 4096,
                            .usage = {{[TSW_USE_LOAD] = 5, [TSW_USE_WAVE] = 77}},
                            .pick = 0,
                            .indices = indices,
                            .fates = fates,
                            .count = 1};
    f->actions.count = 0;
    assert_int_equal(tsw_lane_cell_timed(f->lane, &end, &f->actions, &f->err), TSW_OK);
}

static void died(fixture_t *f, int32_t culprit, tsw_outcome_t outcome)
{
    f->actions.count = 0;
    assert_int_equal(
        tsw_lane_worker_died(f->lane, culprit, outcome, "gone", false, &f->actions, &f->err),
        TSW_OK);
}

static void killed(fixture_t *f, int32_t culprit)
{
    f->actions.count = 0;
    assert_int_equal(tsw_lane_worker_killed(f->lane, culprit, "killed", &f->actions, &f->err),
                     TSW_OK);
}

static void abandon(fixture_t *f)
{
    f->actions.count = 0;
    assert_int_equal(tsw_lane_abandon(f->lane, &f->actions, &f->err), TSW_OK);
}

static tsw_cell_result_t take(fixture_t *f)
{
    tsw_cell_result_t result = {0};
    tsw_lane_take_result(f->lane, &result);
    return result;
}

#define ALL3 ((const uint32_t[]){0, 1, 2, UINT32_MAX})

/* Cell 0 with all three configs verified and being timed. */
static fixture_t open_timing(void)
{
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    found(&f, 0);
    for (int32_t i = 0; i < 3; i++)
        built(&f, 0, i, (uint64_t)i);
    for (uint32_t i = 0; i < 3; i++)
        config_state(&f, i, TSW_OUTCOME_OK);
    expect(&f, TSW_LANE_TIME_CELL);
    assert_int_equal(f.actions.items[0].first_round, 0);
    return f;
}

/* ---- tests ---- */

static void test_cells_are_asked_for_once_the_worker_is_ready(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    expect(&f, TSW_LANE_START_WORKER);
    ready(&f);
    expect(&f, TSW_LANE_ASK_CELL, TSW_LANE_ASK_CELL);
    assert_true(tsw_lane_is_idle(f.lane));
    close_lane(&f);
}

static void test_a_good_cell_goes_from_lease_to_result(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    expect_nothing(&f);
    assert_false(tsw_lane_is_idle(f.lane));
    tell_built(&f, (tsw_lane_built_t){.cell = 0, .config_index = TSW_LANE_TOOL});
    expect_nothing(&f);
    built(&f, 0, 0, 10);
    expect_nothing(&f);
    tell_built(&f, (tsw_lane_built_t){.cell = 0, .config_index = TSW_LANE_REFERENCE});
    expect(&f, TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG);
    assert_false(f.actions.items[1].verified);
    config_state(&f, 0, TSW_OUTCOME_OK);
    built(&f, 0, 2, 12); /* waits for config 1: is it an alias? */
    expect_nothing(&f);
    built(&f, 0, 1, 11);
    expect(&f, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG);
    assert_int_equal(f.actions.items[0].config_index, 1);
    assert_int_equal(f.actions.items[1].config_index, 2);
    config_state(&f, 1, TSW_OUTCOME_OK);
    expect_nothing(&f);
    config_state(&f, 2, TSW_OUTCOME_OK);
    expect(&f, TSW_LANE_TIME_CELL);
    round_of(&f, TSW_STAGE_WARMUP, 0, ALL3);
    round_of(&f, TSW_STAGE_ROUND, 0, ALL3);
    expect_nothing(&f);
    timed(&f);
    expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
    assert_int_equal(f.actions.items[0].attempt, 4);
    assert_true(tsw_lane_is_idle(f.lane));

    tsw_cell_result_t result = take(&f);
    assert_true(tsw_key_equal(result.key, f.plan->cells[0].key));
    assert_string_equal(result.pack, "demo");
    assert_string_equal(result.shape, "M=128");
    assert_string_equal(result.config_texts[1], "TILE_M=32");
    assert_string_equal(result.node, "node7");
    assert_string_equal(result.gpu.uuid, "GPU-1");
    assert_int_equal(result.rank, 5);
    assert_int_equal(result.attempt, 4);
    assert_int_equal(result.arch, 90);
    assert_int_equal(result.cache_mode, TSW_CACHE_STATE_HOT);
    assert_int_equal(result.complete, 1);
    assert_int_equal(result.peak_memory_bytes, 4096);
    assert_int_equal(result.busy_ns, 77);
    assert_int_equal(result.usage.ns[TSW_USE_LOAD], 5);
    assert_int_equal(result.pick, 0);
    assert_int_equal(result.records[0].fate, TSW_FATE_WINNER);
    assert_int_equal(result.records[1].fate, TSW_FATE_NONE);
    assert_int_equal(result.round_count, 2);
    assert_int_equal(result.record_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const tsw_record_t *record = &result.records[i];
        assert_int_equal(record->outcome, TSW_OUTCOME_OK);
        assert_int_equal(record->config_index, i);
        assert_int_equal(record->sample_count, 2);
        assert_int_equal(record->samples[1].interval_ns, 1000 + i);
        assert_int_equal(record->samples[1].launches, 2);
        assert_int_equal(record->build.registers, 32 + i);
        assert_int_equal(record->grid[0], 7);
        assert_int_equal(record->block[0], 128);
        assert_int_equal(record->dynamic_shared_bytes, 1024);
        assert_int_equal(record->verify.elements, 100);
    }
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_the_cell_ahead_goes_to_the_worker_while_one_is_timed(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    lease(&f, 1);
    expect_nothing(&f);
    found(&f, 1);
    expect(&f, TSW_LANE_BEGIN_CELL);
    built(&f, 1, 0, 0);
    expect(&f, TSW_LANE_ADD_CONFIG);
    assert_int_equal(f.actions.items[0].cell, 1);
    round_of(&f, TSW_STAGE_ROUND, 0, ALL3);
    timed(&f);
    expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
    assert_int_equal(f.actions.items[0].cell, 0);
    config_state(&f, 0, TSW_OUTCOME_OK);
    expect_nothing(&f);
    built(&f, 1, 1, 1);
    expect(&f, TSW_LANE_ADD_CONFIG);
    close_lane(&f);
}

static void test_the_cell_ahead_waits_while_none_is_timed(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    lease(&f, 1);
    found(&f, 1);
    built(&f, 1, 0, 0);
    expect_nothing(&f);
    found(&f, 0);
    expect(&f, TSW_LANE_BEGIN_CELL);
    built(&f, 1, 1, 1);
    expect_nothing(&f);
    for (int32_t i = 0; i < 3; i++)
        built(&f, 0, i, (uint64_t)i);
    for (uint32_t i = 0; i < 2; i++)
        config_state(&f, i, TSW_OUTCOME_OK);
    expect_nothing(&f);
    config_state(&f, 2, TSW_OUTCOME_OK);
    expect(&f, TSW_LANE_TIME_CELL, TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG);
    assert_int_equal(f.actions.items[0].cell, 0);
    assert_int_equal(f.actions.items[3].cell, 1);
    close_lane(&f);
}

/* With what the worker had of both cells. */
static void test_a_death_while_timing_begins_the_cell_ahead_anew(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    lease(&f, 1);
    found(&f, 1);
    built(&f, 1, 0, 0);
    died(&f, 1, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_START_WORKER);
    ready(&f);
    expect(&f, TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG, TSW_LANE_TIME_CELL,
           TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG);
    assert_int_equal(f.actions.items[3].cell, 0);
    assert_int_equal(f.actions.items[4].cell, 1);
    assert_false(f.actions.items[5].verified);
    close_lane(&f);
}

static void test_a_cell_whose_configs_all_fail_ends_when_the_worker_is_through(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    for (uint32_t i = 0; i < 3; i++) {
        config_state(&f, i, TSW_OUTCOME_LAUNCH_FAILED);
        expect_nothing(&f);
    }
    timed(&f);
    expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
    close_lane(&f);
}

static void test_build_failures_become_records_without_a_worker(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    build_failed(&f, 0, 0, TSW_OUTCOME_COMPILE_FAILED);
    build_failed(&f, 0, 1, TSW_OUTCOME_COMPILE_TIMEOUT);
    build_failed(&f, 0, 1, TSW_OUTCOME_COMPILE_FAILED); /* told twice */
    build_failed(&f, 0, 2, TSW_OUTCOME_OUT_OF_MEMORY);
    expect_nothing(&f);
    found(&f, 0);
    expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[0].outcome, TSW_OUTCOME_COMPILE_FAILED);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_COMPILE_TIMEOUT);
    assert_int_equal(result.records[2].outcome, TSW_OUTCOME_OUT_OF_MEMORY);
    assert_string_equal(result.records[0].detail, "why");
    assert_int_equal(result.complete, 1);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_a_reference_that_does_not_build_makes_all_configs_invalid(void **state)
{
    (void)state;
    for (int32_t which = TSW_LANE_TOOL; which <= TSW_LANE_REFERENCE; which++) {
        fixture_t f = open_lane(&small);
        start(&f);
        ready(&f);
        lease(&f, 0);
        built(&f, 0, 0, 0);
        built(&f, 0, 1, 0);
        build_failed(&f, 0, 2, TSW_OUTCOME_COMPILE_FAILED);
        build_failed(&f, 0, which, TSW_OUTCOME_COMPILE_FAILED);
        expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
        tsw_cell_result_t result = take(&f);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(result.records[i].outcome, TSW_OUTCOME_INVALID);
            assert_string_equal(result.records[i].detail, "why");
        }
        tsw_cell_result_fini(&result);
        built(&f, 0, 1, 0); /* late: ignored */
        expect_nothing(&f);
        close_lane(&f);
    }
}

static void test_equal_launches_are_added_and_timed_once(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    found(&f, 0);
    built(&f, 0, 2, 9);
    built(&f, 0, 1, 9);
    built(&f, 0, 0, 9);
    expect(&f, TSW_LANE_ADD_CONFIG);
    assert_int_equal(f.actions.items[0].config_index, 0); /* the baseline is no alias */
    config_state(&f, 0, TSW_OUTCOME_OK);
    expect(&f, TSW_LANE_TIME_CELL);
    round_of(&f, TSW_STAGE_ROUND, 0, (const uint32_t[]){0, UINT32_MAX});
    timed(&f);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[0].outcome, TSW_OUTCOME_OK);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(result.records[i].outcome, TSW_OUTCOME_ALIAS);
        assert_int_equal(result.records[i].alias_of, 0);
        assert_int_equal(result.records[i].sample_count, 0);
        assert_int_equal(result.records[i].build.registers, 32 + i);
    }
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_configs_go_to_the_worker_in_the_order_of_the_plan(void **state)
{
    (void)state;
    plan_build_t backwards = small;
    backwards.backwards = true; /* 0, 2, 1 */
    fixture_t f = open_lane(&backwards);
    start(&f);
    ready(&f);
    lease(&f, 0);
    found(&f, 0);
    built(&f, 0, 1, 7);
    expect_nothing(&f);
    built(&f, 0, 0, 1);
    expect(&f, TSW_LANE_ADD_CONFIG);
    built(&f, 0, 2, 7); /* before config 1, which is its alias */
    expect(&f, TSW_LANE_ADD_CONFIG);
    assert_int_equal(f.actions.items[0].config_index, 2);
    config_state(&f, 0, TSW_OUTCOME_OK);
    died(&f, TSW_LANE_CULPRIT_NONE, TSW_OUTCOME_DEVICE_LOST);
    ready(&f);
    expect(&f, TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG);
    assert_int_equal(f.actions.items[1].config_index, 0);
    assert_true(f.actions.items[1].verified);
    assert_int_equal(f.actions.items[2].config_index, 2);
    config_state(&f, 2, TSW_OUTCOME_OK);
    expect(&f, TSW_LANE_TIME_CELL);
    round_of(&f, TSW_STAGE_ROUND, 0, (const uint32_t[]){0, 2, UINT32_MAX});
    timed(&f);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_ALIAS);
    assert_int_equal(result.records[1].alias_of, 2);
    assert_int_equal(result.records[2].outcome, TSW_OUTCOME_OK);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_an_alias_of_a_failed_config_takes_over_its_outcome(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    found(&f, 0);
    built(&f, 0, 0, 1);
    built(&f, 0, 1, 2);
    built(&f, 0, 2, 2);
    config_state(&f, 0, TSW_OUTCOME_OK);
    config_state(&f, 1, TSW_OUTCOME_LAUNCH_FAILED);
    expect(&f, TSW_LANE_TIME_CELL);
    round_of(&f, TSW_STAGE_ROUND, 0, (const uint32_t[]){0, UINT32_MAX});
    timed(&f);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[2].outcome, TSW_OUTCOME_LAUNCH_FAILED);
    assert_string_equal(result.records[2].detail, "launches as config 1 does: so it is");
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_a_wrong_config_is_never_timed(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    found(&f, 0);
    for (int32_t i = 0; i < 3; i++)
        built(&f, 0, i, (uint64_t)i);
    config_state(&f, 0, TSW_OUTCOME_OK);
    config_state(&f, 1, TSW_OUTCOME_WRONG_RESULT);
    config_state(&f, 2, TSW_OUTCOME_OK);
    expect(&f, TSW_LANE_TIME_CELL);
    tsw_round_t round = {.stage = TSW_STAGE_ROUND};
    tsw_sample_t sample = {.stage = TSW_STAGE_ROUND};
    uint32_t config = 1;
    assert_int_equal(tsw_lane_round(f.lane, &round, &config, &sample, 1, &f.actions, &f.err),
                     TSW_ERR_BUG);
    round_of(&f, TSW_STAGE_ROUND, 0, (const uint32_t[]){2, 0, UINT32_MAX});
    timed(&f);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_WRONG_RESULT);
    assert_string_equal(result.records[1].detail, "so it is");
    assert_int_equal(result.records[1].verify.mismatches, 1);
    assert_int_equal(result.records[1].sample_count, 0);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void compared(fixture_t *f, uint32_t config, tsw_outcome_t outcome,
                     const tsw_verify_facts_t *verify)
{
    f->actions.count = 0;
    assert_int_equal(
        tsw_lane_config_state(f->lane, config, outcome, "so it is", verify, &f->actions, &f->err),
        TSW_OK);
}

/* A cell of three configs with these verifications; all but the ok ones have ended. */
static tsw_cell_result_t cell_of(fixture_t *f, const tsw_outcome_t outcomes[3],
                                 const tsw_verify_facts_t facts[3])
{
    *f = open_lane(&small);
    start(f);
    ready(f);
    lease(f, 0);
    found(f, 0);
    for (int32_t i = 0; i < 3; i++)
        built(f, 0, i, (uint64_t)i);
    for (uint32_t i = 0; i < 3; i++)
        compared(f, i, outcomes[i], &facts[i]);
    round_of(f, TSW_STAGE_ROUND, 0, (const uint32_t[]){2, UINT32_MAX});
    timed(f);
    return take(f);
}

static void test_most_configs_different_blames_the_reference(void **state)
{
    (void)state;
    fixture_t f;
    tsw_cell_result_t result = cell_of(
        &f, (tsw_outcome_t[]){TSW_OUTCOME_WRONG_RESULT, TSW_OUTCOME_WRONG_RESULT, TSW_OUTCOME_OK},
        (tsw_verify_facts_t[]){
            {.elements = 9, .mismatches = 1}, {.elements = 9, .mismatches = 3}, {.elements = 9}});
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(strstr(result.records[i].detail, "suspect reference.cu"));
        assert_non_null(strstr(result.records[i].detail, "so it is"));
    }
    assert_int_equal(result.records[2].outcome, TSW_OUTCOME_OK);
    assert_string_equal(result.records[2].detail, "");
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

/* Writes out of bounds, half an output and NaN are no disagreement about values. */
static void test_configs_wrong_in_other_ways_do_not_blame_the_reference(void **state)
{
    (void)state;
    static const tsw_verify_facts_t ways[] = {
        {.elements = 9},
        {.elements = 9, .mismatches = 4, .unwritten = 4},
        {.elements = 9, .mismatches = 5, .nans = 3, .unwritten = 2},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        fixture_t f;
        tsw_cell_result_t result = cell_of(
            &f,
            (tsw_outcome_t[]){TSW_OUTCOME_WRONG_RESULT, TSW_OUTCOME_WRONG_RESULT, TSW_OUTCOME_OK},
            (tsw_verify_facts_t[]){ways[i], ways[i], {.elements = 9}});
        for (size_t k = 0; k < 3; k++)
            assert_null(strstr(result.records[k].detail, "suspect"));
        tsw_cell_result_fini(&result);
        close_lane(&f);
    }
}

/* Its cell is over, the next one goes to a new worker, unharmed. */
static void test_a_reference_that_kills_the_worker_costs_its_cell(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    lease(&f, 1);
    found(&f, 0);
    found(&f, 1);
    built(&f, 0, 0, 0);
    died(&f, TSW_LANE_CULPRIT_REFERENCE, TSW_OUTCOME_RUN_TIMEOUT);
    expect(&f, TSW_LANE_START_WORKER, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
    tsw_cell_result_t result = take(&f);
    for (size_t i = 0; i < result.record_count; i++) {
        assert_int_equal(result.records[i].outcome, TSW_OUTCOME_INVALID);
        assert_non_null(strstr(result.records[i].detail, "suspect reference.cu"));
        assert_non_null(strstr(result.records[i].detail, "gone"));
    }
    tsw_cell_result_fini(&result);
    ready(&f);
    expect(&f, TSW_LANE_BEGIN_CELL);
    assert_int_equal(f.actions.items[0].cell, 1);
    close_lane(&f);
}

static void test_a_culprit_gets_its_outcome_and_the_cell_goes_on(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    round_of(&f, TSW_STAGE_WARMUP, 0, ALL3);
    round_of(&f, TSW_STAGE_ROUND, 0, ALL3);
    round_of(&f, TSW_STAGE_ROUND, 1, ALL3);
    died(&f, 1, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_START_WORKER);
    ready(&f);
    expect(&f, TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG, TSW_LANE_TIME_CELL);
    assert_int_equal(f.actions.items[1].config_index, 0);
    assert_true(f.actions.items[1].verified);
    assert_int_equal(f.actions.items[2].config_index, 2);
    assert_int_equal(f.actions.items[3].first_round, 2);
    config_state(&f, 0, TSW_OUTCOME_OK); /* an answer to a verified config is fine */
    expect_nothing(&f);
    round_of(&f, TSW_STAGE_WARMUP, 0, (const uint32_t[]){0, 2, UINT32_MAX});
    round_of(&f, TSW_STAGE_ROUND, 2, (const uint32_t[]){0, 2, UINT32_MAX});
    timed(&f);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_DEVICE_LOST);
    assert_string_equal(result.records[1].detail, "gone");
    assert_int_equal(result.records[1].sample_count, 3);
    assert_int_equal(result.records[0].outcome, TSW_OUTCOME_OK);
    assert_int_equal(result.records[0].sample_count, 5);
    assert_int_equal(result.round_count, 5);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_a_death_while_verifying_adds_the_unanswered_again(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    found(&f, 0);
    for (int32_t i = 0; i < 3; i++)
        built(&f, 0, i, (uint64_t)i);
    config_state(&f, 0, TSW_OUTCOME_OK);
    died(&f, 1, TSW_OUTCOME_RUN_TIMEOUT);
    ready(&f);
    expect(&f, TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG);
    assert_true(f.actions.items[1].verified);
    assert_int_equal(f.actions.items[2].config_index, 2);
    assert_false(f.actions.items[2].verified);
    config_state(&f, 2, TSW_OUTCOME_OK);
    expect(&f, TSW_LANE_TIME_CELL);
    close_lane(&f);
}

static void test_a_lost_device_gets_its_worker_killed(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    config_state(&f, 2, TSW_OUTCOME_RUN_TIMEOUT);
    expect(&f, TSW_LANE_KILL_WORKER);
    /* What it still says does not count, nor whom its death blames. */
    config_state(&f, 0, TSW_OUTCOME_WRONG_RESULT);
    expect_nothing(&f);
    died(&f, 0, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_START_WORKER);
    ready(&f);
    expect(&f, TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG, TSW_LANE_TIME_CELL);
    close_lane(&f);
}

static void test_the_last_config_lost_ends_the_cell_before_the_worker_is_gone(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    died(&f, 0, TSW_OUTCOME_DEVICE_LOST);
    ready(&f);
    died(&f, 1, TSW_OUTCOME_DEVICE_LOST);
    ready(&f);
    config_state(&f, 2, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_KILL_WORKER, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
    lease(&f, 1);
    found(&f, 1);
    expect_nothing(&f);
    died(&f, 2, TSW_OUTCOME_DEVICE_LOST); /* of the cell before */
    expect(&f, TSW_LANE_START_WORKER);
    ready(&f);
    expect(&f, TSW_LANE_BEGIN_CELL);
    close_lane(&f);
}

static void test_two_deaths_without_a_culprit_end_the_cell(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_START_WORKER);
    ready(&f);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_START_WORKER, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.complete, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(result.records[i].outcome, TSW_OUTCOME_DEVICE_LOST);
        assert_string_equal(result.records[i].detail,
                            "2 workers died in this cell outside any config: gone");
    }
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_a_cell_that_cannot_begin_ends_with_that_outcome(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    found(&f, 0);
    built(&f, 0, 0, 0);
    build_failed(&f, 0, 1, TSW_OUTCOME_COMPILE_FAILED);
    f.actions.count = 0;
    assert_int_equal(
        tsw_lane_cell_failed(f.lane, TSW_OUTCOME_OUT_OF_MEMORY, "too large", &f.actions, &f.err),
        TSW_OK);
    expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[0].outcome, TSW_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_COMPILE_FAILED);
    assert_int_equal(result.records[2].outcome, TSW_OUTCOME_OUT_OF_MEMORY);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_two_workers_that_never_get_ready_retire_the_gpu(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    round_of(&f, TSW_STAGE_ROUND, 0, ALL3);
    lease(&f, 1);
    died(&f, 1, TSW_OUTCOME_DEVICE_LOST);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_START_WORKER);
    ready(&f); /* one failure is forgiven */
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_START_WORKER);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    /* Both cells are gone, compile-only ones are asked for in their place. */
    expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_RETIRE, TSW_LANE_ASK_CELL, TSW_LANE_ASK_CELL);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.complete, 0);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_DEVICE_LOST);
    assert_int_equal(result.records[0].outcome, TSW_OUTCOME_INTERRUPTED);
    assert_int_equal(result.records[0].sample_count, 1);
    tsw_cell_result_fini(&result);
    assert_true(tsw_lane_is_idle(f.lane));
    lease(&f, 2); /* under way before the coordinator knew */
    expect(&f, TSW_LANE_ASK_CELL);
    assert_true(tsw_lane_is_idle(f.lane));
    close_lane(&f);
}

static void unfit(fixture_t *f, bool interrupted)
{
    f->actions.count = 0;
    assert_int_equal(tsw_lane_gpu_unfit(f->lane, interrupted, &f->actions, &f->err), TSW_OK);
}

static void test_an_unfit_gpu_is_retired_at_once(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    round_of(&f, TSW_STAGE_ROUND, 0, ALL3);
    unfit(&f, false);
    expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_RETIRE, TSW_LANE_ASK_CELL);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.complete, 0); /* others measure it anew */
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_INTERRUPTED);
    tsw_cell_result_fini(&result);
    f.actions.count = 0;
    assert_int_equal(tsw_lane_gpu_unfit(f.lane, false, &f.actions, &f.err), TSW_ERR_BUG);
    close_lane(&f);
    f = open_timing();
    unfit(&f, true); /* the run ends anyway */
    expect_nothing(&f);
    close_lane(&f);
}

static void test_workers_that_die_with_nothing_to_do_retire_the_gpu_too(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_START_WORKER);
    ready(&f);
    expect_nothing(&f);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_RETIRE);
    close_lane(&f);
}

static void test_a_gpu_lost_before_the_first_cell_still_asks_for_compile_only_cells(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    expect(&f, TSW_LANE_RETIRE, TSW_LANE_ASK_CELL, TSW_LANE_ASK_CELL);
    close_lane(&f);
}

static void test_compile_only_cells_need_no_worker(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    assert_int_equal(tsw_lane_start_without_device(f.lane, &f.actions, &f.err), TSW_OK);
    expect(&f, TSW_LANE_ASK_CELL, TSW_LANE_ASK_CELL);
    lease(&f, 3);
    build_failed(&f, 3, TSW_LANE_REFERENCE, TSW_OUTCOME_COMPILE_FAILED); /* of no use here */
    built(&f, 3, 0, 0);
    built(&f, 3, 1, 0);
    expect_nothing(&f);
    build_failed(&f, 3, 2, TSW_OUTCOME_COMPILE_TIMEOUT);
    expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_ASK_CELL);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.complete, 1);
    assert_int_equal(result.arch, 80);
    assert_string_equal(result.gpu.uuid, "");
    assert_int_equal(result.records[0].outcome, TSW_OUTCOME_COMPILED);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_COMPILED);
    assert_int_equal(result.records[1].build.registers, 33);
    assert_int_equal(result.records[2].outcome, TSW_OUTCOME_COMPILE_TIMEOUT);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

/* One by its launch outside the race, one since that cannot be: both have their sample. */
static void test_a_config_dropped_by_its_first_launch_is_ok(void **state)
{
    (void)state;
    const uint32_t indices[] = {0, 1, 2};
    const uint8_t fates[] = {TSW_FATE_WINNER, TSW_FATE_HOPELESS, TSW_FATE_SUSPECT};
    tsw_lane_timed_t end = {.pick = 0, .indices = indices, .fates = fates, .count = 3};
    fixture_t f = open_timing();
    round_of(&f, TSW_STAGE_VERIFY, 0, ALL3);
    round_of(&f, TSW_STAGE_FINAL, 0, (const uint32_t[]){0, UINT32_MAX});
    assert_int_equal(tsw_lane_cell_timed(f.lane, &end, &f.actions, &f.err), TSW_OK);
    tsw_cell_result_t result = take(&f);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(result.records[i].outcome, TSW_OUTCOME_OK);
        assert_int_equal(result.records[i].fate, fates[i]);
    }
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_a_death_in_the_warm_up_leaves_all_rounds_to_do(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    round_of(&f, TSW_STAGE_WARMUP, 0, ALL3);
    round_of(&f, TSW_STAGE_WARMUP, 1, ALL3);
    died(&f, 1, TSW_OUTCOME_DEVICE_LOST);
    ready(&f);
    assert_int_equal(f.actions.items[3].type, TSW_LANE_TIME_CELL);
    assert_int_equal(f.actions.items[3].first_round, 0);
    close_lane(&f);
}

static void test_abandon_tells_of_aliases_what_is_known_of_their_config(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    start(&f);
    ready(&f);
    lease(&f, 0);
    found(&f, 0);
    built(&f, 0, 0, 7);
    built(&f, 0, 1, 7);
    config_state(&f, 0, TSW_OUTCOME_WRONG_RESULT);
    abandon(&f);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_WRONG_RESULT);
    assert_string_equal(result.records[1].detail, "launches as config 0 does: so it is");
    assert_int_equal(result.records[2].outcome, TSW_OUTCOME_INTERRUPTED);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_abandon_stores_what_is_finished_and_gives_all_back(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    round_of(&f, TSW_STAGE_ROUND, 0, ALL3);
    config_state(&f, 1, TSW_OUTCOME_WRONG_RESULT);
    lease(&f, 1);
    abandon(&f);
    expect(&f, TSW_LANE_KILL_WORKER, TSW_LANE_STORE_CELL, TSW_LANE_GIVE_BACK, TSW_LANE_GIVE_BACK);
    assert_int_equal(f.actions.items[2].cell, 0);
    assert_int_equal(f.actions.items[2].attempt, 4);
    assert_int_equal(f.actions.items[3].cell, 1);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.complete, 0);
    assert_int_equal(result.records[0].outcome, TSW_OUTCOME_INTERRUPTED);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_WRONG_RESULT);
    tsw_cell_result_fini(&result);
    /* All that comes late does nothing; a late lease goes back. */
    config_state(&f, 0, TSW_OUTCOME_OK);
    timed(&f);
    died(&f, 0, TSW_OUTCOME_DEVICE_LOST);
    expect_nothing(&f);
    lease(&f, 2);
    expect(&f, TSW_LANE_GIVE_BACK);
    abandon(&f);
    expect_nothing(&f);
    close_lane(&f);
}

static void test_abandon_with_nothing_finished_stores_nothing(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    abandon(&f);
    expect(&f, TSW_LANE_KILL_WORKER, TSW_LANE_GIVE_BACK);
    close_lane(&f);
}

/* As if nothing had been timed; another kill in the same cell is no accident. */
static void test_a_kill_from_outside_costs_the_rounds_once(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    round_of(&f, TSW_STAGE_ROUND, 0, ALL3);
    killed(&f, 1);
    expect(&f, TSW_LANE_START_WORKER);
    ready(&f);
    expect(&f, TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG,
           TSW_LANE_TIME_CELL);
    assert_true(f.actions.items[2].verified);
    assert_int_equal(f.actions.items[4].first_round, 0);
    round_of(&f, TSW_STAGE_ROUND, 0, ALL3);
    killed(&f, 1);
    ready(&f);
    expect(&f, TSW_LANE_BEGIN_CELL, TSW_LANE_ADD_CONFIG, TSW_LANE_ADD_CONFIG, TSW_LANE_TIME_CELL);
    assert_int_equal(f.actions.items[3].first_round, 1);
    round_of(&f, TSW_STAGE_ROUND, 1, (const uint32_t[]){0, 2, UINT32_MAX});
    timed(&f);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[0].sample_count, 2);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_DEVICE_LOST);
    assert_string_equal(result.records[1].detail, "killed");
    assert_int_equal(result.round_count, 2);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_an_interrupted_death_is_no_result(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    round_of(&f, TSW_STAGE_ROUND, 0, ALL3);
    f.actions.count = 0;
    assert_int_equal(
        tsw_lane_worker_died(f.lane, 1, TSW_OUTCOME_DEVICE_LOST, "gone", true, &f.actions, &f.err),
        TSW_OK);
    expect_nothing(&f);
    abandon(&f);
    expect(&f, TSW_LANE_STORE_CELL, TSW_LANE_GIVE_BACK);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_INTERRUPTED);
    assert_int_equal(result.records[1].sample_count, 1);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_a_config_without_a_timed_round_is_not_ok(void **state)
{
    (void)state;
    fixture_t f = open_timing();
    round_of(&f, TSW_STAGE_WARMUP, 0, ALL3);
    round_of(&f, TSW_STAGE_ROUND, 0, (const uint32_t[]){0, UINT32_MAX});
    timed(&f);
    tsw_cell_result_t result = take(&f);
    assert_int_equal(result.records[0].outcome, TSW_OUTCOME_OK);
    assert_int_equal(result.records[1].outcome, TSW_OUTCOME_SKIPPED);
    tsw_cell_result_fini(&result);
    close_lane(&f);
}

static void test_events_that_cannot_be_are_bugs(void **state)
{
    (void)state;
    fixture_t f = open_lane(&small);
    tsw_lane_built_t built_wrong = {.cell = 0, .config_index = 3};
    assert_int_equal(tsw_lane_worker_ready(f.lane, &gpu, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_lane_cell_leased(f.lane, 0, 1, &f.actions, &f.err), TSW_ERR_BUG);
    start(&f);
    f.actions.count = 0;
    assert_int_equal(tsw_lane_start(f.lane, &f.actions, &f.err), TSW_ERR_BUG);
    ready(&f);
    f.actions.count = 0;
    assert_int_equal(tsw_lane_cell_leased(f.lane, 99, 1, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(
        tsw_lane_config_state(f.lane, 0, TSW_OUTCOME_OK, NULL, NULL, &f.actions, &f.err),
        TSW_ERR_BUG);
    lease(&f, 0);
    lease(&f, 1);
    assert_int_equal(tsw_lane_cell_leased(f.lane, 2, 1, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_lane_built(f.lane, &built_wrong, &f.actions, &f.err), TSW_ERR_BUG);
    found(&f, 0);
    built(&f, 0, 0, 0);
    f.actions.count = 0;
    assert_int_equal(
        tsw_lane_config_state(f.lane, 1, TSW_OUTCOME_OK, NULL, NULL, &f.actions, &f.err),
        TSW_ERR_BUG);
    assert_int_equal(
        tsw_lane_cell_timed(f.lane, &(tsw_lane_timed_t){.pick = -1}, &f.actions, &f.err),
        TSW_ERR_BUG);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    abandon(&f);
    died(&f, -1, TSW_OUTCOME_DEVICE_LOST);
    assert_int_equal(
        tsw_lane_worker_died(f.lane, -1, TSW_OUTCOME_OK, NULL, false, &f.actions, &f.err),
        TSW_ERR_BUG);
    close_lane(&f);
}

/* A whole cell; the n-th allocation fails. False: it was not reached. */
static bool run_with_failure(tsw_plan_t *plan, long n)
{
    fixture_t f = {.plan = plan};
    tsw_round_t round = {.stage = TSW_STAGE_ROUND};
    tsw_sample_t sample = {.stage = TSW_STAGE_ROUND};
    uint32_t config = 0;
    tsw_mem_fail_at(n);
    tsw_status_t status = tsw_lane_new(plan, 0, "node", &f.lane, &f.err);
    if (status == TSW_OK)
        status = tsw_lane_start(f.lane, &f.actions, &f.err);
    if (status == TSW_OK)
        status = tsw_lane_worker_ready(f.lane, &gpu, &f.actions, &f.err);
    if (status == TSW_OK)
        status = tsw_lane_cell_leased(f.lane, 0, 1, &f.actions, &f.err);
    for (int32_t i = TSW_LANE_TOOL; i < 3 && status == TSW_OK; i++) {
        tsw_lane_built_t built_ok = {.cell = 0, .config_index = i};
        status = tsw_lane_built(f.lane, &built_ok, &f.actions, &f.err);
    }
    if (status == TSW_OK)
        status = tsw_lane_config_state(f.lane, 0, TSW_OUTCOME_OK, NULL, NULL, &f.actions, &f.err);
    if (status == TSW_OK)
        status = tsw_lane_round(f.lane, &round, &config, &sample, 1, &f.actions, &f.err);
    if (status == TSW_OK)
        status = tsw_lane_cell_timed(f.lane, &(tsw_lane_timed_t){.pick = -1}, &f.actions, &f.err);
    tsw_mem_fail_at(0);
    assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
    tsw_lane_actions_fini(&f.actions);
    tsw_lane_free(f.lane);
    return status == TSW_ERR_NOMEM;
}

static void test_every_failed_allocation_is_reported(void **state)
{
    (void)state;
    tsw_plan_t *plan = plan_build(&small);
    long n = 1;
    while (run_with_failure(plan, n))
        n++;
    assert_true(n > 12);
    plan_built_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells_are_asked_for_once_the_worker_is_ready),
        cmocka_unit_test(test_a_good_cell_goes_from_lease_to_result),
        cmocka_unit_test(test_the_cell_ahead_goes_to_the_worker_while_one_is_timed),
        cmocka_unit_test(test_the_cell_ahead_waits_while_none_is_timed),
        cmocka_unit_test(test_a_death_while_timing_begins_the_cell_ahead_anew),
        cmocka_unit_test(test_a_cell_whose_configs_all_fail_ends_when_the_worker_is_through),
        cmocka_unit_test(test_build_failures_become_records_without_a_worker),
        cmocka_unit_test(test_a_reference_that_does_not_build_makes_all_configs_invalid),
        cmocka_unit_test(test_equal_launches_are_added_and_timed_once),
        cmocka_unit_test(test_configs_go_to_the_worker_in_the_order_of_the_plan),
        cmocka_unit_test(test_an_alias_of_a_failed_config_takes_over_its_outcome),
        cmocka_unit_test(test_a_wrong_config_is_never_timed),
        cmocka_unit_test(test_most_configs_different_blames_the_reference),
        cmocka_unit_test(test_configs_wrong_in_other_ways_do_not_blame_the_reference),
        cmocka_unit_test(test_a_reference_that_kills_the_worker_costs_its_cell),
        cmocka_unit_test(test_a_culprit_gets_its_outcome_and_the_cell_goes_on),
        cmocka_unit_test(test_a_death_while_verifying_adds_the_unanswered_again),
        cmocka_unit_test(test_a_lost_device_gets_its_worker_killed),
        cmocka_unit_test(test_the_last_config_lost_ends_the_cell_before_the_worker_is_gone),
        cmocka_unit_test(test_two_deaths_without_a_culprit_end_the_cell),
        cmocka_unit_test(test_a_cell_that_cannot_begin_ends_with_that_outcome),
        cmocka_unit_test(test_two_workers_that_never_get_ready_retire_the_gpu),
        cmocka_unit_test(test_an_unfit_gpu_is_retired_at_once),
        cmocka_unit_test(test_workers_that_die_with_nothing_to_do_retire_the_gpu_too),
        cmocka_unit_test(test_a_gpu_lost_before_the_first_cell_still_asks_for_compile_only_cells),
        cmocka_unit_test(test_compile_only_cells_need_no_worker),
        cmocka_unit_test(test_a_config_dropped_by_its_first_launch_is_ok),
        cmocka_unit_test(test_a_death_in_the_warm_up_leaves_all_rounds_to_do),
        cmocka_unit_test(test_abandon_tells_of_aliases_what_is_known_of_their_config),
        cmocka_unit_test(test_abandon_stores_what_is_finished_and_gives_all_back),
        cmocka_unit_test(test_abandon_with_nothing_finished_stores_nothing),
        cmocka_unit_test(test_a_kill_from_outside_costs_the_rounds_once),
        cmocka_unit_test(test_an_interrupted_death_is_no_result),
        cmocka_unit_test(test_a_config_without_a_timed_round_is_not_ok),
        cmocka_unit_test(test_events_that_cannot_be_are_bugs),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
