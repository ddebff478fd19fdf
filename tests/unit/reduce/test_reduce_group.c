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
#include <string.h>

#include <cmocka.h>

enum { CONFIGS = 12 };

/* Twelve cells, each won by a config of its own; a config is the slower, the further from its cell:
 * 2 % per step. Config "T=00" is the baseline. order: of records, cells and samples. */
static tsw_dataset_t staircase(uint64_t seed)
{
    tsw_dataset_t dataset = sample_dataset_new();
    uint32_t cells[CONFIGS];
    tsw_rng_permutation(seed, 1, 0, cells, CONFIGS);
    for (size_t i = 0; i < CONFIGS; i++) {
        char shape[32];
        uint32_t records[CONFIGS];
        uint32_t rounds[10];
        snprintf(shape, sizeof(shape), "M=%u", cells[i]);
        tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "matmul", "dtype=f16", shape, 90);
        cell->rank = (int32_t)seed;
        tsw_rng_permutation(seed, 2, i, records, CONFIGS);
        tsw_rng_permutation(seed, 3, i, rounds, 10);
        for (size_t j = 0; j < CONFIGS; j++) {
            char config[32];
            uint32_t c = records[j];
            uint64_t distance = c > cells[i] ? c - cells[i] : cells[i] - c;
            snprintf(config, sizeof(config), "T=%02u", c);
            tsw_record_t *record = sample_dataset_record(cell, config, TSW_OUTCOME_OK);
            record->config_index = c;
            for (size_t k = 0; k < 10; k++)
                sample_dataset_sample(record, TSW_STAGE_ROUND, rounds[k],
                                      (1000000 + 20000 * distance) * (100 + rounds[k]) / 100);
        }
    }
    return dataset;
}

static void test_group_takes_at_most_as_many_as_allowed(void **state)
{
    (void)state;
    tsw_dataset_t dataset = staircase(0);
    tsw_reduction_t *r = reduced(&dataset, 4);
    assert_int_equal(r->group_count, 1);
    const tsw_group_t *g = &r->groups[0];
    assert_int_equal(g->selected_count, 4);
    assert_int_equal(g->candidate_count, CONFIGS);
    assert_string_equal(g->selected[0], "T=00");
    for (size_t i = 2; i < g->selected_count; i++)
        assert_true(strcmp(g->selected[i - 1], g->selected[i]) < 0);
    assert_int_equal(g->cell_count, CONFIGS);
    assert_near(g->full_mean_regret, 0.0, 0.0);
    assert_near(g->baseline_worst_regret, 0.22, 1e-6);
    assert_near(g->baseline_mean_regret, 0.11, 1e-6);
    assert_near(g->mean_regret, 9 * 0.02 / 12, 1e-6); /* 0 has one neighbour, three have two: */
    assert_near(g->worst_regret, 0.04, 1e-6);         /* one cell is further away */
    assert_int_equal(g->dropped_winner_count, CONFIGS - 4);
    double worst = 0.0;
    for (size_t i = 0; i < g->dropped_winner_count; i++) {
        assert_int_equal(g->dropped_winners[i].cell_count, 1);
        worst = fmax(worst, g->dropped_winners[i].worst_regret);
    }
    assert_near(worst, g->worst_regret, 0.0);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_group_with_room_for_all_winners_loses_nothing(void **state)
{
    (void)state;
    tsw_dataset_t dataset = staircase(0);
    tsw_reduction_t *r = reduced(&dataset, CONFIGS);
    const tsw_group_t *g = &r->groups[0];
    assert_int_equal(g->selected_count, CONFIGS);
    assert_int_equal(g->dropped_winner_count, 0);
    assert_near(g->worst_regret, 0.0, 0.0);
    for (size_t j = 0; j < g->cell_count; j++) {
        const tsw_cell_summary_t *cell = g->cells[j];
        assert_string_equal(g->selected[g->choice[j]], cell->configs[cell->winner].config);
    }
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* What is left out is told apart by 5 % on at least one shape; an alias is told with its target. */
static void test_left_out_configs_are_close_up_to_5_percent(void **state)
{
    (void)state;
    static const struct {
        uint64_t time, other_time;
        size_t close;
    } cases[] = {{1049000, 1049000, 1}, {1051000, 1051000, 0}, {1300000, 1049000, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_dataset_t dataset = sample_dataset_new();
        for (int m = 0; m < 2; m++) {
            tsw_cell_result_t *cell =
                sample_dataset_cell(&dataset, "p", "dtype=f16", m == 0 ? "M=1" : "M=2", 90);
            sample_dataset_timed(cell, "T=1", 2000000);
            sample_dataset_timed(cell, "T=2", 1000000);
            sample_dataset_timed(cell, "T=4", m == 0 ? cases[i].time : cases[i].other_time);
            tsw_record_t *alias = sample_dataset_record(cell, "T=8", TSW_OUTCOME_ALIAS);
            alias->alias_of = 1;
        }
        tsw_reduction_t *r = reduced(&dataset, 8);
        assert_int_equal(r->groups[0].selected_count, 2);
        assert_int_equal(r->groups[0].close_count, cases[i].close);
        tsw_reduction_free(r);
        tsw_dataset_fini(&dataset);
    }
}

static void append_f64(tsw_buf_t *out, double value)
{
    tsw_buf_append(out, &value, sizeof(value));
}

/* All that a reduction says, as bytes. */
static void dump(const tsw_reduction_t *r, tsw_buf_t *out)
{
    tsw_buf_append(out, &r->digest, sizeof(r->digest));
    for (size_t i = 0; i < r->cell_count; i++) {
        const tsw_cell_summary_t *s = &r->cells[i];
        tsw_buf_printf(out, "%s %d %d %u\n", s->cell->shape, s->winner, s->baseline, s->tie_count);
        append_f64(out, s->speedup);
        append_f64(out, s->speedup_low);
        for (size_t c = 0; c < s->config_count; c++) {
            tsw_buf_append_text(out, s->configs[c].config);
            append_f64(out, s->configs[c].regret);
            append_f64(out, s->configs[c].time_ns.median);
            append_f64(out, s->configs[c].time_ns.mean);
            append_f64(out, s->configs[c].vs_best.low);
            append_f64(out, s->configs[c].vs_baseline.log_ratio);
        }
    }
    for (size_t i = 0; i < r->group_count; i++) {
        const tsw_group_t *g = &r->groups[i];
        append_f64(out, g->mean_regret);
        append_f64(out, g->baseline_mean_regret);
        for (size_t c = 0; c < g->selected_count; c++)
            tsw_buf_append_text(out, g->selected[c]);
        for (size_t j = 0; j < g->cell_count; j++)
            tsw_buf_printf(out, "%s %u\n", g->cells[j]->cell->shape, g->choice[j]);
    }
}

static void test_reduction_does_not_depend_on_order(void **state)
{
    (void)state;
    tsw_buf_t first = TSW_BUF_INIT;
    for (uint64_t seed = 0; seed < 5; seed++) {
        tsw_dataset_t dataset = staircase(seed);
        tsw_reduction_t *r = reduced(&dataset, 5);
        tsw_key_t digest = r->digest;
        r->digest = (tsw_key_t){0}; /* the order of samples is in the record set's own digest */
        tsw_buf_t bytes = TSW_BUF_INIT;
        dump(r, &bytes);
        r->digest = digest;
        if (seed == 0) {
            first = bytes;
        } else {
            assert_int_equal(bytes.size, first.size);
            assert_memory_equal(bytes.data, first.data, first.size);
            tsw_buf_fini(&bytes);
        }
        tsw_reduction_free(r);
        tsw_dataset_fini(&dataset);
    }
    tsw_buf_fini(&first);
}

static void test_group_weights_decide_what_matters(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    static const char *const shapes[] = {"M=1", "M=2", "M=3"};
    static const double weights[] = {1.0, 10.0, 0.0};
    for (int i = 0; i < 3; i++) {
        tsw_cell_result_t *cell =
            sample_dataset_cell(&dataset, "matmul", "dtype=f16", shapes[i], 90);
        cell->weight = weights[i];
        sample_dataset_timed(cell, "T=3", 2000000); /* the baseline: first all the same */
        sample_dataset_timed(cell, "T=1", i != 1 ? 1000000 : 1900000);
        sample_dataset_timed(cell, "T=2", i != 1 ? 1900000 : 1500000);
    }
    tsw_reduction_t *r = reduced(&dataset, 2);
    assert_string_equal(r->groups[0].selected[0], "T=3");
    assert_string_equal(r->groups[0].selected[1], "T=2");
    assert_int_equal(r->groups[0].dropped_winner_count, 1);
    assert_string_equal(r->groups[0].dropped_winners[0].config, "T=1");
    assert_near(r->groups[0].mean_regret, 0.9 / 11.0, 1e-6);
    assert_near(r->groups[0].worst_regret, 0.9, 1e-6);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

/* In every cell T=1 and T=2 tie, but in the last two, which keep both in the table; T=4 wins the
 * first cell by nothing that counts. */
static void test_group_choice_among_ties_is_the_fastest_then_the_first(void **state)
{
    (void)state;
    static const uint64_t times[][2] = {{1001000, 1002000},
                                        {1002000, 1001000},
                                        {1001000, 1001000},
                                        {1000000, 2000000},
                                        {2000000, 1000000}};
    static const char *const chosen[] = {"T=1", "T=2", "T=1", "T=1", "T=2"};
    tsw_dataset_t dataset = sample_dataset_new();
    for (size_t i = 0; i < 5; i++) {
        char shape[8];
        snprintf(shape, sizeof(shape), "M=%zu", i);
        tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "matmul", "dtype=f16", shape, 90);
        sample_dataset_timed(cell, "T=3", 3000000);
        sample_dataset_timed(cell, "T=1", times[i][0]);
        sample_dataset_timed(cell, "T=2", times[i][1]);
        if (i == 0)
            sample_dataset_timed(cell, "T=4", 1000000);
    }
    tsw_reduction_t *r = reduced(&dataset, 3);
    const tsw_group_t *g = &r->groups[0];
    assert_int_equal(g->selected_count, 3);
    assert_int_equal(g->dropped_winner_count, 0);
    for (size_t j = 0; j < g->cell_count; j++)
        assert_string_equal(g->selected[g->choice[j]], chosen[g->cells[j]->cell->shape[2] - '0']);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_group_keeps_a_baseline_that_fails_somewhere(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_cell_result_t *cell = sample_dataset_cell(&dataset, "matmul", "dtype=f16", "M=1", 90);
    sample_dataset_record(cell, "T=0", TSW_OUTCOME_LAUNCH_FAILED);
    sample_dataset_timed(cell, "T=1", 1000000);
    cell = sample_dataset_cell(&dataset, "matmul", "dtype=f16", "M=2", 90);
    sample_dataset_timed(cell, "T=0", 1000000);
    sample_dataset_timed(cell, "T=1", 2000000);
    tsw_reduction_t *r = reduced(&dataset, 8);
    const tsw_group_t *g = &r->groups[0];
    assert_int_equal(g->selected_count, 2);
    assert_string_equal(g->selected[0], "T=0");
    assert_true(isinf(g->baseline_worst_regret));
    assert_near(g->worst_regret, 0.0, 0.0);
    tsw_reduction_free(r);
    /* with room for the baseline alone, a cell is left without a choice, and that is said */
    r = reduced(&dataset, 1);
    g = &r->groups[0];
    assert_int_equal(g->selected_count, 1);
    assert_true(isinf(g->worst_regret));
    assert_int_equal((g->choice[0] == UINT32_MAX) + (g->choice[1] == UINT32_MAX), 1);
    assert_int_equal(g->candidate_count, 2);
    tsw_reduction_free(r);
    for (size_t j = 0; j < 2; j++) /* now everywhere */
        dataset.cells[j].records[0].outcome = TSW_OUTCOME_LAUNCH_FAILED;
    r = reduced(&dataset, 8);
    assert_int_equal(r->groups[0].selected_count, 2);
    assert_int_equal(r->groups[0].candidate_count, 1);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_groups_are_by_pack_and_arch_and_wanted_variants(void **state)
{
    (void)state;
    static const char *const packs[] = {"rope", "matmul"};
    static const char *const variants[] = {"dtype=f32", "dtype=f16"};
    tsw_dataset_t dataset = sample_dataset_new();
    for (int i = 0; i < 8; i++) {
        tsw_cell_result_t *cell = sample_dataset_cell(&dataset, packs[i & 1], variants[i >> 1 & 1],
                                                      "M=1", i & 4 ? 80 : 90);
        cell->separate_tables = (i & 1) == 0;
        sample_dataset_timed(cell, "T=0", 1000);
    }
    tsw_reduction_t *r = reduced(&dataset, 8);
    assert_int_equal(r->group_count, 6);
    assert_string_equal(r->groups[0].pack, "matmul");
    assert_int_equal(r->groups[0].arch, 80);
    assert_null(r->groups[0].variant);
    assert_int_equal(r->groups[0].cell_count, 2);
    assert_int_equal(r->groups[1].arch, 90);
    assert_string_equal(r->groups[2].pack, "rope");
    assert_string_equal(r->groups[2].variant, "dtype=f16");
    assert_string_equal(r->groups[3].variant, "dtype=f32");
    assert_int_equal(r->groups[3].cell_count, 1);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_reduce_refuses_options_out_of_range(void **state)
{
    (void)state;
    tsw_dataset_t dataset = sample_dataset_new();
    tsw_reduction_t *r = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    const tsw_reduce_options_t bad[] = {{0, 0.005, 0.95, NULL, 0},
                                        {8, -0.1, 0.95, NULL, 0},
                                        {8, NAN, 0.95, NULL, 0},
                                        {8, 0.005, 0.0, NULL, 0},
                                        {8, 0.005, 1.0, NULL, 0}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(tsw_reduce(&dataset, &bad[i], &r, &err), TSW_ERR_ARG);
    r = reduced(&dataset, 8);
    assert_int_equal(r->group_count, 0);
    tsw_reduction_free(r);
    tsw_dataset_fini(&dataset);
}

static void test_reduce_survives_a_lack_of_memory(void **state)
{
    (void)state;
    tsw_dataset_t dataset = staircase(0);
    const tsw_reduce_options_t options = tsw_reduce_options(4);
    tsw_dataset_canonicalise(&dataset);
    bool done = false;
    for (long n = 1; n < 10000 && !done; n++) {
        tsw_reduction_t *r = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_mem_fail_at(n);
        tsw_status_t status = tsw_reduce(&dataset, &options, &r, &err);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
        done = status == TSW_OK;
        tsw_reduction_free(r);
    }
    assert_true(done);
    tsw_dataset_fini(&dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_takes_at_most_as_many_as_allowed),
        cmocka_unit_test(test_group_with_room_for_all_winners_loses_nothing),
        cmocka_unit_test(test_left_out_configs_are_close_up_to_5_percent),
        cmocka_unit_test(test_reduction_does_not_depend_on_order),
        cmocka_unit_test(test_group_weights_decide_what_matters),
        cmocka_unit_test(test_group_choice_among_ties_is_the_fastest_then_the_first),
        cmocka_unit_test(test_group_keeps_a_baseline_that_fails_somewhere),
        cmocka_unit_test(test_groups_are_by_pack_and_arch_and_wanted_variants),
        cmocka_unit_test(test_reduce_refuses_options_out_of_range),
        cmocka_unit_test(test_reduce_survives_a_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
