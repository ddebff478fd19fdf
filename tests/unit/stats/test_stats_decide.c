/* What the race decides, on times without noise: when, and about whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stats/race.h"

#include <math.h>

enum { MOST = 8 };

/* Config i takes ratios[i] * ns, the last one that times another of wobble in every round. */
typedef struct {
    const double *ratios;
    size_t count;
    double ns;
    double wobble[3]; /* none: all 0 */
    double control;   /* what the control reads against the leader; 0: the same */
    uint32_t launches;
} field_t;

/* One wave more; false: it is over. */
static bool step(tsw_race_t *race, const field_t *field)
{
    double time_ns[(MOST + 1) * TSW_RACE_BATCH];
    uint32_t launches[(MOST + 1) * TSW_RACE_BATCH];
    tsw_race_wave_t wave;
    tsw_race_next(race, &wave);
    for (size_t slot = 0; slot < wave.count; slot++) {
        uint32_t config = wave.configs[slot];
        size_t round = wave.round + slot / (wave.count / wave.rounds);
        double wobble = config + 1 == field->count ? field->wobble[round % 3] : 0.0;
        time_ns[slot] = field->ns * field->ratios[config] * (wobble > 0.0 ? wobble : 1.0);
        if (wave.is_control[slot] && field->control > 0.0)
            time_ns[slot] *= field->control;
        launches[slot] = field->launches > 0 ? field->launches : 1;
    }
    tsw_race_report(race, time_ns, launches);
    return wave.count > 0;
}

static tsw_race_t *begin(const tsw_race_options_t *options, const field_t *field)
{
    tsw_race_t *race = NULL;
    assert_true(field->count <= MOST);
    assert_int_equal(tsw_race_new(options, 1, (tsw_key_t){.lo = 1}, field->count, &race, NULL),
                     TSW_OK);
    return race;
}

static tsw_race_t *run(const tsw_race_options_t *options, const field_t *field)
{
    tsw_race_t *race = begin(options, field);
    while (step(race, field))
        ;
    return race;
}

/* Four are equal, so that the rounds go on; the last is 3 % slower. Of n rounds the standard error
 * of a mean is 0.02 / sqrt(n), and z = sqrt(2 ln(10 ln(n + 2) / 0.05)): 6 rounds are enough, the
 * looks are after 3, 5 and 7. */
static void test_elimination_waits_for_a_look_with_enough_rounds(void **state)
{
    (void)state;
    const double ratios[] = {1.0, 1.0, 1.0, 1.0, 1.03};
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    options.figure = TSW_RACE_MEAN;
    for (double ns = 1e5; ns < 1e7; ns *= 50) { /* waves of several rounds, and of one */
        tsw_race_t *race = run(&options, &(field_t){ratios, 5, .ns = ns});
        assert_int_equal(tsw_race_fate(race, 4), TSW_RACE_ELIMINATED);
        assert_int_equal(tsw_race_samples(race, 4), 7);
        /* 44 rounds say that none of the equal ones is better by 0.5 %; one of them has to go. */
        assert_int_equal(tsw_race_fate(race, 0), TSW_RACE_NOT_FINAL);
        assert_int_equal(tsw_race_samples(race, 0), 49);
        tsw_race_free(race);
    }
    options.max_rounds = 4;
    tsw_race_t *race = run(&options, &(field_t){ratios, 5, .ns = 1e5});
    assert_int_equal(tsw_race_fate(race, 4), TSW_RACE_NOT_FINAL);
    assert_int_equal(tsw_race_samples(race, 4), 5);
    tsw_race_free(race);
}

static void assert_fate(const tsw_race_t *race, uint32_t config, tsw_race_fate_t fate,
                        size_t samples)
{
    assert_int_equal(tsw_race_fate(race, config), fate);
    assert_int_equal(tsw_race_samples(race, config), samples);
}

static void test_early_limits_are_those_of_the_objective(void **state)
{
    (void)state;
    const double typical[] = {1.0, 1.0, 1.0, 1.0, 1.09, 1.11, 1.19, 1.21};
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    options.bias_ns = 0.0;
    tsw_race_t *race = run(&options, &(field_t){typical, 8, .ns = 1e5});
    assert_int_equal(tsw_race_fate(race, 4), TSW_RACE_ELIMINATED);
    assert_fate(race, 5, TSW_RACE_HOPELESS, 1);
    assert_fate(race, 6, TSW_RACE_HOPELESS, 1);
    assert_fate(race, 7, TSW_RACE_HOPELESS, 0);
    tsw_race_free(race);

    const double careful[] = {1.0, 1.0, 1.0, 1.0, 1.59, 1.61};
    options.figure = TSW_RACE_MEAN;
    race = run(&options, &(field_t){careful, 6, .ns = 1e5});
    assert_int_equal(tsw_race_fate(race, 4), TSW_RACE_ELIMINATED);
    assert_fate(race, 5, TSW_RACE_HOPELESS, 0);
    tsw_race_free(race);
}

/* 3 rounds of one launch tell 2.7 % apart, of many launches 1.4 %; both are within 95 %. */
static void test_the_final_tells_more_apart_by_longer_samples(void **state)
{
    (void)state;
    const double ratios[] = {1.0, 1.01};
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = run(&options, &(field_t){ratios, 2, .ns = 1e6});
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_TIED);
    tsw_race_free(race);
    race = run(&options, &(field_t){ratios, 2, .ns = 1e5, .launches = 10});
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_BEATEN);
    tsw_race_free(race);
}

/* In the mean 6 to 10 % slower, but in every third round faster. */
static void test_means_are_told_apart_by_the_spread_that_was_measured(void **state)
{
    (void)state;
    const double ratios[] = {1.0, 1.06};
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    options.figure = TSW_RACE_MEAN;
    field_t field = {ratios, 2, .ns = 1e5, .wobble = {1.3, 1.0, 0.8}};
    tsw_race_t *race = run(&options, &field);
    assert_int_equal(tsw_race_winner(race), 0);
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_TIED);
    tsw_race_free(race);
}

static void test_a_quantile_eliminates_only_what_is_surely_worse(void **state)
{
    (void)state;
    const double ratios[] = {1.0, 1.0, 1.0, 1.0, 1.1, 1.05};
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    options.figure = TSW_RACE_QUANTILE;
    options.quantile = 0.9;
    options.max_rounds = 12;
    field_t field = {ratios, 6, .ns = 1e5, .wobble = {1.25, 1.0, 0.8}};
    tsw_race_t *race = run(&options, &field);
    assert_int_equal(tsw_race_fate(race, 4), TSW_RACE_ELIMINATED);
    assert_int_equal(tsw_race_fate(race, 5), TSW_RACE_NOT_FINAL); /* a third beats the leader */
    tsw_race_free(race);
}

static void test_stop_in_the_final_tells_what_it_knows(void **state)
{
    (void)state;
    const double ratios[] = {1.0, 1.05};
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    const field_t field = {ratios, 2, .ns = 3e7}; /* a round a wave */
    tsw_race_t *race = begin(&options, &field);
    assert_true(step(race, &field) && step(race, &field));
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_RUNNING);
    for (int i = 0; i < 2; i++) { /* once more changes nothing */
        tsw_race_stop(race);
        assert_int_equal(tsw_race_winner(race), 0);
        assert_int_equal(tsw_race_fate(race, 0), TSW_RACE_WINNER);
        assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_BEATEN);
    }
    assert_false(step(race, &field));
    tsw_race_free(race);
}

static void test_control_is_the_log_of_what_it_reads_against_the_leader(void **state)
{
    (void)state;
    const double ratios[] = {1.0, 1.02};
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    const field_t field = {ratios, 2, .ns = 1e5, .control = 1.01};
    tsw_race_t *race = begin(&options, &field);
    assert_true(tsw_race_control(race) == 0.0);
    while (step(race, &field))
        ;
    assert_true(fabs(tsw_race_control(race) - log(1.01)) < 1e-9);
    tsw_race_free(race);
}

/* Five that cannot be told apart: what 8 launches of each take, or 3 and a flush of 40 us for each,
 * at 12 us for a sample besides. */
static void test_rounds_end_when_they_took_their_time(void **state)
{
    (void)state;
    const double ratios[] = {1.0, 1.0, 1.0, 1.0, 1.0};
    static const struct {
        double ns;
        uint32_t launches;
        size_t samples;
    } cases[] = {
        {1e5, 1, 7}, /* 112 of 800 us a round */
        {5e6, 1, 7}, /* 5.01 of 40 ms */
        {4e3, 8, 5}, /* 44 of 132 us: over after 3, but no look before 5 */
        {1e3, 1, 9}, /* 13 of 123 us */
    };
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_race_t *race =
            run(&options, &(field_t){ratios, 5, .ns = cases[i].ns, .launches = cases[i].launches});
        size_t out = 0;
        for (uint32_t k = 0; k < 5; k++)
            if (tsw_race_fate(race, k) == TSW_RACE_NOT_FINAL) {
                assert_int_equal(tsw_race_samples(race, k), cases[i].samples);
                out++;
            }
        assert_int_equal(out, 2);
        tsw_race_free(race);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elimination_waits_for_a_look_with_enough_rounds),
        cmocka_unit_test(test_rounds_end_when_they_took_their_time),
        cmocka_unit_test(test_early_limits_are_those_of_the_objective),
        cmocka_unit_test(test_the_final_tells_more_apart_by_longer_samples),
        cmocka_unit_test(test_means_are_told_apart_by_the_spread_that_was_measured),
        cmocka_unit_test(test_a_quantile_eliminates_only_what_is_surely_worse),
        cmocka_unit_test(test_stop_in_the_final_tells_what_it_knows),
        cmocka_unit_test(test_control_is_the_log_of_what_it_reads_against_the_leader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
