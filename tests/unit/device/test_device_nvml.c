/* NVML through a stand-in that does what a script says: fake_nvml.h. */
#include "device/nvml.h"

#include "base/file.h"
#include "temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char uuid[] = "GPU-11111111-2222-3333-4444-555555555555";

static void script(const char *text)
{
    assert_int_equal(tsw_file_write_atomic(tsw_temp_path("script"), text, strlen(text), NULL),
                     TSW_OK);
}

static int setup(void **state)
{
    int result = tsw_temp_dir_make(state);
    setenv("TSW_FAKE_NVML", tsw_temp_path(""), 1);
    setenv("TSW_LIBNVML", getenv("TSW_TEST_NVML"), 1);
    return result;
}

static tsw_gpu_t gpu_of(const char *text)
{
    tsw_gpu_t gpu = {.arch = 90};
    snprintf(gpu.uuid, sizeof(gpu.uuid), "%s", text);
    return gpu;
}

static tsw_nvml_t *attach(tsw_gpu_t *gpu)
{
    *gpu = gpu_of(uuid);
    tsw_nvml_t *nvml = tsw_nvml_attach(gpu);
    assert_non_null(nvml);
    return nvml;
}

static void expect_log(const char *text)
{
    tsw_buf_t log = TSW_BUF_INIT;
    if (text[0] == '\0') {
        assert_false(tsw_path_exists(tsw_temp_path("log")));
        return;
    }
    assert_int_equal(tsw_file_read(tsw_temp_path("log"), &log, NULL), TSW_OK);
    assert_string_equal(tsw_buf_text(&log), text);
    tsw_buf_fini(&log);
}

static void test_readings_and_their_absence(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_telemetry_t now;
    script("clock 1500\nclock@2 1200\npower 412\ntemperature 71\nreasons 0x24\n");
    tsw_nvml_t *nvml = attach(&gpu); /* tries each once */
    assert_string_equal(gpu.driver_text, "580.1.2");
    assert_string_equal(gpu.unreadable, "");
    assert_string_equal(gpu.mig_profile, "");
    tsw_nvml_read(nvml, &now);
    assert_int_equal(now.sm_clock_mhz, 1200);
    assert_int_equal(now.mem_clock_mhz, 2619);
    assert_int_equal(now.max_sm_clock_mhz, 1980);
    assert_true(now.power_w == 412.0f);
    assert_true(now.temperature_celsius == 71.0f);
    assert_int_equal(now.throttle_reasons, 0x24);
    tsw_nvml_close(nvml);
    script("nvmlDeviceGetPowerUsage 3\nnvmlDeviceRegisterEvents 4\n");
    nvml = attach(&gpu);
    assert_string_equal(gpu.unreadable, "power: not supported; Xid events: no permission");
    tsw_nvml_read(nvml, &now);
    assert_true(now.power_w == 0.0f);
    assert_int_equal(now.sm_clock_mhz, 1980);
    tsw_nvml_close(nvml);
    tsw_nvml_read(NULL, &now);
    assert_int_equal(now.sm_clock_mhz, 0);
}

static void test_no_nvml_says_why(void **state)
{
    (void)state;
    tsw_gpu_t gpu = gpu_of(uuid);
    script("absent yes\n");
    assert_null(tsw_nvml_attach(&gpu));
    assert_string_equal(gpu.unreadable, "NVML has no GPU GPU-11111111-2222-3333-4444-555555555555: "
                                        "not found (6)");
    script("nvmlInit_v2 9\n");
    assert_null(tsw_nvml_attach(&gpu));
    assert_string_equal(gpu.unreadable, "NVML does not start: the driver is not loaded (9)");
    setenv("TSW_LIBNVML", "/nowhere/libnvidia-ml.so.1", 1);
    assert_null(tsw_nvml_attach(&gpu));
    assert_non_null(strstr(gpu.unreadable, "no NVML: /nowhere/libnvidia-ml.so.1"));
    tsw_health_t health = {.xid = 1};
    tsw_nvml_health(NULL, &health);
    assert_int_equal(health.xid, 0);
}

static void test_an_old_nvml_lacks_symbols(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_err_t err = TSW_ERR_INIT;
    setenv("TSW_LIBNVML", getenv("TSW_TEST_NVML_OLD"), 1);
    script("processes 7\nxid 79\n");
    tsw_nvml_t *nvml = attach(&gpu);
    assert_string_equal(gpu.unreadable, "Xid events: not in this version of NVML; other processes: "
                                        "not in this version of NVML");
    tsw_health_t health;
    tsw_nvml_health(nvml, &health);
    assert_int_equal(health.foreign_processes, 0);
    assert_int_equal(health.xid, 0);
    assert_int_equal(tsw_nvml_lock(nvml, 1500, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "not in this version of NVML"));
    tsw_nvml_close(nvml);
}

static void test_an_instance_of_mig_is_named_with_its_profile(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_err_t err = TSW_ERR_INIT;
    script("mig 1g.18gb\n");
    tsw_nvml_t *nvml = attach(&gpu);
    assert_string_equal(gpu.uuid, "MIG-11111111-2222-3333-4444-555555555555");
    assert_string_equal(gpu.mig_profile, "1g.18gb");
    assert_int_equal(tsw_nvml_lock(nvml, 1500, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "instance of MIG"));
    expect_log("");
    tsw_nvml_close(nvml);
}

static void test_others_on_the_gpu_are_counted(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_health_t health;
    script("processes@3 4711 4712\nprocesses@4\n");
    tsw_nvml_t *nvml = attach(&gpu);
    tsw_nvml_health(nvml, &health);
    assert_int_equal(health.foreign_processes, 0);
    tsw_nvml_health(nvml, &health);
    assert_int_equal(health.foreign_processes, 2);
    tsw_nvml_health(nvml, &health);
    assert_int_equal(health.foreign_processes, 0);
    tsw_nvml_close(nvml);
}

static void test_errors_count_from_the_start_and_once(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_health_t health;
    char reason[96] = "";
    script("corrected 5\ncorrected@3 8\nuncorrected 1\nuncorrected@4 3\nxid@3 31\n");
    tsw_nvml_t *nvml = attach(&gpu);
    tsw_nvml_health(nvml, &health);
    assert_int_equal(health.ecc_corrected, 0);
    assert_int_equal(health.ecc_uncorrected, 0);
    tsw_nvml_health(nvml, &health);
    assert_int_equal(health.ecc_corrected, 3);
    assert_int_equal(health.xid, 0);
    assert_false(tsw_health_is_unfit(&health, reason, sizeof(reason)));
    tsw_nvml_health(nvml, &health);
    assert_int_equal(health.ecc_corrected, 0);
    assert_int_equal(health.ecc_uncorrected, 2);
    assert_int_equal(health.xid, 31); /* a kernel's fault */
    assert_true(tsw_health_is_unfit(&health, reason, sizeof(reason)));
    assert_string_equal(reason, "uncorrected ECC errors: 2");
    tsw_nvml_health(nvml, &health);
    assert_int_equal(health.ecc_uncorrected, 0);
    assert_int_equal(health.xid, 0);
    tsw_nvml_close(nvml);
}

static void test_the_fatal_xid_of_many_counts(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_health_t health;
    char reason[96] = "";
    script("xid 13 43 79 31\n");
    tsw_nvml_t *nvml = attach(&gpu);
    tsw_nvml_health(nvml, &health);
    assert_int_equal(health.xid, 79);
    assert_true(tsw_health_is_unfit(&health, reason, sizeof(reason)));
    assert_string_equal(reason, "the driver reported Xid 79");
    script("gone yes\n");
    tsw_nvml_health(nvml, &health);
    assert_true(tsw_health_is_unfit(&health, reason, sizeof(reason)));
    assert_string_equal(reason, "NVML says that the GPU is lost or must be reset");
    tsw_nvml_close(nvml);
}

static void test_a_clock_is_locked_and_unlocked(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_telemetry_t now;
    script("clock 1980\n");
    tsw_nvml_t *nvml = attach(&gpu);
    assert_int_equal(tsw_nvml_lock(nvml, 1500, NULL), TSW_OK);
    tsw_nvml_read(nvml, &now);
    assert_int_equal(now.sm_clock_mhz, 1500);
    assert_int_equal(tsw_nvml_unlock(nvml, NULL), TSW_OK);
    tsw_nvml_read(nvml, &now);
    assert_int_equal(now.sm_clock_mhz, 1980);
    expect_log("lock GPU-11111111-2222-3333-4444-555555555555 1500\n"
               "unlock GPU-11111111-2222-3333-4444-555555555555\n");
    tsw_nvml_close(nvml);
}

static void test_a_lock_that_cannot_be_says_what_is_needed(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_err_t err = TSW_ERR_INIT;
    script("permission no\n");
    tsw_nvml_t *nvml = attach(&gpu);
    assert_int_equal(tsw_nvml_lock(nvml, 1510, &err), TSW_ERR_ARG);
    assert_string_equal(err.text, "the GPU has no SM clock of 1510 MHz; the nearest is 1500");
    tsw_err_clear(&err);
    assert_int_equal(tsw_nvml_lock(nvml, 1500, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "no permission; it takes root or CAP_SYS_ADMIN"));
    tsw_err_clear(&err);
    script("nvmlDeviceSetGpuLockedClocks 3\nnvmlDeviceGetSupportedGraphicsClocks 3\n");
    assert_int_equal(tsw_nvml_lock(nvml, 1510, &err),
                     TSW_ERR_ENV); /* it does not list its clocks */
    assert_string_equal(err.text, "locking the SM clock: not supported (NVML 3)");
    tsw_nvml_close(nvml);
}

static void assert_no_energy(const char *lines, const char *why)
{
    tsw_gpu_t gpu;
    tsw_err_t err = TSW_ERR_INIT;
    script(lines);
    tsw_nvml_t *nvml = attach(&gpu);
    assert_int_equal(tsw_nvml_energy_find(nvml, &gpu, &err), TSW_ERR_ENV);
    assert_string_equal(err.text, why);
    tsw_nvml_close(nvml);
}

static void test_an_energy_counter_or_why_there_is_none(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_err_t err = TSW_ERR_INIT;
    uint64_t first = 0, later = 0;
    script("energy 5000 70 2\n");
    tsw_nvml_t *nvml = attach(&gpu);
    assert_int_equal(tsw_nvml_energy_find(nvml, &gpu, &err), TSW_OK);
    assert_int_equal(tsw_nvml_energy(nvml, &first, &err), TSW_OK);
    assert_true(first >= 5000);
    assert_int_equal(tsw_nvml_energy(nvml, &later, &err), TSW_OK);
    assert_int_equal(tsw_nvml_energy(nvml, &later, &err), TSW_OK);
    assert_int_equal(later - first, 70);
    tsw_nvml_close(nvml);
    assert_no_energy("nvmlDeviceGetTotalEnergyConsumption 3\n",
                     "the energy counter: not supported (NVML 3)");
    assert_no_energy("mig 1g.18gb\n", "the energy counter: it is the whole GPU's, not that of an "
                                      "instance of MIG (NVML 3)");
    setenv("TSW_LIBNVML", getenv("TSW_TEST_NVML_OLD"), 1);
    assert_no_energy("", "the energy counter: not in this version of NVML (NVML 13)");
    snprintf(gpu.unreadable, sizeof(gpu.unreadable), "no NVML: gone");
    assert_int_equal(tsw_nvml_energy_find(NULL, &gpu, &err), TSW_ERR_ENV);
    assert_string_equal(err.text, "the energy counter: no NVML: gone");
}

static void test_a_counter_lost_amid_a_block_makes_the_gpu_unfit(void **state)
{
    (void)state;
    tsw_gpu_t gpu;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_energy_window_t window = {.has_begun = false};
    tsw_energy_step_t step = TSW_ENERGY_BROKEN;
    script("nvmlDeviceGetTotalEnergyConsumption@2 15\n");
    tsw_nvml_t *nvml = attach(&gpu);
    assert_int_equal(tsw_nvml_energy_step(nvml, &window, 1, &step, &err), TSW_OK);
    assert_int_equal(step, TSW_ENERGY_RUNNING);
    assert_int_equal(tsw_nvml_energy_step(nvml, &window, 2, &step, &err), TSW_ERR_DEVICE_UNFIT);
    assert_string_equal(err.text, "the energy counter: the GPU is lost (NVML 15)");
    tsw_nvml_close(nvml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, tsw_temp_dir_remove)
        TEST(test_readings_and_their_absence),
        TEST(test_no_nvml_says_why),
        TEST(test_an_old_nvml_lacks_symbols),
        TEST(test_an_instance_of_mig_is_named_with_its_profile),
        TEST(test_others_on_the_gpu_are_counted),
        TEST(test_errors_count_from_the_start_and_once),
        TEST(test_the_fatal_xid_of_many_counts),
        TEST(test_a_clock_is_locked_and_unlocked),
        TEST(test_a_lock_that_cannot_be_says_what_is_needed),
        TEST(test_an_energy_counter_or_why_there_is_none),
        TEST(test_a_counter_lost_amid_a_block_makes_the_gpu_unfit),
    };
    return cmocka_run_group_tests_name("device_nvml", tests, NULL, NULL);
}
