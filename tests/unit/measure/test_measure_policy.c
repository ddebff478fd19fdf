#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "measure/policy.h"

#include <string.h>

static const uint32_t live[] = {0, 2, 3, 5, 8, 13, 21, 34};
enum { LIVE = sizeof(live) / sizeof(live[0]) };

static tsw_policy_state_t *make_for(const char *cell, const tsw_policy_t *policy,
                                    uint32_t first_round)
{
    tsw_policy_state_t *state = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_policy_new(&(tsw_policy_setup_t){.policy = policy,
                                                          .cell = tsw_key_of_text(cell),
                                                          .live = live,
                                                          .count = LIVE,
                                                          .first_round = first_round},
                                    &state, &err),
                     TSW_OK);
    return state;
}

static tsw_policy_state_t *make(const tsw_policy_t *policy, uint32_t first_round)
{
    return make_for("cell", policy, first_round);
}

static tsw_wave_t next(tsw_policy_state_t *state)
{
    tsw_wave_t wave;
    tsw_policy_next(state, &wave);
    return wave;
}

/* Reports a wave that took 1 s. */
static void report(tsw_policy_state_t *state)
{
    uint64_t interval_ns[LIVE] = {0};
    uint32_t launches[LIVE] = {0};
    tsw_policy_report(state, interval_ns, launches, 1000000000u);
}

static void check_is_permutation(const tsw_wave_t *wave)
{
    size_t found = 0;
    assert_int_equal(wave->count, LIVE);
    for (size_t i = 0; i < LIVE; i++)
        for (size_t k = 0; k < LIVE; k++)
            found += wave->configs[k] == live[i];
    assert_int_equal(found, LIVE);
}

static void test_warmups_then_rounds_in_fresh_orders(void **test)
{
    (void)test;
    tsw_policy_t policy = {
        .protocol = TSW_PROTOCOL_ROUNDS, .warmup_rounds = 2, .rounds = 5, .seed = 1};
    tsw_policy_state_t *state = make(&policy, 0);
    uint32_t last[LIVE] = {0};
    assert_int_equal(tsw_policy_wave_max(state), LIVE);
    for (uint32_t i = 0; i < 7; i++) {
        tsw_wave_t wave = next(state);
        assert_int_equal(wave.stage, i < 2 ? TSW_STAGE_WARMUP : TSW_STAGE_ROUND);
        assert_int_equal(wave.round, i < 2 ? i : i - 2);
        check_is_permutation(&wave);
        assert_memory_not_equal(wave.configs, last, sizeof(last));
        memcpy(last, wave.configs, sizeof(last));
        report(state);
    }
    assert_int_equal(next(state).count, 0);
    assert_int_equal(next(state).count, 0);
    tsw_policy_free(state);
}

static void test_orders_depend_on_seed_cell_and_round_alone(void **test)
{
    (void)test;
    tsw_policy_t policy = {
        .protocol = TSW_PROTOCOL_ROUNDS, .warmup_rounds = 1, .rounds = 5, .seed = 1};
    tsw_policy_state_t *whole = make(&policy, 0), *rest = make(&policy, 3);
    uint32_t third[LIVE];
    for (uint32_t i = 0; i < 4; i++) {
        (void)next(whole);
        report(whole);
    }
    memcpy(third, next(whole).configs, sizeof(third));
    assert_int_equal(next(rest).stage, TSW_STAGE_WARMUP); /* a fresh process is cold again */
    report(rest);
    tsw_wave_t wave = next(rest);
    assert_int_equal(wave.round, 3);
    assert_memory_equal(wave.configs, third, sizeof(third));
    for (policy.seed = 1; policy.seed <= 2; policy.seed++) {
        tsw_policy_state_t *other = make_for(policy.seed == 1 ? "other" : "cell", &policy, 3);
        (void)next(other);
        report(other);
        assert_memory_not_equal(next(other).configs, third, sizeof(third));
        tsw_policy_free(other);
    }
    tsw_policy_free(whole);
    tsw_policy_free(rest);
}

static void test_a_wave_comes_again_until_it_is_reported(void **test)
{
    (void)test;
    tsw_policy_t policy = {.rounds = 2, .seed = 1};
    tsw_policy_state_t *state = make(&policy, 0);
    assert_int_equal(next(state).round, 0);
    tsw_policy_drop(state, 5);
    tsw_policy_drop(state, 6); /* not there */
    tsw_wave_t wave = next(state);
    assert_int_equal(wave.round, 0);
    assert_int_equal(wave.count, LIVE - 1);
    for (size_t i = 0; i < wave.count; i++)
        assert_int_not_equal(wave.configs[i], 5);
    for (size_t i = 0; i < LIVE; i++)
        tsw_policy_drop(state, live[i]);
    assert_int_equal(next(state).count, 0);
    tsw_policy_free(state);
}

static void test_a_budget_ends_rounds_but_not_before_three(void **test)
{
    (void)test;
    tsw_policy_t policy = {.protocol = TSW_PROTOCOL_ROUNDS,
                           .warmup_rounds = 3,
                           .rounds = 100,
                           .cell_budget_s = 5.5,
                           .seed = 1};
    tsw_policy_state_t *state = make(&policy, 0);
    uint32_t waves = 0;
    for (; next(state).count > 0; waves++)
        report(state);
    assert_int_equal(waves, 3 + 6); /* warm-up is not on the bill */
    tsw_policy_free(state);
    policy.cell_budget_s = 0.1;
    state = make(&policy, 0);
    for (waves = 0; next(state).count > 0; waves++)
        report(state);
    assert_int_equal(waves, 3 + 3);
    tsw_policy_free(state);
}

static void test_fixed_is_one_wave_of_launches_in_a_row(void **test)
{
    (void)test;
    tsw_policy_t policy = {.protocol = TSW_PROTOCOL_FIXED, .warmup_rounds = 2, .rounds = 3};
    tsw_policy_state_t *state = make(&policy, 0);
    assert_int_equal(tsw_policy_wave_max(state), 3 * LIVE);
    tsw_wave_t wave = next(state);
    assert_int_equal(wave.stage, TSW_STAGE_FIXED);
    assert_int_equal(wave.count, 3 * LIVE);
    for (size_t i = 0; i < wave.count; i++)
        assert_int_equal(wave.configs[i], live[i / 3]);
    report(state);
    assert_int_equal(next(state).count, 0);
    tsw_policy_free(state);
}

static void test_nothing_left_to_do_is_no_wave(void **test)
{
    (void)test;
    tsw_policy_t policy = {.protocol = TSW_PROTOCOL_ROUNDS, .warmup_rounds = 2, .rounds = 3};
    tsw_policy_state_t *state = make(&policy, 3);
    assert_int_equal(next(state).count, 0);
    tsw_policy_free(state);
    assert_int_equal(tsw_policy_new(&(tsw_policy_setup_t){.policy = &policy}, &state, NULL),
                     TSW_OK);
    assert_int_equal(next(state).count, 0);
    tsw_policy_free(state);
    tsw_policy_free(NULL);
}

static void test_no_memory_is_reported(void **test)
{
    (void)test;
    tsw_policy_t policy = {.rounds = 3};
    for (long n = 1; n <= 4; n++) {
        tsw_policy_state_t *state = NULL;
        tsw_mem_fail_at(n);
        assert_int_equal(
            tsw_policy_new(&(tsw_policy_setup_t){.policy = &policy, .live = live, .count = LIVE},
                           &state, NULL),
            TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
        assert_null(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warmups_then_rounds_in_fresh_orders),
        cmocka_unit_test(test_orders_depend_on_seed_cell_and_round_alone),
        cmocka_unit_test(test_a_wave_comes_again_until_it_is_reported),
        cmocka_unit_test(test_a_budget_ends_rounds_but_not_before_three),
        cmocka_unit_test(test_fixed_is_one_wave_of_launches_in_a_row),
        cmocka_unit_test(test_nothing_left_to_do_is_no_wave),
        cmocka_unit_test(test_no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
