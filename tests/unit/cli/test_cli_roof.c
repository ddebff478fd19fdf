/* Calibrations in files. */
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli_roof.h"
#include "temp_dir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int setup(void **state)
{
    tsw_temp_dir_make(state);
    return setenv("TSW_CALIBRATIONS", tsw_temp_path("."), 1);
}

static tsw_calibration_t sample(const char *uuid, double copy)
{
    tsw_calibration_t calibration = {
        .gpu = {.name = "NVIDIA \"H200\"", .mode = "cuda", .arch = 90, .driver_text = "580"},
        .wall_ns = 1795986938506985196,
        .values = tsw_calibration_unknown(),
        .absent = "e4m3: none",
    };
    snprintf(calibration.gpu.uuid, sizeof(calibration.gpu.uuid), "%s", uuid);
    calibration.values.copy_bytes_per_s = copy;
    calibration.values.f16_flops_per_s = 7e14;
    return calibration;
}

static void store(const char *uuid, double copy)
{
    const tsw_calibration_t calibration = sample(uuid, copy);
    char *path = tsw_roof_path(&calibration.gpu);
    assert_int_equal(tsw_roof_write(&calibration, path, NULL), TSW_OK);
    tsw_free(path);
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    tsw_calibration_t read;
    const tsw_calibration_t written = sample("GPU-a", 4e12);
    const char *path = tsw_temp_path("new/folder/one.json");
    assert_int_equal(tsw_roof_write(&written, path, NULL), TSW_OK);
    assert_int_equal(tsw_roof_read(path, &read, NULL), TSW_OK);
    assert_string_equal(read.gpu.name, written.gpu.name);
    assert_string_equal(read.gpu.driver_text, "580");
    assert_string_equal(read.absent, "e4m3: none");
    assert_int_equal(read.gpu.arch, 90);
    assert_true(read.wall_ns == written.wall_ns);
    assert_true(read.values.copy_bytes_per_s == 4e12);
    assert_true(isnan(read.values.timer_step_ns));
}

static void assert_refused(const char *text, tsw_status_t want, const char *says)
{
    tsw_calibration_t read = {.wall_ns = 3};
    tsw_err_t err = TSW_ERR_INIT;
    const char *path = tsw_temp_path("bad.json");
    assert_int_equal(tsw_file_write_atomic(path, text, strlen(text), NULL), TSW_OK);
    assert_int_equal(tsw_roof_read(path, &read, &err), want);
    assert_int_equal(read.wall_ns, 3);
    if (strstr(err.text, says) == NULL || strstr(err.text, "bad.json") == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", err.text, says);
}

static void test_bad_files_are_refused_by_name(void **state)
{
    (void)state;
    assert_refused("", TSW_ERR_CORRUPT, "");
    assert_refused("{\"format\": \"tilesweep-calibration\",", TSW_ERR_CORRUPT, ":1:");
    assert_refused("[1]", TSW_ERR_CORRUPT, "no calibration");
    assert_refused("{\"format\": \"tilesweep-table\"}", TSW_ERR_CORRUPT, "no calibration");
    assert_refused("{\"format\": \"tilesweep-calibration\", \"schema\": 9}", TSW_ERR_VERSION,
                   "schema 9");
    assert_refused("{\"format\": \"tilesweep-calibration\", \"schema\": 1, \"gpu\": 5}",
                   TSW_ERR_CORRUPT, "uuid");
    assert_int_equal(tsw_roof_read(tsw_temp_path("none.json"), NULL, NULL), TSW_ERR_NOT_FOUND);
}

static void test_find_prefers_the_very_gpu(void **state)
{
    (void)state;
    tsw_calibration_t found;
    const tsw_calibration_t asked = sample("GPU-b", 0);
    assert_false(tsw_roof_find(&asked.gpu, &found));
    store("GPU-a", 1e12);
    assert_true(tsw_roof_find(&asked.gpu, &found)); /* one of its name */
    assert_string_equal(found.gpu.uuid, "GPU-a");
    store("GPU-b", 2e12);
    assert_true(tsw_roof_find(&asked.gpu, &found));
    assert_true(found.values.copy_bytes_per_s == 2e12);
}

static void test_find_passes_over_other_devices_and_bad_files(void **state)
{
    (void)state;
    tsw_calibration_t found;
    tsw_calibration_t asked = sample("GPU-b", 0);
    const char *junk = "junk";
    assert_int_equal(tsw_file_write_atomic(tsw_temp_path("GPU-b.json"), junk, 4, NULL), TSW_OK);
    store("GPU-c", 3e12);
    assert_true(tsw_roof_find(&asked.gpu, &found));
    assert_string_equal(found.gpu.uuid, "GPU-c");
    snprintf(asked.gpu.mode, sizeof(asked.gpu.mode), "sim");
    assert_false(tsw_roof_find(&asked.gpu, &found));
}

static void test_path_has_no_strange_letters(void **state)
{
    (void)state;
    const tsw_gpu_t gpu = {.uuid = "sim:../h200:0"};
    char *path = tsw_roof_path(&gpu);
    assert_string_equal(strrchr(path, '/'), "/sim_.._h200_0.json");
    tsw_free(path);
}

static void test_gather_asks_once_for_each_gpu(void **state)
{
    (void)state;
    tsw_cell_result_t cells[] = {{.gpu = sample("GPU-a", 0).gpu},
                                 {.gpu = sample("GPU-a", 0).gpu},
                                 {.gpu = {.uuid = "GPU-x", .name = "other", .mode = "cuda"}}};
    const tsw_dataset_t dataset = {.cells = cells, .cell_count = 3};
    tsw_calibration_t *list = NULL;
    size_t count = 9;
    store("GPU-a", 1e12);
    assert_int_equal(tsw_roof_gather(&dataset, &list, &count, NULL), TSW_OK);
    assert_int_equal(count, 1);
    assert_string_equal(list[0].gpu.uuid, "GPU-a");
    tsw_free(list);
}

static void test_compare_warns_of_more_than_three_percent(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    const tsw_calibration_t before = sample("GPU-a", 4e12);
    tsw_calibration_t now = before;
    now.values.copy_bytes_per_s = 0.971 * 4e12;
    assert_int_equal(tsw_roof_compare(&now, &before, &out), 0);
    now.values.copy_bytes_per_s = 0.95 * 4e12;
    now.values.f16_flops_per_s = (double)NAN; /* not known: no verdict */
    assert_int_equal(tsw_roof_compare(&now, &before, &out), 1);
    assert_string_equal(tsw_buf_text(&out),
                        "warning: copy bandwidth is 5.0 % lower than at the last calibration\n");
    tsw_buf_fini(&out);
}

#define TEST(_name) cmocka_unit_test_setup_teardown(_name, setup, tsw_temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_written_is_read),
        TEST(test_bad_files_are_refused_by_name),
        TEST(test_find_prefers_the_very_gpu),
        TEST(test_find_passes_over_other_devices_and_bad_files),
        TEST(test_path_has_no_strange_letters),
        TEST(test_gather_asks_once_for_each_gpu),
        TEST(test_compare_warns_of_more_than_three_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
