/* The race on synthetic series: slow drift of the clock, noise per sample, 1 % of slow outliers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/race.h"

#include <math.h>
#include <stdlib.h>

enum { CONFIGS = 30, RACES = 200 };

typedef struct {
    double noise;  /* sd of log time per sample */
    double drift;  /* sd of the clock's log, an AR(1) over samples */
    double spread; /* sd of the log of the configs' true times */
} gpu_t;

/* True log time of config i in race r: the best is 0. */
static void draw_truth(uint64_t r, const gpu_t *gpu, double truth[CONFIGS])
{
    double best = INFINITY;
    for (uint64_t i = 0; i < CONFIGS; i++) {
        truth[i] = gpu->spread * fabs(tsw_rng_normal(tsw_rng_u64(7, r, i, 0, 0)));
        best = truth[i] < best ? truth[i] : best;
    }
    for (uint64_t i = 0; i < CONFIGS; i++)
        truth[i] -= best;
}

typedef struct {
    double regret;
    size_t samples;
    double control;
} result_t;

static result_t run_race(uint64_t r, const gpu_t *gpu)
{
    double truth[CONFIGS];
    draw_truth(r, gpu, truth);
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    options.keep = 0; /* as real races do */
    tsw_race_t *race = NULL;
    assert_int_equal(tsw_race_new(&options, r, (tsw_key_t){.lo = r}, CONFIGS, &race, NULL), TSW_OK);
    result_t result = {0};
    double clock = 0.0;
    uint64_t tick = 0;
    for (;;) {
        tsw_race_wave_t wave;
        tsw_race_next(race, &wave);
        if (wave.count == 0)
            break;
        assert_true(wave.round < 400);
        double time_ns[(CONFIGS + 1) * TSW_RACE_BATCH];
        for (size_t slot = 0; slot < wave.count; slot++) {
            tick++;
            double step = tsw_rng_normal(tsw_rng_u64(8, r, tick, 0, 0));
            clock = 0.9999 * clock + gpu->drift * sqrt(1.0 - 0.9999 * 0.9999) * step;
            double value = truth[wave.configs[slot]] + clock +
                           gpu->noise * tsw_rng_normal(tsw_rng_u64(9, r, tick, 0, 0));
            if (tsw_rng_u64(10, r, tick, 0, 0) % 100 == 0)
                value += log(2.0);
            time_ns[slot] = 50000.0 * exp(value);
        }
        result.samples += wave.count;
        tsw_race_report(race, time_ns, NULL);
    }
    int64_t winner = tsw_race_winner(race);
    assert_true(winner >= 0 && winner < CONFIGS);
    assert_int_equal(tsw_race_fate(race, (uint32_t)winner), TSW_RACE_WINNER);
    result.regret = exp(truth[winner]) - 1.0;
    result.control = tsw_race_control(race);
    tsw_race_free(race);
    return result;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_gpu(const gpu_t *gpu, double p95_limit, double samples_limit)
{
    double regret[RACES];
    double samples = 0.0;
    double control = 0.0;
    for (uint64_t r = 0; r < RACES; r++) {
        result_t result = run_race(r, gpu);
        regret[r] = result.regret;
        samples += (double)result.samples / RACES;
        control += result.control / RACES;
    }
    qsort(regret, RACES, sizeof(regret[0]), compare_doubles);
    print_message("noise %.3f drift %.3f: regret p95 %.4f max %.4f, %.1f samples a config, "
                  "control %+.5f\n",
                  gpu->noise, gpu->drift, regret[RACES * 95 / 100], regret[RACES - 1],
                  samples / CONFIGS, control);
    assert_true(regret[RACES * 95 / 100] <= p95_limit);
    assert_true(samples / CONFIGS <= samples_limit);
    assert_true(fabs(control) < 0.002);
}

static void test_regret_when_quiet_then_a_fifth_of_a_percent_at_most(void **state)
{
    (void)state;
    check_gpu(&(gpu_t){.noise = 0.005, .drift = 0.01, .spread = 0.3}, 0.002, 7.0);
}

static void test_regret_when_noisy_then_below_the_indifference(void **state)
{
    (void)state;
    check_gpu(&(gpu_t){.noise = 0.01, .drift = 0.02, .spread = 0.3}, 0.004, 8.0);
}

/* A cell as an H200 measured it: times of the timer in steps of 32 ns; an interval carries 0.1 to
 * 1.9 us that depend on its place in the wave, and 1.5 us a launch where launched one by one;
 * noise that a longer interval averages; a clock that all share drifts by percents; one interval in
 * some hundreds is doubled. First launches take up to 25 us more. */
typedef struct {
    size_t count;
    double best_ns;
    double spread; /* sd of the log of the configs' true times */
    double noise;  /* sd of the log of an interval of 250 us */
    uint32_t sets; /* graphs go whole laps over these */
} cell_t;

/* Launched one by one below the final; graphs below 25 us in it. */
static const double gap_ns = 1500.0, graph_below_ns = 25e3;

typedef struct {
    double regret, control;
    double gpu_ns;    /* intervals, and what waves, shots, launches and graphs cost besides */
    double cutile_ns; /* what the protocol of cutile takes: 8 launches, each with a flush */
    bool unsettled;
    double winner; /* what the objective of the winner truly is, against the best */
} race_result_t;

enum { CELL_MAX = 108 };

static double interval_of(const cell_t *cell, const tsw_race_wave_t *wave, double launch_ns,
                          uint32_t *launches_p, double *cost_ns)
{
    bool is_graph = wave->is_final && cell->best_ns < graph_below_ns;
    double wanted = (double)wave->interval_ns / (is_graph ? launch_ns : cell->best_ns + gap_ns);
    *launches_p =
        wave->interval_ns > 0 && cell->best_ns < 100e3 ? (uint32_t)fmax(ceil(wanted), 2.0) : 1;
    if (is_graph) {
        uint32_t laps = (*launches_p + cell->sets / 2) / cell->sets;
        *launches_p = (laps > 0 ? laps : 1) * cell->sets;
    }
    *cost_ns += 20e3 + (is_graph ? 0.0 : 3e3 * *launches_p);
    return *launches_p * (launch_ns + (is_graph ? 0.0 : gap_ns));
}

static race_result_t race_on(const cell_t *cell, const tsw_race_options_t *options, uint64_t r)
{
    static double time_ns[(CELL_MAX + 1) * TSW_RACE_BATCH];
    static uint32_t launches[(CELL_MAX + 1) * TSW_RACE_BATCH];
    double truth[CELL_MAX];
    tsw_race_t *race = NULL;
    race_result_t result = {0};
    tsw_race_wave_t wave;
    double clock = 0.0, best = INFINITY;
    uint64_t tick = 0;
    for (uint64_t i = 0; i < cell->count; i++) {
        truth[i] = cell->spread * fabs(tsw_rng_normal(tsw_rng_u64(7, r, i, cell->count, 0)));
        best = truth[i] < best ? truth[i] : best;
    }
    assert_int_equal(tsw_race_new(options, r, (tsw_key_t){.lo = r}, cell->count, &race, NULL),
                     TSW_OK);
    for (uint32_t i = 0; i < cell->count; i++) {
        double late = tsw_rng_uniform(tsw_rng_u64(12, r, i, 0, 0));
        double launch_ns = cell->best_ns * exp(truth[i] - best);
        tsw_race_first(race, i, launch_ns * (1.0 + 0.1 * late) + 25e3 * late * late * late);
        result.cutile_ns += 8.05 * (launch_ns + 43e3);
    }
    uint32_t graphs = 0;
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        result.gpu_ns += 30e3;
        if (wave.is_final && graphs == 0 && cell->best_ns < graph_below_ns)
            result.gpu_ns += 120e3 * (graphs = (uint32_t)(wave.count / wave.rounds) - 1);
        for (size_t slot = 0; slot < wave.count; slot++) {
            tick++;
            double launch_ns = cell->best_ns * exp(truth[wave.configs[slot]] - best);
            double ns = interval_of(cell, &wave, launch_ns, &launches[slot], &result.gpu_ns);
            double step = tsw_rng_normal(tsw_rng_u64(8, r, tick, 0, 0));
            clock = 0.999 * clock + 0.015 * sqrt(1.0 - 0.999 * 0.999) * step;
            double sd = cell->noise * sqrt(fmax(250e3 / ns, 1.0));
            ns *= exp(clock + sd * tsw_rng_normal(tsw_rng_u64(9, r, tick, 0, 0)));
            if (tsw_rng_u64(10, r, tick, 0, 0) % 300 == 0)
                ns *= 2.0;
            ns += 100.0 + 1800.0 * tsw_rng_uniform(tsw_rng_u64(11, r, tick, 0, 0));
            ns = 32.0 * floor(ns / 32.0);
            result.gpu_ns += ns;
            time_ns[slot] = ns / launches[slot];
        }
        tsw_race_report(race, time_ns, launches);
    }
    int64_t winner = tsw_race_winner(race);
    assert_true(winner >= 0);
    result.regret = exp(truth[winner] - best) - 1.0;
    result.control = fabs(tsw_race_control(race));
    result.unsettled = tsw_race_is_unsettled(race);
    tsw_race_free(race);
    return result;
}

/* times: at least, by which it takes less of the GPU than cutile. p95: of the regret at most. off:
 * how many of RACES may end with a control that reads off. */
static void check_cell(const char *name, const cell_t *cell, double times, double p95, size_t off)
{
    double regret[RACES], control[RACES], gpu_ns = 0.0, cutile_ns = 0.0;
    size_t unsettled = 0;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    options.keep = 0;
    for (uint64_t r = 0; r < RACES; r++) {
        race_result_t result = race_on(cell, &options, r);
        regret[r] = result.regret;
        control[r] = result.control;
        gpu_ns += result.gpu_ns / RACES;
        cutile_ns += result.cutile_ns / RACES;
        unsettled += result.unsettled;
    }
    qsort(regret, RACES, sizeof(regret[0]), compare_doubles);
    qsort(control, RACES, sizeof(control[0]), compare_doubles);
    print_message("%-13s regret p95 %.4f max %.4f, %5.0f us of GPU a config, %5.2f x cutile, "
                  "control p95 %.4f, %zu of %d off\n",
                  name, regret[RACES * 95 / 100], regret[RACES - 1],
                  gpu_ns / 1e3 / (double)cell->count, cutile_ns / gpu_ns, control[RACES * 95 / 100],
                  unsettled, RACES);
    assert_true(regret[RACES * 95 / 100] <= p95);
    assert_true(cutile_ns >= times * gpu_ns);
    assert_true(unsettled <= off);
}

static void test_race_on_cells_like_those_of_an_h200(void **state)
{
    (void)state;
    check_cell("108 of 200 us", &(cell_t){108, 200e3, 0.5, 0.006, 1}, 5.0, 0.005, 10);
    check_cell("30 of 200 us", &(cell_t){30, 200e3, 0.4, 0.006, 1}, 3.5, 0.005, 10);
    check_cell("108 of 27 us", &(cell_t){108, 27e3, 0.6, 0.004, 5}, 3.3, 0.005, 10);
    check_cell("30 of 27 us", &(cell_t){30, 27e3, 0.4, 0.004, 5}, 2.0, 0.005, 10);
    /* More of them stand close to the best than in any space that was measured. */
    check_cell("108 of 6 us", &(cell_t){108, 6e3, 0.6, 0.004, 31}, 2.2, 0.0075, 10);
    check_cell("30 of 6 us", &(cell_t){30, 6e3, 0.4, 0.004, 31}, 1.2, 0.0075, 10);
    check_cell("2 of 37 us", &(cell_t){2, 37e3, 0.02, 0.004, 3}, 0.45, 0.005, 10);
    check_cell("3 of 19 us", &(cell_t){3, 19e3, 0.05, 0.004, 8}, 0.35, 0.005, 10);
    check_cell("3 of 6 us", &(cell_t){3, 6e3, 0.05, 0.004, 26}, 0.3, 0.005, 20);
    check_cell("3 of 3 us", &(cell_t){3, 3e3, 0.05, 0.004, 41}, 0.3, 0.005, 20);
}

/* One launch with the times {a, b}, b in the share of launches. */
typedef struct {
    double often_ns, seldom_ns, share;
} tail_t;

static int64_t race_tails(const tsw_race_options_t *options, const tail_t *tails, size_t count,
                          uint64_t seed)
{
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    uint64_t tick = 0;
    assert_int_equal(tsw_race_new(options, seed, (tsw_key_t){.lo = 1}, count, &race, NULL), TSW_OK);
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        double time_ns[8 * TSW_RACE_BATCH];
        for (size_t slot = 0; slot < wave.count; slot++) {
            const tail_t *tail = &tails[wave.configs[slot]];
            uint64_t bits = tsw_rng_u64(3, seed, ++tick, 0, 0);
            time_ns[slot] = tsw_rng_uniform(bits) < tail->share ? tail->seldom_ns : tail->often_ns;
        }
        tsw_race_report(race, time_ns, NULL);
    }
    int64_t winner = tsw_race_winner(race);
    tsw_race_free(race);
    return winner;
}

/* Of 20 races, how many config `winner` wins. */
static void check_tails(const tsw_race_options_t *options, int64_t winner)
{
    /* By the median config 0 is best, by the mean 1, by the tails 2. */
    const tail_t tails[] = {{100e3, 300e3, 0.2}, {104e3, 140e3, 0.25}, {125e3, 125e3, 0.0}};
    size_t wins = 0;
    for (uint64_t seed = 0; seed < 20; seed++)
        wins += race_tails(options, tails, 3, seed) == winner;
    assert_true(wins >= 16);
}

static void test_race_decides_by_the_objective(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    options.final_least = options.final_rounds = 30;
    check_tails(&options, 0);
    options.figure = TSW_RACE_MEAN;
    check_tails(&options, 1);
    options.figure = TSW_RACE_QUANTILE;
    options.quantile = 0.9;
    options.max_rounds = 20;
    options.final_least = options.final_rounds = options.final_most = 60;
    check_tails(&options, 2);
}

static void test_race_when_many_are_hopeless_then_each_runs_once_or_twice(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    options.bias_ns = 0.0;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 10, &race, NULL), TSW_OK);
    tsw_race_wave_t wave;
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        double time_ns[11 * TSW_RACE_BATCH];
        for (size_t slot = 0; slot < wave.count; slot++)
            time_ns[slot] = wave.configs[slot] == 4 ? 100.0 : 1500.0;
        tsw_race_report(race, time_ns, NULL);
    }
    assert_int_equal(tsw_race_winner(race), 4);
    for (uint32_t i = 0; i < 10; i++) {
        if (i == 4)
            continue;
        assert_int_equal(tsw_race_fate(race, i), TSW_RACE_HOPELESS);
        assert_int_equal(tsw_race_samples(race, i), 0); /* only the warm-up */
    }
    assert_true(tsw_race_samples(race, 4) >= options.final_rounds);
    tsw_race_free(race);
}

static void test_race_when_configs_fail_then_others_win_or_nobody(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 3, &race, NULL), TSW_OK);
    tsw_race_wave_t wave;
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        double time_ns[4 * TSW_RACE_BATCH];
        for (size_t slot = 0; slot < wave.count; slot++)
            time_ns[slot] = 100.0;
        if (wave.is_final)
            tsw_race_drop(race, 0);
        tsw_race_report(race, time_ns, NULL);
    }
    assert_true(tsw_race_winner(race) > 0);
    assert_int_equal(tsw_race_fate(race, 0), TSW_RACE_DROPPED);
    tsw_race_free(race);

    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 2, &race, NULL), TSW_OK);
    tsw_race_drop(race, 0);
    tsw_race_drop(race, 1);
    tsw_race_next(race, &wave);
    assert_int_equal(wave.count, 0);
    assert_int_equal(tsw_race_winner(race), -1);
    tsw_race_free(race);
}

/* A race of two: config 1 has the times, in order of rounds; config 0 takes 100 ns. Ends with the
 * wave that needs the last of them. */
static tsw_race_t *race_of_two(const tsw_race_options_t *options, const double *times, size_t count)
{
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    assert_int_equal(tsw_race_new(options, 1, (tsw_key_t){.lo = 1}, 2, &race, NULL), TSW_OK);
    for (size_t at = 0; at < count; at += wave.rounds) {
        double time_ns[3 * TSW_RACE_BATCH];
        tsw_race_next(race, &wave);
        if (wave.count == 0)
            break;
        for (size_t slot = 0; slot < wave.count; slot++) {
            size_t round = at + slot / (wave.count / wave.rounds);
            time_ns[slot] =
                wave.configs[slot] == 0 ? 100.0 : times[round < count ? round : count - 1];
        }
        tsw_race_report(race, time_ns, NULL);
    }
    return race;
}

static void test_report_when_a_time_cannot_be_then_the_config_is_broken(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_wave_t wave;
    const double zero[] = {100.0, 0.0};
    tsw_race_t *race = race_of_two(&options, zero, 2);
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_BROKEN);
    tsw_race_next(race, &wave);
    assert_true(wave.is_final && wave.count == 2 * wave.rounds); /* config 0 and its control */
    tsw_race_free(race);

    options.floor_ns = 80.0;
    const double slip[] = {100.0, 5.0, 100.0};
    race = race_of_two(&options, slip, 3);
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_RUNNING);
    tsw_race_free(race);
    const double fast[] = {5.0, 5.0, 100.0}; /* the second one is enough */
    race = race_of_two(&options, fast, 3);
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_BROKEN);
    tsw_race_free(race);
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 0, &race, &err), TSW_ERR_ARG);
}

static void test_report_when_all_times_are_zero_then_nobody_wins(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 2, &race, NULL), TSW_OK);
    tsw_race_next(race, &wave);
    tsw_race_report(race, (const double[]){0.0, 0.0}, NULL);
    tsw_race_next(race, &wave);
    assert_int_equal(wave.count, 0);
    assert_int_equal(tsw_race_winner(race), -1);
    tsw_race_free(race);
}

/* Samples before the final are of another kind: here config 1 is the faster one in them, and the
 * slower one in the final. */
static void test_early_samples_do_not_decide_the_winner(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 2, &race, NULL), TSW_OK);
    size_t early = 0;
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        double time_ns[3 * TSW_RACE_BATCH];
        bool single = !wave.is_final;
        early += single ? wave.rounds : 0;
        for (size_t slot = 0; slot < wave.count; slot++) {
            double ratio = wave.configs[slot] == 0 ? 1.0 : single ? 0.95 : 1.05;
            time_ns[slot] = 1000.0 * ratio;
        }
        tsw_race_report(race, time_ns, NULL);
    }
    assert_int_equal(early, 1);
    assert_int_equal(tsw_race_winner(race), 0);
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_BEATEN);
    tsw_race_free(race);
}

static void test_stop_leaves_the_leader_as_winner(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    const double times[] = {105.0, 99.0, 99.0, 99.0, 99.0, 99.0, 99.0};
    tsw_race_t *race = race_of_two(&options, times, 7); /* with its final */
    assert_int_equal(tsw_race_winner(race), 1);
    tsw_race_free(race);
    race = race_of_two(&options, times, 1);
    tsw_race_wave_t wave;
    tsw_race_stop(race);
    tsw_race_next(race, &wave);
    assert_int_equal(wave.count, 0);
    assert_int_equal(tsw_race_winner(race), 0);
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_STOPPED);
    tsw_race_free(race);
}

/* Rounds of a final of two, whose second sample of the leader reads off by so much, and whose rival
 * is as slow as told, with a noise of so much. */
static size_t count_finals(double off, double rival, double noise, bool *unsettled_p)
{
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    size_t finals = 0;
    uint64_t tick = 0;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 2, &race, NULL), TSW_OK);
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        double time_ns[3 * TSW_RACE_BATCH];
        finals += wave.is_final ? wave.rounds : 0;
        for (size_t slot = 0; slot < wave.count; slot++) {
            double normal = tsw_rng_normal(tsw_rng_u64(5, ++tick, 0, 0, 0));
            time_ns[slot] = 1e6 * exp(noise * normal) * (wave.configs[slot] == 0 ? 1.0 : rival) *
                            (wave.is_control[slot] ? 1.0 + off : 1.0);
        }
        tsw_race_report(race, time_ns, NULL);
    }
    *unsettled_p = tsw_race_is_unsettled(race);
    tsw_race_free(race);
    return finals;
}

static void test_final_goes_on_until_its_control_is_quiet(void **state)
{
    (void)state;
    bool unsettled = true;
    size_t quiet = count_finals(0.0, 1.0, 0.0, &unsettled);
    assert_in_range(quiet, 3, 5);
    assert_false(unsettled);
    assert_int_equal(count_finals(0.0, 2.0, 0.0, &unsettled), 3);
    assert_true(count_finals(0.0, 2.0, 0.02, &unsettled) < 12); /* noise alone shows no bias */
    assert_in_range(count_finals(0.01, 1.0, 0.0, &unsettled), 3 * quiet, 47); /* its time */
    assert_true(unsettled);
}

static void test_leader_that_fails_beside_its_control_leaves_the_win_to_the_tied(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 2, &race, NULL), TSW_OK);
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        double time_ns[3 * TSW_RACE_BATCH];
        for (size_t slot = 0; slot < wave.count; slot++)
            time_ns[slot] = (1e6 + 1e3 * wave.configs[slot]) * (wave.is_control[slot] ? 1.01 : 1.0);
        if (wave.is_final && wave.count == 2 * wave.rounds)
            tsw_race_drop(race, 0);
        tsw_race_report(race, time_ns, NULL);
    }
    assert_int_equal(tsw_race_fate(race, 0), TSW_RACE_DROPPED);
    assert_int_equal(tsw_race_winner(race), 1);
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_WINNER);
    tsw_race_free(race);
}

/* Five that differ by a twentieth of a percent each: all live, and the three best make the final.
 */
static void test_final_takes_the_best_of_what_is_left(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 5, &race, NULL), TSW_OK);
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        double time_ns[6 * TSW_RACE_BATCH];
        for (size_t slot = 0; slot < wave.count; slot++)
            time_ns[slot] = 100000.0 + 50.0 * wave.configs[slot];
        tsw_race_report(race, time_ns, NULL);
    }
    assert_int_equal(tsw_race_winner(race), 0);
    for (uint32_t i = 1; i < 5; i++)
        assert_int_equal(tsw_race_fate(race, i), i < 3 ? TSW_RACE_TIED : TSW_RACE_NOT_FINAL);
    tsw_race_free(race);
}

/* Config 0 is kept and `baseline` times as slow as the best of the others, 1 .. 4. */
typedef struct {
    size_t finals;        /* waves */
    size_t kept_finals;   /* of them, with config 0 */
    size_t kept_launches; /* of config 0, in any wave */
    size_t samples;       /* of config 0, in paired waves and the final */
    int64_t winner;
    tsw_race_fate_t fate;
} kept_t;

static kept_t run_kept(int64_t keep, double baseline, size_t count, int64_t fail_at_final)
{
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    kept_t result = {0};
    options.keep = keep;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, count, &race, NULL), TSW_OK);
    for (tsw_race_next(race, &wave); wave.count > 0; tsw_race_next(race, &wave)) {
        double time_ns[6 * TSW_RACE_BATCH];
        size_t kept = 0;
        for (size_t slot = 0; slot < wave.count; slot++) {
            uint32_t config = wave.configs[slot];
            kept += config == 0 && !wave.is_control[slot];
            time_ns[slot] = 1000.0 * (config == 0 ? baseline : 1.0 + 0.001 * config);
        }
        assert_true(kept <= wave.rounds);
        if (wave.is_final && (int64_t)result.finals >= fail_at_final && fail_at_final >= 0)
            tsw_race_drop(race, 0);
        result.finals += wave.is_final ? wave.rounds : 0;
        result.kept_finals += wave.is_final ? kept : 0;
        result.kept_launches += kept;
        tsw_race_report(race, time_ns, NULL);
    }
    result.winner = tsw_race_winner(race);
    result.fate = tsw_race_fate(race, 0);
    result.samples = tsw_race_samples(race, 0);
    tsw_race_free(race);
    return result;
}

static void test_kept_config_is_in_the_final_and_keeps_its_fate(void **state)
{
    (void)state;
    const kept_t hopeless = run_kept(0, 3.5, 5, -1);
    assert_int_equal(hopeless.kept_finals, 3);
    assert_int_equal(hopeless.kept_launches, 4); /* and the warm-up */
    assert_int_equal(hopeless.samples, 3);
    assert_int_equal(hopeless.fate, TSW_RACE_HOPELESS);
    const kept_t eliminated = run_kept(0, 1.05, 5, -1);
    assert_int_equal(eliminated.kept_finals, 3);
    assert_int_equal(eliminated.fate, TSW_RACE_ELIMINATED);
    const kept_t leader = run_kept(0, 0.9, 5, -1);
    assert_int_equal(leader.winner, 0);
    assert_int_equal(leader.kept_finals, leader.finals);
    assert_int_equal(leader.fate, TSW_RACE_WINNER);
    const kept_t endless = run_kept(0, 4e6, 5, -1); /* 4 s a launch */
    assert_int_equal(endless.kept_finals, 0);
    const kept_t none = run_kept(-1, 3.5, 5, -1);
    assert_int_equal(none.kept_finals, 0);
    assert_int_equal(none.finals, hopeless.finals); /* not prolonged */
    assert_int_equal(none.winner, hopeless.winner);
}

static void test_kept_config_when_it_fails_or_is_alone_then_the_race_ends_all_the_same(void **state)
{
    (void)state;
    const kept_t failed = run_kept(0, 3.5, 5, 0);
    assert_int_equal(failed.kept_finals, 3); /* the wave that it fails in */
    assert_int_equal(failed.samples, 0);
    assert_int_equal(failed.fate, TSW_RACE_DROPPED);
    assert_int_equal(failed.winner, 1);
    const kept_t broken = run_kept(0, 0.0, 5, -1);
    assert_int_equal(broken.kept_finals, 0);
    assert_int_equal(broken.fate, TSW_RACE_BROKEN);
    const kept_t single = run_kept(0, 1.0, 1, -1);
    assert_int_equal(single.winner, 0);
    assert_int_equal(single.kept_finals, 3);
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    tsw_race_t *race = NULL;
    options.keep = 5;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 5, &race, NULL), TSW_ERR_ARG);
}

/* Config 1 is far beyond the others, 2 is not far enough, and nothing is known about 3. */
static void test_first_launches_drop_what_is_far_too_slow(void **state)
{
    (void)state;
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    const double first_ns[] = {50e3, 166e3, 164e3, 0.0};
    tsw_race_t *race = NULL;
    tsw_race_wave_t wave;
    options.keep = 1;
    assert_int_equal(tsw_race_new(&options, 1, (tsw_key_t){.lo = 1}, 4, &race, NULL), TSW_OK);
    for (uint32_t i = 0; i < 4; i++)
        tsw_race_first(race, i, first_ns[i]);
    tsw_race_next(race, &wave);
    assert_int_equal(wave.count, 3);
    assert_int_equal(tsw_race_fate(race, 1), TSW_RACE_HOPELESS);
    size_t kept = 0;
    for (; wave.count > 0; tsw_race_next(race, &wave)) {
        double time_ns[5 * TSW_RACE_BATCH];
        for (size_t slot = 0; slot < wave.count; slot++) {
            time_ns[slot] = wave.configs[slot] == 0 ? 40e3 : 100e3;
            kept += wave.configs[slot] == 1;
            assert_true(wave.configs[slot] != 1 || wave.is_final);
        }
        tsw_race_report(race, time_ns, NULL);
    }
    assert_int_equal(tsw_race_winner(race), 0);
    assert_int_equal(kept, options.final_rounds); /* the baseline all the same */
    tsw_race_free(race);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regret_when_quiet_then_a_fifth_of_a_percent_at_most),
        cmocka_unit_test(test_regret_when_noisy_then_below_the_indifference),
        cmocka_unit_test(test_race_on_cells_like_those_of_an_h200),
        cmocka_unit_test(test_race_decides_by_the_objective),
        cmocka_unit_test(test_first_launches_drop_what_is_far_too_slow),
        cmocka_unit_test(test_race_when_many_are_hopeless_then_each_runs_once_or_twice),
        cmocka_unit_test(test_race_when_configs_fail_then_others_win_or_nobody),
        cmocka_unit_test(test_report_when_a_time_cannot_be_then_the_config_is_broken),
        cmocka_unit_test(test_report_when_all_times_are_zero_then_nobody_wins),
        cmocka_unit_test(test_early_samples_do_not_decide_the_winner),
        cmocka_unit_test(test_stop_leaves_the_leader_as_winner),
        cmocka_unit_test(test_final_goes_on_until_its_control_is_quiet),
        cmocka_unit_test(test_leader_that_fails_beside_its_control_leaves_the_win_to_the_tied),
        cmocka_unit_test(test_final_takes_the_best_of_what_is_left),
        cmocka_unit_test(test_kept_config_is_in_the_final_and_keeps_its_fate),
        cmocka_unit_test(
            test_kept_config_when_it_fails_or_is_alone_then_the_race_ends_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
