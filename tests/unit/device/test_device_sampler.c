/* The thread that reads NVML, under the stand-ins of the driver and of NVML. */
#include "device/device.h"
#include "device/nvml_readings.h"
#include "device/nvml_sampler.h"

#include "base/file.h"
#include "base/mem.h"
#include "fake_libcuda.h"
#include "temp_dir.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double timeout_s = 30;

static void script(const char *text)
{
    assert_int_equal(tsw_file_write_atomic(tsw_temp_path("script"), text, strlen(text), NULL),
                     TSW_OK);
}

static int setup(void **state)
{
    int result = tsw_temp_dir_make(state);
    setenv("TSW_FAKE_NVML", tsw_temp_path(""), 1);
    fake_cuda_reset();
    return result;
}

static tsw_device_t *open_cuda(void)
{
    tsw_device_spec_t spec = {.kind = "cuda"};
    tsw_device_t *dev = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_device_open(&spec, &dev, &err), TSW_OK);
    assert_int_equal(dev->ops->load_tool(dev, "fake", 4, &err), TSW_OK);
    return dev;
}

/* The calls of NVML that this thread made so far. */
static unsigned calls_here(void)
{
    unsigned (*calls)(void) = NULL;
    void *library = dlopen(getenv("TSW_LIBNVML"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *symbol = dlsym(library, "fake_nvml_calls");
    memcpy(&calls, &symbol, sizeof(calls));
    unsigned count = calls();
    dlclose(library);
    return count;
}

static size_t count_threads(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* The kernel counts a thread for a moment after it was joined. */
static void await_threads(size_t wanted)
{
    while (count_threads() != wanted)
        sched_yield();
}

/* ---- the ring ---- */

static uint64_t near(const tsw_nvml_readings_t *readings, uint64_t from_ns, uint64_t to_ns)
{
    return tsw_nvml_readings_near(readings, from_ns, to_ns).read_ns;
}

static void test_the_reading_nearest_to_the_middle_counts(void **state)
{
    (void)state;
    tsw_nvml_readings_t readings = {.count = 0};
    assert_int_equal(near(&readings, 0, 100), 0);
    for (uint64_t at_ns = 100; at_ns <= 500; at_ns += 100)
        tsw_nvml_readings_add(&readings, &(tsw_telemetry_t){.read_ns = at_ns});
    assert_int_equal(near(&readings, 0, 10), 100);     /* before all of them */
    assert_int_equal(near(&readings, 900, 1000), 500); /* the newest one */
    assert_int_equal(near(&readings, 210, 240), 200);  /* between two of them */
    assert_int_equal(near(&readings, 260, 280), 300);
    assert_int_equal(near(&readings, 190, 360), 300);  /* one of several within */
    assert_int_equal(near(&readings, 390, 1000), 500); /* within, though not near the middle */
    assert_int_equal(near(&readings, 0, UINT64_MAX), 500);
}

static void test_the_oldest_readings_are_pushed_out(void **state)
{
    (void)state;
    tsw_nvml_readings_t readings = {.count = 0};
    for (uint64_t i = 1; i <= TSW_NVML_READINGS + 5; i++)
        tsw_nvml_readings_add(&readings, &(tsw_telemetry_t){.read_ns = i});
    assert_int_equal(near(&readings, 0, 1), 6);
    assert_int_equal(near(&readings, TSW_NVML_READINGS, UINT64_MAX), TSW_NVML_READINGS + 5);
}

/* ---- the thread ---- */

typedef struct {
    tsw_device_t *dev;
    tsw_memory_t out;
    tsw_kernel_t *kernel;
    tsw_launch_t launch;
} rig_t;

static rig_t rig_open(void)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_kernel_model_t model = {.flops = 1};
    rig_t rig = {.dev = open_cuda()};
    const tsw_device_ops_t *ops = rig.dev->ops;
    assert_int_equal(ops->memory_new(rig.dev, 64, 256, &rig.out, &err), TSW_OK);
    assert_int_equal(ops->kernel_load(rig.dev, "fake", 4, "fake_write", &model, &rig.kernel, &err),
                     TSW_OK);
    rig.launch = (tsw_launch_t){.kernel = rig.kernel,
                                .geometry = {.grid = {1, 1, 1}, .block = {32, 1, 1}},
                                .params = {rig.out.address, rig.out.bytes},
                                .param_count = 2};
    return rig;
}

static void rig_close(rig_t *rig)
{
    rig->dev->ops->kernel_unload(rig->dev, rig->kernel);
    rig->dev->ops->memory_free(rig->dev, &rig->out);
    tsw_device_close(rig->dev);
}

static void run_wave(rig_t *rig)
{
    tsw_shot_t shots[2] = {{.launches = &rig->launch, .set_count = 1, .repeat = 1},
                           {.launches = &rig->launch, .set_count = 1, .repeat = 1}};
    tsw_wave_plan_t plan = {.timeout_s = timeout_s};
    uint64_t interval_ns[2];
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(rig->dev->ops->wave(rig->dev, shots, 2, &plan, interval_ns, &finished, &err),
                     TSW_OK);
}

static void test_who_measures_never_calls_nvml(void **state)
{
    (void)state;
    script("clock 1234\n");
    rig_t rig = rig_open(); /* a sanitizer starts a thread of its own with the first one */
    const size_t threads = count_threads() - 1;
    rig_close(&rig);
    await_threads(threads);
    rig = rig_open();
    const tsw_device_ops_t *ops = rig.dev->ops;
    const unsigned calls = calls_here();
    script("clock 1234\nslow 50\n");
    assert_int_equal(count_threads(), threads + 1);
    for (int i = 0; i < 50; i++) {
        tsw_telemetry_t telemetry;
        tsw_health_t health;
        const uint64_t start_ns = ops->now_ns(rig.dev);
        run_wave(&rig);
        ops->telemetry(rig.dev, start_ns, ops->now_ns(rig.dev), &telemetry);
        ops->health(rig.dev, false, &health);
        assert_int_equal(telemetry.sm_clock_mhz, 1234);
        assert_int_not_equal(telemetry.read_ns, 0);
    }
    tsw_health_t health;
    ops->health(rig.dev, true, &health); /* waits, and still has it done by the other */
    assert_int_equal(calls_here(), calls);
    rig_close(&rig);
    await_threads(threads);
}

static void test_a_long_time_gets_a_reading_from_within(void **state)
{
    (void)state;
    script("clock 1500\nreasons 4\n");
    rig_t rig = rig_open();
    const uint64_t start_ns = rig.dev->ops->now_ns(rig.dev);
    uint64_t end_ns = 0;
    tsw_telemetry_t telemetry;
    do {
        run_wave(&rig);
        end_ns = rig.dev->ops->now_ns(rig.dev);
        rig.dev->ops->telemetry(rig.dev, start_ns, end_ns, &telemetry);
    } while (telemetry.read_ns < start_ns);
    assert_true(telemetry.read_ns <= end_ns);
    assert_int_equal(telemetry.sm_clock_mhz, 1500);
    assert_int_equal(telemetry.max_sm_clock_mhz, 1980);
    assert_int_equal(telemetry.throttle_reasons, 4);
    rig_close(&rig);
}

static void test_what_happened_is_told_once(void **state)
{
    (void)state;
    tsw_health_t health;
    char reason[96];
    script("corrected 5\n");
    rig_t rig = rig_open();
    const tsw_device_ops_t *ops = rig.dev->ops;
    ops->health(rig.dev, true, &health);
    assert_int_equal(health.ecc_corrected, 0);
    script("corrected 7\nxid 79\nprocesses 4711\n");
    ops->health(rig.dev, true, &health);
    assert_int_equal(health.ecc_corrected, 2);
    assert_int_equal(health.foreign_processes, 1);
    assert_int_equal(health.xid, 79);
    assert_true(tsw_health_is_unfit(&health, reason, sizeof(reason)));
    script("corrected 7\nxid 79 31\nprocesses 4711\n");
    ops->health(rig.dev, true, &health);
    assert_int_equal(health.ecc_corrected, 0);
    assert_int_equal(health.xid, 31);
    ops->health(rig.dev, true, &health);
    assert_int_equal(health.xid, 0);
    script("corrected 7\nuncorrected 1\n");
    do /* at one of the looks that are taken anyhow */
        ops->health(rig.dev, false, &health);
    while (health.ecc_uncorrected == 0);
    assert_int_equal(health.ecc_uncorrected, 1);
    rig_close(&rig);
}

static void test_a_fatal_xid_stays_until_it_is_told(void **state)
{
    (void)state;
    tsw_health_t health;
    tsw_gpu_t gpu = {.uuid = "GPU-00112233-4455-6677-8899-aabbccddeeff"};
    tsw_nvml_sampler_t *sampler = NULL;
    script("");
    tsw_nvml_t *nvml = tsw_nvml_attach(&gpu);
    assert_non_null(nvml);
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_nvml_sampler_start(nvml, &sampler, NULL), TSW_ERR_NOMEM);
    tsw_mem_fail_at(0);
    assert_null(sampler);
    script("xid 13 79 43\n"); /* a look ends at the fatal one, another sees the last */
    assert_int_equal(tsw_nvml_sampler_start(nvml, &sampler, NULL), TSW_OK);
    do
        health = tsw_nvml_sampler_health(sampler, false);
    while (health.xid == 0);
    assert_int_equal(health.xid, 79);
    tsw_nvml_sampler_stop(sampler);
    tsw_nvml_sampler_stop(NULL);
    tsw_nvml_close(nvml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, tsw_temp_dir_remove)
        TEST(test_the_reading_nearest_to_the_middle_counts),
        TEST(test_the_oldest_readings_are_pushed_out),
        TEST(test_who_measures_never_calls_nvml),
        TEST(test_a_long_time_gets_a_reading_from_within),
        TEST(test_what_happened_is_told_once),
        TEST(test_a_fatal_xid_stays_until_it_is_told),
    };
    return cmocka_run_group_tests_name("device_sampler", tests, NULL, NULL);
}
