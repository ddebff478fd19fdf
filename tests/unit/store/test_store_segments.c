#include "store/store.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "dataset_maker.h"
#include "temp_dir.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const tsw_make_t small = {
    .seed = 9, .cells = 1, .configs = 3, .rounds = 4, .nodes = 1, .attempt = 1};

#define HUGE_FILE ((off_t)1 << 40) /* more than memory has */

static tsw_segments_t *open_rank(uint32_t attempt, int rank)
{
    tsw_segments_t *segments = NULL;
    tsw_run_meta_t meta = tsw_make_meta(&small);
    assert_int_equal(tsw_segments_open(tsw_temp_path("run"), attempt, rank, &meta, &segments, NULL),
                     TSW_OK);
    tsw_run_meta_fini(&meta);
    return segments;
}

static void add_cell(tsw_segments_t *segments, size_t index)
{
    tsw_cell_result_t cell = tsw_make_cell(&small, index);
    assert_int_equal(tsw_segments_add(segments, &cell, NULL), TSW_OK);
    assert_null(cell.records);
}

static void seal_cell(tsw_segments_t *segments, size_t index)
{
    add_cell(segments, index);
    assert_int_equal(tsw_segments_seal(segments, NULL), TSW_OK);
}

static size_t count_cells(char **skipped_p)
{
    tsw_dataset_t dataset = {0};
    assert_int_equal(tsw_store_read(tsw_temp_path("run"), &dataset, skipped_p, NULL), TSW_OK);
    size_t count = dataset.cell_count;
    tsw_dataset_fini(&dataset);
    return count;
}

static tsw_names_t list_rank(const char *part)
{
    tsw_names_t names = {0};
    assert_int_equal(tsw_dir_list(tsw_temp_path(part), &names, NULL), TSW_OK);
    return names;
}

static void copy_file(const char *from, const char *to)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    assert_int_equal(tsw_file_read(tsw_temp_path(from), &bytes, NULL), TSW_OK);
    assert_int_equal(tsw_file_write_atomic(tsw_temp_path(to), bytes.data, bytes.size, NULL),
                     TSW_OK);
    tsw_buf_fini(&bytes);
}

static void test_results_of_all_ranks_come_back(void **state)
{
    (void)state;
    tsw_segments_t *first = open_rank(1, 0);
    tsw_segments_t *second = open_rank(1, 1);
    add_cell(first, 0);
    add_cell(first, 1);
    seal_cell(second, 2);
    seal_cell(second, 3);
    assert_int_equal(tsw_segments_seal(second, NULL), TSW_OK); /* nothing left: no file */
    assert_int_equal(tsw_segments_close(first, NULL), TSW_OK);
    assert_int_equal(tsw_segments_close(second, NULL), TSW_OK);
    tsw_names_t names = list_rank("run/parts/a0001-r0001");
    assert_int_equal(names.count, 2);
    assert_string_equal(names.names[0], "000001.h5");
    tsw_names_fini(&names);
    char *skipped = NULL;
    assert_int_equal(count_cells(&skipped), 4);
    assert_string_equal(skipped, "");
    tsw_free(skipped);
}

static void test_nothing_is_written_before_it_is_due(void **state)
{
    (void)state;
    tsw_segments_t *segments = open_rank(1, 0);
    assert_false(tsw_segments_due(segments));
    add_cell(segments, 0);
    assert_false(tsw_segments_due(segments)); /* 30 s have not gone by */
    tsw_names_t names = list_rank("run/parts/a0001-r0000");
    assert_int_equal(names.count, 0);
    tsw_names_fini(&names);
    assert_int_equal(tsw_segments_close(segments, NULL), TSW_OK);
    assert_int_equal(count_cells(NULL), 1);
    assert_int_equal(tsw_segments_close(NULL, NULL), TSW_OK);
}

static void test_segments_are_compacted(void **state)
{
    (void)state;
    tsw_segments_t *segments = open_rank(1, 0);
    for (size_t i = 0; i < 63; i++)
        seal_cell(segments, i);
    copy_file("run/parts/a0001-r0000/000007.h5", "kept.h5");
    seal_cell(segments, 63);
    tsw_names_t names = list_rank("run/parts/a0001-r0000");
    assert_int_equal(names.count, 1);
    assert_string_equal(names.names[0], "000065.h5");
    tsw_names_fini(&names);
    assert_int_equal(count_cells(NULL), 64);
    /* A crash before the old ones were removed leaves cells twice. */
    copy_file("kept.h5", "run/parts/a0001-r0000/000007.h5");
    assert_int_equal(count_cells(NULL), 64);
    for (size_t i = 64; i < 128; i++)
        seal_cell(segments, i);
    assert_int_equal(tsw_segments_close(segments, NULL), TSW_OK);
    names = list_rank("run/parts/a0001-r0000");
    assert_int_equal(names.count, 3); /* two merged ones, and the left-over */
    tsw_names_fini(&names);
    assert_int_equal(count_cells(NULL), 128);
}

static void keep_line(const char *line, void *user)
{
    tsw_buf_append_text(user, line);
}

static void test_compaction_that_fails_loses_nothing(void **state)
{
    (void)state;
    tsw_buf_t log = TSW_BUF_INIT;
    tsw_segments_t *segments = open_rank(1, 0);
    for (size_t i = 0; i < 63; i++)
        seal_cell(segments, i);
    assert_int_equal(truncate(tsw_temp_path("run/parts/a0001-r0000/000005.h5"), 700), 0);
    tsw_log_set_sink(keep_line, &log);
    seal_cell(segments, 63);
    seal_cell(segments, 64);
    tsw_log_set_sink(NULL, NULL);
    assert_non_null(strstr(tsw_buf_text(&log), "segments stay apart"));
    assert_int_equal(tsw_segments_close(segments, NULL), TSW_OK);
    char *skipped = NULL;
    assert_int_equal(count_cells(&skipped), 64); /* all but the torn one */
    assert_non_null(strstr(skipped, "000005.h5: torn or damaged"));
    tsw_free(skipped);
    tsw_buf_fini(&log);
}

/* Seals a cell after the other, and tells by a byte after each. */
static void seal_for_ever(int told)
{
    tsw_segments_t *segments = open_rank(1, 0);
    for (size_t i = 0;; i++) {
        seal_cell(segments, i);
        if (write(told, "s", 1) != 1)
            _exit(1);
    }
}

/* A writer that is killed loses at most what it had not sealed. */
static void test_a_killed_writer_leaves_whole_segments(void **state)
{
    (void)state;
    static const size_t wanted_seals[] = {1, 17, 63, 64}; /* the 64th merges */
    for (size_t k = 0; k < sizeof(wanted_seals) / sizeof(wanted_seals[0]); k++) {
        size_t wanted = wanted_seals[k];
        int ends[2];
        char byte;
        assert_int_equal(pipe(ends), 0);
        pid_t writer = fork();
        assert_true(writer >= 0);
        if (writer == 0)
            seal_for_ever(ends[1]);
        close(ends[1]);
        for (size_t i = 0; i < wanted; i++)
            assert_int_equal(read(ends[0], &byte, 1), 1);
        assert_int_equal(kill(writer, SIGKILL), 0);
        assert_int_equal(waitpid(writer, NULL, 0), writer);
        close(ends[0]);
        char *skipped = NULL;
        assert_true(count_cells(&skipped) >= wanted);
        assert_string_equal(skipped, "");
        tsw_free(skipped);
        assert_int_equal(tsw_dir_remove(tsw_temp_path("run"), NULL), TSW_OK);
    }
}

static void test_torn_segments_are_named_and_tmp_files_ignored(void **state)
{
    (void)state;
    tsw_segments_t *segments = open_rank(2, 3);
    for (size_t i = 0; i < 4; i++)
        seal_cell(segments, i);
    assert_int_equal(tsw_segments_close(segments, NULL), TSW_OK);
    assert_int_equal(truncate(tsw_temp_path("run/parts/a0002-r0003/000002.h5"), 3000), 0);
    assert_int_equal(truncate(tsw_temp_path("run/parts/a0002-r0003/000003.h5"), 0), 0);
    assert_int_equal(truncate(tsw_temp_path("run/parts/a0002-r0003/000004.h5"), HUGE_FILE), 0);
    copy_file("run/parts/a0002-r0003/000001.h5", "run/parts/a0002-r0003/000009.h5.tmp.77");
    copy_file("run/parts/a0002-r0003/000002.h5", "run/parts/a0002-r0003/000008.h5.tmp.77");
    char *skipped = NULL;
    assert_int_equal(count_cells(&skipped), 1);
    assert_non_null(strstr(skipped, "a0002-r0003/000002.h5: torn"));
    assert_non_null(strstr(skipped, "a0002-r0003/000004.h5: torn")); /* and was not read */
    assert_non_null(strstr(skipped, "a0002-r0003/000003.h5: no seal"));
    assert_int_equal(skipped[strlen(skipped) - 1], '\n');
    assert_null(strstr(skipped, ".tmp"));
    tsw_free(skipped);
}

/* What would block for ever, or fail, when it is read. */
static void test_what_is_no_file_is_named_and_skipped(void **state)
{
    (void)state;
    tsw_segments_t *segments = open_rank(1, 0);
    seal_cell(segments, 0);
    assert_int_equal(tsw_segments_close(segments, NULL), TSW_OK);
    assert_int_equal(mkfifo(tsw_temp_path("run/parts/a0001-r0000/pipe.h5"), 0600), 0);
    assert_int_equal(symlink("nowhere", tsw_temp_path("run/parts/a0001-r0000/link.h5")), 0);
    assert_int_equal(tsw_dir_make(tsw_temp_path("run/parts/a0001-r0000/dir.h5"), NULL), TSW_OK);
    char *skipped = NULL;
    assert_int_equal(count_cells(&skipped), 1);
    assert_non_null(strstr(skipped, "pipe.h5: not a file\n"));
    assert_non_null(strstr(skipped, "link.h5: not a file\n"));
    assert_non_null(strstr(skipped, "dir.h5: not a file\n"));
    tsw_free(skipped);
    tsw_buf_t report = TSW_BUF_INIT;
    size_t faults = 0;
    assert_int_equal(tsw_store_check(tsw_temp_path("run"), &faults, &report, NULL), TSW_OK);
    assert_int_equal(faults, 3);
    tsw_buf_fini(&report);
}

static void test_segments_of_another_toolchain_are_refused(void **state)
{
    (void)state;
    tsw_segments_t *segments = open_rank(1, 0);
    seal_cell(segments, 0);
    assert_int_equal(tsw_segments_close(segments, NULL), TSW_OK);
    tsw_dataset_t other = tsw_make_dataset(&small);
    other.meta.toolchain[0] = 'N';
    assert_int_equal(tsw_dir_make(tsw_temp_path("run/parts/a0002-r0000"), NULL), TSW_OK);
    assert_int_equal(
        tsw_store_write(tsw_temp_path("run/parts/a0002-r0000/000001.h5"), &other, NULL), TSW_OK);
    tsw_err_t err = TSW_ERR_INIT;
    tsw_dataset_t dataset = {0};
    assert_int_equal(tsw_store_read(tsw_temp_path("run"), &dataset, NULL, &err), TSW_ERR_ARG);
    assert_non_null(strstr(err.text, "a0002-r0000/000001.h5 does not go with "));
    assert_non_null(
        strstr(err.text, "a0001-r0000/000001.h5; move the one that is not of this run"));
    assert_non_null(strstr(err.text, "toolchain"));
    assert_null(dataset.cells);
    tsw_dataset_fini(&other);
}

static void test_folders_without_segments(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_dataset_t dataset = {0};
    assert_int_equal(tsw_dir_make(tsw_temp_path("run"), NULL), TSW_OK);
    assert_int_equal(tsw_store_read(tsw_temp_path("run"), &dataset, NULL, &err), TSW_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "run: no results"));
    tsw_dataset_t written = tsw_make_dataset(&small);
    assert_int_equal(tsw_store_write(tsw_temp_path("run/sweep.h5"), &written, NULL), TSW_OK);
    tsw_dataset_fini(&written);
    assert_int_equal(count_cells(NULL), 1);
    assert_int_equal(tsw_store_read(tsw_temp_path("elsewhere"), &dataset, NULL, &err),
                     TSW_ERR_NOT_FOUND);
}

static void test_attempts_are_numbered_once(void **state)
{
    (void)state;
    uint32_t attempt = 0;
    /* Who comes second with a new run must not stop the first. */
    assert_int_equal(tsw_store_first_attempt(tsw_temp_path("run"), NULL), TSW_OK);
    assert_int_equal(tsw_store_first_attempt(tsw_temp_path("run"), NULL), TSW_ERR_EXISTS);
    for (uint32_t expected = 2; expected <= 3; expected++) {
        assert_int_equal(tsw_store_next_attempt(tsw_temp_path("run"), &attempt, NULL), TSW_OK);
        assert_int_equal(attempt, expected);
    }
    assert_int_equal(tsw_dir_make(tsw_temp_path("run/attempts/0009"), NULL), TSW_OK);
    assert_int_equal(tsw_dir_make(tsw_temp_path("run/attempts/notes"), NULL), TSW_OK);
    assert_int_equal(tsw_store_next_attempt(tsw_temp_path("run"), &attempt, NULL), TSW_OK);
    assert_int_equal(attempt, 10);
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_file_write_atomic(tsw_temp_path("file"), "x", 1, NULL), TSW_OK);
    assert_int_not_equal(tsw_store_next_attempt(tsw_temp_path("file"), &attempt, &err), TSW_OK);
    assert_int_equal(attempt, 10);
}

/* A limit on file sizes stands in for a full disk: it needs no rights and no mount. */
static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_a_full_disk_harms_nothing(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_segments_t *segments = open_rank(1, 0);
    seal_cell(segments, 0);
    add_cell(segments, 1);
    signal(SIGXFSZ, SIG_IGN);
    limit_file_size(4096);
    tsw_status_t status = tsw_segments_seal(segments, &err);
    tsw_status_t again = tsw_segments_seal(segments, NULL);
    tsw_dataset_t dataset = tsw_make_dataset(&small);
    tsw_status_t sweep = tsw_store_write(tsw_temp_path("run/sweep.h5"), &dataset, NULL);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(status, TSW_ERR_FULL);
    assert_int_equal(again, TSW_ERR_FULL);
    assert_int_equal(sweep, TSW_ERR_FULL);
    assert_non_null(strstr(err.text, "000002.h5"));
    assert_non_null(strstr(err.text, "File too large"));
    tsw_dataset_fini(&dataset);
    tsw_names_t names = list_rank("run/parts/a0001-r0000");
    assert_int_equal(names.count, 1); /* nothing half-written stays behind */
    tsw_names_fini(&names);
    assert_int_equal(count_cells(NULL), 1);
    /* Room again: the queued result is still there. */
    assert_int_equal(tsw_segments_close(segments, NULL), TSW_OK);
    assert_int_equal(count_cells(NULL), 2);
}

static void test_out_of_memory_keeps_the_result(void **state)
{
    (void)state;
    tsw_segments_t *segments = open_rank(1, 0);
    tsw_cell_result_t cell = tsw_make_cell(&small, 0);
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_segments_add(segments, &cell, NULL), TSW_ERR_NOMEM);
    assert_non_null(cell.records);
    assert_int_equal(tsw_segments_add(segments, &cell, NULL), TSW_OK);
    tsw_mem_fail_at(2);
    assert_int_equal(tsw_segments_seal(segments, NULL), TSW_ERR_NOMEM);
    tsw_mem_fail_at(0);
    assert_int_equal(tsw_segments_close(segments, NULL), TSW_OK);
    assert_int_equal(count_cells(NULL), 1);
}

#define IN_FRESH_DIR(_test)                                                                        \
    cmocka_unit_test_setup_teardown(_test, tsw_temp_dir_make, tsw_temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FRESH_DIR(test_results_of_all_ranks_come_back),
        IN_FRESH_DIR(test_nothing_is_written_before_it_is_due),
        IN_FRESH_DIR(test_segments_are_compacted),
        IN_FRESH_DIR(test_compaction_that_fails_loses_nothing),
        IN_FRESH_DIR(test_a_killed_writer_leaves_whole_segments),
        IN_FRESH_DIR(test_torn_segments_are_named_and_tmp_files_ignored),
        IN_FRESH_DIR(test_what_is_no_file_is_named_and_skipped),
        IN_FRESH_DIR(test_segments_of_another_toolchain_are_refused),
        IN_FRESH_DIR(test_folders_without_segments),
        IN_FRESH_DIR(test_attempts_are_numbered_once),
        IN_FRESH_DIR(test_a_full_disk_harms_nothing),
        IN_FRESH_DIR(test_out_of_memory_keeps_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
