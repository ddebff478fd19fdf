/* When the messages of a measure worker leave it. */
#include "worker/worker_post.h"

#include "base/clock.h"
#include "base/mem.h"
#include "proc/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
    int fds[2];
    tsw_post_t post;
    tsw_inbox_t in;
    tsw_buf_t body;
} fixture_t;

static int setup(void **state)
{
    static fixture_t f;
    f = (fixture_t){.fds = {-1, -1}};
    *state = &f;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, f.fds) != 0)
        return -1;
    f.post.fd = f.fds[1];
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    close(f->fds[0]);
    close(f->fds[1]);
    tsw_buf_fini(&f->post.frames);
    tsw_inbox_fini(&f->in);
    tsw_buf_fini(&f->body);
    return 0;
}

static void put(fixture_t *f, uint32_t type)
{
    tsw_buf_append_text(&f->body, "text");
    tsw_post_put(&f->post, type, &f->body);
    assert_int_equal(f->body.size, 0);
}

/* Frames that have arrived: 0 when there is none. */
static uint32_t arrived(fixture_t *f)
{
    size_t at = 0, size = 0;
    uint32_t type = 0;
    const uint8_t *body = NULL;
    if (!tsw_channel_peek(f->fds[0], &f->in, &at, &type, &body, &size))
        return 0;
    assert_int_equal(size, 4);
    assert_int_equal(tsw_channel_read(f->fds[0], &f->in, &type, &f->body, NULL), TSW_OK);
    tsw_buf_clear(&f->body);
    return type;
}

static void test_frames_wait_until_they_are_sent_and_keep_their_order(void **state)
{
    fixture_t *f = *state;
    put(f, 5);
    put(f, 6);
    assert_int_equal(arrived(f), 0);
    tsw_post_send(&f->post);
    tsw_post_send(&f->post); /* nothing left */
    assert_int_equal(arrived(f), 5);
    assert_int_equal(arrived(f), 6);
    assert_int_equal(arrived(f), 0);
}

static void test_what_has_waited_for_long_goes_with_all_behind_it(void **state)
{
    fixture_t *f = *state;
    tsw_post_send_old(&f->post, tsw_clock_now_ns()); /* nothing there */
    put(f, 5);
    const uint64_t since_ns = f->post.since_ns;
    put(f, 6);
    assert_true(f->post.since_ns == since_ns);
    tsw_post_send_old(&f->post, since_ns + 19999999);
    assert_int_equal(arrived(f), 0);
    tsw_post_send_old(&f->post, since_ns + 20000000);
    assert_int_equal(arrived(f), 5);
    assert_int_equal(arrived(f), 6);
    f->post.since_ns = 0;
    put(f, 7); /* its wait is its own */
    assert_true(f->post.since_ns >= since_ns);
    tsw_post_send_old(&f->post, f->post.since_ns + 19999999);
    assert_int_equal(arrived(f), 0);
}

/* The exit code of a process that sends. */
static int exit_code_of_send(fixture_t *f)
{
    int code = 0;
    pid_t pid = fork();
    if (pid == 0) {
        tsw_post_send(&f->post);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_true(WIFEXITED(code));
    return WEXITSTATUS(code);
}

static void test_without_its_rank_it_ends(void **state)
{
    fixture_t *f = *state;
    put(f, 5);
    assert_int_equal(exit_code_of_send(f), 0);
    close(f->fds[0]);
    assert_int_equal(exit_code_of_send(f), TSW_POST_EXIT_LOST);
    f->fds[0] = dup(f->fds[1]); /* for teardown */
}

static void test_without_memory_it_ends(void **state)
{
    fixture_t *f = *state;
    tsw_buf_append_text(&f->body, "text");
    tsw_mem_fail_at(1);
    tsw_post_put(&f->post, 5, &f->body);
    tsw_mem_fail_at(0);
    assert_int_equal(exit_code_of_send(f), TSW_POST_EXIT_LOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_frames_wait_until_they_are_sent_and_keep_their_order,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_has_waited_for_long_goes_with_all_behind_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_its_rank_it_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_memory_it_ends, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
