/* What tuning gained, and which dimensions it did not need. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "reduce/reduce.h"
#include "reduced.h"
#include "sample_dataset.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* Rounds that all drift by up to 8 % together, and each sample by 1 % besides. */
static void add_noisy(tsw_cell_result_t *cell, const char *config, double time_ns, uint64_t seed)
{
    tsw_record_t *record = sample_dataset_record(cell, config, TSW_OUTCOME_OK);
    for (uint32_t round = 0; round < 20; round++) {
        double drift = 0.92 + 0.16 * tsw_rng_uniform(tsw_rng_u64(seed, 1, round, 0, 0));
        double own =
            0.99 + 0.02 * tsw_rng_uniform(tsw_rng_u64(seed, 2, round, record->config_index, 0));
        sample_dataset_sample(record, TSW_STAGE_ROUND, round, (uint64_t)(time_ns * drift * own));
    }
}

static void test_gain_is_the_weighted_geometric_mean(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", "M=1", 90);
    cell->weight = 3;
    sample_dataset_timed(cell, "T=1", 2000000);
    sample_dataset_timed(cell, "T=2", 1000000);
    cell = sample_dataset_cell(&dataset, "p", "dtype=f16", "M=2", 90);
    sample_dataset_timed(cell, "T=1", 1000000);
    sample_dataset_timed(cell, "T=2", 2000000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_speedup_t *gain = &r->groups[0].gain;
    assert_int_equal(gain->cell_count, 2);
    assert_near(gain->ratio, pow(2.0, 3.0 / 4.0) * pow(0.5, 1.0 / 4.0), 1e-6);
    assert_true(gain->low <= gain->ratio && gain->ratio <= gain->high);
    assert_near(gain->high, gain->low, 1e-3);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* The baseline is the best: the best other config decides, so the gain is a loss. */
static void test_gain_when_the_baseline_wins_is_below_1(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", "M=1", 90);
    sample_dataset_timed(cell, "T=1", 900000);
    sample_dataset_timed(cell, "T=2", 1200000);
    sample_dataset_timed(cell, "T=3", 1000000);
    tsw_record_t *alias = sample_dataset_record(cell, "T=4", TSW_OUTCOME_ALIAS);
    alias->alias_of = 0;
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_near(r->groups[0].gain.ratio, 0.9, 1e-6);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_gain_without_another_config_is_none(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", "M=1", 90);
    sample_dataset_timed(cell, "T=1", 900000);
    sample_dataset_record(cell, "T=2", TSW_OUTCOME_WRONG_RESULT);
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->groups[0].gain.cell_count, 0);
    assert_near(r->groups[0].gain.ratio, 0, 0);
    assert_true(isnan(r->groups[0].gain.low));
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_gain_of_single_samples_has_no_interval(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", "M=1", 90);
    for (int i = 0; i < 2; i++) {
        tsw_record_t *record = sample_dataset_record(cell, i == 0 ? "T=1" : "T=2", TSW_OUTCOME_OK);
        sample_dataset_sample(record, TSW_STAGE_ROUND, 0, i == 0 ? 3000000 : 2000000);
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_near(r->groups[0].gain.ratio, 1.5, 1e-9);
    assert_true(isnan(r->groups[0].gain.low) && isnan(r->groups[0].gain.high));
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* T=2 was dropped before the baseline was: no round has both. Once T=3 was measured like the
 * baseline, it is the rival, though T=2 seems faster. */
static void test_gain_without_common_rounds_is_that_of_the_medians(void **state)
{
    (void)state;
    for (int measured = 0; measured < 2; measured++) {
        tsw_dataset_t dataset = sample_dataset_new();
        tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", "M=1", 90);
        sample_dataset_timed(cell, "T=1", 1000000);
        tsw_record_t *record = sample_dataset_record(cell, "T=2", TSW_OUTCOME_OK);
        sample_dataset_sample(record, TSW_STAGE_EARLY, 100, 1250000);
        if (measured)
            sample_dataset_timed(cell, "T=3", 1600000);
        tsw_reduction_t *r = reduced(&dataset, 8);
        assert_near(r->groups[0].gain.ratio, measured ? 1.0 / 1.6 : 0.8, 1e-3);
        assert_true(isnan(r->groups[0].gain.low) == !measured);
        tsw_reduction_free(r);
        tsw_dataset_fini(&dataset);
    }
}

/* The range of three rounds covers 75 % of their median: 95 % of normal values is 1.704 times as
 * wide. */
static void test_gain_of_few_rounds_is_less_certain_than_their_range(void **state)
{
    (void)state;
    static const uint64_t baseline_ns[] = {1490000, 1500000, 1510000};
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", "M=1", 90);
    cell->weight = 4; /* alone, it does not count */
    for (int i = 0; i < 2; i++) {
        tsw_record_t *record = sample_dataset_record(cell, i == 0 ? "T=1" : "T=2", TSW_OUTCOME_OK);
        for (uint32_t round = 0; round < 3; round++)
            sample_dataset_sample(record, TSW_STAGE_ROUND, round,
                                  i == 0 ? baseline_ns[round] : 1000000);
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_speedup_t *gain = &r->groups[0].gain;
    assert_near(gain->ratio, 1.5, 1e-9);
    assert_near(log(gain->high / gain->ratio), 1.704 * log(1.51 / 1.5), 1e-6);
    assert_near(log(gain->ratio / gain->low), 1.704 * log(1.5 / 1.49), 1e-6);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* Three rounds, and one of them twice as long: the range is no measure of the median. */
static void test_gain_of_few_rounds_with_an_outlier_is_not_lost(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    for (uint32_t m = 1; m <= 4; m++) {
        char shape[16];
        snprintf(shape, sizeof(shape), "M=%u", m);
        tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", shape, 90);
        for (int i = 0; i < 2; i++) {
            tsw_record_t *record =
                sample_dataset_record(cell, i == 0 ? "T=1" : "T=2", TSW_OUTCOME_OK);
            for (uint32_t round = 0; round < 3; round++)
                sample_dataset_sample(record, TSW_STAGE_ROUND, round,
                                      i == 0                 ? 1200000
                                      : m == 1 && round == 1 ? 2000000
                                                             : 1000000);
        }
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_near(r->groups[0].gain.ratio, 1.2, 1e-6);
    assert_near(r->groups[0].gain.low, 1.2 * exp(-0.1 / 4), 1e-6);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* Calls differ by 8 % either way, as clocks and schedulers have it; the pairs do not. */
static void test_gain_when_calls_vary_by_8_percent_stays(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        tsw_dataset_t dataset = sample_dataset_new();
        for (uint32_t m = 1; m <= 4; m++) {
            char shape[16];
            snprintf(shape, sizeof(shape), "M=%u", m);
            tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", shape, 90);
            add_noisy(cell, "T=1", 1000000, 100 * seed + m);
            add_noisy(cell, "T=2", 1000000 / 1.05, 100 * seed + m);
        }
        tsw_reduction_t *r = reduced(&dataset, 8);
        assert_near(r->groups[0].gain.ratio, 1.05, 0.006);
        assert_true(r->groups[0].gain.low > 1.03);
        tsw_reduction_free(r);
        tsw_dataset_fini(&dataset);
    }
}

/* Twelve configs of a loss over rows: the occupancy is worth 2.5 %, num_ctas nothing. */
static void test_cross_entropy_drops_num_ctas(void **state)
{
    static const int occupancies[] = {1, 2, 4, 8};
    static const double times[] = {1.06, 1.0, 0.975, 0.99};
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        tsw_dataset_t dataset = sample_dataset_new();
        for (uint32_t m = 1; m <= 3; m++) {
            char shape[16], config[48];
            snprintf(shape, sizeof(shape), "M=%u", m);
            tsw_cell_result_t *cell =
                sample_dataset_cell(&dataset, "cross_entropy", "dtype=f16", shape, 90);
            add_noisy(cell, "occupancy=2 num_ctas=1", 1000000, 10 * seed + m);
            for (int o = 0; o < 4; o++) {
                for (int ctas = 1; ctas <= 4; ctas *= 2) {
                    snprintf(config, sizeof(config), "occupancy=%d num_ctas=%d", occupancies[o],
                             ctas);
                    if (o != 1 || ctas != 1)
                        add_noisy(cell, config, 1000000 * times[o], 10 * seed + m);
                }
            }
        }
        tsw_reduction_t *r = reduced(&dataset, 8);
        const tsw_group_t *group = &r->groups[0];
        tsw_buf_t dims = TSW_BUF_INIT;
        tsw_reduce_dropped_dims(group, &dims);
        assert_int_equal(group->candidate_count, 12);
        assert_string_equal(tsw_buf_text(&dims), "num_ctas=1");
        assert_string_equal(group->selected[1], "occupancy=4 num_ctas=1");
        assert_near(group->worst_regret, 0, 0.005);
        tsw_buf_fini(&dims);
        tsw_reduction_free(r);
        tsw_dataset_fini(&dataset);
    }
}

static void test_a_dim_that_never_varied_is_not_called_dropped(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", "M=1", 90);
    sample_dataset_timed(cell, "BLOCK=256 occupancy=1", 1200000);
    sample_dataset_timed(cell, "BLOCK=512 occupancy=1", 1000000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    tsw_buf_t dims = TSW_BUF_INIT;
    tsw_reduce_dropped_dims(&r->groups[0], &dims);
    assert_string_equal(tsw_buf_text(&dims), "");
    tsw_buf_fini(&dims);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_values_alone_have_the_regret_of_their_best_config(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    for (uint32_t m = 1; m <= 2; m++) {
        char shape[16];
        snprintf(shape, sizeof(shape), "M=%u", m);
        tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", shape, 90);
        cell->weight = m == 1 ? 3 : 1;
        sample_dataset_timed(cell, "BLOCK=256 occupancy=1", 1200000);
        sample_dataset_timed(cell, "BLOCK=256 occupancy=2", 1100000);
        sample_dataset_timed(cell, "BLOCK=512 occupancy=1", m == 1 ? 1000000 : 1300000);
        if (m == 1)
            sample_dataset_timed(cell, "BLOCK=1024 occupancy=2", 1000000);
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    tsw_value_regret_t *values = NULL;
    size_t count = 0;
    assert_int_equal(tsw_reduce_values(&r->groups[0], &values, &count, NULL), TSW_OK);
    assert_int_equal(count, 5);
    static const char *const order[] = {"BLOCK=512", "BLOCK=256", "BLOCK=1024", "occupancy=2",
                                        "occupancy=1"};
    for (size_t i = 0; i < count; i++)
        assert_string_equal(values[i].text, order[i]);
    assert_near(values[0].worst_regret, 13.0 / 11 - 1, 1e-4);
    assert_near(values[0].mean_regret, (13.0 / 11 - 1) / 4, 1e-4);
    assert_near(values[1].mean_regret, 0.075, 1e-4);
    assert_true(isinf(values[2].mean_regret) && isinf(values[2].worst_regret));
    assert_near(values[3].worst_regret, 0, 0);
    assert_near(values[4].mean_regret, (12.0 / 11 - 1) / 4, 1e-4);
    tsw_free(values);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* The first launches of a process find nothing warm: kept, flagged, and without a say. */
static void test_slow_first_samples_do_not_decide(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "p", "dtype=f16", "M=1", 90);
    sample_dataset_timed(cell, "T=1", 1000000);
    tsw_record_t *fast = sample_dataset_timed(cell, "T=2", 900000);
    sample_dataset_sample(fast, TSW_STAGE_WARMUP, 0, 50000000);
    sample_dataset_sample(fast, TSW_STAGE_WARMUP, 1, 9000000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_cell_summary_t *summary = r->groups[0].cells[0];
    const tsw_config_result_t *winner = &summary->configs[summary->winner];
    assert_string_equal(winner->config, "T=2");
    assert_near(r->groups[0].gain.ratio, 10.0 / 9.0, 1e-5);
    assert_int_equal(winner->record->sample_count, 12);
    assert_int_equal(winner->time_ns.n, 10);
    assert_true(winner->time_ns.max < 1000000);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gain_is_the_weighted_geometric_mean),
        cmocka_unit_test(test_gain_when_the_baseline_wins_is_below_1),
        cmocka_unit_test(test_gain_without_another_config_is_none),
        cmocka_unit_test(test_gain_of_single_samples_has_no_interval),
        cmocka_unit_test(test_gain_without_common_rounds_is_that_of_the_medians),
        cmocka_unit_test(test_gain_of_few_rounds_is_less_certain_than_their_range),
        cmocka_unit_test(test_gain_of_few_rounds_with_an_outlier_is_not_lost),
        cmocka_unit_test(test_gain_when_calls_vary_by_8_percent_stays),
        cmocka_unit_test(test_cross_entropy_drops_num_ctas),
        cmocka_unit_test(test_a_dim_that_never_varied_is_not_called_dropped),
        cmocka_unit_test(test_values_alone_have_the_regret_of_their_best_config),
        cmocka_unit_test(test_slow_first_samples_do_not_decide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
