#include "record/inputs.h"
#include "record/parts.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void assert_differences(const char *before, const char *now, const char *expected)
{
    tsw_buf_t out = TSW_BUF_INIT;
    size_t lines = 0;
    size_t count = tsw_inputs_compare(before, now, &out);
    assert_string_equal(tsw_buf_text(&out), expected);
    for (const char *at = expected; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(count, lines);
    tsw_buf_fini(&out);
}

static void test_inputs_when_lines_differ_then_old_and_new(void **state)
{
    (void)state;
    assert_differences("a: 1\nb: 2\n", "a: 1\nb: 2\n", "");
    assert_differences("a: 1\nb: 2\n", "b: 2\na: 1\n", "");
    assert_differences("a: 1\nb: 2\n", "a: 1\nb: 3\n", "  b: 2 -> 3\n");
    assert_differences("a: 1\n", "a: 1\nab: 2: 3", "  ab: none -> 2: 3\n");
    assert_differences("a: 1\nab: \n", "a: 2\n", "  a: 1 -> 2\n  ab:  -> none\n");
    assert_differences(NULL, "a: 1\n", "  a: none -> 1\n");
    assert_differences("a: 1\n", "", "  a: 1 -> none\n");
    assert_differences("no line\n\na: 1\n:\n", "a: 1", "");
    /* Names that are there twice: only what has no equal is told. */
    assert_differences("a: 1\na: 2\n", "a: 2\na: 1\n", "");
    assert_differences("a: 1\na: 2\n", "a: 1\na: 3\n", "  a: 2 -> 1\n");
}

static void test_inputs_when_values_differ_then_one_line(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    assert_int_equal(tsw_inputs_compare_value("mode", "sim", "sim", &out), 0);
    assert_int_equal(tsw_inputs_compare_value("mode", "sim", "cuda", &out), 1);
    assert_int_equal(tsw_inputs_compare_value("part", "", "1/2", &out), 1);
    assert_string_equal(tsw_buf_text(&out), "  mode: sim -> cuda\n  part: none -> 1/2\n");
    tsw_buf_fini(&out);
}

static void test_inputs_when_a_prefix_is_asked_then_those_lines_alone(void **state)
{
    (void)state;
    const char *a = "measure.a: 1\nmeasure.b: 2\nother: 3\n";
    assert_true(tsw_inputs_same(a, "measure.b: 2\nmeasure.a: 1\nother: 4\n", "measure."));
    assert_false(tsw_inputs_same(a, "measure.a: 1\nother: 3\n", "measure."));
    assert_false(tsw_inputs_same("other: 3\n", a, "measure."));
    assert_false(tsw_inputs_same(a, "measure.a: 1\nmeasure.b: 22\n", "measure."));
    assert_true(tsw_inputs_same("", NULL, "measure."));
}

/* ---- parts ---- */

static void assert_parts(const tsw_parts_t *parts, const char *text, const char *missing)
{
    tsw_buf_t out = TSW_BUF_INIT;
    char *made = tsw_parts_text(parts);
    tsw_parts_missing(parts, &out);
    assert_string_equal(made, text);
    assert_string_equal(tsw_buf_text(&out), missing);
    tsw_free(made);
    tsw_buf_fini(&out);
}

static void test_parts_when_added_then_known(void **state)
{
    (void)state;
    tsw_parts_t parts = {0};
    uint32_t twice = 7;
    assert_parts(&parts, "", "");
    assert_int_equal(tsw_parts_add(&parts, "3/4", &twice, NULL), TSW_OK);
    assert_int_equal(twice, 0);
    assert_parts(&parts, "3/4", "1, 2, 4");
    assert_int_equal(tsw_parts_add(&parts, "1,2/4", &twice, NULL), TSW_OK);
    assert_int_equal(twice, 0);
    assert_parts(&parts, "1,2,3/4", "4");
    assert_int_equal(tsw_parts_add(&parts, "2/4", &twice, NULL), TSW_OK);
    assert_int_equal(twice, 2);
    assert_int_equal(tsw_parts_add(&parts, "4/4", &twice, NULL), TSW_OK);
    assert_parts(&parts, "", "");
    assert_int_equal(tsw_parts_add(&parts, "1/2", &twice, NULL), TSW_ERR_ARG);
    tsw_parts_fini(&parts);
}

static void test_parts_when_garbage_then_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",     "1",    "/2",   "0/2",  "3/2",
                                        "1/0",  "1,/2", ",1/2", "1/2/", "x/2",
                                        "1/2x", "1 /2", "-1/2", "1;/2", "1/99999999999999999999"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tsw_parts_t parts = {0};
        uint32_t twice = 0;
        if (tsw_parts_add(&parts, texts[i], &twice, NULL) != TSW_ERR_CORRUPT)
            fail_msg("\"%s\" was taken", texts[i]);
        tsw_parts_fini(&parts);
    }
}

static void test_parts_when_no_memory_then_said(void **state)
{
    (void)state;
    tsw_parts_t parts = {0};
    uint32_t twice = 0;
    tsw_mem_fail_at(1);
    assert_int_equal(tsw_parts_add(&parts, "1/2", &twice, NULL), TSW_ERR_NOMEM);
    tsw_mem_fail_at(0);
    assert_null(parts.has);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs_when_lines_differ_then_old_and_new),
        cmocka_unit_test(test_inputs_when_values_differ_then_one_line),
        cmocka_unit_test(test_inputs_when_a_prefix_is_asked_then_those_lines_alone),
        cmocka_unit_test(test_parts_when_added_then_known),
        cmocka_unit_test(test_parts_when_garbage_then_refused),
        cmocka_unit_test(test_parts_when_no_memory_then_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
