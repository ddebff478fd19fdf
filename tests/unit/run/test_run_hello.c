/* What ranks tell each other before work, and what follows from it. */
#include "run/run_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RANKS 4

typedef struct {
    tsw_run_t run;
    tsw_run_options_t options;
    tsw_job_t job;
    tsw_arch_t archs[2];
    bool compile_only[2];
    tsw_msg_hello_t hellos[RANKS];
} world_t;

/* Four ranks with an H200 each on two nodes of 8 cores; the job measures sm_90 and sm_80. */
static int make_world(void **state)
{
    static world_t world;
    world = (world_t){.archs = {90, 80}};
    world.job.archs = world.archs;
    world.job.arch_count = 2;
    world.job.compile_only = world.compile_only;
    world.run.job = &world.job;
    world.run.options = &world.options;
    world.run.size = RANKS;
    world.run.hellos = world.hellos;
    for (int i = 0; i < RANKS; i++) {
        tsw_msg_hello_t *hello = &world.hellos[i];
        *hello = (tsw_msg_hello_t){.has_gpu = true, .toolchain_found = true};
        snprintf(hello->node, sizeof(hello->node), "node%d", i / 2);
        snprintf(hello->toolchain, sizeof(hello->toolchain), "nvrtc 13.5");
        snprintf(hello->gpu.uuid, sizeof(hello->gpu.uuid), "GPU-%d", i);
        snprintf(hello->gpu.name, sizeof(hello->gpu.name), "device %d", i);
        snprintf(hello->gpu.mode, sizeof(hello->gpu.mode), "cuda");
        hello->gpu.arch = i == 3 ? 80 : 90;
        hello->cpus.words[0] = 0xff;
    }
    *state = &world;
    return 0;
}

static void assert_bad(world_t *world, tsw_status_t status, const char *text)
{
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_run_check_hellos(&world->run, &err), status);
    if (strstr(err.text, text) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", err.text, text);
}

static void test_hellos_when_they_fit_then_ok(void **state)
{
    world_t *world = *state;
    world->run.rank = 3;
    world->run.has_device = true;
    assert_int_equal(tsw_run_check_hellos(&world->run, NULL), TSW_OK);
    assert_int_equal(world->run.arch_index, 1);
    assert_int_equal(world->run.builds.slots, 3);
    assert_true(world->run.has_device);
}

static void test_hellos_when_a_gpu_is_shared_then_refused(void **state)
{
    world_t *world = *state;
    snprintf(world->hellos[2].gpu.uuid, sizeof(world->hellos[2].gpu.uuid), "GPU-1");
    assert_bad(world, TSW_ERR_ENV, "ranks 1 and 2");
    world->options.allow_shared_gpu = true;
    assert_int_equal(tsw_run_check_hellos(&world->run, NULL), TSW_OK);
    world->options.allow_shared_gpu = false;
    for (int i = 0; i < RANKS; i++) /* a simulated one may be anybody's */
        snprintf(world->hellos[i].gpu.mode, sizeof(world->hellos[i].gpu.mode), "sim");
    assert_int_equal(tsw_run_check_hellos(&world->run, NULL), TSW_OK);
}

static void test_hellos_when_an_arch_has_no_device_then_refused(void **state)
{
    world_t *world = *state;
    world->hellos[3].gpu.arch = 86;
    assert_bad(world, TSW_ERR_ENV, "no rank has a device for sm_80");
    assert_bad(world, TSW_ERR_ENV, "rank 3: sm_86 (device 3)");
    world->hellos[3].has_gpu = false;
    assert_bad(world, TSW_ERR_ENV, "rank 3: none");
    world->compile_only[1] = true;
    assert_int_equal(tsw_run_check_hellos(&world->run, NULL), TSW_OK);
}

static void test_hellos_when_an_arch_is_compile_only_then_its_device_idles(void **state)
{
    world_t *world = *state;
    world->compile_only[1] = true;
    world->run.rank = 3;
    world->run.has_device = true;
    assert_int_equal(tsw_run_check_hellos(&world->run, NULL), TSW_OK);
    assert_int_equal(world->run.arch_index, -1);
    assert_false(world->run.has_device);
}

static void test_hellos_when_toolchains_differ_then_refused(void **state)
{
    world_t *world = *state;
    world->hellos[2].toolchain_key.lo = 7;
    snprintf(world->hellos[2].toolchain, sizeof(world->hellos[2].toolchain), "nvrtc 13.4");
    assert_bad(world, TSW_ERR_ENV, "nvrtc 13.5 on node0 (rank 0), nvrtc 13.4 on node1 (rank 2)");
    world->hellos[2].toolchain_key.lo = 0;
    world->hellos[2].toolchain_found = false;
    assert_bad(world, TSW_ERR_ENV, "the toolchains differ");
}

static void test_hellos_when_plans_differ_then_bug(void **state)
{
    world_t *world = *state;
    world->hellos[1].plan_key.hi = 1;
    assert_bad(world, TSW_ERR_BUG, "ranks 0 and 1");
}

static void test_slots_when_cores_are_many_then_dealt_over_ranks(void **state)
{
    world_t *world = *state;
    world->hellos[1].cpus.words[0] = 0x700; /* 11 cores on node0, one for each of two workers */
    assert_int_equal(tsw_run_slots_of(&world->run, 0), 5);
    assert_int_equal(tsw_run_slots_of(&world->run, 1), 4);
    assert_int_equal(tsw_run_slots_of(&world->run, 2), 3);
    snprintf(world->hellos[0].gpu.mode, sizeof(world->hellos[0].gpu.mode), "sim");
    world->hellos[1].has_gpu = false; /* neither needs a core */
    assert_int_equal(tsw_run_slots_of(&world->run, 0), 6);
    assert_int_equal(tsw_run_slots_of(&world->run, 1), 5);
}

static void test_core_of_a_worker_when_it_times_nothing_then_it_is_built_on(void **state)
{
    world_t *world = *state;
    world->run.has_device = true;
    assert_int_equal(tsw_run_check_hellos(&world->run, NULL), TSW_OK);
    assert_true(world->run.builds.lends_core);
    assert_int_equal(tsw_run_builds_room(&world->run), 4);
    world->run.worker.timing = true;
    assert_int_equal(tsw_run_builds_room(&world->run), 3);
    world->run.worker.timing = false;
    assert_int_equal(tsw_run_builds_room(&world->run), 4);
    world->options.build_jobs = 6; /* so many were asked for */
    assert_false(tsw_run_lends_core(&world->run, 0));
    world->options.build_jobs = 0;
    snprintf(world->hellos[1].gpu.mode, sizeof(world->hellos[1].gpu.mode), "sim");
    assert_false(tsw_run_lends_core(&world->run, 1)); /* it has none */
    assert_true(tsw_run_lends_core(&world->run, 0));
    world->hellos[2].cpus.words[0] = world->hellos[3].cpus.words[0] = 3;
    assert_false(tsw_run_lends_core(&world->run, 2)); /* all that build need one more already */
}

static void test_slots_when_cores_are_few_then_one_builds(void **state)
{
    world_t *world = *state;
    world->hellos[0].cpus.words[0] = world->hellos[1].cpus.words[0] = 1;
    assert_int_equal(tsw_run_slots_of(&world->run, 0), 1);
    assert_int_equal(tsw_run_slots_of(&world->run, 1), 0);
}

static void test_slots_when_asked_for_then_that_many_per_node(void **state)
{
    world_t *world = *state;
    world->options.build_jobs = 3;
    assert_int_equal(tsw_run_slots_of(&world->run, 2), 2);
    assert_int_equal(tsw_run_slots_of(&world->run, 3), 1);
}

static void test_node_when_shared_then_its_first_rank(void **state)
{
    world_t *world = *state;
    assert_int_equal(tsw_run_node_of(&world->run, 1), 0);
    assert_int_equal(tsw_run_node_of(&world->run, 3), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hellos_when_they_fit_then_ok, make_world),
        cmocka_unit_test_setup(test_hellos_when_a_gpu_is_shared_then_refused, make_world),
        cmocka_unit_test_setup(test_hellos_when_an_arch_has_no_device_then_refused, make_world),
        cmocka_unit_test_setup(test_hellos_when_an_arch_is_compile_only_then_its_device_idles,
                               make_world),
        cmocka_unit_test_setup(test_hellos_when_toolchains_differ_then_refused, make_world),
        cmocka_unit_test_setup(test_hellos_when_plans_differ_then_bug, make_world),
        cmocka_unit_test_setup(test_slots_when_cores_are_many_then_dealt_over_ranks, make_world),
        cmocka_unit_test_setup(test_core_of_a_worker_when_it_times_nothing_then_it_is_built_on,
                               make_world),
        cmocka_unit_test_setup(test_slots_when_cores_are_few_then_one_builds, make_world),
        cmocka_unit_test_setup(test_slots_when_asked_for_then_that_many_per_node, make_world),
        cmocka_unit_test_setup(test_node_when_shared_then_its_first_rank, make_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
