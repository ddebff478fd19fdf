/* Which records are marked unstable, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "record/stability.h"

#include <math.h>

enum { RECORDS = 4, ROUNDS = 24 };

typedef struct {
    tsw_cell_result_t cell;
    tsw_record_t records[RECORDS];
    tsw_round_t rounds[ROUNDS];
} bench_t;

/* Rounds of the final with noise; record 1 moves by so much over them; the control of record 0
 * reads off by so much. */
static void fill(bench_t *bench, double drift, double off)
{
    *bench = (bench_t){.cell = {.record_count = RECORDS, .round_count = ROUNDS}};
    bench->cell.records = bench->records;
    bench->cell.rounds = bench->rounds;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        double clock = 0.02 * sin(0.3 * r); /* of all */
        bench->rounds[r] = (tsw_round_t){.round = r, .stage = TSW_STAGE_FINAL};
        for (uint32_t i = 0; i < RECORDS; i++) {
            double noise = 0.002 * tsw_rng_normal(tsw_rng_u64(1, i, r, 0, 0));
            double moved = i == 1 ? drift * r / (ROUNDS - 1) : 0.0;
            double ns = 1e6 * (1.0 + 0.1 * i) * exp(clock + noise + moved);
            tsw_sample_t sample = {
                .interval_ns = (uint64_t)ns, .round = r, .launches = 1, .stage = TSW_STAGE_FINAL};
            assert_int_equal(tsw_record_add_sample(&bench->records[i], &sample, NULL), TSW_OK);
            sample.stage = TSW_STAGE_CONTROL;
            sample.interval_ns = (uint64_t)(ns * (1.0 + off));
            if (i == 0)
                assert_int_equal(tsw_record_add_sample(&bench->records[i], &sample, NULL), TSW_OK);
        }
    }
    bench->records[0].fate = TSW_FATE_WINNER;
    bench->records[1].fate = TSW_FATE_TIED;
    bench->records[2].fate = TSW_FATE_BEATEN;
    bench->records[3].fate = TSW_FATE_HOPELESS; /* the baseline, kept */
}

static void check(bench_t *bench, uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
    const uint8_t want[RECORDS] = {a, b, c, d};
    assert_int_equal(tsw_stability_judge(&bench->cell, NULL), TSW_OK);
    for (size_t i = 0; i < RECORDS; i++)
        assert_int_equal(bench->records[i].unstable, want[i]);
    for (size_t i = 0; i < RECORDS; i++)
        tsw_record_fini(&bench->records[i]);
}

static void test_a_clock_that_all_share_is_no_drift(void **state)
{
    (void)state;
    bench_t bench;
    fill(&bench, 0.0, 0.0);
    check(&bench, 0, 0, 0, 0);
    fill(&bench, 0.001, 0.001); /* too little to matter */
    check(&bench, 0, 0, 0, 0);
}

static void test_a_config_that_moves_against_the_others_drifts(void **state)
{
    (void)state;
    bench_t bench;
    fill(&bench, 0.02, 0.0);
    check(&bench, 0, TSW_UNSTABLE_DRIFT, 0, 0);
    fill(&bench, -0.02, 0.0);
    check(&bench, 0, TSW_UNSTABLE_DRIFT, 0, 0);
}

static void test_a_control_that_is_off_marks_the_final(void **state)
{
    (void)state;
    const uint8_t off = TSW_UNSTABLE_CONTROL;
    bench_t bench;
    fill(&bench, 0.0, -0.006);
    check(&bench, off, off, off, 0);
    fill(&bench, 0.0, -0.0035); /* that much may be chance */
    check(&bench, 0, 0, 0, 0);
}

static void test_a_round_at_another_clock_marks_who_was_in_it(void **state)
{
    (void)state;
    const uint8_t clock = TSW_UNSTABLE_CLOCK;
    bench_t bench;
    fill(&bench, 0.0, 0.0);
    bench.rounds[5].is_unstable = 1;
    bench.records[2].samples[5].stage = TSW_STAGE_EARLY;
    check(&bench, clock, clock, 0, clock);
    fill(&bench, 0.0, 0.0);
    bench.rounds[5].is_unstable = 1;
    bench.rounds[5].foreign_processes = 2;
    bench.records[2].samples[5].stage = TSW_STAGE_EARLY;
    check(&bench, TSW_UNSTABLE_SHARED, TSW_UNSTABLE_SHARED, 0, TSW_UNSTABLE_SHARED);
    fill(&bench, 0.0, 0.0);
    bench.rounds[5].is_unstable = 1;
    bench.rounds[5].stage = TSW_STAGE_WARMUP; /* decides nothing */
    check(&bench, 0, 0, 0, 0);
}

static void test_cells_without_anything(void **state)
{
    (void)state;
    tsw_cell_result_t empty = {.record_count = 0};
    assert_int_equal(tsw_stability_judge(&empty, NULL), TSW_OK);
    bench_t bench;
    fill(&bench, 0.0, 0.0);
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_stability_judge(&bench.cell, NULL), TSW_ERR_NOMEM);
    tsw_mem_fail_at(0);
    check(&bench, 0, 0, 0, 0);
}

static void test_reasons_have_words(void **state)
{
    (void)state;
    char text[TSW_UNSTABLE_TEXT_SIZE];
    assert_string_equal(tsw_unstable_format(0, text), "");
    assert_string_equal(tsw_unstable_format(TSW_UNSTABLE_CONTROL, text), "control");
    assert_string_equal(tsw_unstable_format(15, text), "clock+control+drift+shared");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_clock_that_all_share_is_no_drift),
        cmocka_unit_test(test_a_config_that_moves_against_the_others_drifts),
        cmocka_unit_test(test_a_control_that_is_off_marks_the_final),
        cmocka_unit_test(test_a_round_at_another_clock_marks_who_was_in_it),
        cmocka_unit_test(test_cells_without_anything),
        cmocka_unit_test(test_reasons_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
