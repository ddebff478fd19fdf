#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    char dir[64];
    char path[96];
} place_t;

static int make_place(void **state)
{
    static place_t place;
    strcpy(place.dir, "/tmp/tsw-test-file-XXXXXX");
    if (mkdtemp(place.dir) == NULL)
        return -1;
    snprintf(place.path, sizeof(place.path), "%s/f", place.dir);
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    place_t *place = *state;
    return tsw_dir_remove(place->dir, NULL) == TSW_OK ? 0 : -1;
}

static size_t count_names(const char *dir)
{
    tsw_names_t names = {0};
    assert_int_equal(tsw_dir_list(dir, &names, NULL), TSW_OK);
    const size_t count = names.count;
    tsw_names_fini(&names);
    return count;
}

static void test_write_when_replacing_then_new_bytes_and_no_rest(void **state)
{
    place_t *place = *state;
    tsw_buf_t bytes = TSW_BUF_INIT;
    assert_int_equal(tsw_file_write_atomic(place->path, "old", 3, NULL), TSW_OK);
    assert_int_equal(tsw_file_write_atomic(place->path, "newer", 5, NULL), TSW_OK);
    assert_int_equal(tsw_file_read(place->path, &bytes, NULL), TSW_OK);
    assert_string_equal(tsw_buf_text(&bytes), "newer");
    assert_int_equal(count_names(place->dir), 1);
    tsw_buf_fini(&bytes);
}

/* What a user names may be /dev/stdout: neither a link nor a device is put aside. */
static void test_write_keeps_links_and_devices(void **state)
{
    place_t *place = *state;
    char link_path[512];
    struct stat st;
    snprintf(link_path, sizeof(link_path), "%s.link", place->path);
    assert_int_equal(tsw_file_write_atomic(place->path, "old", 3, NULL), TSW_OK);
    assert_int_equal(symlink(place->path, link_path), 0);
    assert_int_equal(tsw_file_write_atomic(link_path, "newer", 5, NULL), TSW_OK);
    assert_int_equal(lstat(link_path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(place->path, &st), 0);
    assert_int_equal(st.st_size, 5);
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(mkfifo(link_path, 0600), 0);
    int fd = open(link_path, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    assert_int_equal(tsw_file_write_atomic(link_path, "hi", 2, NULL), TSW_OK);
    char text[4];
    assert_int_equal(read(fd, text, sizeof(text)), 2);
    close(fd);
    assert_int_equal(unlink(link_path), 0);
}

static void test_write_when_folder_is_missing_then_not_found(void **state)
{
    place_t *place = *state;
    tsw_err_t err = TSW_ERR_INIT;
    char path[128];
    snprintf(path, sizeof(path), "%s/no/f", place->dir);
    assert_int_equal(tsw_file_write_atomic(path, "x", 1, &err), TSW_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/no/f"));
}

static void test_write_when_the_target_is_a_folder_then_error_and_no_rest(void **state)
{
    place_t *place = *state;
    assert_int_equal(tsw_dir_make(place->path, NULL), TSW_OK);
    assert_int_equal(tsw_file_write_atomic(place->path, "x", 1, NULL), TSW_ERR_ARG);
    assert_int_equal(count_names(place->dir), 1);
}

static void test_read_when_folder_then_error(void **state)
{
    place_t *place = *state;
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_file_read(place->dir, &bytes, &err), TSW_ERR_IO);
    tsw_buf_fini(&bytes);
}

static void test_read_when_large_then_whole(void **state)
{
    place_t *place = *state;
    const size_t size = 200000; /* more than one read */
    char *data = tsw_malloc(size);
    tsw_buf_t bytes = TSW_BUF_INIT;
    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 7);
    assert_int_equal(tsw_file_write_atomic(place->path, data, size, NULL), TSW_OK);
    assert_int_equal(tsw_file_read(place->path, &bytes, NULL), TSW_OK);
    assert_int_equal(bytes.size, size);
    assert_memory_equal(bytes.data, data, size);
    tsw_buf_fini(&bytes);
    tsw_free(data);
}

static void test_read_when_without_end_then_input_error(void **state)
{
    (void)state;
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_file_read("/dev/zero", &bytes, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "/dev/zero"));
    tsw_buf_fini(&bytes);
}

static void test_read_when_beyond_memory_then_nomem_at_once(void **state)
{
    place_t *place = *state;
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_file_write_atomic(place->path, "x", 1, NULL), TSW_OK);
    assert_int_equal(truncate(place->path, (off_t)1 << 42), 0);
    tsw_mem_fail_at(1); /* as malloc does, where memory is not overcommitted without limit */
    assert_int_equal(tsw_file_read(place->path, &bytes, &err), TSW_ERR_NOMEM);
    tsw_mem_fail_at(0);
    assert_non_null(strstr(err.text, "4398046511104 bytes"));
    assert_null(bytes.data);
    tsw_buf_fini(&bytes);
}

static void test_no_file_can_have_such_a_name(void **state)
{
    place_t *place = *state;
    tsw_buf_t bytes = TSW_BUF_INIT;
    char path[512];
    snprintf(path, sizeof(path), "%s/%0300d", place->dir, 0);
    assert_int_equal(tsw_file_read(path, &bytes, NULL), TSW_ERR_NOT_FOUND);
    assert_int_equal(symlink(place->path, place->path), 0);
    assert_int_equal(tsw_file_read(place->path, &bytes, NULL), TSW_ERR_NOT_FOUND);
    assert_int_equal(unlink(place->path), 0);
    assert_int_equal(tsw_file_write_atomic(place->path, "x", 1, NULL), TSW_OK);
    snprintf(path, sizeof(path), "%s/below", place->path);
    assert_int_equal(tsw_file_read(path, &bytes, NULL), TSW_ERR_NOT_FOUND);
    tsw_buf_fini(&bytes);
}

static void test_seal_when_done_then_only_final_name(void **state)
{
    place_t *place = *state;
    char tmp[128];
    snprintf(tmp, sizeof(tmp), "%s/f.tmp", place->dir);
    assert_int_equal(tsw_file_write_atomic(tmp, "x", 1, NULL), TSW_OK);
    assert_int_equal(tsw_file_seal(tmp, place->path, NULL), TSW_OK);
    assert_true(tsw_path_exists(place->path));
    assert_false(tsw_path_exists(tmp));
    assert_int_equal(tsw_file_seal(tmp, place->path, NULL), TSW_ERR_NOT_FOUND);
}

static void test_dir_when_made_twice_then_fine_but_not_exclusively(void **state)
{
    place_t *place = *state;
    char deep[128];
    snprintf(deep, sizeof(deep), "%s/a/b/c", place->dir);
    assert_int_equal(tsw_dir_make(deep, NULL), TSW_OK);
    assert_int_equal(tsw_dir_make(deep, NULL), TSW_OK);
    assert_int_equal(tsw_dir_make_exclusive(deep, NULL), TSW_ERR_EXISTS);
}

static void test_dir_when_a_file_is_in_the_way_then_error(void **state)
{
    place_t *place = *state;
    char below[128];
    snprintf(below, sizeof(below), "%s/f/sub", place->dir);
    assert_int_equal(tsw_file_write_atomic(place->path, "x", 1, NULL), TSW_OK);
    assert_int_equal(tsw_dir_make(place->path, NULL), TSW_ERR_ARG);
    assert_int_not_equal(tsw_dir_make(below, NULL), TSW_OK);
}

static void test_remove_when_link_then_target_stays(void **state)
{
    place_t *place = *state;
    char victim[128], tree[128], link[160], kept[160];
    snprintf(victim, sizeof(victim), "%s/victim", place->dir);
    snprintf(tree, sizeof(tree), "%s/tree", place->dir);
    snprintf(link, sizeof(link), "%s/link", tree);
    snprintf(kept, sizeof(kept), "%s/kept", victim);
    assert_int_equal(tsw_dir_make(victim, NULL), TSW_OK);
    assert_int_equal(tsw_dir_make(tree, NULL), TSW_OK);
    assert_int_equal(tsw_file_write_atomic(kept, "x", 1, NULL), TSW_OK);
    assert_int_equal(symlink(victim, link), 0);
    assert_int_equal(tsw_dir_remove(tree, NULL), TSW_OK);
    assert_false(tsw_path_exists(tree));
    assert_true(tsw_path_exists(kept));
    assert_int_equal(tsw_dir_remove(tree, NULL), TSW_OK); /* not there: fine */
}

static void test_list_when_many_then_sorted(void **state)
{
    place_t *place = *state;
    static const char *const names[] = {"b", "a", "B", "10", "9"};
    char path[128];
    tsw_names_t list = {0};
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof(path), "%s/%s", place->dir, names[i]);
        assert_int_equal(tsw_file_write_atomic(path, "", 0, NULL), TSW_OK);
    }
    assert_int_equal(tsw_dir_list(place->dir, &list, NULL), TSW_OK);
    assert_int_equal(list.count, 5);
    assert_string_equal(list.names[0], "10");
    assert_string_equal(list.names[4], "b");
    tsw_names_fini(&list);
}

static void test_list_when_any_allocation_fails_then_nomem(void **state)
{
    place_t *place = *state;
    assert_int_equal(tsw_file_write_atomic(place->path, "", 0, NULL), TSW_OK);
    for (long n = 1; n <= 2; n++) {
        tsw_names_t list = {0};
        tsw_mem_fail_at(n);
        assert_int_equal(tsw_dir_list(place->dir, &list, NULL), TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
        assert_int_equal(list.count, 0);
    }
}

static void test_join_when_slash_then_one_slash(void **state)
{
    (void)state;
    char *a = tsw_path_join("x", "y"), *b = tsw_path_join("x/", "y"), *c = tsw_path_join("", "y");
    assert_string_equal(a, "x/y");
    assert_string_equal(b, "x/y");
    assert_string_equal(c, "y");
    tsw_free(a);
    tsw_free(b);
    tsw_free(c);
}

static void on_alarm(int signo)
{
    (void)signo;
}

/* A pipe that nobody writes to must not hold a program that handles its signals. */
static void test_read_when_signal_while_a_pipe_is_awaited_then_canceled(void **state)
{
    const place_t *place = *state;
    tsw_buf_t out = TSW_BUF_INIT;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval every = {.it_value = {.tv_usec = 10000},
                                    .it_interval = {.tv_usec = 10000}};
    const struct itimerval never = {.it_value = {0}};
    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
    assert_int_equal(tsw_file_read(place->path, &out, NULL), TSW_ERR_CANCELED);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    tsw_buf_fini(&out);
}

/* However late the writer is, and in however many pieces it writes. */
static void test_read_when_pipe_then_to_its_end(void **state)
{
    const place_t *place = *state;
    tsw_buf_t out = TSW_BUF_INIT;
    assert_int_equal(mkfifo(place->path, 0600), 0);
    pid_t writer = fork();
    if (writer == 0) {
        int fd = open(place->path, O_WRONLY);
        bool ok = write(fd, "one ", 4) == 4 && write(fd, "two", 3) == 3;
        _exit(ok ? 0 : 1);
    }
    assert_true(writer > 0);
    assert_int_equal(tsw_file_read(place->path, &out, NULL), TSW_OK);
    assert_string_equal(tsw_buf_text(&out), "one two");
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    tsw_buf_fini(&out);
}

#define TEST(_function) cmocka_unit_test_setup_teardown(_function, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_write_keeps_links_and_devices),
        TEST(test_write_when_replacing_then_new_bytes_and_no_rest),
        TEST(test_write_when_folder_is_missing_then_not_found),
        TEST(test_write_when_the_target_is_a_folder_then_error_and_no_rest),
        TEST(test_read_when_folder_then_error),
        TEST(test_read_when_large_then_whole),
        cmocka_unit_test(test_read_when_without_end_then_input_error),
        TEST(test_read_when_signal_while_a_pipe_is_awaited_then_canceled),
        TEST(test_read_when_pipe_then_to_its_end),
        TEST(test_read_when_beyond_memory_then_nomem_at_once),
        TEST(test_no_file_can_have_such_a_name),
        TEST(test_seal_when_done_then_only_final_name),
        TEST(test_dir_when_made_twice_then_fine_but_not_exclusively),
        TEST(test_dir_when_a_file_is_in_the_way_then_error),
        TEST(test_remove_when_link_then_target_stays),
        TEST(test_list_when_many_then_sorted),
        TEST(test_list_when_any_allocation_fails_then_nomem),
        cmocka_unit_test(test_join_when_slash_then_one_slash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
