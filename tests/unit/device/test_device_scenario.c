#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "device/sim_scenario.h"

#include <stdio.h>
#include <string.h>

static tsw_sim_scenario_t parse(const char *text, uint32_t gpu)
{
    tsw_sim_scenario_t scenario = {.rules = NULL};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_sim_scenario_parse(text, gpu, &scenario, &err), TSW_OK);
    return scenario;
}

static tsw_sim_subject_t subject_of(const char *text)
{
    return (tsw_sim_subject_t){.text = text, .key = tsw_key_of_text(text)};
}

static void test_rules_fit_their_targets(void **state)
{
    (void)state;
    tsw_sim_subject_t a = subject_of("TILE_M=128 TILE_N=64 occupancy=2");
    tsw_sim_subject_t b = subject_of("TILE_M=64 TILE_N=64 occupancy=2");
    tsw_sim_subject_t c = subject_of("TILE_M=32 TILE_N=12 occupancy=2");
    tsw_sim_subject_t reference = {.text = NULL};
    char text[512], key[TSW_KEY_TEXT_SIZE];
    snprintf(text, sizeof(text),
             "# all kinds\n"
             "  wrong occupancy=2  TILE_M=128   # with a comment\r\n"
             "\n"
             "hang@3 %s\n"
             "load TILE_N=12\n"
             "slow 1.5 *\n"
             "lost TILE_N=6\n"
             "unwritten reference",
             tsw_key_format(b.key, key));
    tsw_sim_scenario_t scenario = parse(text, 0);
    assert_int_equal(scenario.count, 6);
    assert_int_equal(tsw_sim_fault_at_launch(&scenario, &a, 1), TSW_FAULT_WRONG);
    assert_int_equal(tsw_sim_fault_at_launch(&scenario, &b, 2), TSW_FAULT_NONE);
    assert_int_equal(tsw_sim_fault_at_launch(&scenario, &b, 3), TSW_FAULT_HANG);
    assert_int_equal(tsw_sim_fault_at_launch(&scenario, &b, 9), TSW_FAULT_HANG);
    assert_int_equal(tsw_sim_fault_at_load(&scenario, &c), TSW_FAULT_LOAD);
    assert_int_equal(tsw_sim_fault_at_load(&scenario, &a), TSW_FAULT_NONE);
    assert_true(tsw_sim_slowness(&scenario, &c) == 1.5);
    assert_true(tsw_sim_slowness(&scenario, &reference) == 1.0);
    assert_int_equal(tsw_sim_fault_at_launch(&scenario, &reference, 1), TSW_FAULT_UNWRITTEN);
    tsw_sim_scenario_fini(&scenario);
}

static void test_rules_for_other_gpus_are_left_out(void **state)
{
    (void)state;
    const char *text = "gpu=1 canary\ngpu=0 capacity 4096\ngpu=1 slow 2 *\n";
    tsw_sim_scenario_t scenario = parse(text, 0);
    assert_int_equal(scenario.count, 1);
    assert_null(tsw_sim_gpu_rule(&scenario, TSW_FAULT_CANARY));
    assert_true(tsw_sim_gpu_rule(&scenario, TSW_FAULT_CAPACITY)->value == 4096);
    tsw_sim_scenario_fini(&scenario);
    scenario = parse(text, 1);
    assert_int_equal(scenario.count, 2);
    assert_non_null(tsw_sim_gpu_rule(&scenario, TSW_FAULT_CANARY));
    tsw_sim_scenario_fini(&scenario);
}

static void test_events_of_ranks_are_theirs_alone(void **state)
{
    (void)state;
    const char *text = "rank=1 die@3\nwrong *\nrank=0 full@2\nrank=1 attempt=2 kill@1\n";
    tsw_sim_scenario_t scenario = parse(text, 1);
    assert_int_equal(scenario.count, 1);
    tsw_sim_scenario_fini(&scenario);
    assert_int_equal(tsw_sim_scenario_parse_rank(text, 1, &scenario, NULL), TSW_OK);
    assert_int_equal(scenario.count, 2);
    assert_true(tsw_sim_rank_event(&scenario, TSW_FAULT_DIE, 1, 3));
    assert_false(tsw_sim_rank_event(&scenario, TSW_FAULT_DIE, 1, 2));
    assert_false(tsw_sim_rank_event(&scenario, TSW_FAULT_DIE, 2, 3));
    assert_false(tsw_sim_rank_event(&scenario, TSW_FAULT_FULL, 1, 2));
    assert_true(tsw_sim_rank_event(&scenario, TSW_FAULT_KILL, 2, 1));
    tsw_sim_scenario_fini(&scenario);
}

static void test_throttling_has_its_rounds(void **state)
{
    (void)state;
    tsw_sim_scenario_t scenario =
        parse("throttle@3-4 0.5 hw_thermal\nthrottle@9 0.8 power_cap\n", 0);
    assert_null(tsw_sim_throttle(&scenario, 2));
    assert_int_equal(tsw_sim_throttle(&scenario, 3)->reason, 0x40);
    assert_non_null(tsw_sim_throttle(&scenario, 4));
    assert_null(tsw_sim_throttle(&scenario, 5));
    assert_true(tsw_sim_throttle(&scenario, 100)->value == 0.8);
    tsw_sim_scenario_fini(&scenario);
}

static void test_nothing_is_a_scenario(void **state)
{
    (void)state;
    tsw_sim_scenario_t scenario = parse(NULL, 0);
    assert_int_equal(scenario.count, 0);
    scenario = parse("\n # nothing\n", 0);
    assert_int_equal(scenario.count, 0);
}

static void check_bad(const char *text, const char *message)
{
    tsw_sim_scenario_t scenario = {.count = 42};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_sim_scenario_parse(text, 0, &scenario, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, message));
    assert_int_equal(scenario.count, 42);
}

static void test_bad_lines_are_named(void **state)
{
    (void)state;
    check_bad("wrong *\nwrnog *", "scenario:2: unknown fault \"wrnog\"; did you mean \"wrong\"?");
    check_bad("gpu=1", "scenario:1: unknown fault \"\"");
    check_bad("gpu=x wrong *", "scenario:1: gpu: bad number \"x\"");
    check_bad("\ngup=1 wrong *", "scenario:2: unknown key \"gup\"; did you mean \"gpu\"?");
    check_bad("hang@0 *", "bad number \"0\" after @");
    check_bad("hang@ *", "bad number \"\" after @");
    check_bad("hang", "no target");
    check_bad("slow *", "slow needs a number above 0");
    check_bad("slow -1 *", "slow needs a number above 0");
    check_bad("capacity nan", "capacity needs a number");
    check_bad("canary *", "canary takes no target");
    check_bad("pace 0", "pace needs a number above 0");
    check_bad("pace 1 *", "pace takes no target");
    check_bad("hang@1-2 *", "bad number \"1-2\" after @");
    check_bad("throttle@5-3 0.5 hw_thermal", "bad number \"5-3\" after @");
    check_bad("throttle 0.5 hw_termal",
              "unknown reason \"hw_termal\"; did you mean \"hw_thermal\"?");
    check_bad("throttle 0.5", "no reason: power_cap");
    check_bad("throttle 1.5 hw_thermal", "0 to 1");
    check_bad("die@3", "die is of a rank: rank=N is missing");
    check_bad("wrong *  extra", "scenario:1: target \"*\": it is *, reference, knobs as");
    check_bad("wrong TILE_M= N=2", "scenario:1: target \"TILE_M=\": it is");
    check_bad("wrong =3", "scenario:1: target \"=3\": it is");
    check_bad("hang TILE_M=64 occupancy", "scenario:1: target \"occupancy\": it is");
    check_bad("oom deadbeef", "scenario:1: target \"deadbeef\": it is");
    check_bad("rank=0 attempt=0 kill@1", "scenario:1: attempt: bad number \"0\"");
    check_bad("gpu=1 die@3", "die is of a rank: rank=N, not gpu=N");
    check_bad("rank=1 slow 2 *", "slow is of a GPU: gpu=N, not rank=N");
    check_bad("rank=1 full@2 *", "full takes no target");
    check_bad("rank=1 dye@2", "did you mean \"die\"?");
}

static tsw_status_t check(const char *text, tsw_err_t *err)
{
    const tsw_sim_subject_t configs[] = {subject_of("TILE_M=128 TILE_N=64 occupancy=2"),
                                         subject_of("TILE_M=64 TILE_N=128 occupancy=1"),
                                         subject_of("BLOCK=1024")};
    const uint32_t gpus[] = {0, 1, 7};
    const tsw_sim_cast_t cast = {.configs = configs,
                                 .config_count = 3,
                                 .gpus = gpus,
                                 .gpu_count = 3,
                                 .attempt = 1,
                                 .rank_count = 3};
    return tsw_sim_scenario_check(text, &cast, err);
}

static void check_missing(const char *text, const char *message)
{
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(check(text, &err), TSW_ERR_INPUT);
    assert_string_equal(err.text, message);
}

static void test_what_the_run_has_is_accepted(void **state)
{
    (void)state;
    char text[512], key[TSW_KEY_TEXT_SIZE];
    snprintf(text, sizeof(text),
             "wrong *\nload reference\nhang occupancy=1 TILE_M=64\nslow 2 %s\n"
             "gpu=7 slow 2 BLOCK=1024\nrank=2 die@1\nthrottle 0.5 hw_thermal\ncanary\n"
             "rank=9 attempt=2 die@1 # which may have more ranks",
             tsw_key_format(tsw_key_of_text("BLOCK=1024"), key));
    assert_int_equal(check(text, NULL), TSW_OK);
    /* Of what is not known nothing is missing. */
    const tsw_sim_cast_t nothing = {.rank_count = 1};
    assert_int_equal(
        tsw_sim_scenario_check("wrong A=1\nrank=5 die@1\ngpu=9 canary\n", &nothing, NULL), TSW_OK);
}

static void test_what_the_run_lacks_is_named_with_the_nearest(void **state)
{
    (void)state;
    check_missing("# first\nwrong TILE_M=256",
                  "scenario:2: target: no config of the job has TILE_M=256; the nearest is "
                  "TILE_M=128");
    check_missing("wrong occupancy=2 TILE_MM=64",
                  "scenario:1: target: no config of the job has TILE_MM; did you mean TILE_M?");
    check_missing("wrong QUITE_OTHER=64",
                  "scenario:1: target: no config of the job has QUITE_OTHER");
    check_missing("slow 2 TILE_M=64 TILE_N=64 occupancy=1",
                  "scenario:1: target: no config of the job has all of \"TILE_M=64 TILE_N=64 "
                  "occupancy=1\"; the nearest is TILE_M=64 TILE_N=128 occupancy=1");
    check_missing("oom 0123456789abcdef0123456789abcdef",
                  "scenario:1: target: no config of the job has the key "
                  "0123456789abcdef0123456789abcdef; knobs say the same, as TILE_M=128 TILE_N=64 "
                  "occupancy=2");
    check_missing("gpu=5 canary",
                  "scenario:1: gpu=5: the run has no such virtual GPU; the nearest is gpu=7");
    check_missing("rank=2 die@1\nrank=3 die@1",
                  "scenario:2: rank=3: the run has 3 ranks; the last is rank=2");
    check_missing("wrnog *", "scenario:1: unknown fault \"wrnog\"; did you mean \"wrong\"?");
}

static void test_no_memory_is_reported(void **state)
{
    (void)state;
    for (long n = 1; n <= 3; n++) {
        tsw_sim_scenario_t scenario = {.count = 42};
        tsw_mem_fail_at(n);
        assert_int_equal(tsw_sim_scenario_parse("wrong *", 0, &scenario, NULL), TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
        assert_int_equal(scenario.count, 42);
        tsw_mem_fail_at(n);
        assert_int_equal(check("wrong *", NULL), TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_fit_their_targets),
        cmocka_unit_test(test_rules_for_other_gpus_are_left_out),
        cmocka_unit_test(test_events_of_ranks_are_theirs_alone),
        cmocka_unit_test(test_throttling_has_its_rounds),
        cmocka_unit_test(test_nothing_is_a_scenario),
        cmocka_unit_test(test_bad_lines_are_named),
        cmocka_unit_test(test_what_the_run_has_is_accepted),
        cmocka_unit_test(test_what_the_run_lacks_is_named_with_the_nearest),
        cmocka_unit_test(test_no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
