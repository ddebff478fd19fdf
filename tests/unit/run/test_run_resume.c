/* What a resume takes over from earlier attempts, and what it calls a difference. */
#include "base/mem.h"
#include "run/run_state.h"

#include "plan_builder.h"
#include "sample_dataset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 2, PER_ARCH = 2, CELLS = 2 * PER_ARCH, CONFIGS = 3 };

typedef struct {
    tsw_run_t run;
    tsw_run_options_t options;
    tsw_msg_hello_t hellos[RANKS];
    tsw_dataset_t before;
    bool done[CELLS];
} world_t;

static tsw_gpu_t make_gpu(uint32_t arch, const char *driver)
{
    tsw_gpu_t gpu = {.arch = arch, .driver_version = 13000, .mode = "cuda"};
    snprintf(gpu.uuid, sizeof(gpu.uuid), "GPU-%u", arch);
    snprintf(gpu.driver_text, sizeof(gpu.driver_text), "%s", driver);
    return gpu;
}

static void add_result(tsw_dataset_t *dataset, const tsw_plan_t *plan, size_t index)
{
    const tsw_cell_t *cell = &plan->cells[index];
    char shape[32];
    snprintf(shape, sizeof(shape), "M=%zu", index);
    uint32_t arch = plan->job->archs[cell->arch_index];
    tsw_cell_result_t *result = sample_dataset_cell(dataset, "demo", "v", shape, arch);
    result->key = cell->key;
    result->gpu = make_gpu(arch, "580.1");
    for (size_t i = 0; i < CONFIGS; i++)
        sample_dataset_record(result, "c", TSW_OUTCOME_OK)->config_key =
            plan->variants[cell->variant].configs[i].key;
}

/* A run over two archs, a rank for each, that was finished by the same tools. */
static int make_world(void **state)
{
    static world_t world;
    world = (world_t){.options = {.run_dir = "run"}};
    world.run.options = &world.options;
    world.run.plan = plan_build(
        &(plan_build_t){.archs = 2, .variants = 1, .configs = CONFIGS, .cells_per_arch = PER_ARCH});
    world.run.job = (tsw_job_t *)(uintptr_t)world.run.plan->job;
    world.run.done = world.done;
    world.run.size = RANKS;
    world.run.hellos = world.hellos;
    for (int i = 0; i < RANKS; i++) {
        world.hellos[i].has_gpu = true;
        world.hellos[i].gpu = make_gpu(world.run.job->archs[i], "580.1");
    }
    world.before = sample_dataset_new();
    assert_int_equal(tsw_run_meta_copy(&world.before.meta, &world.run.meta, NULL), TSW_OK);
    for (size_t i = 0; i < CELLS; i++)
        add_result(&world.before, world.run.plan, i);
    tsw_dataset_canonicalise(&world.before);
    *state = &world;
    return 0;
}

static int free_world(void **state)
{
    world_t *world = *state;
    tsw_dataset_fini(&world->before);
    tsw_dataset_fini(&world->run.kept);
    tsw_run_meta_fini(&world->run.meta);
    plan_built_free(world->run.plan);
    return 0;
}

static void set_text(char **text, const char *value)
{
    tsw_free(*text);
    *text = tsw_strdup(value);
    assert_non_null(*text);
}

static size_t count_done(const world_t *world)
{
    size_t count = 0;
    for (size_t i = 0; i < CELLS; i++)
        count += world->done[i];
    return count;
}

static void set_driver(world_t *world, int rank, const char *driver)
{
    snprintf(world->hellos[rank].gpu.driver_text, sizeof(world->hellos[rank].gpu.driver_text), "%s",
             driver);
}

/* Refused with that line, and accepted with so many cells that still hold. */
static void assert_differs(world_t *world, const char *line, size_t held)
{
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_run_resume_take(&world->run, &world->before, &err), TSW_ERR_ARG);
    if (strstr(err.text, line) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", err.text, line);
    world->options.accept = true;
    assert_int_equal(tsw_run_resume_take(&world->run, &world->before, &err), TSW_OK);
    assert_int_equal(count_done(world), held);
    assert_int_equal(world->run.kept.cell_count, held);
    assert_int_equal(world->run.meta.edition, world->before.meta.edition + 1);
    for (size_t i = 0; i < held; i++)
        assert_int_equal(world->run.kept.cells[i].weight, 1);
}

static void test_resume_when_nothing_differs_then_all_is_done(void **state)
{
    world_t *world = *state;
    world->before.meta.edition = 4;
    world->options.accept = true; /* nothing to accept */
    assert_int_equal(tsw_run_resume_take(&world->run, &world->before, NULL), TSW_OK);
    assert_int_equal(count_done(world), CELLS);
    assert_int_equal(world->run.kept.cell_count, 0);
    assert_int_equal(world->run.meta.edition, 4);
}

static void test_resume_when_gpus_and_nodes_are_others_then_no_difference(void **state)
{
    world_t *world = *state;
    for (int i = 0; i < RANKS; i++) {
        snprintf(world->hellos[i].node, sizeof(world->hellos[i].node), "elsewhere");
        snprintf(world->hellos[i].gpu.uuid, sizeof(world->hellos[i].gpu.uuid), "GPU-other%d", i);
    }
    world->run.size = 1;
    assert_int_equal(tsw_run_resume_take(&world->run, &world->before, NULL), TSW_OK);
    assert_int_equal(count_done(world), CELLS);
}

static void test_resume_when_a_driver_is_new_then_its_arch_again(void **state)
{
    world_t *world = *state;
    set_driver(world, 1, "590.2");
    assert_differs(world, "  driver on sm_80: 580.1, CUDA 13.0 -> 590.2, CUDA 13.0", PER_ARCH);
}

static void test_resume_when_fewer_drivers_then_no_difference(void **state)
{
    world_t *world = *state;
    for (size_t i = 0, other = 0; i < CELLS; i++) { /* one cell of each arch by another driver */
        tsw_gpu_t *gpu = &world->before.cells[i].gpu;
        if ((other & 1u << (gpu->arch == 90)) != 0)
            continue;
        snprintf(gpu->driver_text, sizeof(gpu->driver_text), "570.9");
        other |= 1u << (gpu->arch == 90);
    }
    assert_int_equal(tsw_run_resume_take(&world->run, &world->before, NULL), TSW_OK);
    assert_int_equal(count_done(world), CELLS);
    set_driver(world, 0, "590.2"); /* neither of the two */
    assert_differs(world, "driver on sm_90", PER_ARCH);
}

static void test_resume_when_an_old_driver_stays_then_its_results_hold(void **state)
{
    world_t *world = *state;
    world->hellos[1] = world->hellos[0]; /* two GPUs of one arch ... */
    set_driver(world, 1, "590.2");       /* ... one by the old driver */
    assert_differs(world, "driver on sm_90", CELLS);
}

static void test_resume_when_the_clocks_differ_then_all_again(void **state)
{
    world_t *world = *state;
    set_text(&world->run.meta.clocks, "locked:1500");
    set_text(&world->before.meta.clocks, "free");
    assert_differs(world, "  clocks: free -> locked:1500", 0);
}

static void test_resume_when_the_toolchain_differs_then_all_again(void **state)
{
    world_t *world = *state;
    set_text(&world->before.meta.toolchain, "nvrtc 13.3");
    set_text(&world->run.meta.toolchain, "nvrtc 13.5");
    assert_differs(world, "  toolchain: nvrtc 13.3 -> nvrtc 13.5", 0);
}

static void test_resume_when_the_policy_differs_then_all_again(void **state)
{
    world_t *world = *state;
    set_text(&world->before.meta.inputs, "limits.cell: 3\nmeasure.rounds: 5\n");
    set_text(&world->run.meta.inputs, "limits.cell: 3\nmeasure.rounds: 7\n");
    world->run.meta.plan_key.lo++;
    assert_differs(world, "  measure.rounds: 5 -> 7", 0);
}

static void test_resume_when_weights_differ_then_kept_with_the_new_ones(void **state)
{
    world_t *world = *state;
    set_text(&world->before.meta.inputs, "measure.rounds: 5\nweights: 2\n");
    set_text(&world->run.meta.inputs, "measure.rounds: 5\nweights: 3\n");
    for (size_t i = 0; i < CELLS; i++)
        world->before.cells[i].weight = 2;
    world->run.meta.plan_key.lo++;
    assert_differs(world, "  weights: 2 -> 3", CELLS);
}

static void test_resume_when_a_file_is_too_old_to_tell_then_all_again(void **state)
{
    world_t *world = *state;
    set_text(&world->before.meta.inputs, "");
    world->run.meta.plan_key.lo++;
    assert_differs(world, "  plan: ", 0);
}

static void test_resume_when_measured_instead_of_compiled_then_again(void **state)
{
    world_t *world = *state;
    set_text(&world->before.meta.inputs, "arch sm_90: compiled only\n");
    set_text(&world->run.meta.inputs, "arch sm_90: measured\n");
    world->run.meta.plan_key.lo++;
    for (size_t i = 0; i < CELLS; i++) {
        if (world->before.cells[i].gpu.arch == 90)
            world->before.cells[i].gpu = (tsw_gpu_t){.arch = 0};
    }
    assert_differs(world, "  arch sm_90: compiled only -> measured", PER_ARCH);
}

static void test_resume_when_it_is_another_part_then_a_difference(void **state)
{
    world_t *world = *state;
    set_text(&world->before.meta.parts, "1/2");
    set_text(&world->run.meta.parts, "2/2");
    assert_differs(world, "  part: 1/2 -> 2/2", CELLS);
}

int main(void)
{
#define IN_WORLD(_test) cmocka_unit_test_setup_teardown(_test, make_world, free_world)
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_resume_when_nothing_differs_then_all_is_done),
        IN_WORLD(test_resume_when_gpus_and_nodes_are_others_then_no_difference),
        IN_WORLD(test_resume_when_a_driver_is_new_then_its_arch_again),
        IN_WORLD(test_resume_when_fewer_drivers_then_no_difference),
        IN_WORLD(test_resume_when_an_old_driver_stays_then_its_results_hold),
        IN_WORLD(test_resume_when_the_clocks_differ_then_all_again),
        IN_WORLD(test_resume_when_the_toolchain_differs_then_all_again),
        IN_WORLD(test_resume_when_the_policy_differs_then_all_again),
        IN_WORLD(test_resume_when_weights_differ_then_kept_with_the_new_ones),
        IN_WORLD(test_resume_when_a_file_is_too_old_to_tell_then_all_again),
        IN_WORLD(test_resume_when_measured_instead_of_compiled_then_again),
        IN_WORLD(test_resume_when_it_is_another_part_then_a_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
