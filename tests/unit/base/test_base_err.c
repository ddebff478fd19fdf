#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

static void test_err_when_set_then_returned_and_kept(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_err_set_vendor(&err, TSW_ERR_IO, 5, "no %s", "disk"), TSW_ERR_IO);
    assert_int_equal(err.code, TSW_ERR_IO);
    assert_int_equal(err.vendor, 5);
    assert_string_equal(err.text, "no disk");
    assert_non_null(strstr(err.origin_file, "test_base_err.c"));
}

static void test_err_when_null_then_status_only(void **state)
{
    (void)state;
    assert_int_equal(tsw_err_set(NULL, TSW_ERR_ENV, "x"), TSW_ERR_ENV);
}

static void test_err_when_wrapped_then_prefixed_and_code_kept(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_err_set(&err, TSW_ERR_INPUT, "bad key");
    assert_int_equal(tsw_err_wrap(&err, "%s", "job.yaml"), TSW_ERR_INPUT);
    assert_string_equal(err.text, "job.yaml: bad key");
    tsw_err_clear(&err);
    assert_int_equal(err.code, TSW_OK);
    assert_string_equal(err.text, "");
}

static void test_err_when_too_long_then_cut_with_dots(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    char text[TSW_ERR_TEXT_MAX * 2];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    tsw_err_set(&err, TSW_ERR_INPUT, "%s", text);
    assert_int_equal(strlen(err.text), TSW_ERR_TEXT_MAX - 1);
    assert_string_equal(err.text + TSW_ERR_TEXT_MAX - 4, "...");
    tsw_err_wrap(&err, "prefix");
    assert_int_equal(strlen(err.text), TSW_ERR_TEXT_MAX - 1);
    assert_string_equal(err.text + TSW_ERR_TEXT_MAX - 4, "...");
}

static void test_err_when_quoting_controls_then_none_is_left(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_err_set(&err, TSW_ERR_INPUT, "no key '\033[2J\r\x7f\tw\xc3\xbc'\n");
    assert_string_equal(err.text, "no key '?[2J??\tw\xc3\xbc'\n");
    tsw_err_wrap(&err, "\a");
    assert_string_equal(err.text, "?: no key '?[2J??\tw\xc3\xbc'\n");
}

static void test_errno_when_mapped_then_callers_can_tell(void **state)
{
    (void)state;
    assert_int_equal(tsw_err_from_errno(ENOSPC), TSW_ERR_FULL);
    assert_int_equal(tsw_err_from_errno(EDQUOT), TSW_ERR_FULL);
    assert_int_equal(tsw_err_from_errno(ENOENT), TSW_ERR_NOT_FOUND);
    assert_int_equal(tsw_err_from_errno(EEXIST), TSW_ERR_EXISTS);
    assert_int_equal(tsw_err_from_errno(ENOMEM), TSW_ERR_NOMEM);
    assert_int_equal(tsw_err_from_errno(EACCES), TSW_ERR_IO);
}

static void test_status_when_unknown_then_still_text(void **state)
{
    (void)state;
    assert_string_equal(tsw_status_text(TSW_ERR_FULL), "no space left");
    assert_string_equal(tsw_status_text((tsw_status_t)12345), "unknown status");
}

typedef struct {
    int lines;
    char last[4096];
} sink_t;

static void on_line(const char *line, void *user)
{
    sink_t *sink = user;
    sink->lines++;
    strncpy(sink->last, line, sizeof(sink->last) - 1);
}

static void test_log_when_below_threshold_or_other_rank_then_silent(void **state)
{
    (void)state;
    sink_t sink = {0};
    tsw_log_set_sink(on_line, &sink);
    tsw_log_setup(TSW_LOG_INFO, 3, "node");
    tsw_log(TSW_LOG_DEBUG, "no");
    tsw_log_root(TSW_LOG_ERROR, "not rank 0");
    assert_int_equal(sink.lines, 0);
    tsw_log(TSW_LOG_INFO, "yes %d", 1);
    assert_int_equal(sink.lines, 1);
    assert_non_null(strstr(sink.last, "[3 node] info: yes 1"));
    tsw_log_set_sink(NULL, NULL);
}

static void test_log_when_line_is_long_then_cut(void **state)
{
    (void)state;
    sink_t sink = {0};
    char text[8192];
    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    tsw_log_set_sink(on_line, &sink);
    tsw_log_setup(TSW_LOG_INFO, -1, "");
    tsw_log_root(TSW_LOG_INFO, "%s", text);
    assert_int_equal(sink.lines, 1);
    assert_true(strlen(sink.last) < 4096);
    tsw_log_set_sink(NULL, NULL);
}

static void test_err_when_turned_then_only_the_code_is_another(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_err_set_vendor(&err, TSW_ERR_NOT_FOUND, 2, "a.h5: no such file");
    assert_int_equal(tsw_err_turn(&err, TSW_ERR_ENV), TSW_ERR_ENV);
    assert_int_equal(err.code, TSW_ERR_ENV);
    assert_int_equal(err.vendor, 2);
    assert_string_equal(err.text, "a.h5: no such file");
    assert_int_equal(tsw_err_turn(NULL, TSW_ERR_INPUT), TSW_ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_err_when_set_then_returned_and_kept),
        cmocka_unit_test(test_err_when_null_then_status_only),
        cmocka_unit_test(test_err_when_wrapped_then_prefixed_and_code_kept),
        cmocka_unit_test(test_err_when_turned_then_only_the_code_is_another),
        cmocka_unit_test(test_err_when_too_long_then_cut_with_dots),
        cmocka_unit_test(test_err_when_quoting_controls_then_none_is_left),
        cmocka_unit_test(test_errno_when_mapped_then_callers_can_tell),
        cmocka_unit_test(test_status_when_unknown_then_still_text),
        cmocka_unit_test(test_log_when_below_threshold_or_other_rank_then_silent),
        cmocka_unit_test(test_log_when_line_is_long_then_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
