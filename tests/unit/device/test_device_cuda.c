/* The real cuda body over tests/support/fake_libcuda.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "device/cuda_api.h"
#include "device/device.h"
#include "fake_libcuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FENCE (1u << 20)

static const double timeout_s = 5.0;

static tsw_status_t try_open(int place, tsw_device_t **dev_p, tsw_err_t *err)
{
    tsw_device_spec_t spec = {.kind = "cuda", .place = place};
    return tsw_device_open(&spec, dev_p, err);
}

static tsw_device_t *open_cuda(void)
{
    tsw_device_t *dev = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(try_open(0, &dev, &err), TSW_OK);
    assert_int_equal(dev->ops->load_tool(dev, "fake", 4, &err), TSW_OK);
    return dev;
}

static int setup(void **state)
{
    (void)state;
    fake_cuda_reset();
    return 0;
}

static void check_balance(void)
{
    fake_cuda_counts_t counts;
    fake_cuda_counts(&counts);
    assert_int_equal(counts.contexts, 0);
    assert_int_equal(counts.streams, 0);
    assert_int_equal(counts.events, 0);
    assert_int_equal(counts.modules, 0);
    assert_int_equal(counts.graphs, 0);
    assert_int_equal(counts.memories, 0);
    assert_int_equal(counts.host_memories, 0);
    assert_int_equal(counts.profilers, 0);
    assert_int_equal(counts.gate_waits, 0);
}

/* The end of a test with a kernel and what it writes. */
static void close_all(tsw_device_t *dev, tsw_kernel_t *kernel, tsw_memory_t *out)
{
    dev->ops->kernel_unload(dev, kernel);
    dev->ops->memory_free(dev, out);
    tsw_device_close(dev);
    check_balance();
}

static tsw_memory_t memory_of(tsw_device_t *dev, uint64_t bytes)
{
    tsw_memory_t memory;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->memory_new(dev, bytes, FENCE, &memory, &err), TSW_OK);
    assert_int_equal(dev->ops->poison(dev, &memory, false, &err), TSW_OK);
    return memory;
}

static tsw_kernel_t *load(tsw_device_t *dev, const char *entry)
{
    tsw_kernel_t *kernel = NULL;
    tsw_kernel_model_t model = {.flops = 1};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->kernel_load(dev, "fake", 4, entry, &model, &kernel, &err), TSW_OK);
    return kernel;
}

static tsw_launch_t launch_of(const tsw_kernel_t *kernel, const tsw_memory_t *memory)
{
    return (tsw_launch_t){.kernel = kernel,
                          .geometry = {.grid = {1, 1, 1}, .block = {32, 1, 1}},
                          .params = {memory->address, memory->bytes},
                          .param_count = 2};
}

static void test_gpu_is_described(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    const tsw_gpu_t *gpu = dev->ops->gpu(dev);
    tsw_telemetry_t telemetry;
    tsw_err_t err = TSW_ERR_INIT;
    assert_string_equal(gpu->uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
    assert_string_equal(gpu->name, "Fake GPU 0");
    assert_int_equal(gpu->arch, 90);
    assert_int_equal(gpu->sm_count, 4);
    assert_int_equal(gpu->driver_version, 13000);
    assert_string_equal(gpu->driver_text, "580.1.2");
    assert_string_equal(gpu->mode, "cuda");
    dev->ops->telemetry(dev, 0, 0, &telemetry);
    assert_int_equal(telemetry.sm_clock_mhz, 1500);
    assert_int_equal(telemetry.mem_clock_mhz, 2600);
    assert_true(telemetry.power_w == 412.5f);
    assert_int_equal(telemetry.throttle_reasons, 4);
    assert_int_equal(dev->ops->canary(dev, &err), TSW_OK);
    assert_true(dev->ops->now_ns(dev) > 0);
    tsw_device_close(dev);
    check_balance();
}

static void test_fill_compare_and_fences_work(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    const tsw_device_ops_t *ops = dev->ops;
    tsw_fill_t fill = {.kind = TSW_FILL_NORMAL, .a = 0, .b = 1};
    tsw_memory_t a = memory_of(dev, 2 * 1001), b = memory_of(dev, 2 * 1001);
    tsw_compare_t compare;
    tsw_err_t err = TSW_ERR_INIT;
    uint64_t damaged = 1, sum_a = 0, sum_b = 0;
    int64_t first = 0;
    assert_int_equal(a.address % 256, 0);
    assert_int_equal(ops->fill(dev, &a, TSW_DTYPE_F16, 1001, &fill, 0, 0, 5, NULL, 0, &err),
                     TSW_OK);
    assert_int_equal(ops->compare(dev, &b, &a, TSW_DTYPE_F16, 1001, 0, 0, &compare, &err), TSW_OK);
    assert_int_equal(compare.unwritten, 1001);
    assert_int_equal(ops->copy(dev, &b, &a, &err), TSW_OK);
    assert_int_equal(ops->compare(dev, &b, &a, TSW_DTYPE_F16, 1001, 0, 0, &compare, &err), TSW_OK);
    assert_int_equal(compare.mismatches, 0);
    assert_int_equal(ops->check_fences(dev, &b, &damaged, &first, &err), TSW_OK);
    assert_int_equal(damaged, 0);
    assert_int_equal(ops->checksum(dev, &a, &sum_a, &err), TSW_OK);
    assert_int_equal(ops->checksum(dev, &b, &sum_b, &err), TSW_OK);
    assert_int_equal(sum_a, sum_b);
    *(uint8_t *)(uintptr_t)(b.address + 2 * 1001) = 0; /* the very next byte */
    *(uint8_t *)(uintptr_t)(b.base + b.total - 1) = 0;
    assert_int_equal(ops->check_fences(dev, &b, &damaged, &first, &err), TSW_OK);
    assert_int_equal(damaged, 2);
    assert_int_equal(first, 2 * 1001);
    *(uint8_t *)(uintptr_t)(b.address - 3) = 7;
    assert_int_equal(ops->check_fences(dev, &b, &damaged, &first, &err), TSW_OK);
    assert_int_equal(damaged, 3);
    assert_int_equal(first, -3);
    assert_int_equal(ops->poison(dev, &b, true, &err), TSW_OK);
    assert_int_equal(ops->check_fences(dev, &b, &damaged, &first, &err), TSW_OK);
    assert_int_equal(damaged, 0);
    assert_int_equal(ops->checksum(dev, &b, &sum_b, &err), TSW_OK);
    assert_int_equal(sum_a, sum_b);
    uint8_t *last = (uint8_t *)(uintptr_t)(a.address + 2 * 1001 - 1);
    tsw_memory_t none = {.bytes = 0};
    tsw_inspection_t items[40];
    for (size_t i = 0; i < 40; i++) /* more than go at once */
        items[i] = (tsw_inspection_t){.memory = i % 3 == 0   ? &none
                                                : i % 3 == 1 ? &a
                                                             : &b,
                                      .with_sum = i % 3 == 1};
    *(uint8_t *)(uintptr_t)(b.base + 5) = 7;
    ++*last;
    assert_int_equal(ops->inspect(dev, items, 40, &err), TSW_OK);
    --*last;
    *(uint8_t *)(uintptr_t)(b.base + 5) = 0xff;
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(items[i].damaged, i % 3 == 2);
        assert_true(i % 3 != 2 || items[i].first == -(int64_t)FENCE + 5);
        assert_true(i % 3 != 1 || items[i].sum != sum_a);
        assert_true(i % 3 == 1 || items[i].sum == 0);
    }
    tsw_gaps_t gaps = {.offset = 2 * 1001, .bytes = 11, .period = 16, .count = 3};
    assert_int_equal(ops->check_gaps(dev, &b, &gaps, &damaged, &err), TSW_OK);
    assert_int_equal(damaged, 0);
    *(uint8_t *)(uintptr_t)(b.address + 2 * 1001 + 2 * 16 + 10) = 3;
    *(uint8_t *)(uintptr_t)(b.address + 2 * 1001 + 16 + 11) = 3; /* between them */
    assert_int_equal(ops->check_gaps(dev, &b, &gaps, &damaged, &err), TSW_OK);
    assert_int_equal(damaged, 1);
    ops->memory_free(dev, &a);
    ops->memory_free(dev, &b);
    tsw_device_close(dev);
    check_balance();
}

static void test_dataset_fills_take_bytes(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_fill_t fill = {.kind = TSW_FILL_DATASET};
    tsw_memory_t a = memory_of(dev, 5);
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->fill(dev, &a, TSW_DTYPE_I8, 5, &fill, 0, 0, 0, "12345", 5, &err),
                     TSW_OK);
    assert_memory_equal((void *)(uintptr_t)a.address, "12345", 5);
    assert_int_equal(dev->ops->fill(dev, &a, TSW_DTYPE_I8, 5, &fill, 0, 0, 0, "1234", 4, &err),
                     TSW_ERR_ARG);
    dev->ops->memory_free(dev, &a);
    tsw_device_close(dev);
    check_balance();
}

static void test_memory_runs_out(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_memory_t memory;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->memory_new(dev, 1ull << 40, FENCE, &memory, &err),
                     TSW_ERR_DEVICE_MEMORY);
    assert_non_null(strstr(err.text, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"));
    assert_int_equal(dev->ops->memory_new(dev, UINT64_MAX, FENCE, &memory, &err),
                     TSW_ERR_DEVICE_MEMORY);
    tsw_device_close(dev);
    check_balance();
}

static void test_kernels_load_and_run(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 999);
    tsw_kernel_t *kernel = load(dev, "fake_write");
    tsw_launch_t launch = launch_of(kernel, &out);
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->run(dev, &launch, timeout_s, &err), TSW_OK);
    assert_int_equal(*(uint8_t *)(uintptr_t)(out.address + 998), 1);
    assert_int_equal(*(uint8_t *)(uintptr_t)(out.address + 999), 0xff);
    launch.geometry.shared_bytes = 512 * 1024;
    assert_int_equal(dev->ops->run(dev, &launch, timeout_s, &err), TSW_ERR_DEVICE);
    assert_non_null(strstr(err.text, "524288 bytes of dynamic shared memory, this GPU allows "
                                     "232448 per block: cuFuncSetAttribute"));
    launch.geometry.shared_bytes = 200000;
    assert_int_equal(dev->ops->run(dev, &launch, timeout_s, &err), TSW_OK);
    dev->ops->kernel_unload(dev, kernel);
    dev->ops->kernel_unload(dev, NULL);
    dev->ops->memory_free(dev, &out);
    tsw_device_close(dev);
    check_balance();
}

static void test_bad_images_and_entries_are_refused(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_kernel_t *kernel = NULL;
    tsw_kernel_model_t model = {.flops = 1};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->kernel_load(dev, "junk", 4, "fake_write", &model, &kernel, &err),
                     TSW_ERR_DEVICE);
    assert_int_equal(err.vendor, 200);
    assert_int_equal(dev->ops->kernel_load(dev, "fake", 4, "other", &model, &kernel, &err),
                     TSW_ERR_DEVICE);
    assert_non_null(strstr(err.text, "entry other: cuModuleGetFunction"));
    assert_null(kernel);
    tsw_device_close(dev);
    check_balance();
}

static void test_a_refused_launch_leaves_the_context_alive(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64);
    tsw_kernel_t *kernel = load(dev, "fake_refused");
    tsw_launch_t launch = launch_of(kernel, &out);
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->run(dev, &launch, timeout_s, &err), TSW_ERR_DEVICE);
    assert_int_equal(err.vendor, 701);
    assert_int_equal(dev->ops->canary(dev, &err), TSW_OK);
    close_all(dev, kernel, &out);
}

/* After these the process must go: nothing is released, since releasing could block. */
static void check_lost(const char *entry, double seconds, tsw_status_t want)
{
    fake_cuda_reset();
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64), other;
    tsw_kernel_t *kernel = load(dev, entry);
    tsw_launch_t launch = launch_of(kernel, &out);
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->run(dev, &launch, seconds, &err), want);
    assert_int_equal(dev->ops->canary(dev, &err), TSW_ERR_DEVICE_LOST);
    assert_int_equal(dev->ops->memory_new(dev, 1, 1, &other, &err), TSW_ERR_DEVICE_LOST);
    dev->ops->kernel_unload(dev, kernel);
    dev->ops->memory_free(dev, &out);
    tsw_device_close(dev);
}

static void test_hangs_and_sticky_errors_lose_the_context(void **state)
{
    (void)state;
    check_lost("fake_hang", 0.02, TSW_ERR_TIMEOUT);
    check_lost("fake_lost", timeout_s, TSW_ERR_DEVICE_LOST);
}

static void test_results_are_classified(void **state)
{
    (void)state;
    static const int lost[] = {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};
    static const int alive[] = {1, 200, 201, 209, 400, 500, 701, 713, 720, 801};
    assert_int_equal(tsw_cuda_status(0), TSW_OK);
    assert_int_equal(tsw_cuda_status(2), TSW_ERR_DEVICE_MEMORY);
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
        assert_int_equal(tsw_cuda_status(lost[i]), TSW_ERR_DEVICE_LOST);
    for (size_t i = 0; i < sizeof(alive) / sizeof(alive[0]); i++)
        assert_int_equal(tsw_cuda_status(alive[i]), TSW_ERR_DEVICE);
}

static tsw_shot_t shot_of(const tsw_launch_t *launch)
{
    return (tsw_shot_t){.launches = launch, .set_count = 1, .repeat = 1, .flush = true};
}

/* Runs a wave with the first shot as its lead. */
static tsw_status_t run_wave(tsw_device_t *dev, const tsw_shot_t *shots, size_t count,
                             double seconds, uint64_t *interval_ns, size_t *finished_p,
                             tsw_err_t *err)
{
    tsw_wave_plan_t plan = {.lead = &shots[0], .timeout_s = seconds};
    return dev->ops->wave(dev, shots, count, &plan, interval_ns, finished_p, err);
}

static void test_a_long_wave_is_queued_piece_by_piece(void **state)
{
    (void)state;
    enum { COUNT = 1500 };
    static tsw_shot_t shots[COUNT];
    static uint64_t interval_ns[COUNT];
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64);
    tsw_kernel_t *kernel = load(dev, "fake_write");
    tsw_launch_t launch = launch_of(kernel, &out);
    fake_cuda_counts_t before, after;
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < COUNT; i++)
        shots[i] = shot_of(&launch);
    shots[77].flush = false;
    fake_cuda_counts(&before);
    assert_int_equal(run_wave(dev, shots, COUNT, timeout_s, interval_ns, &finished, &err), TSW_OK);
    fake_cuda_counts(&after);
    assert_int_equal(finished, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_in_range(interval_ns[i], 10239, 10241);
    assert_int_equal(after.launches - before.launches, COUNT + 1); /* and the lead-in */
    assert_int_equal(after.flushes - before.flushes, COUNT);
    assert_true(after.most_queued < 1000);
    close_all(dev, kernel, &out);
}

/* A wave of so many shots like this one; what the driver saw of it. */
static fake_cuda_counts_t run_alike(tsw_device_t *dev, const tsw_shot_t *shot, size_t count)
{
    enum { MOST = 200 };
    tsw_shot_t shots[MOST];
    uint64_t interval_ns[MOST];
    size_t finished = 0;
    fake_cuda_counts_t before, after;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_shot_t lead = *shot;
    const tsw_wave_plan_t plan = {.lead = &lead, .timeout_s = timeout_s};
    lead.repeat = 1;
    lead.graph = NULL;
    for (size_t i = 0; i < count; i++)
        shots[i] = *shot;
    fake_cuda_counts(&before);
    assert_int_equal(dev->ops->wave(dev, shots, count, &plan, interval_ns, &finished, &err),
                     TSW_OK);
    fake_cuda_counts(&after);
    after.gates -= before.gates;
    return after;
}

/* A shot of 20 launches takes 23 commands. */
static void test_a_gate_opens_when_the_host_is_ahead(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64);
    tsw_kernel_t *kernel = load(dev, "fake_write");
    tsw_launch_t launch = launch_of(kernel, &out);
    tsw_shot_t shot = {.launches = &launch, .set_count = 1, .repeat = 20};
    fake_cuda_counts_t seen = run_alike(dev, &shot, 10);
    assert_int_equal(seen.gates, 1);
    assert_int_equal(seen.held, 1 + 10 * 23); /* the host's pace was not known */
    shot.expected_ns = 10000000000;
    seen = run_alike(dev, &shot, 10);
    assert_int_equal(seen.gates, 2); /* the fake is done at once: a new gate for the rest */
    assert_in_range(seen.held, 7 * 23, 9 * 23);
    shot.expected_ns = 0;
    seen = run_alike(dev, &shot, 200);
    assert_true(seen.most_queued < 1000);
    assert_true(seen.gates > 100); /* one is queued for each that ended */
    shot.repeat = 900;             /* more than the driver queues */
    seen = run_alike(dev, &shot, 2);
    assert_int_equal(seen.held, 1); /* the lead */
    close_all(dev, kernel, &out);
}

typedef struct {
    bool has_more;
    int calls;
} idle_t;

static bool count_idle(void *user)
{
    idle_t *idle = user;
    idle->calls++;
    return idle->has_more;
}

/* An event is ready at the sixth look. */
static void test_the_host_works_ahead_once_all_is_queued(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64);
    tsw_kernel_t *kernel = load(dev, "fake_write");
    tsw_launch_t launch = launch_of(kernel, &out);
    tsw_shot_t shots[3] = {shot_of(&launch), shot_of(&launch), shot_of(&launch)};
    tsw_err_t err = TSW_ERR_INIT;
    fake_cuda_lag(5);
    for (int i = 0; i < 3; i++) {
        static const int calls[] = {5, 1, 0};
        uint64_t interval_ns[3];
        size_t finished = 0;
        idle_t idle = {.has_more = i != 1};
        const tsw_wave_plan_t plan = {
            .lead = &shots[0], .timeout_s = timeout_s, .idle = count_idle, .user = &idle};
        const size_t count = i == 2 ? 1 : 3; /* a single launch is over too soon */
        assert_int_equal(dev->ops->wave(dev, shots, count, &plan, interval_ns, &finished, &err),
                         TSW_OK);
        assert_int_equal(idle.calls, calls[i]);
    }
    fake_cuda_lag(0);
    close_all(dev, kernel, &out);
}

static void test_two_graphs_at_most_wait_behind_the_gate(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64);
    tsw_kernel_t *kernel = load(dev, "fake_write");
    tsw_launch_t launch = launch_of(kernel, &out);
    tsw_shot_t shot = {.launches = &launch, .set_count = 1, .repeat = 20};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->graph_new(dev, &shot, &shot.graph, &err), TSW_OK);
    for (int waves = 0; waves < 2; waves++) { /* the host's pace is known to the second */
        fake_cuda_counts_t seen = run_alike(dev, &shot, 10);
        assert_int_equal(seen.gates, 1); /* a graph is one command: none before it */
        assert_int_equal(seen.held_graphs, 2);
    }
    dev->ops->graph_free(dev, shot.graph);
    close_all(dev, kernel, &out);
}

static void test_shots_go_round_the_sets(void **state)
{
    (void)state;
    enum { SETS = 3 };
    tsw_device_t *dev = open_cuda();
    tsw_kernel_t *kernel = load(dev, "fake_add");
    tsw_memory_t in = memory_of(dev, 8), out[SETS];
    tsw_launch_t launches[SETS];
    uint64_t interval_ns[1];
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < SETS; i++) {
        out[i] = memory_of(dev, 8);
        launches[i] = (tsw_launch_t){.kernel = kernel,
                                     .geometry = {.grid = {1, 1, 1}, .block = {32, 1, 1}},
                                     .params = {in.address, out[i].address, 8},
                                     .param_count = 3};
    }
    tsw_shot_t shot = {.launches = launches, .set_count = SETS, .first_set = 2, .repeat = 2};
    tsw_wave_plan_t bare = {.timeout_s = timeout_s};
    assert_int_equal(dev->ops->wave(dev, &shot, 1, &bare, interval_ns, &finished, &err), TSW_OK);
    assert_in_range(interval_ns[0], 2 * 10239, 2 * 10241);
    assert_int_equal(*(uint8_t *)(uintptr_t)out[2].address, 0); /* poison and one */
    assert_int_equal(*(uint8_t *)(uintptr_t)out[0].address, 0);
    assert_int_equal(*(uint8_t *)(uintptr_t)out[1].address, 0xff);
    for (size_t i = 0; i < SETS; i++)
        dev->ops->memory_free(dev, &out[i]);
    dev->ops->memory_free(dev, &in);
    dev->ops->kernel_unload(dev, kernel);
    tsw_device_close(dev);
    check_balance();
}

static void test_graphs_hold_their_launches(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64), other = memory_of(dev, 64);
    tsw_kernel_t *kernel = load(dev, "fake_write");
    tsw_launch_t launches[] = {launch_of(kernel, &out), launch_of(kernel, &other)};
    tsw_graph_t *graph = NULL;
    fake_cuda_counts_t before, after;
    uint64_t interval_ns[5];
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    fake_cuda_counts(&before);
    tsw_shot_t shots[5];
    for (size_t i = 0; i < 5; i++)
        shots[i] = (tsw_shot_t){.launches = launches, .set_count = 2, .repeat = 100};
    assert_int_equal(dev->ops->graph_new(dev, &shots[0], &graph, &err), TSW_OK);
    fake_cuda_counts(&after);
    assert_int_equal(after.launches, before.launches); /* made, not run */
    for (size_t i = 0; i < 5; i++)
        shots[i].graph = i == 3 ? NULL : graph;
    assert_int_equal(run_wave(dev, shots, 5, timeout_s, interval_ns, &finished, &err), TSW_OK);
    fake_cuda_counts(&after);
    assert_int_equal(finished, 5);
    assert_int_equal(after.graph_launches - before.graph_launches, 1 + 4);
    assert_int_equal(after.launches - before.launches, 600);
    assert_int_equal(after.graph_moves, before.graph_moves);
    for (size_t i = 0; i < 5; i++)
        assert_in_range(interval_ns[i], 1023900, 1024100);
    assert_int_equal(*(uint8_t *)(uintptr_t)other.address, 1);
    dev->ops->graph_free(dev, graph);
    dev->ops->graph_free(dev, NULL);
    dev->ops->kernel_unload(dev, kernel);
    dev->ops->memory_free(dev, &out);
    dev->ops->memory_free(dev, &other);
    tsw_device_close(dev);
    check_balance();
}

/* Of three sets a graph of two launches takes the next two each time. */
static void test_a_graph_goes_where_its_shot_is(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_kernel_t *kernel = load(dev, "fake_write");
    tsw_memory_t outs[3];
    tsw_launch_t launches[3];
    fake_cuda_counts_t before, after;
    uint64_t interval_ns;
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    for (int i = 0; i < 3; i++) {
        outs[i] = memory_of(dev, 64);
        launches[i] = launch_of(kernel, &outs[i]);
    }
    tsw_shot_t shot = {.launches = launches, .set_count = 3, .first_set = 1, .repeat = 2};
    const tsw_wave_plan_t plan = {.timeout_s = timeout_s, .per_round = 1};
    assert_int_equal(dev->ops->graph_new(dev, &shot, &shot.graph, &err), TSW_OK);
    fake_cuda_counts(&before);
    for (uint32_t turn = 0; turn < 3; turn++, shot.first_set = (shot.first_set + 2) % 3) {
        for (int i = 0; i < 3; i++)
            *(uint8_t *)(uintptr_t)outs[i].address = 0;
        assert_int_equal(dev->ops->wave(dev, &shot, 1, &plan, &interval_ns, &finished, &err),
                         TSW_OK);
        for (uint32_t i = 0; i < 3; i++) /* all but the one before the first */
            assert_int_equal(*(uint8_t *)(uintptr_t)outs[i].address, i != (shot.first_set + 2) % 3);
    }
    fake_cuda_counts(&after);
    assert_int_equal(after.graph_moves - before.graph_moves, 2 * 2);
    assert_int_equal(after.late_moves, 0); /* no interval has a move in it */
    fake_cuda_fail("cuGraphExecKernelNodeSetParams", 2, 1);
    assert_int_equal(dev->ops->wave(dev, &shot, 1, &plan, &interval_ns, &finished, &err),
                     TSW_ERR_DEVICE);
    assert_non_null(strstr(err.text, "cuGraphExecKernelNodeSetParams"));
    assert_int_equal(dev->ops->canary(dev, &err), TSW_OK);
    /* Half of it is elsewhere now, so it moves even to where it was. */
    shot.first_set = (shot.first_set + 1) % 3;
    fake_cuda_counts(&before);
    assert_int_equal(dev->ops->wave(dev, &shot, 1, &plan, &interval_ns, &finished, &err), TSW_OK);
    fake_cuda_counts(&after);
    assert_int_equal(after.graph_moves - before.graph_moves, 2);
    dev->ops->graph_free(dev, shot.graph);
    dev->ops->kernel_unload(dev, kernel);
    for (int i = 0; i < 3; i++)
        dev->ops->memory_free(dev, &outs[i]);
    tsw_device_close(dev);
    check_balance();
}

static void test_a_graph_can_fail_anywhere(void **state)
{
    (void)state;
    static const char *const functions[] = {"cuGraphCreate", "cuGraphAddKernelNode",
                                            "cuGraphInstantiate", "cuGraphUpload"};
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64);
    tsw_kernel_t *kernel = load(dev, "fake_write");
    tsw_launch_t launch = launch_of(kernel, &out);
    tsw_shot_t shot = {.launches = &launch, .set_count = 1, .repeat = 10};
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        tsw_graph_t *graph = NULL;
        fake_cuda_fail(functions[i], 1, 1);
        assert_int_equal(dev->ops->graph_new(dev, &shot, &graph, &err), TSW_ERR_DEVICE);
        assert_non_null(strstr(err.text, "a graph of 10 launches"));
        assert_non_null(strstr(err.text, functions[i]));
        assert_null(graph);
        assert_int_equal(dev->ops->canary(dev, &err), TSW_OK);
    }
    for (int i = 1; i <= 2; i++) {
        tsw_graph_t *graph = NULL;
        tsw_mem_fail_at(i);
        assert_int_equal(dev->ops->graph_new(dev, &shot, &graph, &err), TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
    }
    close_all(dev, kernel, &out);
}

static void test_a_flush_is_proved(void **state)
{
    (void)state;
    tsw_flush_proof_t proof = {.hot_ns = 0};
    fake_cuda_counts_t before, after;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_device_t *dev = open_cuda();
    assert_int_equal(dev->ops->prove_flush(dev, &proof, &err), TSW_OK);
    assert_true(proof.hot_ns > 39.9 && proof.hot_ns < 40.1); /* 10.24 us for 256 loads */
    assert_true(proof.cold_ns > 119.9 && proof.cold_ns < 120.1);
    fake_cuda_counts(&before);
    assert_int_equal(dev->ops->prove_flush(dev, &proof, &err), TSW_OK);
    fake_cuda_counts(&after);
    assert_int_equal(after.flushes, before.flushes); /* once */
    tsw_device_close(dev);
    check_balance();
    fake_cuda_reset();
    dev = open_cuda();
    fake_cuda_fail("cuEventElapsedTime", 2, 1);
    assert_int_equal(dev->ops->prove_flush(dev, &proof, &err), TSW_ERR_DEVICE);
    assert_non_null(strstr(err.text, "proof that the L2 is flushed: cuEventElapsedTime"));
    tsw_device_close(dev);
    check_balance();
}

static void test_memory_is_kept_for_the_next_cell(void **state)
{
    (void)state;
    fake_cuda_counts_t counts;
    tsw_memory_t other;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_device_t *dev = open_cuda();
    tsw_memory_t a = memory_of(dev, 5 << 20);
    uint64_t base = a.base;
    dev->ops->memory_free(dev, &a);
    fake_cuda_counts(&counts);
    int alive = counts.memories;
    a = memory_of(dev, (5 << 20) - 100); /* the same number of pages */
    assert_int_equal(a.base, base);
    dev->ops->memory_free(dev, &a);
    a = memory_of(dev, 3 << 20); /* less, but not by far */
    assert_int_equal(a.base, base);
    dev->ops->memory_free(dev, &a);
    assert_int_equal(dev->ops->memory_new(dev, 9 << 20, FENCE, &other, &err), TSW_OK);
    fake_cuda_counts(&counts);
    assert_int_equal(counts.memories, alive + 1);
    dev->ops->memory_free(dev, &other);
    fake_cuda_fail("cuMemAlloc", 1,
                   2); /* out of memory: what is kept goes, and it is tried again */
    assert_int_equal(dev->ops->memory_new(dev, 20 << 20, FENCE, &other, &err), TSW_OK);
    fake_cuda_counts(&counts);
    assert_int_equal(counts.memories, alive);
    dev->ops->memory_free(dev, &other);
    tsw_device_close(dev);
    check_balance();
}

static void test_memory_is_taken_ahead_while_it_is_little(void **state)
{
    (void)state;
    const uint64_t quarter = (1 << 28) / 4; /* of the fake GPU's memory */
    fake_cuda_counts_t before, after;
    tsw_memory_t a, b;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_device_t *dev = open_cuda();
    assert_int_equal(dev->ops->memory_ahead(dev, UINT64_MAX, FENCE, &a, NULL),
                     TSW_ERR_DEVICE_MEMORY);
    a = memory_of(dev, quarter / 2);
    assert_int_equal(dev->ops->memory_ahead(dev, quarter / 2, FENCE, &b, &err),
                     TSW_ERR_DEVICE_MEMORY);
    assert_non_null(strstr(err.text, "too much to be taken ahead"));
    assert_int_equal(dev->ops->memory_ahead(dev, quarter / 4, FENCE, &b, &err), TSW_OK);
    dev->ops->memory_free(dev, &a);
    dev->ops->memory_free(dev, &b);
    fake_cuda_counts(&before);
    assert_int_equal(dev->ops->memory_ahead(dev, quarter / 2, FENCE, &a, &err), TSW_OK);
    fake_cuda_counts(&after);
    assert_int_equal(after.memories, before.memories); /* it was kept */
    fake_cuda_fail("cuMemAlloc", 1, 2);                /* nothing is given up for it */
    assert_int_equal(dev->ops->memory_ahead(dev, 1 << 20, FENCE, &b, &err), TSW_ERR_DEVICE_MEMORY);
    fake_cuda_counts(&after);
    assert_int_equal(after.memories, before.memories);
    dev->ops->memory_free(dev, &a);
    tsw_device_close(dev);
    check_balance();
}

static void expect_modules(int expected)
{
    fake_cuda_counts_t counts;
    fake_cuda_counts(&counts);
    assert_int_equal(counts.modules, expected);
}

/* Of equal bytes and entry; the tool's own module aside. */
static void test_modules_stay_for_the_next_cell(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_kernel_t *a = load(dev, "fake_write");
    tsw_kernel_t *again = load(dev, "fake_write");
    assert_ptr_equal(a, again);
    expect_modules(2);
    tsw_kernel_t *b = load(dev, "fake_half");
    assert_ptr_not_equal(a, b);
    expect_modules(3);
    dev->ops->kernel_unload(dev, a);
    dev->ops->kernel_unload(dev, again);
    dev->ops->kernel_unload(dev, b);
    expect_modules(3);
    assert_ptr_equal(load(dev, "fake_half"), b);
    expect_modules(3);
    dev->ops->kernel_unload(dev, b);
    tsw_device_close(dev);
    check_balance();
}

/* The oldest goes, and nothing that is in use. */
static void test_modules_do_not_pile_up(void **state)
{
    (void)state;
    enum { MANY = 600, KEPT = 512 };
    tsw_err_t err = TSW_ERR_INIT;
    tsw_kernel_model_t model = {.flops = 1};
    tsw_device_t *dev = open_cuda();
    tsw_kernel_t *used = load(dev, "fake_write");
    tsw_kernel_t *kernel = NULL;
    for (int i = 0; i < MANY; i++) {
        char cubin[32];
        int size = snprintf(cubin, sizeof(cubin), "fake:kind%d", i);
        assert_int_equal(
            dev->ops->kernel_load(dev, cubin, (size_t)size + 1, "fake_half", &model, &kernel, &err),
            TSW_OK);
        dev->ops->kernel_unload(dev, kernel);
    }
    expect_modules(2 + KEPT);
    tsw_memory_t out = memory_of(dev, 64);
    tsw_launch_t launch = launch_of(used, &out);
    assert_int_equal(dev->ops->run(dev, &launch, timeout_s, &err), TSW_OK);
    assert_int_equal(
        dev->ops->kernel_load(dev, "fake:kind599", 13, "fake_half", &model, &kernel, &err), TSW_OK);
    expect_modules(2 + KEPT);
    assert_int_equal(
        dev->ops->kernel_load(dev, "fake:kind0", 11, "fake_half", &model, &kernel, &err), TSW_OK);
    expect_modules(2 + KEPT + 1);
    dev->ops->memory_free(dev, &out);
    tsw_device_close(dev);
}

static void test_a_bare_wave_launches_as_often_as_asked(void **state)
{
    (void)state;
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64);
    tsw_kernel_t *kernel = load(dev, "fake_write");
    tsw_launch_t launch = launch_of(kernel, &out);
    tsw_shot_t shots[5];
    tsw_wave_plan_t bare = {.timeout_s = timeout_s};
    uint64_t interval_ns[5];
    fake_cuda_counts_t before, after;
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < 5; i++) {
        shots[i] = shot_of(&launch);
        shots[i].flush = false;
    }
    fake_cuda_counts(&before);
    assert_int_equal(dev->ops->profiler(dev, true, &err), TSW_OK);
    assert_int_equal(dev->ops->wave(dev, shots, 5, &bare, interval_ns, &finished, &err), TSW_OK);
    assert_int_equal(dev->ops->profiler(dev, false, &err), TSW_OK);
    fake_cuda_counts(&after);
    assert_int_equal(after.launches - before.launches, 5);
    assert_int_equal(after.flushes, before.flushes);
    close_all(dev, kernel, &out);
}

/* The counter breaks in the third reading, or the kernel does at once. */
static void check_energy(const char *entry, bool as_graph, tsw_status_t want, double seconds)
{
    fake_cuda_reset();
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64);
    tsw_kernel_t *kernel = load(dev, entry);
    tsw_launch_t launches[2] = {launch_of(kernel, &out), launch_of(kernel, &out)};
    tsw_shot_t shot = {.launches = launches, .set_count = 2, .repeat = 3};
    tsw_energy_t energy = {.energy_mj = 9};
    fake_cuda_counts_t before, after;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(dev->ops->energy_find(dev, &err), TSW_OK);
    fake_cuda_counts(&before);
    if (as_graph)
        assert_int_equal(dev->ops->graph_new(dev, &shot, &shot.graph, &err), TSW_OK);
    fake_cuda_reset_energy(as_graph ? 0 : 4);
    assert_int_equal(dev->ops->energy(dev, &shot, 1, seconds, &energy, &err), want);
    fake_cuda_counts(&after);
    if (want == TSW_OK) {
        assert_int_equal(energy.energy_mj > 0, as_graph);
        assert_int_equal(energy.launches, after.launches - before.launches);
        assert_int_equal(energy.launches % 3, 0);
        assert_true(energy.interval_ns > 0);
        assert_int_equal(after.flushes, before.flushes);
    }
    dev->ops->graph_free(dev, shot.graph);
    dev->ops->kernel_unload(dev, kernel);
    dev->ops->memory_free(dev, &out);
    tsw_device_close(dev);
    if (want == TSW_OK)
        check_balance();
}

static void test_a_block_runs_while_the_energy_counter_does(void **state)
{
    (void)state;
    check_energy("fake_write", true, TSW_OK, timeout_s);
    check_energy("fake_write", false, TSW_OK, timeout_s);
    check_energy("fake_hang", false, TSW_ERR_TIMEOUT, 0.02);
    check_energy("fake_lost", false, TSW_ERR_DEVICE_LOST, timeout_s);
    check_energy("fake_refused", false, TSW_ERR_DEVICE, timeout_s);
}

/* Shot 2 of four is bad; as a graph of two launches when it is to be. */
static void check_wave_culprit(const char *entry, bool as_graph, double seconds, tsw_status_t want)
{
    fake_cuda_reset();
    tsw_device_t *dev = open_cuda();
    tsw_memory_t out = memory_of(dev, 64);
    tsw_kernel_t *good = load(dev, "fake_write"), *bad = load(dev, entry);
    tsw_launch_t fine = launch_of(good, &out), culprit = launch_of(bad, &out);
    tsw_shot_t shots[] = {shot_of(&fine), shot_of(&fine), shot_of(&culprit), shot_of(&fine)};
    uint64_t interval_ns[4];
    size_t finished = 99;
    tsw_err_t err = TSW_ERR_INIT;
    if (as_graph) {
        shots[2].repeat = 2;
        assert_int_equal(dev->ops->graph_new(dev, &shots[2], &shots[2].graph, &err), TSW_OK);
    }
    assert_int_equal(run_wave(dev, shots, 4, seconds, interval_ns, &finished, &err), want);
    assert_int_equal(finished, 2);
    if (want == TSW_ERR_DEVICE)
        assert_int_equal(dev->ops->canary(dev, &err), TSW_OK);
    dev->ops->graph_free(dev, shots[2].graph);
    dev->ops->kernel_unload(dev, good);
    dev->ops->kernel_unload(dev, bad);
    dev->ops->memory_free(dev, &out);
    tsw_device_close(dev);
    if (want == TSW_ERR_DEVICE)
        check_balance();
}

static void test_a_wave_names_the_culprit(void **state)
{
    (void)state;
    check_wave_culprit("fake_hang", false, 0.02, TSW_ERR_TIMEOUT);
    check_wave_culprit("fake_hang", true, 0.02, TSW_ERR_TIMEOUT);
    check_wave_culprit("fake_lost", false, timeout_s, TSW_ERR_DEVICE_LOST);
    check_wave_culprit("fake_lost", true, timeout_s, TSW_ERR_DEVICE_LOST);
    check_wave_culprit("fake_refused", false, timeout_s, TSW_ERR_DEVICE);
}

/* Whatever call fails while opening, what was made is released. */
static void test_opening_can_fail_anywhere(void **state)
{
    (void)state;
    static const struct {
        const char *function;
        int n;
    } places[] = {
        {"cuDeviceGetCount", 1},  {"cuDeviceGet", 1},      {"cuDeviceGetName", 1},
        {"cuDeviceGetUuid", 1},   {"cuDeviceTotalMem", 1}, {"cuDevicePrimaryCtxRetain", 1},
        {"cuCtxSetCurrent", 1},   {"cuStreamCreate", 1},   {"cuEventCreate", 1},
        {"cuEventCreate", 200},   {"cuMemHostAlloc", 1},   {"cuMemHostGetDevicePointer", 1},
        {"cuMemAlloc", 1},        {"cuMemAlloc", 2},       {"cuMemAlloc", 3},
        {"cuMemcpyHtoDAsync", 1},
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        tsw_device_t *dev = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        fake_cuda_reset();
        fake_cuda_fail(places[i].function, places[i].n, 1);
        assert_int_equal(try_open(0, &dev, &err), TSW_ERR_DEVICE);
        assert_non_null(strstr(err.text, places[i].function));
        assert_null(dev);
        check_balance();
    }
}

static void test_more_places_than_gpus_go_around(void **state)
{
    (void)state;
    const char *const names[] = {"Fake GPU 0", "Fake GPU 1", "Fake GPU 0"};
    fake_cuda_set_devices(2);
    for (int place = 0; place < 3; place++) {
        tsw_device_t *dev = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        assert_int_equal(try_open(place, &dev, &err), TSW_OK);
        assert_string_equal(dev->ops->gpu(dev)->name, names[place]);
        tsw_device_close(dev);
    }
    fake_cuda_reset();
}

static void test_no_driver_and_no_gpu_are_environment_errors(void **state)
{
    (void)state;
    tsw_device_t *dev = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    fake_cuda_set_devices(0);
    assert_int_equal(try_open(0, &dev, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "the driver shows no GPU"));
    fake_cuda_reset();
    const char *path = getenv("TSW_LIBCUDA");
    char *kept = strdup(path);
    setenv("TSW_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    assert_int_equal(try_open(0, &dev, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "no CUDA driver"));
    setenv("TSW_LIBCUDA", kept, 1);
    free(kept);
    tsw_mem_fail_at(1);
    assert_int_equal(try_open(0, &dev, &err), TSW_ERR_NOMEM);
    tsw_mem_fail_at(0);
    assert_null(dev);
}

static void test_telemetry_is_zero_without_nvml(void **state)
{
    (void)state;
    char *kept = strdup(getenv("TSW_LIBNVML"));
    setenv("TSW_LIBNVML", "/nowhere/libnvidia-ml.so.1", 1);
    tsw_device_t *dev = open_cuda();
    tsw_telemetry_t telemetry = {.sm_clock_mhz = 1};
    dev->ops->telemetry(dev, 0, UINT64_MAX, &telemetry);
    assert_int_equal(telemetry.sm_clock_mhz, 0);
    assert_string_equal(dev->ops->gpu(dev)->driver_text, "");
    tsw_device_close(dev);
    setenv("TSW_LIBNVML", kept, 1);
    free(kept);
    check_balance();
}

static void test_devices_are_listed(void **state)
{
    (void)state;
    tsw_gpu_t *gpus = NULL;
    size_t count = 0;
    char *missing = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    fake_cuda_set_devices(2);
    assert_int_equal(tsw_device_list(&gpus, &count, &missing, &err), TSW_OK);
    assert_int_equal(count, 2);
    assert_null(missing);
    assert_string_equal(gpus[1].name, "Fake GPU 1");
    assert_string_not_equal(gpus[0].uuid, gpus[1].uuid);
    tsw_free(gpus);
    fake_cuda_fail("cuInit", 1, 100);
    gpus = NULL;
    assert_int_equal(tsw_device_list(&gpus, &count, &missing, &err), TSW_OK);
    assert_int_equal(count, 0);
    assert_null(gpus);
    assert_non_null(strstr(missing, "cuInit"));
    tsw_free(missing);
    fake_cuda_set_devices(0);
    assert_int_equal(tsw_device_list(&gpus, &count, &missing, &err), TSW_OK);
    assert_string_equal(missing, "the driver shows no GPU");
    tsw_free(missing);
    check_balance();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_gpu_is_described, setup),
        cmocka_unit_test_setup(test_fill_compare_and_fences_work, setup),
        cmocka_unit_test_setup(test_dataset_fills_take_bytes, setup),
        cmocka_unit_test_setup(test_memory_runs_out, setup),
        cmocka_unit_test_setup(test_kernels_load_and_run, setup),
        cmocka_unit_test_setup(test_bad_images_and_entries_are_refused, setup),
        cmocka_unit_test_setup(test_a_refused_launch_leaves_the_context_alive, setup),
        cmocka_unit_test_setup(test_hangs_and_sticky_errors_lose_the_context, setup),
        cmocka_unit_test_setup(test_results_are_classified, setup),
        cmocka_unit_test_setup(test_a_long_wave_is_queued_piece_by_piece, setup),
        cmocka_unit_test_setup(test_a_gate_opens_when_the_host_is_ahead, setup),
        cmocka_unit_test_setup(test_the_host_works_ahead_once_all_is_queued, setup),
        cmocka_unit_test_setup(test_two_graphs_at_most_wait_behind_the_gate, setup),
        cmocka_unit_test_setup(test_shots_go_round_the_sets, setup),
        cmocka_unit_test_setup(test_graphs_hold_their_launches, setup),
        cmocka_unit_test_setup(test_a_graph_goes_where_its_shot_is, setup),
        cmocka_unit_test_setup(test_a_graph_can_fail_anywhere, setup),
        cmocka_unit_test_setup(test_a_flush_is_proved, setup),
        cmocka_unit_test_setup(test_memory_is_kept_for_the_next_cell, setup),
        cmocka_unit_test_setup(test_memory_is_taken_ahead_while_it_is_little, setup),
        cmocka_unit_test_setup(test_modules_stay_for_the_next_cell, setup),
        cmocka_unit_test_setup(test_modules_do_not_pile_up, setup),
        cmocka_unit_test_setup(test_a_bare_wave_launches_as_often_as_asked, setup),
        cmocka_unit_test_setup(test_a_block_runs_while_the_energy_counter_does, setup),
        cmocka_unit_test_setup(test_a_wave_names_the_culprit, setup),
        cmocka_unit_test_setup(test_opening_can_fail_anywhere, setup),
        cmocka_unit_test_setup(test_more_places_than_gpus_go_around, setup),
        cmocka_unit_test_setup(test_no_driver_and_no_gpu_are_environment_errors, setup),
        cmocka_unit_test_setup(test_telemetry_is_zero_without_nvml, setup),
        cmocka_unit_test_setup(test_devices_are_listed, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
