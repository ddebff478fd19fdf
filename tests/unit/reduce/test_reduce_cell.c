#include "base/mem.h"
#include "reduce/reduce.h"
#include "reduced.h"
#include "sample_dataset.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tsw_cell_result_t *new_cell(tsw_dataset_t *dataset)
{
    *dataset = sample_dataset_new();
    return sample_dataset_cell(dataset, "matmul", "dtype=f16", "M=64", 90);
}

static void test_cell_winner_is_the_lowest_median(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 2000000);
    sample_dataset_timed(cell, "T=2", 1000000);
    sample_dataset_timed(cell, "T=3", 1100000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_cell_summary_t *s = &r->cells[0];
    assert_int_equal(s->winner, 1);
    assert_int_equal(s->baseline, 0);
    assert_int_equal(s->tie_count, 0);
    assert_near(s->speedup, 2.0, 1e-9);
    assert_true(s->speedup_low <= s->speedup && s->speedup <= s->speedup_high);
    assert_near(s->configs[2].regret, 0.1, 1e-9);
    assert_near(s->configs[0].regret, 1.0, 1e-9);
    assert_true(s->configs[1].in_tie_set && s->configs[1].regret == 0.0);
    assert_near(s->configs[2].vs_baseline.log_ratio, log(0.55), 1e-9);
    assert_int_equal(s->configs[1].time_ns.n, 10);
    assert_true(s->configs[1].ci_low_ns <= s->configs[1].time_ns.median);
    assert_true(s->configs[1].ci_confidence >= 0.95);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_warm_up_and_fixed_samples_decide_nothing(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 1000000);
    tsw_record_t *slow = sample_dataset_timed(cell, "T=2", 1500000);
    for (uint32_t i = 0; i < 50; i++) {
        sample_dataset_sample(slow, TSW_STAGE_WARMUP, i, 10);
        sample_dataset_sample(slow, TSW_STAGE_FIXED, i, 10);
    }
    tsw_record_t *only_warm = sample_dataset_record(cell, "T=3", TSW_OUTCOME_OK);
    sample_dataset_sample(only_warm, TSW_STAGE_WARMUP, 0, 10);
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 0);
    assert_false(r->cells[0].configs[2].usable);
    assert_true(isinf(r->cells[0].configs[2].regret));
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_times_are_per_launch(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 1000000);
    tsw_record_t *ten = sample_dataset_timed(cell, "T=2", 8000000);
    for (size_t i = 0; i < ten->sample_count; i++)
        ten->samples[i].launches = 10;
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 1);
    assert_near(r->cells[0].configs[1].time_ns.min, 800000.0, 1e-6);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* A config left after one early wave, and a cell with a single round: no interval looks certain. */
static void test_cell_estimates_and_single_samples_have_no_interval(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    tsw_record_t *left = sample_dataset_record(cell, "T=1", TSW_OUTCOME_OK);
    left->fate = TSW_FATE_HOPELESS;
    sample_dataset_sample(left, TSW_STAGE_EARLY, 0, 3000000);
    tsw_record_t *fast = sample_dataset_timed(cell, "T=2", 1000000);
    sample_dataset_sample(fast, TSW_STAGE_EARLY, 0, 1000000);
    cell = sample_dataset_cell(&dataset, "matmul", "dtype=f16", "M=65", 90);
    for (int i = 0; i < 2; i++) {
        tsw_record_t *once = sample_dataset_record(cell, i == 0 ? "T=1" : "T=2", TSW_OUTCOME_OK);
        sample_dataset_sample(once, TSW_STAGE_ROUND, 0, i == 0 ? 3000000 : 1000000);
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    for (size_t i = 0; i < r->cell_count; i++) {
        const tsw_cell_summary_t *s = &r->cells[i];
        bool once = strcmp(s->cell->shape, "M=65") == 0;
        assert_int_equal(s->winner, 1);
        assert_int_equal(s->configs[0].is_estimate, !once);
        assert_true(isnan(s->configs[0].ci_low_ns) && isnan(s->configs[0].ci_high_ns));
        assert_int_equal(isnan(s->configs[1].ci_low_ns) != 0, once);
        assert_near(s->speedup, 3.0, 1e-9);
        assert_true(isnan(s->speedup_low) && isnan(s->speedup_high));
        assert_int_equal(s->configs[1].vs_baseline.n, 1);
        assert_true(isnan(s->configs[1].vs_baseline.low));
        assert_near(s->configs[0].regret, 2.0, 1e-9);
    }
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* A baseline that a race dropped and kept in its final is no estimate. */
static void test_cell_baseline_of_the_final_is_compared_in_pairs(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_record(cell, "T=1", TSW_OUTCOME_OK)->fate = TSW_FATE_HOPELESS;
    sample_dataset_record(cell, "T=2", TSW_OUTCOME_OK)->fate = TSW_FATE_WINNER;
    for (int i = 0; i < 2; i++) {
        sample_dataset_sample(&cell->records[i], TSW_STAGE_EARLY, 0, i == 0 ? 4000000 : 1000000);
        for (uint32_t round = 1; round < 7; round++)
            sample_dataset_sample(&cell->records[i], TSW_STAGE_FINAL, round,
                                  (i == 0 ? 3000000 : 1000000) + 1000 * round);
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_cell_summary_t *s = &r->cells[0];
    assert_int_equal(s->winner, 1);
    assert_false(s->configs[0].is_estimate);
    assert_int_equal(s->configs[1].vs_baseline.n, 6);
    assert_near(s->speedup, 3.0, 0.02);
    assert_true(s->speedup_low < s->speedup && s->speedup < s->speedup_high);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_only_ok_configs_are_usable(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 1000000);
    sample_dataset_timed(cell, "T=2", 10)->outcome = TSW_OUTCOME_WRONG_RESULT;
    sample_dataset_timed(cell, "T=3", 10)->outcome = TSW_OUTCOME_SUSPECT;
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 0);
    assert_near(r->cells[0].speedup, 1.0, 0.0);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* Inside 0.5 % is a tie; 0.6 % with a steady difference is none. */
static void test_cell_ties_by_indifference(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 1000000);
    sample_dataset_timed(cell, "T=2", 1004000);
    sample_dataset_timed(cell, "T=3", 1006000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_cell_summary_t *s = &r->cells[0];
    assert_true(s->configs[1].in_tie_set && s->configs[1].regret == 0.0);
    assert_false(s->configs[2].in_tie_set);
    assert_near(s->configs[2].regret, 0.006, 1e-6);
    assert_int_equal(s->tie_count, 1);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* Rounds that swing: 1 % apart in the middle, but not told apart; 4 % apart is never a tie. */
static void test_cell_ties_by_noise_up_to_a_limit(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    tsw_record_t *a = sample_dataset_record(cell, "T=1", TSW_OUTCOME_OK);
    tsw_record_t *b = sample_dataset_record(cell, "T=2", TSW_OUTCOME_OK);
    tsw_record_t *c = sample_dataset_record(cell, "T=3", TSW_OUTCOME_OK);
    a = &cell->records[0];
    b = &cell->records[1];
    for (uint32_t round = 0; round < 10; round++) {
        uint64_t swing = round % 3 == 0 ? 30000 : 0;
        sample_dataset_sample(a, TSW_STAGE_ROUND, round, 1000000 + swing);
        sample_dataset_sample(b, TSW_STAGE_ROUND, round, 1010000);
        sample_dataset_sample(c, TSW_STAGE_ROUND, round, round % 3 == 0 ? 1000000 : 1040000);
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_cell_summary_t *s = &r->cells[0];
    assert_int_equal(s->winner, 0);
    assert_true(s->configs[1].vs_best.low < 0.0);
    assert_true(s->configs[1].vs_best.log_ratio > log1p(0.005));
    assert_true(s->configs[1].in_tie_set);
    assert_true(s->configs[2].vs_best.low < 0.0);
    assert_false(s->configs[2].in_tie_set);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_equal_medians_prefer_the_baseline(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=9", 1000000);
    sample_dataset_timed(cell, "T=1", 1000000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 0);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_alias_has_the_values_of_its_target(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_record(cell, "T=0", TSW_OUTCOME_ALIAS)->alias_of = 1;
    sample_dataset_timed(cell, "T=1", 1000000);
    cell->records[1].unstable = 4;
    sample_dataset_record(cell, "T=2", TSW_OUTCOME_ALIAS)->alias_of = 3;
    sample_dataset_record(cell, "T=3", TSW_OUTCOME_COMPILE_FAILED);
    sample_dataset_record(cell, "T=4", TSW_OUTCOME_ALIAS)->alias_of = 4;
    sample_dataset_record(cell, "T=5", TSW_OUTCOME_ALIAS)->alias_of = 77;
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_cell_summary_t *s = &r->cells[0];
    assert_int_equal(s->winner, 1);
    assert_true(s->configs[0].usable && s->configs[0].is_alias);
    assert_true(s->configs[0].time_ns.median == s->configs[1].time_ns.median);
    assert_true(s->configs[0].ci_low_ns == s->configs[1].ci_low_ns);
    assert_true(s->configs[0].ci_high_ns == s->configs[1].ci_high_ns);
    assert_true(s->configs[0].in_tie_set);
    assert_int_equal(s->configs[0].unstable, 4);
    assert_near(s->speedup, 1.0, 0.0);
    for (int i = 2; i <= 5; i++)
        assert_false(s->configs[i].usable);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_without_common_rounds_compares_medians(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 1000000);
    tsw_record_t *late = sample_dataset_record(cell, "T=2", TSW_OUTCOME_OK);
    for (uint32_t round = 20; round < 30; round++)
        sample_dataset_sample(late, TSW_STAGE_ROUND, round, 500000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 1);
    assert_int_equal(r->cells[0].configs[0].vs_best.n, 0);
    assert_near(r->cells[0].configs[0].regret, 1.0, 1e-3);
    assert_near(r->cells[0].speedup, 2.0, 1e-3);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_of_a_search_gives_way_to_a_later_generation(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 1000);
    sample_dataset_timed(cell, "T=2",
                         100); /* alone the fastest, but not measured beside the rest */
    cell->coverage.generation = 1;
    const char *shape = cell->shape;
    cell = sample_dataset_cell(&dataset, cell->pack, cell->variant, shape, cell->arch);
    cell->key.lo++;
    cell->coverage.generation = 2;
    sample_dataset_timed(cell, "T=1", 1000);
    sample_dataset_timed(cell, "T=3", 900);
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cell_count, 1);
    assert_int_equal(r->cells[0].cell->coverage.generation, 2);
    assert_string_equal(r->cells[0].configs[r->cells[0].winner].config, "T=3");
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_without_usable_config_has_no_winner(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_record(cell, "T=1", TSW_OUTCOME_RUN_TIMEOUT);
    sample_dataset_record(cell, "T=2", TSW_OUTCOME_WRONG_RESULT);
    cell = sample_dataset_cell(&dataset, "matmul", "dtype=f16", "M=64", 120);
    sample_dataset_record(cell, "T=1", TSW_OUTCOME_COMPILED);
    sample_dataset_record(cell, "T=2", TSW_OUTCOME_COMPILE_FAILED);
    cell = sample_dataset_cell(&dataset, "matmul", "dtype=f16", "M=65", 90);
    sample_dataset_timed(cell, "T=1", 1000);
    cell->complete = 0;
    sample_dataset_cell(&dataset, "matmul", "dtype=f16", "M=0", 90); /* the plan skips it */
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cell_count, 2);
    assert_int_equal(r->incomplete_count, 1);
    assert_int_equal(r->group_count, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(r->cells[i].winner, -1);
        assert_int_equal(r->cells[i].compile_only, r->cells[i].cell->arch == 120);
    }
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_roof_comes_from_the_device_itself_if_it_can(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 2000000);
    cell->flops = 1e9;
    cell->bytes = 1e6;
    tsw_calibration_t roofs[] = {{.gpu = cell->gpu, .values = tsw_calibration_unknown()},
                                 {.gpu = cell->gpu, .values = tsw_calibration_unknown()}};
    memcpy(roofs[0].gpu.uuid, "another", 8);
    for (int i = 0; i < 2; i++) {
        roofs[i].values.copy_bytes_per_s = 1e12;
        roofs[i].values.f16_flops_per_s = i == 0 ? 1e12 : 2e12;
    }
    tsw_reduce_options_t with = tsw_reduce_options(8);
    with.calibrations = roofs;
    with.calibration_count = 1;
    for (int i = 0; i < 2; i++) {
        tsw_reduction_t *r = NULL;
        tsw_dataset_canonicalise(&dataset);
        assert_int_equal(tsw_reduce(&dataset, &with, &r, NULL), TSW_OK);
        assert_near(r->cells[0].roof_ns, i == 0 ? 1e6 : 5e5, 1);
        assert_near(r->cells[0].roof_ratio, i == 0 ? 0.5 : 0.25, 1e-3);
        tsw_reduction_free(r);
        with.calibration_count = 2;
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_near(r->cells[0].roof_ratio, 0, 0);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* Config 1 was dropped in round 1: single launches of both, 20 % apart, at a clock at which all is
 * twice as slow as in the rounds that decide. */
static void test_cell_early_samples_give_an_estimate(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 1000000);
    sample_dataset_record(cell, "T=2", TSW_OUTCOME_OK)->fate = TSW_FATE_HOPELESS;
    sample_dataset_record(cell, "T=3", TSW_OUTCOME_OK)->fate = TSW_FATE_HOPELESS;
    sample_dataset_record(cell, "T=4", TSW_OUTCOME_OK);
    tsw_record_t *records = cell->records;
    sample_dataset_sample(&records[0], TSW_STAGE_EARLY, 100, 2000000);
    sample_dataset_sample(&records[1], TSW_STAGE_EARLY, 100, 2400000);
    sample_dataset_sample(&records[0], TSW_STAGE_WARMUP, 100, 3000000);
    sample_dataset_sample(&records[2], TSW_STAGE_WARMUP, 100, 15000000);
    sample_dataset_sample(&records[3], TSW_STAGE_EARLY, 101, 1);  /* fast, but never in a round */
    sample_dataset_sample(&records[0], TSW_STAGE_CONTROL, 3, 10); /* never decides */
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_cell_summary_t *s = &r->cells[0];
    assert_int_equal(s->winner, 0);
    assert_false(s->configs[0].is_estimate);
    assert_int_equal(s->configs[0].time_ns.n, 10);
    assert_true(s->configs[1].usable && s->configs[1].is_estimate);
    assert_near(s->configs[1].regret, 0.2, 1e-9);
    assert_near(s->configs[1].time_ns.median / s->configs[0].time_ns.median, 1.2, 1e-9);
    assert_true(s->configs[2].is_estimate);
    assert_near(s->configs[2].regret, 4.0, 1e-9);
    assert_false(s->configs[3].in_tie_set);
    assert_near(s->configs[3].regret, tsw_reduce_options(8).indifference,
                1e-12); /* left for a reason */
    assert_int_equal(s->tie_count, 0);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* Their early samples are of another clock, so that only the ratio to the winner's tells. */
static void test_cell_estimates_are_told_from_the_winner(void **state)
{
    (void)state;
    static const uint64_t early_ns[] = {2000000, 1500000, 3000000};
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_timed(cell, "T=1", 2000000);
    sample_dataset_timed(cell, "T=2", 1000000);
    sample_dataset_record(cell, "T=3", TSW_OUTCOME_OK)->fate = TSW_FATE_HOPELESS;
    for (size_t i = 0; i < 3; i++)
        sample_dataset_sample(&cell->records[i], TSW_STAGE_EARLY, 100, early_ns[i]);
    /* A round that was slow for the winner says nothing of another's own time. */
    sample_dataset_sample(&cell->records[1], TSW_STAGE_ROUND, 20, 5000000);
    sample_dataset_sample(sample_dataset_record(cell, "T=4", TSW_OUTCOME_OK), TSW_STAGE_ROUND, 20,
                          1234000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 1);
    assert_near(r->cells[0].configs[3].time_ns.median, 1234000.0, 0.0);
    assert_near(r->cells[0].configs[2].time_ns.median, 2000000.0, 500.0);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_of_early_samples_alone_ranks_by_them(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    for (int i = 0; i < 2; i++) {
        tsw_record_t *record = sample_dataset_record(cell, i == 0 ? "T=1" : "T=2", TSW_OUTCOME_OK);
        record->fate = i == 0 ? TSW_FATE_BUDGET : TSW_FATE_WINNER;
        for (uint32_t round = 0; round < 3; round++)
            sample_dataset_sample(record, TSW_STAGE_EARLY, round, i == 0 ? 1300000 : 1000000);
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 1);
    assert_true(r->cells[0].configs[1].is_estimate);
    assert_near(r->cells[0].configs[0].regret, 0.3, 1e-9);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_final_rounds_decide_too(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    tsw_record_t *record = sample_dataset_timed(cell, "T=1", 1000000);
    sample_dataset_sample(record, TSW_STAGE_FINAL, 10, 1000000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].configs[0].time_ns.n, 11);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void assert_winner_by(const char *objective, int32_t winner, double regret)
{
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    sample_dataset_record(cell, "T=1", TSW_OUTCOME_OK);
    sample_dataset_record(cell, "T=2", TSW_OUTCOME_OK);
    tsw_record_t *steady = &cell->records[0];
    tsw_record_t *swings = &cell->records[1];
    for (uint32_t round = 0; round < 40; round++) { /* faster, but every eighth takes double */
        sample_dataset_sample(steady, TSW_STAGE_ROUND, round, 1100000);
        sample_dataset_sample(swings, TSW_STAGE_ROUND, round, round % 8 == 0 ? 2000000 : 1000000);
    }
    tsw_free(dataset.meta.objective);
    dataset.meta.objective = tsw_strdup(objective);
    tsw_reduction_t *r = reduced(&dataset, 8);
    if (r->cells[0].winner != winner)
        fail_msg("by %s config %d wins", objective, r->cells[0].winner);
    assert_near(r->cells[0].configs[1 - winner].regret, regret, 1e-9);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_winner_by_objective(void **state)
{
    (void)state;
    assert_winner_by("median", 1, 0.1);
    assert_winner_by("p90", 0, 2.0 / 1.1 - 1.0);
    assert_winner_by("p99", 0, 2.0 / 1.1 - 1.0);
    assert_winner_by("mean", 0, 1.125 / 1.1 - 1.0);
    tsw_dataset_t dataset;
    const tsw_reduce_options_t options = tsw_reduce_options(8);
    tsw_err_t err = TSW_ERR_INIT;
    tsw_reduction_t *r = NULL;
    sample_dataset_timed(new_cell(&dataset), "T=1", 1000);
    tsw_free(dataset.meta.objective);
    dataset.meta.objective = tsw_strdup("watts");
    assert_int_equal(tsw_reduce(&dataset, &options, &r, &err), TSW_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "'watts' is none of median, p90, p99, mean, energy"));
    tsw_dataset_fini(&dataset);
}

/* Blocks of 1000 launches of 1 ms each, at so many watts. */
static void add_blocks(tsw_record_t *record, double watts)
{
    static const double off[] = {1.0, 1.002, 0.998};
    for (uint32_t round = 0; round < 3; round++) {
        const tsw_sample_t block = {
            .interval_ns = 1000 * record->samples[0].interval_ns,
            .round = 20 + round,
            .launches = 1000,
            .stage = TSW_STAGE_ENERGY,
            .energy_mj =
                (uint32_t)(watts * off[round] * 1e-3 * (double)record->samples[0].interval_ns)};
        assert_int_equal(tsw_record_add_sample(record, &block, NULL), TSW_OK);
    }
}

static void make_energy_cell(tsw_dataset_t *dataset)
{
    tsw_cell_result_t *cell = new_cell(dataset);
    tsw_free(dataset->meta.objective);
    dataset->meta.objective = tsw_strdup("energy");
    sample_dataset_timed(cell, "T=1", 1000000);
    sample_dataset_timed(cell, "T=2", 1050000); /* slower, and takes less */
    sample_dataset_timed(cell, "T=3", 1060000); /* not told from that */
    sample_dataset_timed(cell, "T=4", 1500000); /* not tried */
    add_blocks(&cell->records[0], 600);
    add_blocks(&cell->records[1], 480);
    add_blocks(&cell->records[2], 478);
}

static void test_cell_by_energy(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    make_energy_cell(&dataset);
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_cell_summary_t *s = &r->cells[0];
    assert_int_equal(s->winner, 1);
    assert_int_equal(s->tie_count, 1);
    assert_near(s->configs[0].joules, 0.6, 1e-4);
    assert_near(s->configs[1].joules, 0.504, 1e-4);
    assert_near(s->configs[1].watts, 480, 0.1);
    assert_true(s->configs[1].joules_low < s->configs[1].joules &&
                s->configs[1].joules < s->configs[1].joules_high);
    assert_near(s->speedup, 0.6 / 0.504, 1e-3);
    assert_near(s->configs[0].regret, 0.6 / 0.504 - 1, 1e-3);
    assert_true(s->configs[2].in_tie_set && s->configs[2].regret == 0.0);
    assert_int_equal(s->configs[2].vs_best.n, 3);
    assert_true(isnan(s->configs[3].joules));
    assert_int_equal(s->configs[3].vs_baseline.n, 0);
    assert_near(s->configs[3].regret, 1500.0 / 1050 - 1, 1e-3);
    assert_near(s->configs[1].time_ns.median, 1050000, 500);
    assert_int_equal(s->configs[1].time_ns.n, 10); /* blocks are no times */
    tsw_reduction_free(r);
    tsw_free(dataset.meta.objective);
    dataset.meta.objective = tsw_strdup("median");
    r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 0);
    assert_int_equal(r->cells[0].tie_count, 0);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* Its rival is who takes least besides it, not who is fastest. */
static void test_gain_by_energy_when_the_baseline_wins(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    tsw_free(dataset.meta.objective);
    dataset.meta.objective = tsw_strdup("energy");
    sample_dataset_timed(cell, "T=1", 1000000);
    sample_dataset_timed(cell, "T=2", 1050000);
    sample_dataset_timed(cell, "T=3", 1060000);
    add_blocks(&cell->records[0], 400);
    add_blocks(&cell->records[1], 500);
    add_blocks(&cell->records[2], 450);
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 0);
    assert_near(r->groups[0].gain.ratio, 400 / (1.06 * 450), 1e-3);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_cell_with_a_broken_counter(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    make_energy_cell(&dataset);
    tsw_cell_result_t *cell = &dataset.cells[0];
    cell->records[1].samples[11].energy_mj = 0;
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->cells[0].winner, 2);
    assert_int_equal(r->cells[0].configs[1].outcome, TSW_OUTCOME_SUSPECT);
    assert_string_equal(r->cells[0].configs[1].detail,
                        "the energy counter stood still, or went back");
    tsw_reduction_free(r);
    for (size_t i = 0; i < 3; i++)
        cell->records[i].samples[10].energy_mj = 0;
    r = reduced(&dataset, 8); /* nobody was tried: the fastest does not win for that */
    assert_int_equal(r->cells[0].winner, -1);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* 1e9 flops of f16 take an H200 1.01 us. */
static void test_cell_times_below_the_floor_are_suspect(void **state)
{
    (void)state;
    tsw_dataset_t dataset;
    tsw_cell_result_t *cell = new_cell(&dataset);
    snprintf(cell->gpu.name, sizeof(cell->gpu.name), "NVIDIA H200");
    sample_dataset_timed(cell, "T=1", 900);
    sample_dataset_timed(cell, "T=2", 1500);
    sample_dataset_timed(cell, "T=3", 1000)->fate = TSW_FATE_SUSPECT;
    tsw_record_t *zero = sample_dataset_record(cell, "T=4", TSW_OUTCOME_OK);
    for (uint32_t round = 0; round < 10; round++)
        sample_dataset_sample(zero, TSW_STAGE_ROUND, round, 0);
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_cell_summary_t *s = &r->cells[0];
    assert_int_equal(s->winner, 1);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(s->configs[i].outcome, i == 1 ? TSW_OUTCOME_OK : TSW_OUTCOME_SUSPECT);
        assert_int_equal(s->configs[i].usable, i == 1);
        assert_true(i == 1 || s->configs[i].detail[0] != '\0');
    }
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cell_winner_is_the_lowest_median),
        cmocka_unit_test(test_cell_of_a_search_gives_way_to_a_later_generation),
        cmocka_unit_test(test_cell_warm_up_and_fixed_samples_decide_nothing),
        cmocka_unit_test(test_cell_times_are_per_launch),
        cmocka_unit_test(test_cell_estimates_and_single_samples_have_no_interval),
        cmocka_unit_test(test_cell_baseline_of_the_final_is_compared_in_pairs),
        cmocka_unit_test(test_cell_only_ok_configs_are_usable),
        cmocka_unit_test(test_cell_ties_by_indifference),
        cmocka_unit_test(test_cell_ties_by_noise_up_to_a_limit),
        cmocka_unit_test(test_cell_equal_medians_prefer_the_baseline),
        cmocka_unit_test(test_cell_alias_has_the_values_of_its_target),
        cmocka_unit_test(test_cell_without_common_rounds_compares_medians),
        cmocka_unit_test(test_cell_without_usable_config_has_no_winner),
        cmocka_unit_test(test_cell_roof_comes_from_the_device_itself_if_it_can),
        cmocka_unit_test(test_cell_early_samples_give_an_estimate),
        cmocka_unit_test(test_cell_estimates_are_told_from_the_winner),
        cmocka_unit_test(test_cell_of_early_samples_alone_ranks_by_them),
        cmocka_unit_test(test_cell_final_rounds_decide_too),
        cmocka_unit_test(test_cell_winner_by_objective),
        cmocka_unit_test(test_cell_by_energy),
        cmocka_unit_test(test_gain_by_energy_when_the_baseline_wins),
        cmocka_unit_test(test_cell_with_a_broken_counter),
        cmocka_unit_test(test_cell_times_below_the_floor_are_suspect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
