/* What becomes of rounds when the GPU throttles, is shared, or breaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "measure_bench.h"

#include <string.h>

static const char *const args =
    "  - {name: A, role: in, type: cell, size: M * N, row: N, fill: {normal: [0, 1]}}\n"
    "  - {name: C, role: out, type: cell, size: M * N, row: N}\n";

static bench_t bench;

/* From look number `from` to `to` (the first is 0) the device is as told. */
static struct {
    uint32_t looks, from, to;
    tsw_health_t health;
    uint32_t sm_clock_mhz;
    uint64_t reasons;
} script;

static bool is_scripted(void)
{
    return script.looks >= script.from && script.looks <= script.to;
}

static void telemetry(tsw_device_t *dev, uint64_t from_ns, uint64_t to_ns,
                      tsw_telemetry_t *telemetry_p)
{
    (void)from_ns;
    (void)to_ns;
    *telemetry_p = (tsw_telemetry_t){.sm_clock_mhz = is_scripted() ? script.sm_clock_mhz : 1980,
                                     .max_sm_clock_mhz = 1980,
                                     .throttle_reasons = is_scripted() ? script.reasons : 0,
                                     .read_ns = dev->ops->now_ns(dev)};
}

static void health(tsw_device_t *dev, bool now, tsw_health_t *health_p)
{
    (void)dev;
    (void)now;
    *health_p = is_scripted() ? script.health : (tsw_health_t){0};
    script.looks++;
}

/* Runs 2 + 10 rounds of one config under the script. */
static tsw_status_t run(uint32_t from, uint32_t to, tsw_err_t *err)
{
    bench_fini(&bench);
    bench_init(&bench, args, "k");
    bench.cell.policy.rounds = 10;
    bench_open(&bench, "sim", "");
    assert_int_equal(bench_begin(&bench, err), TSW_OK);
    const tsw_device_ops_t *kept = bench.dev->ops;
    tsw_device_ops_t ops = *kept;
    ops.telemetry = telemetry;
    ops.health = health;
    bench.dev->ops = &ops;
    assert_int_equal(bench_add(&bench, 0, "", false, err), TSW_OK);
    script.looks = 0;
    script.from = from;
    script.to = to;
    tsw_status_t status = tsw_measure_time(bench.measure, 0, err);
    bench.dev->ops = kept;
    return status;
}

static uint32_t unstable_rounds(void)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < bench.round_count; r++)
        count += bench.rounds[r].is_unstable;
    return count;
}

static int setup(void **state)
{
    (void)state;
    memset(&script, 0, sizeof(script));
    script.sm_clock_mhz = 1980;
    bench_init(&bench, args, "k");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bench_fini(&bench);
    return 0;
}

static void test_a_clock_that_never_recovers_ends_in_flagged_rounds(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    script.sm_clock_mhz = 1200;
    script.reasons = 0x40; /* too hot */
    assert_int_equal(run(0, UINT32_MAX, &err), TSW_OK);
    assert_int_equal(bench.round_count, 12);
    assert_int_equal(script.looks, 12 + 3 + 1); /* the redos, and the end */
    assert_int_equal(unstable_rounds(), 12);
    assert_int_equal(bench.rounds[11].throttle_reasons, 0x40);
    assert_int_equal(bench.rounds[11].sm_clock_mhz, 1200);
    assert_int_equal(bench.configs[0].outcome, TSW_OUTCOME_OK);
}

static void test_rounds_with_others_on_the_gpu_are_run_again_then_flagged(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    script.health.foreign_processes = 2;
    assert_int_equal(run(4, 5, &err), TSW_OK);
    assert_int_equal(bench.round_count, 12);
    assert_int_equal(unstable_rounds(), 0);
    assert_int_equal(run(4, 8, &err), TSW_OK);
    assert_int_equal(bench.round_count, 12);
    assert_int_equal(unstable_rounds(), 2);
    assert_int_equal(bench.rounds[4].foreign_processes, 2);
    assert_int_equal(bench.rounds[6].foreign_processes, 0);
}

static void test_corrected_errors_are_kept_and_no_more(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    uint32_t corrected = 0;
    script.health.ecc_corrected = 3;
    script.health.xid = 31;
    assert_int_equal(run(4, 4, &err), TSW_OK);
    assert_int_equal(bench.round_count, 12);
    assert_int_equal(unstable_rounds(), 0);
    assert_int_equal(bench.rounds[4].ecc_corrected, 3);
    assert_int_equal(bench.rounds[4].xid, 31);
    assert_int_equal(bench.rounds[5].xid, 0);
    script.health.foreign_processes = 1; /* what a round saw that is run again is not lost */
    assert_int_equal(run(4, 4, &err), TSW_OK);
    for (uint32_t r = 0; r < bench.round_count; r++)
        corrected += bench.rounds[r].ecc_corrected;
    assert_int_equal(corrected, 3);
}

static void test_an_unfit_gpu_ends_the_process_and_the_round_says_why(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    script.health.ecc_uncorrected = 1;
    assert_int_equal(run(4, 4, &err), TSW_ERR_DEVICE_UNFIT);
    assert_string_equal(err.text, "uncorrected ECC errors: 1");
    assert_int_equal(bench.round_count, 5);
    assert_int_equal(bench.rounds[4].ecc_uncorrected, 1);
    assert_int_equal(bench.rounds[4].is_unstable, 1);
}

static void test_the_last_look_counts_too(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    script.health.xid = 79;
    assert_int_equal(run(12, 12, &err), TSW_ERR_DEVICE_UNFIT);
    assert_string_equal(err.text, "the driver reported Xid 79");
    assert_int_equal(bench.round_count, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, teardown)
        TEST(test_a_clock_that_never_recovers_ends_in_flagged_rounds),
        TEST(test_rounds_with_others_on_the_gpu_are_run_again_then_flagged),
        TEST(test_corrected_errors_are_kept_and_no_more),
        TEST(test_an_unfit_gpu_ends_the_process_and_the_round_says_why),
        TEST(test_the_last_look_counts_too),
    };
    return cmocka_run_group_tests_name("measure_health", tests, NULL, NULL);
}
