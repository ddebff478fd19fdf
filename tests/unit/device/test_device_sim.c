#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "device/device.h"
#include "device/sim_time.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const double timeout_s = 10.0;

static tsw_device_t *open_sim(const char *model, uint32_t id, const char *scenario)
{
    char text[256];
    snprintf(text, sizeof(text), "%s", scenario);
    tsw_device_spec_t spec = {.kind = "sim", .id = id, .node = "n1", .seed = 7, .scenario = text};
    snprintf(spec.model, sizeof(spec.model), "%s", model);
    tsw_device_t *dev = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_device_open(&spec, &dev, &err), TSW_OK);
    return dev;
}

/* A matmul 4096^3 in f16 with tiles of 128 x 128, as compiled for sm_90. */
static tsw_kernel_model_t matmul_model(const char *config)
{
    return (tsw_kernel_model_t){
        .flops = 2.0 * 4096 * 4096 * 4096,
        .bytes = 3.0 * 2 * 4096 * 4096,
        .dtype = TSW_DTYPE_F16,
        .cell_key = tsw_key_of_text("cell"),
        .config_key = tsw_key_of_text(config),
        .config_text = config,
        .facts = {.registers = 128, .shared_bytes = 107648, .threads = 256, .cluster = 1},
    };
}

static tsw_kernel_t *load(tsw_device_t *dev, const tsw_kernel_model_t *model)
{
    tsw_kernel_t *kernel = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->kernel_load(dev, NULL, 0, "k", model, &kernel, &err), TSW_OK);
    return kernel;
}

static tsw_launch_t launch_of(const tsw_kernel_t *kernel)
{
    return (tsw_launch_t){.kernel = kernel,
                          .geometry = {.grid = {1024, 1, 1}, .block = {1, 1, 1}},
                          .params = {1ull << 41, 1ull << 42},
                          .param_count = 2};
}

static void test_models_are_known(void **state)
{
    (void)state;
    const char *const *names = NULL;
    size_t count = 0;
    tsw_arch_t arch = 0;
    tsw_sim_models(&names, &count);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_true(tsw_sim_arch(names[i], &arch));
        assert_non_null(tsw_arch_traits(arch));
    }
    assert_true(tsw_sim_arch("h200", &arch));
    assert_int_equal(arch, 90);
    assert_false(tsw_sim_arch("h201", &arch));
}

static void test_gpu_says_that_it_is_simulated(void **state)
{
    (void)state;
    tsw_device_t *dev = open_sim("h200", 3, "");
    const tsw_gpu_t *gpu = dev->ops->gpu(dev);
    assert_string_equal(gpu->uuid, "sim:h200:3");
    assert_string_equal(gpu->mode, "sim");
    assert_non_null(strstr(gpu->name, "simulated"));
    assert_int_equal(gpu->sm_count, 132);
    tsw_device_close(dev);
}

static void test_unknown_models_and_kinds_are_refused(void **state)
{
    (void)state;
    tsw_device_t *dev = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_device_spec_t spec = {.kind = "sim", .model = "h20"};
    assert_int_equal(tsw_device_open(&spec, &dev, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "did you mean \"h200\""));
    snprintf(spec.kind, sizeof(spec.kind), "simm");
    assert_int_equal(tsw_device_open(&spec, &dev, &err), TSW_ERR_ARG);
    assert_null(dev);
    tsw_device_close(NULL);
}

static double time_of(const tsw_kernel_model_t *model, uint32_t grid)
{
    const tsw_sim_model_t *h200 = tsw_sim_model("h200");
    tsw_geometry_t geometry = {.grid = {grid, 1, 1}, .block = {1, 1, 1}};
    return tsw_sim_time_ns(h200, model, &geometry);
}

static void test_times_follow_the_machine(void **state)
{
    (void)state;
    tsw_kernel_model_t model = matmul_model("x=1"), spilling = model, slim = model;
    double ns = time_of(&model, 1024);
    assert_true(ns > 150e3 && ns < 400e3); /* about 200 us on the real one */
    spilling.facts.spill_bytes = 1808;
    assert_true(time_of(&spilling, 1024) > 5 * ns);
    assert_true(time_of(&model, 4096) > ns); /* smaller tiles move more */
    slim.flops = 1;
    slim.bytes = 512e6;
    double slim_ns = time_of(&slim, 100000);
    assert_true(slim_ns > 512e6 / 4800 && slim_ns < 2 * 512e6 / 4800);
    /* One block more than fits at a time costs a wave. */
    assert_true(time_of(&model, 265) > 1.5 * time_of(&model, 264) * 264 / 265);
}

static void test_a_launch_that_cannot_fit_is_refused(void **state)
{
    (void)state;
    tsw_device_t *dev = open_sim("a100", 0, "");
    tsw_kernel_model_t model = matmul_model("x=1");
    model.facts.shared_bytes = 200000; /* more than an A100 has */
    tsw_kernel_t *kernel = load(dev, &model);
    tsw_launch_t launch = launch_of(kernel);
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->run(dev, &launch, timeout_s, &err), TSW_ERR_DEVICE);
    dev->ops->kernel_unload(dev, kernel);
    tsw_device_close(dev);
}

enum { WAVE_MAX = 8 };

static tsw_status_t try_wave(tsw_device_t *dev, const tsw_launch_t *launches, size_t count,
                             uint32_t round, uint64_t *interval_ns, size_t *finished_p)
{
    tsw_shot_t shots[WAVE_MAX];
    tsw_wave_plan_t plan = {.lead = &shots[0], .timeout_s = timeout_s, .round = round};
    tsw_err_t err = TSW_ERR_INIT;
    assert_true(count <= WAVE_MAX);
    for (size_t i = 0; i < count; i++)
        shots[i] =
            (tsw_shot_t){.launches = &launches[i], .set_count = 1, .repeat = 1, .flush = true};
    return dev->ops->wave(dev, shots, count, &plan, interval_ns, finished_p, &err);
}

static void wave_of(tsw_device_t *dev, const tsw_launch_t *launches, size_t count, uint32_t round,
                    uint64_t *interval_ns)
{
    size_t finished = 0;
    assert_int_equal(try_wave(dev, launches, count, round, interval_ns, &finished), TSW_OK);
    assert_int_equal(finished, count);
}

static void test_a_shot_takes_the_time_of_its_launches(void **state)
{
    (void)state;
    tsw_device_t *dev = open_sim("h200", 0, "");
    tsw_kernel_model_t model = matmul_model("x=1");
    tsw_kernel_t *kernel = load(dev, &model);
    tsw_launch_t launch = launch_of(kernel);
    tsw_shot_t shot = {.launches = &launch, .set_count = 1, .repeat = 25};
    tsw_wave_plan_t plan = {.lead = &shot, .timeout_s = timeout_s, .round = 3};
    uint64_t one_ns = 0, all_ns = 0;
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    wave_of(dev, &launch, 1, 3, &one_ns);
    uint64_t start_ns = dev->ops->now_ns(dev);
    assert_int_equal(dev->ops->graph_new(dev, &shot, &shot.graph, &err), TSW_OK);
    assert_true(dev->ops->now_ns(dev) > start_ns);
    start_ns = dev->ops->now_ns(dev);
    assert_int_equal(dev->ops->wave(dev, &shot, 1, &plan, &all_ns, &finished, &err), TSW_OK);
    assert_int_equal(all_ns, 25 * one_ns);
    assert_true(dev->ops->now_ns(dev) - start_ns >= all_ns);
    dev->ops->graph_free(dev, shot.graph);
    dev->ops->kernel_unload(dev, kernel);
    tsw_device_close(dev);
}

static void test_samples_depend_on_keys_not_on_order(void **state)
{
    (void)state;
    tsw_device_t *a = open_sim("h200", 0, ""), *b = open_sim("h200", 0, "");
    tsw_device_t *c = open_sim("h200", 1, "");
    tsw_kernel_model_t x = matmul_model("x=1"), y = matmul_model("y=1");
    tsw_kernel_t *kernels[] = {load(a, &x), load(a, &y), load(b, &x), load(b, &y), load(c, &x)};
    tsw_launch_t forth[] = {launch_of(kernels[0]), launch_of(kernels[1])};
    tsw_launch_t back[] = {launch_of(kernels[3]), launch_of(kernels[2])};
    tsw_launch_t other[] = {launch_of(kernels[4])};
    uint64_t from_a[2], from_b[2], from_c[1];
    size_t equal = 0;
    for (uint32_t round = 20; round-- > 0;) {
        wave_of(a, forth, 2, 19 - round, from_a);
        uint64_t kept[2] = {from_a[0], from_a[1]};
        wave_of(b, back, 2, 19 - round, from_b);
        wave_of(c, other, 1, 19 - round, from_c);
        assert_int_equal(kept[0], from_b[1]);
        assert_int_equal(kept[1], from_b[0]);
        equal += kept[0] == from_c[0];
    }
    assert_int_equal(equal, 0);
    for (size_t i = 0; i < 5; i++)
        a->ops->kernel_unload(a, kernels[i]);
    assert_true(a->ops->now_ns(a) > 20 * 2 * 150000);
    tsw_device_close(a);
    tsw_device_close(b);
    tsw_device_close(c);
}

static void test_noise_has_its_size(void **state)
{
    (void)state;
    tsw_sim_place_t place = {.seed = 3, .gpu = 1, .node = 9};
    tsw_key_t cell = tsw_key_of_text("c"), config = tsw_key_of_text("d");
    size_t outliers = 0;
    double sum = 0, squares = 0, steps = 0, last = 0;
    size_t kept = 0;
    for (uint32_t round = 1; round <= 4000; round++) {
        double factor = tsw_sim_noise(&place, cell, config, round);
        assert_true(factor == tsw_sim_noise(&place, cell, config, round));
        if (factor > 1.5) {
            outliers++;
            continue;
        }
        sum += factor;
        squares += factor * factor;
        steps += kept++ > 0 ? (factor - last) * (factor - last) : 0;
        last = factor;
    }
    double mean = sum / (double)kept;
    double deviation = sqrt(squares / (double)kept - mean * mean);
    double step = sqrt(steps / (double)(kept - 1) / 2);
    assert_in_range(outliers, 15, 80);
    assert_true(fabs(mean - 1.0) < 0.05);
    assert_true(deviation > 0.006 && deviation < 0.02);
    assert_true(step > 0.005 && step < 0.009); /* neighbours share the drift */
}

static void test_memory_is_counted_and_limited(void **state)
{
    (void)state;
    tsw_device_t *dev = open_sim("h200", 0, "capacity 10000000");
    tsw_memory_t a, b, c;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->memory_new(dev, 1001, 2 << 20, &a, &err), TSW_OK);
    assert_int_equal(a.address % 256, 0);
    assert_true(a.base + a.total >= a.address + 1001 + (2 << 20));
    assert_int_equal(dev->ops->memory_new(dev, 1001, 2 << 20, &b, &err), TSW_OK);
    assert_true(b.base >= a.base + a.total);
    assert_int_equal(dev->ops->memory_new(dev, 5000000, 0, &c, &err), TSW_ERR_DEVICE_MEMORY);
    assert_int_equal(dev->ops->memory_new(dev, UINT64_MAX, 0, &c, &err), TSW_ERR_DEVICE_MEMORY);
    dev->ops->memory_free(dev, &a);
    dev->ops->memory_free(dev, &b);
    assert_int_equal(dev->ops->memory_ahead(dev, 1001, 0, &c, &err), TSW_ERR_DEVICE_MEMORY);
    tsw_device_close(dev);
}

/* A wave takes as long as its virtual time, at the least, and the times stay what they were. */
static void test_pace_makes_virtual_time_real(void **state)
{
    (void)state;
    uint64_t ns[2][1] = {{0}};
    uint64_t virtual_ns = 0, real_ns = 0;
    for (size_t i = 0; i < 2; i++) {
        tsw_device_t *dev = open_sim("h200", 0, i == 0 ? "" : "pace 10");
        tsw_kernel_model_t model = matmul_model("x=1");
        tsw_kernel_t *kernel = load(dev, &model);
        tsw_launch_t launch = launch_of(kernel);
        tsw_shot_t shot = {.launches = &launch, .set_count = 1, .repeat = 1};
        tsw_wave_plan_t plan = {.round = 1, .timeout_s = timeout_s};
        tsw_err_t err = TSW_ERR_INIT;
        size_t finished = 0;
        uint64_t before = tsw_clock_now_ns();
        assert_int_equal(dev->ops->wave(dev, &shot, 1, &plan, ns[i], &finished, &err), TSW_OK);
        real_ns = tsw_clock_now_ns() - before;
        virtual_ns = dev->ops->now_ns(dev);
        dev->ops->kernel_unload(dev, kernel);
        tsw_device_close(dev);
    }
    assert_int_equal(ns[0][0], ns[1][0]);
    assert_true(real_ns >= 10 * virtual_ns);
}

static tsw_status_t run_with(const char *scenario, tsw_device_t **dev_p)
{
    tsw_device_t *dev = open_sim("h200", 0, scenario);
    tsw_kernel_model_t model = matmul_model("x=1");
    tsw_kernel_t *kernel = load(dev, &model);
    tsw_launch_t launch = launch_of(kernel);
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = dev->ops->run(dev, &launch, timeout_s, &err);
    dev->ops->kernel_unload(dev, kernel);
    *dev_p = dev;
    return status;
}

static void check_run(const char *scenario, tsw_status_t want, bool lost)
{
    tsw_device_t *dev = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(run_with(scenario, &dev), want);
    assert_int_equal(dev->ops->canary(dev, &err), lost ? TSW_ERR_DEVICE_LOST : TSW_OK);
    tsw_device_close(dev);
}

static void test_launch_faults(void **state)
{
    (void)state;
    check_run("", TSW_OK, false);
    check_run("launch x=1", TSW_ERR_DEVICE, false);
    check_run("lost x=1", TSW_ERR_DEVICE_LOST, true);
    check_run("hang x=1", TSW_ERR_TIMEOUT, true);
    check_run("slow 1000000 x=1", TSW_ERR_TIMEOUT, true);
    check_run("hang y=1", TSW_OK, false);
}

static void test_load_faults(void **state)
{
    (void)state;
    tsw_device_t *dev = open_sim("h200", 0, "load x=1\noom y=1");
    tsw_kernel_model_t x = matmul_model("x=1"), y = matmul_model("y=1");
    tsw_kernel_t *kernel = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->kernel_load(dev, NULL, 0, "k", &x, &kernel, &err), TSW_ERR_DEVICE);
    assert_int_equal(dev->ops->kernel_load(dev, NULL, 0, "k", &y, &kernel, &err),
                     TSW_ERR_DEVICE_MEMORY);
    assert_null(kernel);
    tsw_device_close(dev);
}

static void test_a_canary_can_fail(void **state)
{
    (void)state;
    tsw_device_t *dev = open_sim("h200", 0, "canary");
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->load_tool(dev, NULL, 0, &err), TSW_OK);
    assert_int_equal(dev->ops->canary(dev, &err), TSW_ERR_DEVICE);
    tsw_device_close(dev);
}

static void test_a_crash_kills_the_process(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tsw_device_t *dev = NULL;
        signal(SIGABRT, SIG_DFL);
        (void)run_with("crash x=1", &dev);
        _exit(0);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
}

static void test_a_wave_names_the_culprit(void **state)
{
    (void)state;
    tsw_device_t *dev = open_sim("h200", 0, "hang@2 y=1");
    tsw_kernel_model_t x = matmul_model("x=1"), y = matmul_model("y=1");
    tsw_kernel_t *kernels[] = {load(dev, &x), load(dev, &y)};
    tsw_launch_t launches[] = {launch_of(kernels[0]), launch_of(kernels[1]), launch_of(kernels[0])};
    uint64_t interval_ns[3];
    size_t finished = 0;
    wave_of(dev, launches, 3, 0, interval_ns);
    assert_int_equal(try_wave(dev, launches, 3, 1, interval_ns, &finished), TSW_ERR_TIMEOUT);
    assert_int_equal(finished, 1);
    dev->ops->kernel_unload(dev, kernels[0]);
    dev->ops->kernel_unload(dev, kernels[1]);
    tsw_device_close(dev);
}

static void test_replay_draws_recorded_samples_in_turn(void **state)
{
    (void)state;
    static const uint64_t recorded[] = {100, 200, 300};
    tsw_device_spec_t spec = {.kind = "replay", .arch = 90, .id = 2};
    tsw_device_t *dev = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_device_open(&spec, &dev, &err), TSW_OK);
    assert_string_equal(dev->ops->gpu(dev)->mode, "replay");
    assert_int_equal(dev->ops->gpu(dev)->arch, 90);
    tsw_kernel_model_t model = matmul_model("x=1");
    tsw_kernel_t *kernel = NULL;
    assert_int_equal(dev->ops->kernel_load(dev, NULL, 0, "k", &model, &kernel, &err),
                     TSW_ERR_DEVICE);
    model.recorded_ns = recorded;
    model.recorded_count = 3;
    kernel = load(dev, &model);
    tsw_launch_t launch = launch_of(kernel);
    for (uint32_t round = 0; round < 7; round++) {
        uint64_t ns = 0;
        wave_of(dev, &launch, 1, round, &ns);
        assert_int_equal(ns, recorded[round % 3]);
    }
    dev->ops->kernel_unload(dev, kernel);
    tsw_device_close(dev);
}

static tsw_energy_t energy_of(const char *config, const char *scenario, uint32_t round)
{
    tsw_device_t *dev = open_sim("h200", 0, scenario);
    tsw_kernel_model_t model = matmul_model(config);
    tsw_kernel_t *kernel = load(dev, &model);
    tsw_launch_t launch = launch_of(kernel);
    tsw_shot_t shot = {.launches = &launch, .set_count = 1, .repeat = 1};
    tsw_energy_t energy;
    tsw_err_t err = TSW_ERR_INIT;
    uint64_t before = dev->ops->now_ns(dev);
    assert_int_equal(dev->ops->energy_find(dev, &err), TSW_OK);
    assert_int_equal(dev->ops->energy(dev, &shot, round, timeout_s, &energy, &err), TSW_OK);
    assert_true(dev->ops->now_ns(dev) - before >= 600000000);
    dev->ops->kernel_unload(dev, kernel);
    tsw_device_close(dev);
    return energy;
}

static double joules_of(const tsw_energy_t *energy)
{
    return 1e-3 * energy->energy_mj / energy->launches;
}

static double watts_of(const tsw_energy_t *energy)
{
    return 1e6 * energy->energy_mj / (double)energy->interval_ns;
}

/* Its own for each config, the same whenever it is asked. */
static void test_energy_is_power_by_time(void **state)
{
    (void)state;
    tsw_energy_t x = energy_of("x=1", "", 1), again = energy_of("x=1", "", 1),
                 y = energy_of("y=1", "", 1);
    assert_memory_equal(&x, &again, sizeof(x));
    assert_true(watts_of(&x) > 500 && watts_of(&x) < 710);
    assert_true(fabs(watts_of(&x) / watts_of(&y) - 1) > 1e-3);
    tsw_energy_t less = energy_of("x=1", "power 0.8 x=1", 1),
                 slow = energy_of("x=1", "slow 2 x=1", 1);
    assert_true(fabs(joules_of(&less) / joules_of(&x) - 0.8) < 1e-3);
    assert_true(fabs(joules_of(&slow) / joules_of(&x) - 2.0) < 1e-3);
    tsw_energy_t later = energy_of("x=1", "", 2);
    assert_true(fabs(joules_of(&later) / joules_of(&x) - 1) < 0.03);
}

static void test_a_replay_has_no_energy(void **state)
{
    (void)state;
    tsw_device_spec_t spec = {.kind = "replay", .arch = 90};
    tsw_device_t *dev = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_device_open(&spec, &dev, &err), TSW_OK);
    assert_int_equal(dev->ops->energy_find(dev, &err), TSW_ERR_ENV);
    assert_string_equal(err.text, "the energy counter: a replay has none");
    tsw_device_close(dev);
}

static void test_no_memory_is_reported(void **state)
{
    (void)state;
    tsw_device_spec_t spec = {.kind = "sim", .model = "h200"};
    tsw_device_t *dev = NULL;
    for (long n = 1; n <= 2; n++) {
        tsw_mem_fail_at(n);
        assert_int_equal(tsw_device_open(&spec, &dev, NULL), TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
        assert_null(dev);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_are_known),
        cmocka_unit_test(test_gpu_says_that_it_is_simulated),
        cmocka_unit_test(test_unknown_models_and_kinds_are_refused),
        cmocka_unit_test(test_times_follow_the_machine),
        cmocka_unit_test(test_a_launch_that_cannot_fit_is_refused),
        cmocka_unit_test(test_samples_depend_on_keys_not_on_order),
        cmocka_unit_test(test_noise_has_its_size),
        cmocka_unit_test(test_memory_is_counted_and_limited),
        cmocka_unit_test(test_pace_makes_virtual_time_real),
        cmocka_unit_test(test_launch_faults),
        cmocka_unit_test(test_load_faults),
        cmocka_unit_test(test_a_canary_can_fail),
        cmocka_unit_test(test_a_crash_kills_the_process),
        cmocka_unit_test(test_a_shot_takes_the_time_of_its_launches),
        cmocka_unit_test(test_a_wave_names_the_culprit),
        cmocka_unit_test(test_replay_draws_recorded_samples_in_turn),
        cmocka_unit_test(test_energy_is_power_by_time),
        cmocka_unit_test(test_a_replay_has_no_energy),
        cmocka_unit_test(test_no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
