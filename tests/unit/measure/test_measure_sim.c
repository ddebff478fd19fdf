/* measure over simulated GPUs: every outcome, rounds, restarts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "measure_bench.h"

#include <stdio.h>
#include <string.h>

static const char *const args =
    "  - {name: A, role: in, type: cell, size: M * N, row: N, fill: {normal: [0, 1]}}\n"
    "  - {name: X, role: inout, type: cell, size: M * N, row: N, fill: {uniform: [0, 1]}}\n"
    "  - {name: C, role: out, type: cell, size: M * N, row: N}\n"
    "  - {name: W, role: workspace, type: f32, size: M}\n"
    "  - {name: n, role: scalar, type: i32, value: N}\n"
    "  - {name: scale, role: scalar, type: f32, value: 0.5}\n";

static bench_t bench;

static int setup(void **state)
{
    (void)state;
    bench_init(&bench, args, "k");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bench_fini(&bench);
    return 0;
}

static void begin(const char *scenario)
{
    tsw_err_t err = TSW_ERR_INIT;
    bench_open(&bench, "sim", scenario);
    assert_int_equal(bench_begin(&bench, &err), TSW_OK);
}

static void add(uint32_t index)
{
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(bench_add(&bench, index, "", false, &err), TSW_OK);
    assert_int_equal(bench.configs[index].told, 1);
    assert_int_equal(bench.busy, -1);
}

static void finish(void)
{
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_measure_time(bench.measure, 0, &err), TSW_OK);
}

static void test_good_configs_get_all_rounds(void **state)
{
    (void)state;
    begin("");
    for (uint32_t i = 0; i < 5; i++)
        add(i);
    finish();
    assert_int_equal(bench.round_count, 6);
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(bench.rounds[r].stage, r < 2 ? TSW_STAGE_WARMUP : TSW_STAGE_ROUND);
        assert_int_equal(bench.rounds[r].round, r < 2 ? r : r - 2);
        assert_int_equal(bench.counts[r], 5);
        assert_true(bench.rounds[r].duration_ns > 0);
        assert_int_equal(bench.rounds[r].sm_clock_mhz, 1830);
        assert_true(r == 0 || bench.rounds[r].start_ns > bench.rounds[r - 1].start_ns);
    }
    assert_memory_not_equal(bench.order[2], bench.order[3], sizeof(bench.order[2]));
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(bench.configs[i].outcome, TSW_OUTCOME_OK);
        assert_int_equal(bench.configs[i].told, 1);
        assert_int_equal(bench.configs[i].sample_count, 6);
        assert_int_equal(bench.configs[i].verify.elements, 2 * 6400);
    }
    assert_true(tsw_measure_busy_ns(bench.measure) > bench.rounds[0].duration_ns); /* no graphs */
    /* in, inout three times, out twice, workspace: each between fences of 2 MiB. */
    assert_true(tsw_measure_peak_bytes(bench.measure) > 7 * (2ull << 21));
}

/* As the device tells it, each part where it belongs. */
static void test_all_time_is_counted(void **state)
{
    (void)state;
    static tsw_watch_t watch; /* used until the teardown */
    bench_open(&bench, "sim", "");
    tsw_watch_start(&watch, bench.dev, TSW_USE_OTHER);
    uint64_t start_ns = bench.dev->ops->now_ns(bench.dev);
    bench.cell.watch = &watch;
    assert_int_equal(bench_begin(&bench, NULL), TSW_OK);
    add(0);
    add(1);
    finish();
    uint64_t waves_ns = 0;
    for (uint32_t r = 0; r < bench.round_count; r++)
        waves_ns += bench.rounds[r].duration_ns;
    tsw_usage_t usage = tsw_watch_take(&watch, bench.dev);
    assert_true(usage.ns[TSW_USE_REFERENCE] > 0);
    assert_true(usage.ns[TSW_USE_VERIFY] > 0);
    assert_true(usage.ns[TSW_USE_GRAPH] > 0);
    assert_true(usage.ns[TSW_USE_WAVE] < waves_ns);
    assert_true(usage.ns[TSW_USE_WAVE] + usage.ns[TSW_USE_GRAPH] >= waves_ns);
    assert_int_equal(tsw_usage_total(&usage), bench.dev->ops->now_ns(bench.dev) - start_ns);
    assert_true(usage.ns[TSW_USE_LOAD] > 0);
    assert_true(usage.ns[TSW_USE_IDLE] == 0 && usage.ns[TSW_USE_WAIT] == 0);
    usage = tsw_watch_take(&watch, bench.dev);
    assert_int_equal(tsw_usage_total(&usage), 0);
}

static void test_samples_repeat_for_equal_seeds(void **state)
{
    (void)state;
    begin("");
    add(0);
    add(1);
    finish();
    bench_config_t first = bench.configs[1];
    bench_fini(&bench);
    bench_init(&bench, args, "k");
    begin("");
    add(1);
    finish();
    assert_memory_equal(first.samples, bench.configs[1].samples, sizeof(first.samples));
}

static void check_outcome(const char *scenario, tsw_outcome_t outcome, const char *detail)
{
    bench_fini(&bench);
    bench_init(&bench, args, "k");
    begin(scenario);
    add(0);
    add(1);
    add(2);
    assert_int_equal(bench.configs[1].outcome, outcome);
    if (strstr(bench.configs[1].detail, detail) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", detail, bench.configs[1].detail);
    finish();
    assert_int_equal(bench.configs[1].sample_count, 0);
    assert_int_equal(bench.configs[0].outcome, TSW_OUTCOME_OK);
    assert_int_equal(bench.configs[2].outcome, TSW_OUTCOME_OK);
    assert_int_equal(bench.configs[0].sample_count, 6);
    assert_int_equal(bench.configs[2].sample_count, 6);
}

static void test_a_bad_config_costs_only_itself(void **state)
{
    (void)state;
    check_outcome("wrong TILE=2", TSW_OUTCOME_WRONG_RESULT,
                  "X: 2134 of 6400 elements differ, the first at 914");
    assert_true(bench.configs[1].verify.max_abs > 0 && bench.configs[1].verify.max_rel > 0);
    check_outcome("nan TILE=2", TSW_OUTCOME_NAN_RESULT, "X: 1281 of 6400 elements are NaN");
    check_outcome("unwritten TILE=2", TSW_OUTCOME_WRONG_RESULT,
                  "X: 3200 of 6400 elements never written, the first at 3200");
    assert_int_equal(bench.configs[1].verify.unwritten, 2 * 3200); /* and as many of C */
    check_outcome("overrun TILE=2", TSW_OUTCOME_WRONG_RESULT,
                  "writes outside X: 2 bytes changed, the first 0 bytes behind its end");
    check_outcome("input TILE=2", TSW_OUTCOME_WRONG_RESULT, "changes the input A");
    check_outcome("launch TILE=2", TSW_OUTCOME_LAUNCH_FAILED, "launch refused");
    check_outcome("load TILE=2", TSW_OUTCOME_LOAD_FAILED, "loading failed");
    check_outcome("oom TILE=2", TSW_OUTCOME_OUT_OF_MEMORY, "out of device memory");
}

/* Loaded, verified, timed: what fails at one stage does not see the next. */
static void test_a_stage_that_fails_ends_a_config(void **state)
{
    (void)state;
    begin("load TILE=2\nwrong TILE=4");
    for (uint32_t i = 0; i < 4; i++)
        add(i);
    finish();
    assert_int_equal(bench.configs[1].outcome, TSW_OUTCOME_LOAD_FAILED);
    assert_int_equal(bench.configs[1].verify.elements, 0);
    assert_int_equal(bench.configs[1].sample_count, 0);
    assert_int_equal(bench.configs[2].outcome, TSW_OUTCOME_WRONG_RESULT);
    assert_true(bench.configs[2].verify.elements > 0);
    assert_int_equal(bench.configs[2].sample_count, 0);
    for (uint32_t i = 0; i < 4; i += 3) {
        assert_int_equal(bench.configs[i].outcome, TSW_OUTCOME_OK);
        assert_true(bench.configs[i].verify.elements > 0);
        assert_int_equal(bench.configs[i].sample_count, 6);
    }
}

static void check_fatal_add(const char *scenario, tsw_status_t want, tsw_outcome_t outcome)
{
    tsw_err_t err = TSW_ERR_INIT;
    bench_fini(&bench);
    bench_init(&bench, args, "k");
    begin(scenario);
    add(0);
    assert_int_equal(bench_add(&bench, 1, "", false, &err), want);
    assert_int_equal(bench.configs[1].outcome, outcome);
    assert_int_equal(bench.busy, 1);
}

static void test_a_lost_device_ends_the_process(void **state)
{
    (void)state;
    check_fatal_add("hang TILE=2", TSW_ERR_TIMEOUT, TSW_OUTCOME_RUN_TIMEOUT);
    check_fatal_add("lost TILE=2", TSW_ERR_DEVICE_LOST, TSW_OUTCOME_DEVICE_LOST);
}

static void test_a_hang_in_a_round_blames_the_right_config(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    begin("hang@4 TILE=4"); /* verified, two warm-ups, then */
    for (uint32_t i = 0; i < 4; i++)
        add(i);
    assert_int_equal(tsw_measure_time(bench.measure, 0, &err), TSW_ERR_TIMEOUT);
    assert_int_equal(bench.configs[2].outcome, TSW_OUTCOME_RUN_TIMEOUT);
    assert_int_equal(bench.configs[2].sample_count, 2);
    assert_int_equal(bench.configs[0].sample_count, 2);
    assert_int_equal(bench.round_count, 2);
}

static void test_a_refused_launch_in_a_round_drops_the_config(void **state)
{
    (void)state;
    begin("launch@5 TILE=4");
    for (uint32_t i = 0; i < 4; i++)
        add(i);
    finish();
    assert_int_equal(bench.configs[2].outcome, TSW_OUTCOME_LAUNCH_FAILED);
    assert_int_equal(bench.configs[2].sample_count, 3);
    assert_int_equal(bench.configs[1].sample_count, 6);
    assert_int_equal(bench.round_count, 6);
    assert_int_equal(bench.counts[3], 3);
}

static void test_the_last_launch_is_verified_too(void **state)
{
    (void)state;
    begin("wrong@8 TILE=2\ninplace TILE=4"); /* verified once, timed six times, then the last */
    for (uint32_t i = 0; i < 3; i++)
        add(i);
    finish();
    assert_int_equal(bench.configs[0].outcome, TSW_OUTCOME_OK);
    assert_int_equal(bench.configs[1].outcome, TSW_OUTCOME_WRONG_RESULT);
    assert_non_null(strstr(bench.configs[1].detail, "in-place"));
    assert_int_equal(bench.configs[1].sample_count, 6);
    assert_int_equal(bench.configs[2].outcome, TSW_OUTCOME_WRONG_RESULT);
    assert_non_null(strstr(bench.configs[2].detail, "right with split buffers, wrong in place"));
}

static void test_verified_configs_are_only_loaded(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    begin("wrong TILE=2");
    assert_int_equal(bench_add(&bench, 1, "", true, &err), TSW_OK);
    assert_int_equal(bench.configs[1].told, 0);
    assert_int_equal(tsw_measure_time(bench.measure, 3, &err), TSW_OK);
    assert_int_equal(bench.round_count, 3); /* warm-up again, then what was missing */
    assert_int_equal(bench.rounds[2].round, 3);
    assert_int_equal(bench.configs[1].outcome, TSW_OUTCOME_WRONG_RESULT);
}

static void test_a_wrong_reference_contradicts_everybody(void **state)
{
    (void)state;
    begin("wrong reference");
    add(0);
    add(1);
    assert_int_equal(bench.configs[0].outcome, TSW_OUTCOME_WRONG_RESULT);
    assert_int_equal(bench.configs[1].outcome, TSW_OUTCOME_WRONG_RESULT);
}

static void check_begin(const char *scenario, tsw_status_t want, const char *message)
{
    tsw_err_t err = TSW_ERR_INIT;
    bench_fini(&bench);
    bench_init(&bench, args, "k");
    bench_open(&bench, "sim", scenario);
    assert_int_equal(bench_begin(&bench, &err), want);
    assert_null(bench.measure);
    if (strstr(err.text, message) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", message, err.text);
}

static void test_a_cell_that_cannot_begin_says_why(void **state)
{
    (void)state;
    check_begin("capacity 10000000", TSW_ERR_DEVICE_MEMORY, "argument X: ");
    check_begin("load reference", TSW_ERR_DEVICE, "reference kernel: entry k");
    check_begin("hang reference", TSW_ERR_TIMEOUT, "reference kernel: ");
    check_begin("overrun reference", TSW_ERR_INPUT, "reference kernel: writes outside");
}

/* Arguments that only a look at the values can refuse. */
static void check_args(const char *line, tsw_status_t want, const char *message)
{
    tsw_err_t err = TSW_ERR_INIT;
    char text[512];
    bench_fini(&bench);
    snprintf(text, sizeof(text), "  - {name: C, role: out, type: cell, size: M}\n  - {%s}\n", line);
    bench_init(&bench, text, "k");
    bench_open(&bench, "sim", "");
    assert_int_equal(bench_begin(&bench, &err), want);
    if (strstr(err.text, message) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", message, err.text);
}

static void test_bad_arguments_are_named(void **state)
{
    (void)state;
    check_args("name: A, role: in, type: f32, size: M - N, fill: {normal: [0, 1]}", TSW_ERR_INPUT,
               "argument A: size -36 is negative");
    check_args("name: A, role: in, type: f32, size: M, row: M - N, fill: {normal: [0, 1]}",
               TSW_ERR_INPUT, "argument A: row -36 is negative");
    check_args("name: A, role: in, type: i32, size: M, fill: {index: [N, M]}", TSW_ERR_INPUT,
               "argument A: no index from 100 to 64");
    check_args("name: A, role: in, type: i32, size: M, fill: {offsets: M - N}", TSW_ERR_INPUT,
               "argument A: offsets up to -36");
    check_args("name: A, role: in, type: i8, size: M, fill: {dataset: 'data.h5:/x'}",
               TSW_ERR_UNSUPPORTED, "argument A: nobody read its dataset");
    check_args("name: n, role: scalar, type: i32, value: M * 100000000", TSW_ERR_OVERFLOW,
               "argument n: 6400000000 does not fit into i32");
}

static void test_datasets_are_taken_as_bytes(void **state)
{
    (void)state;
    static const uint8_t bytes[64] = {1};
    const void *data[2] = {NULL, bytes};
    size_t sizes[2] = {0, sizeof(bytes)};
    tsw_err_t err = TSW_ERR_INIT;
    bench_fini(&bench);
    bench_init(&bench,
               "  - {name: C, role: out, type: cell, size: M}\n"
               "  - {name: A, role: in, type: i8, size: M, fill: {dataset: 'data.h5:/x'}}\n",
               "k");
    bench.cell.fill_data = data;
    bench.cell.fill_sizes = sizes;
    begin("");
    add(0);
    assert_int_equal(bench.configs[0].outcome, TSW_OUTCOME_OK);
    tsw_measure_end(bench.measure);
    bench.measure = NULL;
    sizes[1]--;
    assert_int_equal(bench_begin(&bench, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "its dataset has 63 bytes, 64 are needed"));
}

static void test_fixed_launches_and_verifies_nothing(void **state)
{
    (void)state;
    bench.cell.policy.protocol = TSW_PROTOCOL_FIXED;
    bench.cell.policy.rounds = 10;
    begin("wrong TILE=2\nload reference");
    add(1);
    finish();
    assert_int_equal(bench.configs[1].outcome, TSW_OUTCOME_OK);
    assert_int_equal(bench.configs[1].sample_count, 10);
    assert_int_equal(bench.round_count, 1);
    assert_int_equal(bench.rounds[0].stage, TSW_STAGE_FIXED);
}

static void test_a_budget_ends_a_cell_early(void **state)
{
    (void)state;
    bench.cell.policy.rounds = 50;
    bench.cell.policy.cell_budget_s = 1e-6;
    begin("");
    add(0);
    finish();
    assert_int_equal(bench.round_count, 2 + 3);
}

static void test_a_race_keeps_first_launches_and_tells_fates(void **state)
{
    (void)state;
    static const uint32_t first[] = {0, 2, 3}; /* config 1 fails */
    tsw_err_t err = TSW_ERR_INIT;
    uint32_t index = 9;
    bench.cell.policy.protocol = TSW_PROTOCOL_RACE;
    bench.cell.policy.rounds = 20;
    begin("wrong TILE=2\nslow 8 TILE=4\nslow 1.1 TILE=8");
    for (uint32_t i = 0; i < 4; i++)
        add(i);
    assert_int_equal(tsw_measure_time(bench.measure, 5, &err), TSW_OK);
    assert_int_equal(bench.rounds[0].stage, TSW_STAGE_VERIFY);
    assert_int_equal(bench.rounds[0].round, 5);
    assert_int_equal(bench.counts[0], 3);
    assert_memory_equal(bench.order[0], first, sizeof(first));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(bench.configs[first[i]].launches[0], 1);
    for (uint32_t r = 2; r < bench.round_count; r++) /* also those of one wave */
        assert_true(bench.rounds[r].start_ns >=
                    bench.rounds[r - 1].start_ns + bench.rounds[r - 1].duration_ns);
    assert_int_equal(tsw_measure_pick(bench.measure), 0);
    assert_int_equal(tsw_measure_fate(bench.measure, 0, &index), TSW_FATE_WINNER);
    assert_int_equal(index, 0);
    assert_int_equal(tsw_measure_fate(bench.measure, 1, &index), TSW_FATE_NONE);
    assert_int_equal(tsw_measure_fate(bench.measure, 2, &index), TSW_FATE_HOPELESS);
    assert_int_equal(tsw_measure_fate(bench.measure, 3, &index), TSW_FATE_BEATEN);
}

/* A clock of 1500 MHz that is off in some readings. */
static struct {
    uint32_t reading, first_off, last_off;
} script;

static void scripted_telemetry(tsw_device_t *dev, uint64_t from_ns, uint64_t to_ns,
                               tsw_telemetry_t *telemetry_p)
{
    (void)from_ns;
    (void)to_ns;
    bool off = script.reading >= script.first_off && script.reading <= script.last_off;
    script.reading++;
    *telemetry_p =
        (tsw_telemetry_t){.sm_clock_mhz = off ? 1300 : 1500, .read_ns = dev->ops->now_ns(dev)};
}

/* Runs 2 + 10 rounds; counts those that are kept although the clock was off. */
static uint32_t unstable_rounds(uint32_t first_off, uint32_t last_off)
{
    bench_fini(&bench);
    bench_init(&bench, args, "k");
    bench.cell.policy.rounds = 10;
    begin("");
    tsw_device_ops_t ops = *bench.dev->ops;
    const tsw_device_ops_t *kept = bench.dev->ops;
    ops.telemetry = scripted_telemetry;
    bench.dev->ops = &ops;
    script.reading = 0;
    script.first_off = first_off;
    script.last_off = last_off;
    add(0);
    finish();
    bench.dev->ops = kept;
    uint32_t unstable = 0;
    assert_int_equal(bench.round_count, 12);
    assert_int_equal(bench.configs[0].sample_count, 12);
    for (uint32_t r = 0; r < 12; r++)
        unstable += bench.rounds[r].is_unstable;
    return unstable;
}

static void test_rounds_at_another_clock_are_run_again(void **state)
{
    (void)state;
    assert_int_equal(unstable_rounds(100, 100), 0);
    assert_int_equal(script.reading, 12);
    assert_int_equal(unstable_rounds(6, 6), 0);
    assert_int_equal(script.reading, 13);
    assert_int_equal(unstable_rounds(6, 8), 0);
    assert_int_equal(script.reading, 15);
    assert_int_equal(unstable_rounds(6, 9), 1); /* three redos, then it is kept */
    assert_int_equal(script.reading, 15);
}

/* A device whose clock can be put forward, and that looks at its waves. */
static struct {
    const tsw_device_ops_t *real;
    uint64_t shift_ns;
    uint32_t waves;
    size_t first_count; /* shots of the first */
} idle;

static uint64_t shifted_now(const tsw_device_t *dev)
{
    return idle.real->now_ns(dev) + idle.shift_ns;
}

static tsw_status_t counted_wave(tsw_device_t *dev, const tsw_shot_t *shots, size_t count,
                                 const tsw_wave_plan_t *plan, uint64_t *interval_ns,
                                 size_t *finished_p, tsw_err_t *err)
{
    tsw_status_t status = idle.real->wave(dev, shots, count, plan, interval_ns, finished_p, err);
    if (plan->lead == NULL) /* verifies */
        return status;
    idle.first_count = idle.waves++ == 0 ? count : idle.first_count;
    for (size_t i = 0; i < count; i++)
        assert_in_range(shots[i].expected_ns, interval_ns[i] / 3, interval_ns[i]);
    return status;
}

static void check_waves(uint32_t configs, uint64_t idle_ns, uint32_t least, uint32_t most)
{
    bench_fini(&bench);
    bench_init(&bench, args, "k");
    begin("");
    idle.real = bench.dev->ops;
    idle.waves = 0;
    idle.shift_ns = 0;
    tsw_device_ops_t ops = *idle.real;
    ops.now_ns = shifted_now;
    ops.wave = counted_wave;
    bench.dev->ops = &ops;
    for (uint32_t i = 0; i < configs; i++)
        add(i);
    idle.shift_ns = idle_ns;
    finish();
    bench.dev->ops = idle.real;
    assert_in_range(idle.waves, least, most);
    assert_int_equal(bench.round_count, 6);
    assert_int_equal(bench.configs[0].sample_count, 6);
}

/* Slower by 5 %, but with 76 % of the power. */
static void test_energy_decides_after_the_times(void **state)
{
    (void)state;
    bench.cell.policy.objective = TSW_OBJECTIVE_ENERGY;
    begin("slow 1.05 TILE=2\npower 0.76 TILE=2\nslow 1.8 TILE=8");
    for (uint32_t i = 0; i < 4; i++)
        add(i);
    finish();
    assert_int_equal(tsw_measure_pick(bench.measure), 1);
    uint32_t index = 0;
    assert_int_equal(tsw_measure_fate(bench.measure, 1, &index), TSW_FATE_WINNER);
    assert_int_equal(tsw_measure_fate(bench.measure, 0, &index), TSW_FATE_BEATEN);
    assert_int_equal(bench.round_count, 2 + 4 + 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(bench.rounds[6 + i].stage, TSW_STAGE_ENERGY);
        assert_int_equal(bench.rounds[6 + i].round, 4 + i);
        assert_int_equal(bench.counts[6 + i], 3); /* the fourth is beyond 1.6x */
        assert_true(bench.rounds[6 + i].duration_ns > 3 * 600000000ull);
    }
}

/* ---- what a cell asks of its device ---- */

static struct {
    const tsw_device_ops_t *real;
    uint32_t memories, loads;
} asked;

static tsw_status_t count_memory(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                 tsw_memory_t *memory_p, tsw_err_t *err)
{
    asked.memories++;
    return asked.real->memory_new(dev, bytes, fence_bytes, memory_p, err);
}

static tsw_status_t count_load(tsw_device_t *dev, const void *cubin, size_t size, const char *entry,
                               const tsw_kernel_model_t *model, tsw_kernel_t **kernel_p,
                               tsw_err_t *err)
{
    asked.loads++;
    return asked.real->kernel_load(dev, cubin, size, entry, model, kernel_p, err);
}

/* Buffers are made once per cell, split ones of in-place arguments too, and each config is loaded
 * once: timing asks for neither. */
static void test_timing_makes_no_buffer_and_loads_nothing(void **state)
{
    (void)state;
    uint32_t memories = 0;
    for (uint32_t configs = 1; configs <= 5; configs += 4) {
        bench_fini(&bench);
        bench_init(&bench, args, "k");
        bench_open(&bench, "sim", "");
        tsw_device_ops_t ops = *bench.dev->ops;
        asked.real = bench.dev->ops;
        asked.memories = asked.loads = 0;
        ops.memory_new = count_memory;
        ops.kernel_load = count_load;
        bench.dev->ops = &ops;
        assert_int_equal(bench_begin(&bench, NULL), TSW_OK);
        const uint32_t loads = asked.loads;
        for (uint32_t i = 0; i < configs; i++)
            add(i);
        assert_int_equal(asked.loads, loads + configs);
        finish();
        assert_int_equal(asked.loads, loads + configs);
        assert_true(configs == 1 || asked.memories == memories);
        memories = asked.memories;
        bench.dev->ops = asked.real;
    }
    assert_true(memories > 0);
}

static tsw_status_t lost_counter(tsw_device_t *dev, const tsw_shot_t *shot, uint32_t round,
                                 double timeout_seconds, tsw_energy_t *energy_p, tsw_err_t *err)
{
    (void)dev;
    (void)shot;
    (void)timeout_seconds;
    *energy_p = (tsw_energy_t){.energy_mj = 5, .launches = 7, .interval_ns = 100};
    if (round < 5)
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_DEVICE_UNFIT, "the energy counter: gone");
}

static tsw_status_t reset_counter(tsw_device_t *dev, const tsw_shot_t *shot, uint32_t round,
                                  double timeout_seconds, tsw_energy_t *energy_p, tsw_err_t *err)
{
    (void)dev;
    (void)timeout_seconds;
    (void)err;
    bool is_hit = round == 5 && shot->launches[0].config_index == 0;
    *energy_p = (tsw_energy_t){.energy_mj = is_hit ? 0 : 5 + shot->launches[0].config_index,
                               .launches = 7,
                               .interval_ns = 100};
    return TSW_OK;
}

static tsw_status_t finish_with(tsw_status_t (*energy)(tsw_device_t *, const tsw_shot_t *, uint32_t,
                                                       double, tsw_energy_t *, tsw_err_t *),
                                tsw_err_t *err)
{
    bench.cell.policy.objective = TSW_OBJECTIVE_ENERGY;
    begin("");
    add(0);
    add(1);
    tsw_device_ops_t ops = *bench.dev->ops;
    const tsw_device_ops_t *kept = bench.dev->ops;
    ops.energy = energy;
    bench.dev->ops = &ops;
    tsw_status_t status = tsw_measure_time(bench.measure, 0, err);
    bench.dev->ops = kept;
    return status;
}

static void test_a_lost_energy_counter_ends_the_process(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(finish_with(lost_counter, &err), TSW_ERR_DEVICE_UNFIT);
    assert_string_equal(err.text, "the energy counter: gone");
    assert_int_equal(bench.round_count, 2 + 4 + 1); /* the whole rounds before are told */
}

static void test_a_config_whose_block_told_nothing_is_suspect(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    uint32_t index = 0;
    assert_int_equal(finish_with(reset_counter, &err), TSW_OK);
    assert_int_equal(tsw_measure_fate(bench.measure, 0, &index), TSW_FATE_SUSPECT);
    assert_int_equal(tsw_measure_pick(bench.measure), 1);
}

static void test_an_idle_gpu_is_warmed_up_first(void **state)
{
    (void)state;
    check_waves(1, 0, 6, 6);
    check_waves(1, 400000000, 6, 6);
    check_waves(1, 600000000, 7, 10); /* 2 % of six rounds: one */
    check_waves(10, 0, 6, 6);
    assert_int_equal(idle.first_count, 10);
    check_waves(10, 600000000, 7, 10);
    assert_int_equal(idle.first_count, 8);
}

static void test_a_cell_without_a_good_config_has_no_rounds(void **state)
{
    (void)state;
    begin("wrong *");
    add(0);
    finish();
    assert_int_equal(bench.round_count, 0);
}

static void test_no_memory_is_reported_wherever_it_lacks(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    bench_open(&bench, "sim", "");
    bool began = false;
    for (long n = 1; !began && n < 200; n++) {
        tsw_mem_fail_at(n);
        tsw_status_t status = bench_begin(&bench, &err);
        tsw_mem_fail_at(0);
        began = status == TSW_OK;
        if (!began)
            assert_int_equal(status, TSW_ERR_NOMEM);
    }
    assert_true(began);
    add(0);
    for (long n = 1; n <= 4; n++) {
        tsw_mem_fail_at(n);
        assert_int_equal(tsw_measure_time(bench.measure, 0, &err), TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
    }
}

#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_good_configs_get_all_rounds),
        TEST(test_all_time_is_counted),
        TEST(test_samples_repeat_for_equal_seeds),
        TEST(test_a_bad_config_costs_only_itself),
        TEST(test_a_stage_that_fails_ends_a_config),
        TEST(test_timing_makes_no_buffer_and_loads_nothing),
        TEST(test_a_lost_device_ends_the_process),
        TEST(test_a_hang_in_a_round_blames_the_right_config),
        TEST(test_a_refused_launch_in_a_round_drops_the_config),
        TEST(test_the_last_launch_is_verified_too),
        TEST(test_verified_configs_are_only_loaded),
        TEST(test_a_wrong_reference_contradicts_everybody),
        TEST(test_a_cell_that_cannot_begin_says_why),
        TEST(test_bad_arguments_are_named),
        TEST(test_datasets_are_taken_as_bytes),
        TEST(test_fixed_launches_and_verifies_nothing),
        TEST(test_a_budget_ends_a_cell_early),
        TEST(test_a_race_keeps_first_launches_and_tells_fates),
        TEST(test_rounds_at_another_clock_are_run_again),
        TEST(test_energy_decides_after_the_times),
        TEST(test_a_lost_energy_counter_ends_the_process),
        TEST(test_a_config_whose_block_told_nothing_is_suspect),
        TEST(test_an_idle_gpu_is_warmed_up_first),
        TEST(test_a_cell_without_a_good_config_has_no_rounds),
        TEST(test_no_memory_is_reported_wherever_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
