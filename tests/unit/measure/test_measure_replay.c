/* Every protocol on a recorded file: what its pick costs, and how many samples it took. The file is
 * synthetic and says so: 45 configs with 32 times each, noise of 0.5 %, a drift that all share,
 * 1 % of times doubled, a slow first launch; three configs failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "measure/policy.h"
#include "stats/stats.h"
#include "table/table_import.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 128, CONFIGS_MAX = 64, RUNS = 60 };

static tsw_import_t recorded;
static double medians[CONFIGS_MAX];
static double best_ns;
static uint32_t live[CONFIGS_MAX];
static size_t live_count;

static int setup(void **state)
{
    (void)state;
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_file_read(TSW_SOURCE_DIR "/tests/data/replay/kernel_tuner_synthetic.json", &text,
                      &err) != TSW_OK ||
        tsw_import_read("synthetic", (const char *)text.data, text.size, &recorded, &err) != TSW_OK)
        return -1;
    for (uint32_t i = 0; i < recorded.count && i < CONFIGS_MAX; i++) {
        const tsw_import_config_t *config = &recorded.configs[i];
        if (config->outcome != TSW_OUTCOME_OK)
            continue;
        double *times = tsw_memdup(config->times_ns, config->count * sizeof(*times));
        medians[i] = tsw_stats_summary(times, config->count).median;
        tsw_free(times);
        if (live_count == 0 || medians[i] < best_ns)
            best_ns = medians[i];
        live[live_count++] = i;
    }
    tsw_buf_fini(&text);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tsw_import_fini(&recorded);
    return 0;
}

typedef struct {
    double regret;
    size_t samples;
    double gpu_ns;
} outcome_t;

static outcome_t replay(tsw_protocol_t protocol, uint64_t seed)
{
    size_t taken[CONFIGS_MAX];
    tsw_policy_t policy = {.protocol = protocol, .rounds = 96, .seed = seed};
    tsw_policy_setup_t setup_p = {
        .policy = &policy, .cell = {.lo = seed}, .live = live, .count = live_count};
    tsw_policy_state_t *state = NULL;
    tsw_wave_t wave;
    outcome_t outcome = {0};
    for (size_t i = 0; i < CONFIGS_MAX; i++)
        taken[i] = (size_t)seed; /* each run begins elsewhere in the record */
    assert_int_equal(tsw_policy_new(&setup_p, &state, NULL), TSW_OK);
    for (tsw_policy_next(state, &wave); wave.count > 0; tsw_policy_next(state, &wave)) {
        uint64_t interval_ns[SLOTS];
        uint32_t launches[SLOTS];
        for (size_t i = 0; i < wave.count; i++) {
            const tsw_import_config_t *config = &recorded.configs[wave.configs[i]];
            launches[i] = wave.launches > 0 ? wave.launches : 1;
            double ns = 0.0;
            for (uint32_t k = 0; k < launches[i]; k++)
                ns += config->times_ns[taken[wave.configs[i]]++ % config->count];
            interval_ns[i] = (uint64_t)ns;
            outcome.gpu_ns += ns;
        }
        outcome.samples += wave.count;
        tsw_policy_report(state, interval_ns, launches, 1);
    }
    int32_t pick = tsw_policy_pick(state);
    assert_true(pick >= 0 && recorded.configs[pick].outcome == TSW_OUTCOME_OK);
    outcome.regret = medians[pick] / best_ns - 1.0;
    tsw_policy_free(state);
    return outcome;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* p95 of the regret, and means. */
static outcome_t replay_often(tsw_protocol_t protocol, const char *name)
{
    double regrets[RUNS];
    outcome_t mean = {0};
    for (uint64_t run = 0; run < RUNS; run++) {
        outcome_t outcome = replay(protocol, run);
        regrets[run] = outcome.regret;
        mean.samples += outcome.samples;
        mean.gpu_ns += outcome.gpu_ns / RUNS;
    }
    qsort(regrets, RUNS, sizeof(regrets[0]), compare_doubles);
    mean.regret = regrets[RUNS * 95 / 100];
    mean.samples /= RUNS;
    print_message("%-8s regret p95 %.4f, %.1f samples a config, %.2f ms of GPU\n", name,
                  mean.regret, (double)mean.samples / (double)live_count, mean.gpu_ns / 1e6);
    return mean;
}

static void test_record_is_what_it_says(void **state)
{
    (void)state;
    assert_int_equal(recorded.count, 48);
    assert_int_equal(live_count, 45);
    assert_non_null(strstr(recorded.device, "synthetic"));
}

static void test_race_beats_the_others_on_a_record(void **state)
{
    (void)state;
    outcome_t race = replay_often(TSW_PROTOCOL_RACE, "race");
    outcome_t cutile = replay_often(TSW_PROTOCOL_CUTILE, "cutile");
    outcome_t kt7 = replay_often(TSW_PROTOCOL_KT7, "kt7");
    outcome_t fi10 = replay_often(TSW_PROTOCOL_FI10, "fi10");
    outcome_t tunable = replay_often(TSW_PROTOCOL_TUNABLE, "tunable");
    assert_true(race.regret <= 0.005);
    assert_true(race.samples <= 6 * live_count);
    assert_true(race.gpu_ns < 0.40 * kt7.gpu_ns);
    assert_true(cutile.samples >= 8 * live_count && kt7.samples == 8 * live_count);
    assert_true(cutile.regret <= 0.03 && kt7.regret <= 0.03 && fi10.regret <= 0.05);
    assert_true(tunable.regret <= 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_is_what_it_says),
        cmocka_unit_test(test_race_beats_the_others_on_a_record),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
