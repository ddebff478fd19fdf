/* Every protocol on the same simulated series: what it launches, and what it picks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "measure/policy.h"

#include <math.h>

enum { CONFIGS = 12, SLOTS = 128 };

/* True times in ns; config 4 is the best, 9 and 10 are close to it. */
static const double truth[CONFIGS] = {90e3, 61e3,  400e3, 1500e3, 50e3,    75e3,
                                      80e3, 120e3, 56e3,  50.1e3, 50.05e3, 100e3};

typedef struct {
    size_t waves, samples, launches;
    size_t of_stage[TSW_STAGE_COUNT];
    size_t per_config[CONFIGS]; /* samples, the warm-up aside */
    uint32_t last_round;
    bool flushed, hot, queued, of_cell;
    double gpu_ns;
} log_t;

static uint64_t tick;

static double draw(uint32_t config)
{
    tick++;
    double value = truth[config] * exp(0.004 * tsw_rng_normal(tsw_rng_u64(3, tick, 0, 0, 0)));
    return tsw_rng_u64(4, tick, 0, 0, 0) % 100 == 0 ? 2.0 * value : value;
}

static tsw_policy_state_t *make(const tsw_policy_t *policy, size_t count, uint32_t first_round)
{
    static const uint32_t live[CONFIGS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    tsw_policy_setup_t setup = {.policy = policy,
                                .cell = tsw_key_of_text("cell"),
                                .live = live,
                                .count = count,
                                .first_round = first_round};
    tsw_policy_state_t *state = NULL;
    assert_int_equal(tsw_policy_new(&setup, &state, NULL), TSW_OK);
    return state;
}

static void note(log_t *log, const tsw_wave_t *wave, const uint32_t *launches)
{
    log->waves++;
    log->last_round = wave->round > log->last_round ? wave->round : log->last_round;
    log->flushed = log->flushed || wave->kind == TSW_WAVE_KIND_FLUSH;
    log->hot = log->hot || wave->kind == TSW_WAVE_KIND_HOT;
    log->queued = log->queued || wave->kind == TSW_WAVE_KIND_QUEUE;
    log->of_cell = log->of_cell || wave->kind == TSW_WAVE_KIND_CELL;
    for (size_t i = 0; i < wave->count; i++) {
        log->samples++;
        log->launches += launches[i];
        log->of_stage[wave->is_control != NULL && wave->is_control[i] ? TSW_STAGE_CONTROL
                                                                      : wave->stage]++;
        if (wave->stage != TSW_STAGE_WARMUP && (wave->is_control == NULL || !wave->is_control[i]))
            log->per_config[wave->configs[i]]++;
    }
}

/* Runs it to its end. time: ns per launch of a config; NULL: draw. */
static void run(tsw_policy_state_t *state, double (*time)(uint32_t config), log_t *log)
{
    tsw_wave_t wave;
    *log = (log_t){0};
    tick = 0;
    for (tsw_policy_next(state, &wave); wave.count > 0; tsw_policy_next(state, &wave)) {
        uint64_t interval_ns[SLOTS];
        uint32_t launches[SLOTS];
        uint64_t elapsed_ns = 0;
        assert_true(wave.count <= SLOTS && wave.count <= tsw_policy_wave_max(state));
        assert_true(log->waves < 100000);
        for (size_t i = 0; i < wave.count; i++) {
            double ns = time != NULL ? time(wave.configs[i]) : draw(wave.configs[i]);
            launches[i] = wave.launches > 0 ? wave.launches : 4;
            interval_ns[i] = (uint64_t)(ns * launches[i]);
            elapsed_ns += interval_ns[i];
        }
        note(log, &wave, launches);
        log->gpu_ns += (double)elapsed_ns;
        tsw_policy_report(state, interval_ns, launches, elapsed_ns);
    }
}

static void run_protocol(tsw_protocol_t protocol, tsw_policy_state_t **state_p, log_t *log)
{
    tsw_policy_t policy = {.protocol = protocol, .rounds = 96, .seed = 5};
    *state_p = make(&policy, CONFIGS, 0);
    run(*state_p, NULL, log);
}

static void test_race_drops_early_and_ends_in_a_final(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_state_t *state = NULL;
    run_protocol(TSW_PROTOCOL_RACE, &state, &log);
    int32_t pick = tsw_policy_pick(state);
    assert_true(pick == 4 || pick == 9 || pick == 10);
    assert_int_equal(tsw_policy_fate(state, (uint32_t)pick), TSW_FATE_WINNER);
    assert_int_equal(tsw_policy_fate(state, 2), TSW_FATE_HOPELESS);
    assert_int_equal(tsw_policy_fate(state, 3), TSW_FATE_HOPELESS);
    assert_int_equal(tsw_policy_fate(state, 7), TSW_FATE_HOPELESS);
    assert_int_equal(log.per_config[3], 1); /* 30 times slower: one launch */
    assert_int_equal(log.of_stage[TSW_STAGE_WARMUP], 0);
    assert_true(log.of_stage[TSW_STAGE_EARLY] >= CONFIGS);
    assert_true(log.of_stage[TSW_STAGE_FINAL] > 0);
    assert_true(log.of_stage[TSW_STAGE_CONTROL] >= 3);
    assert_true(log.of_cell && !log.hot && !log.flushed && !log.queued);
    tsw_policy_free(state);
}

static double slow_baseline(uint32_t config)
{
    return config == 0 ? 300e3 : 100e3 + 1e3 * config;
}

static void test_race_when_the_baseline_is_hopeless_then_the_final_has_it(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_t policy = {.protocol = TSW_PROTOCOL_RACE, .rounds = 96, .seed = 5};
    tsw_policy_state_t *state = make(&policy, CONFIGS, 0);
    run(state, slow_baseline, &log);
    assert_int_equal(tsw_policy_pick(state), 1);
    assert_int_equal(tsw_policy_fate(state, 0), TSW_FATE_HOPELESS);
    assert_true(log.per_config[0] >= 4);
    tsw_policy_free(state);

    policy.cell_budget_s = 0.001; /* spent before the final */
    state = make(&policy, CONFIGS, 0);
    run(state, slow_baseline, &log);
    assert_true(log.per_config[0] <= 1);
    tsw_policy_free(state);
}

static void test_race_numbers_its_waves_on_after_a_death(void **test)
{
    (void)test;
    tsw_policy_t policy = {.protocol = TSW_PROTOCOL_RACE, .rounds = 96, .seed = 5};
    tsw_policy_state_t *state = make(&policy, CONFIGS, 17);
    tsw_wave_t wave;
    uint64_t interval_ns[SLOTS];
    uint32_t launches[SLOTS];
    for (size_t i = 0; i < SLOTS; i++) {
        interval_ns[i] = 1000;
        launches[i] = 1;
    }
    for (uint32_t round = 17; round <= 19; round += wave.rounds) {
        tsw_policy_next(state, &wave);
        assert_true(wave.stage == TSW_STAGE_EARLY && wave.round == round);
        assert_int_equal(wave.launches, round == 17 ? 1 : 0);
        assert_true((wave.interval_ns > 0) == (round > 17) && wave.graph_below_ns == 0);
        tsw_policy_report(state, interval_ns, launches, 1);
    }
    assert_int_equal(wave.rounds, 2);
    tsw_policy_free(state);
}

static double slow(uint32_t config)
{
    return config == 0 ? 5e9 : 1e3; /* 5 s beside 1 us */
}

static void test_race_of_a_microsecond_and_five_seconds(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_t policy = {
        .protocol = TSW_PROTOCOL_RACE, .rounds = 96, .seed = 5, .cell_budget_s = 300};
    tsw_policy_state_t *state = make(&policy, 2, 0);
    run(state, slow, &log);
    assert_int_equal(tsw_policy_pick(state), 1);
    assert_int_equal(tsw_policy_fate(state, 0), TSW_FATE_HOPELESS);
    assert_int_equal(log.per_config[0], 1); /* too long to be kept */
    tsw_policy_free(state);
}

static void test_race_of_more_rounds_than_anybody_has_memory_for(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_t policy = {.protocol = TSW_PROTOCOL_RACE, .rounds = 1000000, .seed = 5};
    tsw_policy_state_t *state = make(&policy, CONFIGS, 0);
    run(state, slow_baseline, &log);
    assert_int_equal(tsw_policy_pick(state), 1);
    tsw_policy_free(state);
}

/* A race of `count` configs, to its end. */
static tsw_policy_state_t *race(const tsw_policy_setup_t *more, const tsw_policy_t *policy,
                                size_t count, double (*time)(uint32_t config), log_t *log)
{
    static const uint32_t live[CONFIGS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    tsw_policy_setup_t setup = *more;
    tsw_policy_state_t *state = NULL;
    setup.policy = policy;
    setup.live = live;
    setup.count = count;
    assert_int_equal(tsw_policy_new(&setup, &state, NULL), TSW_OK);
    run(state, time, log);
    return state;
}

static void test_race_knows_first_launches_and_the_floor(void **test)
{
    (void)test;
    static const uint64_t first_ns[CONFIGS] = {90000, 61000,  400000, 1500000, 50000, 75000,
                                               80000, 120000, 56000,  50000,   50000, 100000};
    log_t log;
    tsw_policy_t policy = {.protocol = TSW_PROTOCOL_RACE, .rounds = 96, .seed = 5};
    tsw_policy_setup_t more = {.first_ns = first_ns, .floor_ns = 50.07e3};
    tsw_policy_state_t *state = race(&more, &policy, CONFIGS, NULL, &log);
    assert_int_equal(log.per_config[2] + log.per_config[3], 0);
    assert_int_equal(tsw_policy_fate(state, 3), TSW_FATE_HOPELESS);
    assert_int_equal(tsw_policy_fate(state, 4), TSW_FATE_SUSPECT); /* twice below the floor */
    tsw_policy_free(state);
}

/* Config 1 takes double in every third sample: less by the median, more by the mean and beyond. */
static double seldom_slow(uint32_t config)
{
    return config == 0 ? 110e3 : ++tick % 3 == 0 ? 200e3 : 100e3;
}

static void test_race_goes_by_the_objective(void **test)
{
    (void)test;
    static const struct {
        tsw_objective_t objective;
        int32_t pick;
        size_t least, most; /* samples of who is picked */
    } cases[] = {{TSW_OBJECTIVE_MEDIAN, 1, 4, 60},
                 {TSW_OBJECTIVE_ENERGY, 1, 4, 60},
                 {TSW_OBJECTIVE_MEAN, 0, 31, 60},
                 {TSW_OBJECTIVE_P90, 0, 61, 70},
                 {TSW_OBJECTIVE_P99, 0, 201, 210}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        log_t log;
        tsw_policy_t policy = {.protocol = TSW_PROTOCOL_RACE,
                               .rounds = 96,
                               .seed = 5,
                               .objective = cases[i].objective};
        tsw_policy_state_t *state = race(&(tsw_policy_setup_t){0}, &policy, 2, seldom_slow, &log);
        assert_int_equal(tsw_policy_pick(state), cases[i].pick);
        assert_in_range(log.per_config[cases[i].pick], cases[i].least, cases[i].most);
        tsw_policy_free(state);
    }
}

static double nearly_equal(uint32_t config)
{
    return 100e3 + 10.0 * config;
}

static void test_race_has_no_more_rounds_than_the_job_says(void **test)
{
    (void)test;
    for (uint32_t rounds = 2; rounds <= 4; rounds += 2) {
        log_t log;
        tsw_policy_t policy = {.protocol = TSW_PROTOCOL_RACE, .rounds = rounds, .seed = 5};
        tsw_policy_state_t *state =
            race(&(tsw_policy_setup_t){0}, &policy, CONFIGS, nearly_equal, &log);
        assert_int_equal(tsw_policy_fate(state, 11), TSW_FATE_NOT_FINAL);
        assert_int_equal(log.per_config[11], 2 + rounds); /* and the early ones */
        tsw_policy_free(state);
    }
}

static double long_baseline(uint32_t config)
{
    return config == 0 ? 300e6 : 100e6;
}

/* Three rounds of it take 0.9 s: more than a tenth of 8 s. */
static void test_race_keeps_a_hopeless_baseline_for_a_tenth_of_the_budget(void **test)
{
    (void)test;
    for (int i = 0; i < 3; i++) {
        static const double budgets[] = {8.0, 10.0, 0.0}; /* 0: none */
        log_t log;
        tsw_policy_t policy = {
            .protocol = TSW_PROTOCOL_RACE, .rounds = 96, .seed = 5, .cell_budget_s = budgets[i]};
        tsw_policy_state_t *state = race(&(tsw_policy_setup_t){0}, &policy, 2, long_baseline, &log);
        assert_int_equal(tsw_policy_fate(state, 0), TSW_FATE_HOPELESS);
        assert_int_equal(log.per_config[0], i == 0 ? 1 : 4);
        tsw_policy_free(state);
    }
}

static double steady(uint32_t config)
{
    return 1e9 + 1e6 * config;
}

static void test_budget_ends_every_protocol_with_what_there_is(void **test)
{
    (void)test;
    static const tsw_protocol_t protocols[] = {
        TSW_PROTOCOL_RACE,     TSW_PROTOCOL_CUTILE, TSW_PROTOCOL_KT7,
        TSW_PROTOCOL_DO_BENCH, TSW_PROTOCOL_FI10,   TSW_PROTOCOL_TUNABLE,
    };
    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
        log_t log;
        tsw_policy_t policy = {
            .protocol = protocols[i], .rounds = 96, .seed = 5, .cell_budget_s = 8};
        tsw_policy_state_t *state = make(&policy, CONFIGS, 0);
        run(state, steady, &log);
        assert_true(log.gpu_ns < 120e9);
        size_t budget = 0;
        for (uint32_t c = 0; c < CONFIGS; c++)
            budget += tsw_policy_fate(state, c) == TSW_FATE_BUDGET;
        assert_true(budget > 0);
        /* tunable: 3 and 10 launches are gone before its first sample */
        assert_true(protocols[i] == TSW_PROTOCOL_TUNABLE || tsw_policy_pick(state) >= 0);
        tsw_policy_free(state);
    }
}

static double zero(uint32_t config)
{
    (void)config;
    return 0.0;
}

static void test_zero_times_end_every_protocol(void **test)
{
    (void)test;
    for (int p = TSW_PROTOCOL_RACE; p <= TSW_PROTOCOL_FIXED; p++) {
        log_t log;
        tsw_policy_t policy = {.protocol = (tsw_protocol_t)p, .rounds = 2, .seed = 5};
        tsw_policy_state_t *state = make(&policy, 3, 0);
        run(state, zero, &log);
        if (p == TSW_PROTOCOL_RACE) {
            assert_int_equal(tsw_policy_pick(state), -1);
            assert_int_equal(tsw_policy_fate(state, 1), TSW_FATE_SUSPECT);
        }
        tsw_policy_free(state);
    }
}

static void test_dropped_configs_never_come_again(void **test)
{
    (void)test;
    for (int p = TSW_PROTOCOL_RACE; p < TSW_PROTOCOL_FIXED; p++) {
        tsw_policy_t policy = {.protocol = (tsw_protocol_t)p, .rounds = 3, .seed = 5};
        tsw_policy_state_t *state = make(&policy, 4, 0);
        tsw_wave_t wave;
        size_t waves = 0;
        for (tsw_policy_next(state, &wave); wave.count > 0; tsw_policy_next(state, &wave)) {
            uint64_t interval_ns[SLOTS];
            uint32_t launches[SLOTS];
            bool failed = false;
            assert_true(waves++ < 100000);
            for (size_t i = 0; i < wave.count && !failed; i++) {
                failed = wave.configs[i] == 2 || (waves > 6 && wave.configs[i] == 0);
                if (failed)
                    tsw_policy_drop(state, wave.configs[i]);
                launches[i] = wave.launches > 0 ? wave.launches : 1;
                interval_ns[i] = launches[i] * (100000 + 1000 * (uint64_t)wave.configs[i]);
            }
            if (!failed)
                tsw_policy_report(state, interval_ns, launches, 1000);
        }
        assert_int_equal(tsw_policy_fate(state, 2), TSW_FATE_NONE);
        assert_true(p == TSW_PROTOCOL_ROUNDS || tsw_policy_pick(state) == 1 ||
                    tsw_policy_pick(state) == 0);
        for (uint32_t c = 0; c < 4; c++)
            tsw_policy_drop(state, c);
        tsw_policy_next(state, &wave);
        assert_int_equal(wave.count, 0);
        tsw_policy_free(state);
    }
}

static void test_cutile_refines_until_five_have_converged(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_state_t *state = NULL;
    run_protocol(TSW_PROTOCOL_CUTILE, &state, &log);
    assert_true(log.flushed && !log.hot && !log.queued && !log.of_cell);
    assert_int_equal(log.of_stage[TSW_STAGE_WARMUP], 3 * CONFIGS);
    assert_int_equal(log.waves, log.samples); /* a sync each */
    for (size_t c = 0; c < CONFIGS; c++)
        assert_true(log.per_config[c] >= 5 && log.per_config[c] % 5 == 0);
    assert_true(log.of_stage[TSW_STAGE_ROUND] < 20 * CONFIGS);
    assert_int_equal(log.per_config[3], 5); /* 30 times slower: never refined */
    int32_t pick = tsw_policy_pick(state);
    assert_true(pick == 4 || pick == 9 || pick == 10);
    tsw_policy_free(state);
}

/* Every other sample of a config is 10 % longer. Config 5 is close behind the fifth best, 1. */
static double swinging(uint32_t config)
{
    double mean = config == 5 ? 62.5e3 : truth[config];
    return mean * (++tick % 2 == 0 ? 0.95 : 1.05);
}

/* The margin of n samples is 1.96 * 5 % / sqrt(n): 1 % at 96, and 2.4 %, as far as config 5 is from
 * the fifth best, at 17. Others stay beyond their first margin, of 5. */
static void test_cutile_refines_what_may_be_among_the_five_best(void **test)
{
    (void)test;
    static const uint32_t best[] = {4, 10, 9, 8, 1}, others[] = {0, 2, 3, 7, 11};
    log_t log;
    tsw_policy_t policy = {.protocol = TSW_PROTOCOL_CUTILE, .rounds = 96, .seed = 5};
    tsw_policy_state_t *state = make(&policy, CONFIGS, 0);
    run(state, swinging, &log);
    for (size_t i = 0; i < 5; i++) {
        assert_in_range(log.per_config[best[i]], 95, 105);
        assert_int_equal(log.per_config[others[i]], 5);
    }
    assert_in_range(log.per_config[5], 15, 25);
    tsw_policy_free(state);
}

static void test_kt7_takes_eight_launches_of_each(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_state_t *state = NULL;
    run_protocol(TSW_PROTOCOL_KT7, &state, &log);
    assert_true(log.hot && !log.flushed && !log.queued);
    assert_int_equal(log.launches, 8 * CONFIGS);
    assert_int_equal(log.waves, 8 * CONFIGS);
    assert_int_equal(log.of_stage[TSW_STAGE_ROUND], 7 * CONFIGS);
    assert_int_equal(log.last_round, 7 * CONFIGS - 1); /* those of the warm-up count apart */
    assert_true(tsw_policy_pick(state) >= 0);
    assert_int_equal(tsw_policy_fate(state, 3), TSW_FATE_MEASURED);
    tsw_policy_free(state);
}

static void test_do_bench_fills_its_time(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_state_t *state = NULL;
    run_protocol(TSW_PROTOCOL_DO_BENCH, &state, &log);
    assert_true(log.flushed && !log.hot && !log.queued);
    double warmups = 0.0;
    for (size_t c = 0; c < CONFIGS; c++) { /* 100 ms of each, by an estimate of 5 */
        double filled = (double)log.per_config[c] * truth[c];
        assert_true(filled > 70e6 && filled < 105e6);
        warmups += 5.0 + 25e6 / truth[c];
    }
    assert_true(fabs((double)log.of_stage[TSW_STAGE_WARMUP] / warmups - 1.0) < 0.1);
    int32_t pick = tsw_policy_pick(state);
    assert_true(pick == 4 || pick == 9 || pick == 10);
    tsw_policy_free(state);
}

/* Its first five launches take 200 us, all others 100 us. */
static double slow_at_first(uint32_t config)
{
    (void)config;
    return ++tick <= 5 ? 200e3 : 100e3;
}

static void test_do_bench_estimates_once(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_t policy = {.protocol = TSW_PROTOCOL_DO_BENCH, .rounds = 96, .seed = 5};
    tsw_policy_state_t *state = make(&policy, 1, 0);
    run(state, slow_at_first, &log);
    assert_int_equal(log.of_stage[TSW_STAGE_WARMUP], 5 + 125); /* 25 ms of 200 us */
    assert_int_equal(log.of_stage[TSW_STAGE_ROUND], 500);      /* 100 ms */
    tsw_policy_free(state);
}

static void test_fi10_has_one_interval_of_ten(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_state_t *state = NULL;
    run_protocol(TSW_PROTOCOL_FI10, &state, &log);
    assert_true(log.queued && !log.flushed);
    assert_int_equal(log.launches, 12 * CONFIGS);
    assert_int_equal(log.of_stage[TSW_STAGE_ROUND], CONFIGS);
    assert_true(tsw_policy_pick(state) >= 0);
    tsw_policy_free(state);
}

static void test_tunable_leaves_slow_configs_at_two_limits(void **test)
{
    (void)test;
    log_t log;
    tsw_policy_state_t *state = NULL;
    run_protocol(TSW_PROTOCOL_TUNABLE, &state, &log);
    assert_true(log.queued && !log.flushed && !log.hot);
    assert_int_equal(log.per_config[3], 1); /* the 3 */
    assert_int_equal(log.per_config[5], 2); /* the 3 and the 10: 1.5 times the best */
    assert_int_equal(log.per_config[4], 3);
    assert_int_equal(tsw_policy_fate(state, 3), TSW_FATE_HOPELESS);
    assert_int_equal(tsw_policy_fate(state, 0), TSW_FATE_MEASURED); /* nothing to be beyond of */
    int32_t pick = tsw_policy_pick(state);
    assert_true(pick == 4 || pick == 9 || pick == 10);
    tsw_policy_free(state);
}

static void test_no_memory_and_no_configs(void **test)
{
    (void)test;
    static const uint32_t live[] = {1, 2};
    for (int p = TSW_PROTOCOL_RACE; p <= TSW_PROTOCOL_FIXED; p++) {
        tsw_policy_t policy = {.protocol = (tsw_protocol_t)p, .rounds = 2};
        tsw_policy_setup_t setup = {.policy = &policy};
        tsw_policy_state_t *state = NULL;
        tsw_wave_t wave;
        assert_int_equal(tsw_policy_new(&setup, &state, NULL), TSW_OK);
        tsw_policy_next(state, &wave);
        assert_int_equal(wave.count, 0);
        assert_int_equal(tsw_policy_pick(state), -1);
        tsw_policy_free(state);
        state = NULL;
        setup.live = live;
        setup.count = 2;
        for (long n = 1; n <= 3; n++) {
            tsw_mem_fail_at(n);
            assert_int_equal(tsw_policy_new(&setup, &state, NULL), TSW_ERR_NOMEM);
            tsw_mem_fail_at(0);
            assert_null(state);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_race_drops_early_and_ends_in_a_final),
        cmocka_unit_test(test_race_when_the_baseline_is_hopeless_then_the_final_has_it),
        cmocka_unit_test(test_race_numbers_its_waves_on_after_a_death),
        cmocka_unit_test(test_race_of_a_microsecond_and_five_seconds),
        cmocka_unit_test(test_race_of_more_rounds_than_anybody_has_memory_for),
        cmocka_unit_test(test_race_knows_first_launches_and_the_floor),
        cmocka_unit_test(test_race_goes_by_the_objective),
        cmocka_unit_test(test_race_has_no_more_rounds_than_the_job_says),
        cmocka_unit_test(test_race_keeps_a_hopeless_baseline_for_a_tenth_of_the_budget),
        cmocka_unit_test(test_budget_ends_every_protocol_with_what_there_is),
        cmocka_unit_test(test_zero_times_end_every_protocol),
        cmocka_unit_test(test_dropped_configs_never_come_again),
        cmocka_unit_test(test_cutile_refines_until_five_have_converged),
        cmocka_unit_test(test_cutile_refines_what_may_be_among_the_five_best),
        cmocka_unit_test(test_kt7_takes_eight_launches_of_each),
        cmocka_unit_test(test_do_bench_fills_its_time),
        cmocka_unit_test(test_do_bench_estimates_once),
        cmocka_unit_test(test_fi10_has_one_interval_of_ten),
        cmocka_unit_test(test_tunable_leaves_slow_configs_at_two_limits),
        cmocka_unit_test(test_no_memory_and_no_configs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
