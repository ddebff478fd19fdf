#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "comm/comm.h"

static int clear_environment(void **state)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_SIZE", "PMI_FD",
        "SLURM_NTASKS"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    return 0;
}

static tsw_comm_t *open_comm(void)
{
    tsw_comm_t *comm = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_comm_open(&comm, &err), TSW_OK);
    return comm;
}

static tsw_buf_t bytes_of(const char *text)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_buf_append_text(&bytes, text);
    return bytes;
}

static void test_open_without_launcher_is_one_rank(void **state)
{
    (void)state;
    tsw_comm_t *comm = open_comm();
    assert_int_equal(tsw_comm_rank(comm), 0);
    assert_int_equal(tsw_comm_size(comm), 1);
    assert_int_equal(tsw_comm_node_rank(comm), 0);
    tsw_comm_close(comm);
    tsw_comm_close(NULL);
}

static void test_settings_of_mpi_alone_start_no_mpi(void **state)
{
    (void)state;
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    tsw_comm_t *comm = open_comm();
    assert_int_equal(tsw_comm_size(comm), 1);
    tsw_comm_close(comm);
    unsetenv("OMPI_MCA_rmaps_base_oversubscribe");
}

static void test_open_alone_among_slurm_tasks_is_an_error_of_the_environment(void **state)
{
    (void)state;
    tsw_comm_t *comm = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    setenv("SLURM_NTASKS", "4", 1);
    assert_int_equal(tsw_comm_open(&comm, &err), TSW_ERR_ENV);
    assert_null(comm);
    assert_non_null(strstr(err.text, "SLURM_NTASKS"));
    setenv("SLURM_NTASKS", "1", 1);
    assert_int_equal(tsw_comm_open(&comm, &err), TSW_OK);
    tsw_comm_close(comm);
}

static void test_collectives_of_one_rank_keep_what_it_has(void **state)
{
    (void)state;
    tsw_comm_t *comm = open_comm();
    tsw_err_t err = TSW_ERR_INIT;
    tsw_buf_t mine = bytes_of("hello");
    tsw_buf_t all = TSW_BUF_INIT;
    assert_int_equal(tsw_comm_bcast(comm, &mine, &err), TSW_OK);
    assert_string_equal(tsw_buf_text(&mine), "hello");
    assert_int_equal(tsw_comm_gather(comm, &mine, &all, &err), TSW_OK);
    assert_string_equal(tsw_buf_text(&all), "hello");
    assert_int_equal(tsw_comm_agree(comm, TSW_OK, &err), TSW_OK);
    tsw_err_set(&err, TSW_ERR_FULL, "disk");
    assert_int_equal(tsw_comm_agree(comm, TSW_ERR_FULL, &err), TSW_ERR_FULL);
    assert_string_equal(err.text, "disk");
    const uint64_t numbers[] = {7, UINT64_MAX};
    uint64_t *gathered = NULL;
    assert_int_equal(tsw_comm_gather_numbers(comm, numbers, 2, &gathered, &err), TSW_OK);
    assert_memory_equal(gathered, numbers, sizeof(numbers));
    tsw_free(gathered);
    tsw_buf_fini(&mine);
    tsw_buf_fini(&all);
    tsw_comm_close(comm);
}

static void test_frames_to_oneself_come_in_order(void **state)
{
    (void)state;
    tsw_comm_t *comm = open_comm();
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = TSW_ERR_BUG;
    tsw_buf_t got = TSW_BUF_INIT;
    int from = -1;
    assert_false(tsw_comm_poll(comm, &from, &got, &status, &err));
    assert_int_equal(status, TSW_OK);
    static const char *const texts[] = {"a", "", "ccc"};
    for (size_t i = 0; i < 3; i++) {
        tsw_buf_t frame = bytes_of(texts[i]);
        assert_int_equal(tsw_comm_send(comm, 0, &frame, &err), TSW_OK);
        assert_null(frame.data);
    }
    assert_true(tsw_comm_sends_pending(comm));
    for (size_t i = 0; i < 3; i++) {
        assert_true(tsw_comm_poll(comm, &from, &got, &status, &err));
        assert_int_equal(from, 0);
        assert_string_equal(tsw_buf_text(&got), texts[i]);
        tsw_buf_fini(&got);
    }
    assert_false(tsw_comm_sends_pending(comm));
    assert_false(tsw_comm_poll(comm, &from, &got, &status, &err));
    tsw_buf_t left = bytes_of("never polled");
    assert_int_equal(tsw_comm_send(comm, 0, &left, &err), TSW_OK);
    tsw_comm_close(comm);
}

static void test_send_refuses_other_ranks_and_failed_frames(void **state)
{
    (void)state;
    tsw_comm_t *comm = open_comm();
    tsw_err_t err = TSW_ERR_INIT;
    tsw_buf_t frame = bytes_of("x");
    assert_int_equal(tsw_comm_send(comm, 1, &frame, &err), TSW_ERR_BUG);
    assert_int_equal(tsw_comm_send(comm, -1, &frame, &err), TSW_ERR_BUG);
    frame.failed = true;
    assert_int_equal(tsw_comm_send(comm, 0, &frame, &err), TSW_ERR_NOMEM);
    assert_false(tsw_comm_sends_pending(comm));
    tsw_buf_fini(&frame);
    tsw_comm_close(comm);
}

static void test_without_memory_nothing_is_lost(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_comm_t *comm = NULL;
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_comm_open(&comm, &err), TSW_ERR_NOMEM);
    comm = open_comm();
    tsw_buf_t frame = bytes_of("x");
    tsw_buf_t all = TSW_BUF_INIT;
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_comm_send(comm, 0, &frame, &err), TSW_ERR_NOMEM);
    assert_string_equal(tsw_buf_text(&frame), "x");
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_comm_gather(comm, &frame, &all, &err), TSW_ERR_NOMEM);
    assert_null(all.data);
    const uint64_t number = 1;
    uint64_t *numbers = NULL;
    for (long n = 1; n <= 4; n++) {
        tsw_mem_fail_at(n);
        assert_int_equal(tsw_comm_gather_numbers(comm, &number, 1, &numbers, &err), TSW_ERR_NOMEM);
        assert_null(numbers);
    }
    tsw_mem_fail_at(0);
    tsw_buf_fini(&frame);
    tsw_comm_close(comm);
}

static void test_abort_ends_the_process_with_that_code(void **state)
{
    (void)state;
    tsw_comm_t *comm = open_comm();
    pid_t child = fork();
    if (child == 0)
        tsw_comm_abort(comm, 70);
    int end = 0;
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_true(WIFEXITED(end));
    assert_int_equal(WEXITSTATUS(end), 70);
    tsw_comm_close(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_open_without_launcher_is_one_rank, clear_environment),
        cmocka_unit_test_setup(test_settings_of_mpi_alone_start_no_mpi, clear_environment),
        cmocka_unit_test_setup(test_open_alone_among_slurm_tasks_is_an_error_of_the_environment,
                               clear_environment),
        cmocka_unit_test_setup(test_collectives_of_one_rank_keep_what_it_has, clear_environment),
        cmocka_unit_test_setup(test_frames_to_oneself_come_in_order, clear_environment),
        cmocka_unit_test_setup(test_send_refuses_other_ranks_and_failed_frames, clear_environment),
        cmocka_unit_test_setup(test_without_memory_nothing_is_lost, clear_environment),
        cmocka_unit_test_setup(test_abort_ends_the_process_with_that_code, clear_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
