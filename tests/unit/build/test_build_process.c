#include "build/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* A shell that runs the words; what it says goes into the file. */
static tsw_status_t run(char *words, FILE *said, double wall_limit_s, uint64_t output_limit,
                        tsw_process_end_t *end_p, tsw_err_t *err)
{
    char shell[] = "sh";
    char option[] = "-c";
    char *argv[] = {shell, option, words, NULL};
    char path[] = "PATH=/usr/bin:/bin";
    char *env[] = {path, NULL};
    const tsw_process_t process = {.path = "/bin/sh",
                                   .argv = argv,
                                   .env = env,
                                   .output_fd = fileno(said),
                                   .wall_limit_s = wall_limit_s,
                                   .output_limit = output_limit};
    return tsw_process_run(&process, end_p, err);
}

static void test_its_end_is_told_with_and_without_a_limit(void **state)
{
    (void)state;
    char words[] = "exit 7";
    FILE *said = tmpfile();
    assert_non_null(said);
    for (int limit_s = 0; limit_s <= 100; limit_s += 100) {
        tsw_process_end_t end = {0};
        assert_int_equal(run(words, said, limit_s, 0, &end, NULL), TSW_OK);
        assert_true(end.exited);
        assert_int_equal(end.exit_code, 7);
    }
    fclose(said);
}

/* One that nobody has reaped yet is dead. */
static bool is_alive(int pid)
{
    char path[64];
    char process_state = 'Z';
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    bool known = fscanf(file, "%*d %*s %c", &process_state) == 1;
    fclose(file);
    return known && process_state != 'Z' && process_state != 'X';
}

/* With what it started: else the sleep would hold the file, and whoever waits for it. */
static void test_what_never_ends_is_killed_with_its_children(void **state)
{
    (void)state;
    char words[] = "sleep 1000 & echo $!; wait";
    FILE *said = tmpfile();
    tsw_process_end_t end = {0};
    tsw_err_t err = TSW_ERR_INIT;
    char text[32] = "";
    assert_non_null(said);
    while (strchr(text, '\n') == NULL) { /* until the shell got so far */
        rewind(said);
        assert_int_equal(run(words, said, 0.2, 0, &end, &err), TSW_ERR_TIMEOUT);
        rewind(said);
        text[fread(text, 1, sizeof(text) - 1, said)] = '\0';
    }
    assert_non_null(strstr(err.text, "/bin/sh has not ended after 0.2 s"));
    int child = 0;
    assert_int_equal(sscanf(text, "%d", &child), 1);
    while (is_alive(child)) /* a kill takes a moment; for ever if there was none */
        continue;
    fclose(said);
}

static void test_what_says_too_much_is_cut_short(void **state)
{
    (void)state;
    char words[] = "while echo 0123456789; do :; done";
    FILE *said = tmpfile();
    tsw_process_end_t end = {0};
    struct stat info;
    assert_non_null(said);
    assert_int_equal(run(words, said, 0, 4096, &end, NULL), TSW_OK);
    assert_int_equal(fstat(fileno(said), &info), 0);
    assert_int_equal(info.st_size, 4096);
    fclose(said);
}

static void test_what_is_not_there_cannot_be_started(void **state)
{
    (void)state;
    char program[] = "nothing";
    char *argv[] = {program, NULL};
    char *env[] = {NULL};
    const tsw_process_t process = {.path = "/nowhere/nothing",
                                   .argv = argv,
                                   .env = env,
                                   .output_fd = STDERR_FILENO,
                                   .wall_limit_s = 100};
    tsw_process_end_t end = {0};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_process_run(&process, &end, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "cannot start /nowhere/nothing: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_end_is_told_with_and_without_a_limit),
        cmocka_unit_test(test_what_never_ends_is_killed_with_its_children),
        cmocka_unit_test(test_what_says_too_much_is_cut_short),
        cmocka_unit_test(test_what_is_not_there_cannot_be_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
