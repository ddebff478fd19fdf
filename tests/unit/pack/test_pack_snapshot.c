#include "pack/job.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "pack_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define ROOT TSW_BINARY_DIR "/tests/pack_snapshot"

static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), ROOT "/%s", path);
    char dir[512];
    snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(full, '/') - full), full);
    assert_int_equal(tsw_dir_make(dir, NULL), TSW_OK);
    assert_int_equal(tsw_file_write_atomic(full, text, strlen(text), NULL), TSW_OK);
}

static void put_pack(const char *folder, const char *yaml)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_test_pack_files(yaml, &files);
    for (size_t i = 0; i < files.count; i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", folder, files.items[i].name);
        put(path, (const char *)files.items[i].bytes);
    }
    tsw_fileset_fini(&files);
}

static int set_up(void **state)
{
    (void)state;
    tsw_dir_remove(ROOT, NULL);
    put_pack("kernels/demo", tsw_test_pack_text);
    put_pack("mine/demo", tsw_test_pack_text);
    char *other = tsw_test_replace(tsw_test_pack_text, "reason: registers", "reason: other");
    put_pack("other/demo", other);
    tsw_free(other);
    put("jobs/shapes/a.csv", "M,N,D\n1,2,3\n");
    put("jobs/a.csv", "M,N,D\n4,5,6\n");
    put("empty/demo/readme", "no kernel.yaml");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return tsw_dir_remove(ROOT, NULL) == TSW_OK ? 0 : -1;
}

static tsw_status_t snapshot_of(const char *packs, tsw_fileset_t *snapshot, tsw_err_t *err)
{
    char text[1024];
    snprintf(text, sizeof(text), "{name: x, archs: [sm_90], packs: [%s]}", packs);
    put("jobs/test.yaml", text);
    return tsw_job_snapshot(ROOT "/jobs/test.yaml", ROOT "/kernels", snapshot, err);
}

static void test_snapshot_holds_all_and_no_path(void **state)
{
    (void)state;
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    if (snapshot_of("{pack: demo, shapes: [{csv: shapes/a.csv}, {M: 7, N: 7, D: 7}]}, "
                    "{pack: ../mine/demo/, shapes: [{M: 1, N: 1, D: 1}]}",
                    &snapshot, &err) != TSW_OK)
        fail_msg("%s", err.text);
    assert_int_equal(snapshot.count, 6);
    assert_non_null(tsw_fileset_find(&snapshot, "job.yaml"));
    assert_non_null(tsw_fileset_find(&snapshot, "csv/a.csv"));
    assert_non_null(tsw_fileset_find(&snapshot, "packs/demo/kernel.yaml"));
    assert_non_null(tsw_fileset_find(&snapshot, "packs/demo/demo.cu"));
    tsw_job_t *job = NULL;
    assert_int_equal(tsw_job_read(&snapshot, &job, NULL), TSW_OK);
    assert_int_equal(snapshot.count, 0);
    assert_int_equal(job->entries[0].shape_count, 2);
    assert_int_equal(job->snapshot.count, 6);
    tsw_job_free(job);
}

static void test_bad_references_say_what_is_missing(void **state)
{
    (void)state;
    const struct {
        const char *packs;
        tsw_status_t status;
        const char *says;
    } cases[] = {
        {"{pack: demmo, shapes: [{M: 1, N: 1, D: 1}]}", TSW_ERR_NOT_FOUND,
         "test.yaml:1:42: there is no pack 'demmo'"},
        {"{pack: demmo, shapes: [{M: 1, N: 1, D: 1}]}", TSW_ERR_NOT_FOUND, "did you mean 'demo'?"},
        {"{pack: ../demo, shapes: [{M: 1, N: 1, D: 1}]}", TSW_ERR_NOT_FOUND,
         "there is no pack folder '../demo'"},
        {"{pack: ../empty/demo, shapes: [{M: 1, N: 1, D: 1}]}", TSW_ERR_INPUT,
         "the folder '../empty/demo' has no kernel.yaml"},
        {"{pack: /, shapes: [{M: 1, N: 1, D: 1}]}", TSW_ERR_INPUT, "must end with the name"},
        {"{pack: demo, shapes: [{csv: b.csv}]}", TSW_ERR_NOT_FOUND,
         "test.yaml:1:63: there is no file 'b.csv' beside the job"},
        {"{pack: demo, shapes: [{csv: a.csv}, {csv: shapes/a.csv}]}", TSW_ERR_INPUT,
         "two different files are called 'a.csv'"},
        {"{pack: demo, shapes: [{M: 1, N: 1, D: 1}]}, {pack: ../other/demo, shapes: [{M: 1, N: 1, "
         "D: 1}]}",
         TSW_ERR_INPUT, "two different folders are called 'demo'"},
        /* found only when the job is read: still under the file's own name */
        {"{pack: demo, shapes: [{M: 1, N: 1}]}", TSW_ERR_INPUT, "test.yaml:1:57: the shape lacks"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_fileset_t snapshot = TSW_FILESET_INIT;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = snapshot_of(cases[i].packs, &snapshot, &err);
        if (status != cases[i].status || strstr(err.text, cases[i].says) == NULL ||
            snapshot.count != 0)
            fail_msg("case %zu: status %d: %s", i, (int)status, err.text);
    }
}

static void test_missing_job_is_not_found(void **state)
{
    (void)state;
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    assert_int_equal(tsw_job_snapshot(ROOT "/none.yaml", ROOT "/kernels", &snapshot, NULL),
                     TSW_ERR_NOT_FOUND);
}

static void test_shipped_jobs_read_as_they_come(void **state)
{
    (void)state;
    tsw_names_t names = {0};
    size_t jobs = 0;
    assert_int_equal(tsw_dir_list(TSW_SOURCE_DIR "/jobs", &names, NULL), TSW_OK);
    for (size_t i = 0; i < names.count; i++) {
        tsw_fileset_t snapshot = TSW_FILESET_INIT;
        tsw_job_t *job = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        if (!tsw_text_ends_with(names.names[i], ".yaml"))
            continue;
        char *path = tsw_path_join(TSW_SOURCE_DIR "/jobs", names.names[i]);
        tsw_status_t status = tsw_job_snapshot(path, TSW_SOURCE_DIR "/kernels", &snapshot, &err);
        if (status == TSW_OK)
            status = tsw_job_read(&snapshot, &job, &err);
        if (status != TSW_OK)
            fail_msg("%s: %s", path, err.text);
        assert_true(job->entry_count > 0 && job->entries[0].shape_count > 0);
        tsw_job_free(job);
        tsw_free(path);
        jobs++;
    }
    assert_true(jobs > 0);
    tsw_names_fini(&names);
}

static void test_allocations_may_fail(void **state)
{
    (void)state;
    tsw_fileset_t snapshot = TSW_FILESET_INIT;
    const char *packs = "{pack: demo, shapes: [{csv: a.csv}]}";
    assert_int_equal(snapshot_of(packs, &snapshot, NULL), TSW_OK);
    tsw_fileset_fini(&snapshot);
    size_t failures = 0;
    for (long n = 1; n < 250; n++) {
        tsw_mem_fail_at(n);
        tsw_status_t status =
            tsw_job_snapshot(ROOT "/jobs/test.yaml", ROOT "/kernels", &snapshot, NULL);
        tsw_mem_fail_at(0);
        failures += status != TSW_OK;
        assert_true(status != TSW_OK || snapshot.count > 0);
        assert_true(status == TSW_OK || snapshot.count == 0);
        tsw_fileset_fini(&snapshot);
    }
    assert_true(failures > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_snapshot_holds_all_and_no_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_references_say_what_is_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_job_is_not_found, set_up, tear_down),
        cmocka_unit_test(test_shipped_jobs_read_as_they_come),
        cmocka_unit_test_setup_teardown(test_allocations_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
