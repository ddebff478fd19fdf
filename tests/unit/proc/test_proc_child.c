/* Children that behave and children that do not. The helper is tests/support/proc_helper.c. */
#include "base/mem.h"
#include "proc/proc.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HELPER TSW_BINARY_DIR "/tests/proc_helper"

typedef struct {
    size_t frames, lines, line_bytes, longest_line, deadlines;
    uint32_t last_type;
    char last_frame[64];
    size_t last_size;
    char last_line[64];
    bool ended;
    tsw_child_end_t end;
    bool kill_on_frame;
} seen_t;

static void on_frame(void *user, tsw_child_t *child, uint32_t type, const uint8_t *body,
                     size_t size)
{
    seen_t *seen = user;
    seen->frames++;
    seen->last_type = type;
    seen->last_size = size;
    snprintf(seen->last_frame, sizeof(seen->last_frame), "%.*s", (int)(size < 63 ? size : 63),
             (const char *)body);
    if (seen->kill_on_frame)
        tsw_child_kill(child);
}

static void on_line(void *user, tsw_child_t *child, const char *line)
{
    (void)child;
    seen_t *seen = user;
    size_t length = strlen(line);
    seen->lines++;
    seen->line_bytes += length;
    if (length > seen->longest_line)
        seen->longest_line = length;
    snprintf(seen->last_line, sizeof(seen->last_line), "%.60s", line);
}

static void on_end(void *user, tsw_child_t *child, const tsw_child_end_t *end)
{
    (void)child;
    seen_t *seen = user;
    assert_false(seen->ended);
    seen->ended = true;
    seen->end = *end;
}

static void on_deadline(void *user, tsw_child_t *child)
{
    ((seen_t *)user)->deadlines++;
    tsw_child_kill(child);
}

static uint32_t interval(void *user)
{
    (void)user;
    return 1000;
}

static bool until_ended(void *user)
{
    return !((seen_t *)user)->ended;
}

static tsw_child_t *spawn(tsw_loop_t *loop, const char *mode, seen_t *seen)
{
    char path[] = HELPER;
    char mode_arg[32];
    char pid_arg[32];
    snprintf(mode_arg, sizeof(mode_arg), "%s", mode);
    snprintf(pid_arg, sizeof(pid_arg), "%ld", (long)getpid());
    char *argv[] = {path, mode_arg, pid_arg, NULL};
    tsw_child_callbacks_t callbacks = {seen, on_frame, on_line, on_end, on_deadline};
    tsw_child_t *child = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_child_spawn(loop, HELPER, argv, NULL, &callbacks, &child, &err);
    if (status != TSW_OK)
        fail_msg("%s", err.text);
    return child;
}

static tsw_loop_t *new_loop(void)
{
    tsw_loop_t *loop = NULL;
    assert_int_equal(tsw_loop_new(&loop, NULL), TSW_OK);
    return loop;
}

/* Runs one child of a mode to its end. */
static seen_t run_mode(const char *mode, bool kill_on_frame)
{
    tsw_loop_t *loop = new_loop();
    seen_t seen = {.kill_on_frame = kill_on_frame};
    spawn(loop, mode, &seen);
    assert_int_equal(tsw_loop_children(loop), 1);
    assert_int_equal(tsw_loop_run(loop, interval, until_ended, &seen, NULL), TSW_OK);
    assert_int_equal(tsw_loop_children(loop), 0);
    tsw_loop_free(loop);
    return seen;
}

static void send(tsw_child_t *child, uint32_t type, const void *bytes, size_t size)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_buf_append(&body, bytes, size);
    assert_int_equal(tsw_child_send(child, type, &body, NULL), TSW_OK);
    assert_null(body.data);
}

static void test_frames_when_echoed_then_all_come_back(void **state)
{
    (void)state;
    tsw_loop_t *loop = new_loop();
    seen_t seen = {0};
    tsw_child_t *child = spawn(loop, "echo", &seen);
    assert_true(tsw_child_pid(child) > 1);
    for (uint32_t i = 0; i < 99; i++)
        send(child, i, "hello", 5);
    size_t big_size = 3000000;
    char *big = tsw_calloc(big_size, 1);
    assert_non_null(big);
    memset(big, 'b', big_size);
    send(child, 1000, big, big_size);
    send(child, 99, NULL, 0);
    tsw_free(big);
    assert_int_equal(tsw_loop_run(loop, interval, until_ended, &seen, NULL), TSW_OK);
    assert_int_equal(seen.frames, 100);
    assert_int_equal(seen.last_type, 1000);
    assert_int_equal(seen.last_size, big_size);
    assert_true(seen.end.exited);
    assert_int_equal(seen.end.exit_code, 7);
    assert_false(seen.end.killed_by_us);
    tsw_loop_free(loop);
}

static void test_death_when_by_signal_then_told_as_not_ours(void **state)
{
    (void)state;
    seen_t seen = run_mode("die", false);
    assert_false(seen.end.exited);
    assert_int_equal(seen.end.signo, SIGKILL);
    assert_false(seen.end.killed_by_us);
}

static void test_kill_when_hanging_then_told_as_ours(void **state)
{
    (void)state;
    seen_t seen = run_mode("hang", true);
    assert_false(seen.end.exited);
    assert_int_equal(seen.end.signo, SIGKILL);
    assert_true(seen.end.killed_by_us);
    assert_int_equal(seen.deadlines, 0);
}

static void test_deadline_when_hanging_then_called(void **state)
{
    (void)state;
    tsw_loop_t *loop = new_loop();
    seen_t seen = {0};
    tsw_child_t *child = spawn(loop, "hang", &seen);
    tsw_child_set_deadline(child, 100);
    tsw_child_set_deadline(child, 0);
    tsw_child_set_deadline(child, 0.01);
    assert_int_equal(tsw_loop_run(loop, interval, until_ended, &seen, NULL), TSW_OK);
    assert_int_equal(seen.deadlines, 1);
    assert_true(seen.end.killed_by_us);
    tsw_loop_free(loop);
}

static uint32_t no_interval(void *user)
{
    (void)user;
    return 0;
}

static bool fifty_times(void *user)
{
    return ++*(int *)user < 50;
}

/* A timer that is due before the loop polls must not leave the poll without an end. */
static void test_tick_when_child_is_silent_then_goes_on(void **state)
{
    (void)state;
    tsw_loop_t *loop = new_loop();
    seen_t seen = {0};
    int ticks = 0;
    spawn(loop, "hang", &seen);
    assert_int_equal(tsw_loop_run(loop, no_interval, fifty_times, &ticks, NULL), TSW_OK);
    assert_int_equal(ticks, 50);
    tsw_loop_free(loop);
}

static void test_job_signals_when_sent_then_ignored(void **state)
{
    (void)state;
    seen_t seen = run_mode("signals", false);
    assert_string_equal(seen.last_frame, "alive");
    assert_true(seen.end.exited);
    assert_int_equal(seen.end.exit_code, 0);
}

/* Gone, or dead and not yet reaped by init. */
static bool is_dead(pid_t pid)
{
    char path[64];
    char line[128];
    bool dead = true;
    snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "State:", 6) == 0)
            dead = strpbrk(line, "ZX") != NULL;
    }
    if (file != NULL)
        fclose(file);
    return dead;
}

static void test_grandchild_when_left_behind_then_killed(void **state)
{
    (void)state;
    seen_t seen = run_mode("grandchild", false);
    assert_true(seen.end.exited);
    assert_int_equal(seen.end.exit_code, 0);
    assert_false(seen.end.killed_by_us);
    pid_t pid = (pid_t)atol(seen.last_frame);
    assert_true(pid > 1);
    while (!is_dead(pid)) /* its pipes have ended, so this is a matter of moments */
        sched_yield();
}

static void test_grandchild_when_out_of_the_group_then_no_hang(void **state)
{
    (void)state;
    seen_t seen = run_mode("escape", false);
    assert_true(seen.ended);
    assert_true(seen.end.exited);
    pid_t pid = (pid_t)atol(seen.last_frame);
    assert_true(pid > 1);
    kill(pid, SIGKILL);
}

static void test_output_when_flooding_then_in_bounded_lines(void **state)
{
    (void)state;
    seen_t seen = run_mode("flood", false);
    assert_int_equal(seen.line_bytes, 1000000 + strlen("shortunfinished"));
    assert_int_equal(seen.longest_line, TSW_CHILD_LINE_MAX);
    assert_true(seen.end.exited);
}

static void test_frames_when_garbage_then_killed(void **state)
{
    (void)state;
    seen_t seen = run_mode("garbage", false);
    assert_true(seen.end.bad_frames);
    assert_true(seen.end.killed_by_us);
    assert_int_equal(seen.frames, 0);
}

static void test_frames_when_cut_then_whole_ones_count(void **state)
{
    (void)state;
    seen_t seen = run_mode("half", false);
    assert_int_equal(seen.frames, 1);
    assert_true(seen.end.exited);
    assert_false(seen.end.bad_frames);
}

static void test_child_when_started_then_inherits_nothing(void **state)
{
    (void)state;
    int extra = dup(1);
    seen_t seen = run_mode("descriptors", false);
    close(extra);
    assert_string_equal(seen.last_frame, "stdin 0 open 0 leader 1");
}

static void test_spawn_when_no_program_then_error_names_it(void **state)
{
    (void)state;
    tsw_loop_t *loop = new_loop();
    seen_t seen = {0};
    char path[] = "/nonexistent/program";
    char *argv[] = {path, NULL};
    tsw_child_callbacks_t callbacks = {&seen, on_frame, on_line, on_end, on_deadline};
    tsw_child_t *child = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_child_spawn(loop, path, argv, NULL, &callbacks, &child, &err),
                     TSW_ERR_ENV);
    assert_non_null(strstr(err.text, path));
    assert_null(child);
    assert_int_equal(tsw_loop_children(loop), 0);
    tsw_loop_free(loop);
    assert_false(seen.ended);
}

static void test_loop_when_freed_then_children_are_dead_and_silent(void **state)
{
    (void)state;
    tsw_loop_t *loop = new_loop();
    seen_t seen = {0};
    long pids[3];
    for (int i = 0; i < 3; i++)
        pids[i] = tsw_child_pid(spawn(loop, "hang", &seen));
    tsw_loop_free(loop);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kill((pid_t)pids[i], 0), -1);
        assert_int_equal(errno, ESRCH);
    }
    assert_false(seen.ended);
}

static void test_spawn_when_out_of_memory_then_clean(void **state)
{
    (void)state;
    tsw_loop_t *loop = NULL;
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_loop_new(&loop, NULL), TSW_ERR_NOMEM);
    loop = new_loop();
    seen_t seen = {0};
    tsw_child_t *child = spawn(loop, "hang", &seen);
    for (long n = 1; n <= 2; n++) {
        tsw_buf_t body = TSW_BUF_INIT;
        tsw_mem_fail_at(n);
        assert_int_equal(tsw_child_send(child, 1, &body, NULL), TSW_ERR_NOMEM);
    }
    tsw_mem_fail_at(0);
    tsw_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_when_echoed_then_all_come_back),
        cmocka_unit_test(test_death_when_by_signal_then_told_as_not_ours),
        cmocka_unit_test(test_kill_when_hanging_then_told_as_ours),
        cmocka_unit_test(test_deadline_when_hanging_then_called),
        cmocka_unit_test(test_tick_when_child_is_silent_then_goes_on),
        cmocka_unit_test(test_job_signals_when_sent_then_ignored),
        cmocka_unit_test(test_grandchild_when_left_behind_then_killed),
        cmocka_unit_test(test_grandchild_when_out_of_the_group_then_no_hang),
        cmocka_unit_test(test_output_when_flooding_then_in_bounded_lines),
        cmocka_unit_test(test_frames_when_garbage_then_killed),
        cmocka_unit_test(test_frames_when_cut_then_whole_ones_count),
        cmocka_unit_test(test_child_when_started_then_inherits_nothing),
        cmocka_unit_test(test_spawn_when_no_program_then_error_names_it),
        cmocka_unit_test(test_loop_when_freed_then_children_are_dead_and_silent),
        cmocka_unit_test(test_spawn_when_out_of_memory_then_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
