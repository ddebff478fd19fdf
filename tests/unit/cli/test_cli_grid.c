#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cli/cli_grid.h"

#include <math.h>
#include <string.h>

static const tsw_column_t columns[] = {
    {"name", false, 0, false}, {"ns", true, 1, false}, {"why", false, 0, false}};

static tsw_grid_t two_rows(void)
{
    tsw_grid_t grid = tsw_grid(columns, 3);
    tsw_grid_text(&grid, "a");
    tsw_grid_number(&grid, 1234);
    tsw_grid_text(&grid, "it, \"said\"");
    tsw_grid_text(&grid, "long name");
    tsw_grid_number(&grid, NAN);
    tsw_grid_text(&grid, "");
    return grid;
}

static void assert_renders(tsw_format_t format, const char *expected)
{
    tsw_grid_t grid = two_rows();
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_grid_render(&grid, format, &out, &err), TSW_OK);
    assert_string_equal(tsw_buf_text(&out), expected);
    tsw_buf_fini(&out);
    tsw_grid_fini(&grid);
}

static void test_text_when_rendered_then_aligned(void **state)
{
    (void)state;
    assert_renders(TSW_FORMAT_TEXT, "  name           ns  why\n"
                                    "  a          1234.0  it, \"said\"\n"
                                    "  long name       -\n");
}

static void test_estimate_when_rendered_then_marked_in_text_alone(void **state)
{
    (void)state;
    tsw_grid_t grid = tsw_grid(columns, 3);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_grid_text(&grid, "a");
    tsw_grid_measure(&grid, 12, true);
    tsw_grid_text(&grid, "b");
    assert_int_equal(tsw_grid_render(&grid, TSW_FORMAT_TEXT, &out, NULL), TSW_OK);
    assert_int_equal(tsw_grid_render(&grid, TSW_FORMAT_CSV, &out, NULL), TSW_OK);
    assert_string_equal(tsw_buf_text(&out), "  name     ns  why\n"
                                            "  a     ~12.0  b\n"
                                            "name,ns,why\r\na,12,b\r\n");
    tsw_buf_fini(&out);
    tsw_grid_fini(&grid);
}

static void test_text_when_column_is_for_files_then_left_out(void **state)
{
    (void)state;
    static const tsw_column_t wide[] = {{"a", false, 0, false}, {"b", false, 0, true}};
    tsw_grid_t grid = tsw_grid(wide, 2);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_grid_text(&grid, "x");
    tsw_grid_text(&grid, "y");
    assert_int_equal(tsw_grid_render(&grid, TSW_FORMAT_TEXT, &out, NULL), TSW_OK);
    assert_int_equal(tsw_grid_render(&grid, TSW_FORMAT_CSV, &out, NULL), TSW_OK);
    assert_string_equal(tsw_buf_text(&out), "  a\n  x\na,b\r\nx,y\r\n");
    tsw_buf_fini(&out);
    tsw_grid_fini(&grid);
}

static void test_csv_when_rendered_then_quoted(void **state)
{
    (void)state;
    assert_renders(TSW_FORMAT_CSV, "name,ns,why\r\n"
                                   "a,1234,\"it, \"\"said\"\"\"\r\n"
                                   "long name,,\r\n");
}

static void test_json_when_no_utf8_then_replaced(void **state)
{
    (void)state;
    static const tsw_column_t one[] = {{"a", false, 0, false}};
    tsw_grid_t grid = tsw_grid(one, 1);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_grid_text(&grid, "cut\xc3");
    assert_int_equal(tsw_grid_render(&grid, TSW_FORMAT_JSON, &out, NULL), TSW_OK);
    assert_non_null(strstr(tsw_buf_text(&out), "\"a\": \"cut\xef\xbf\xbd\""));
    tsw_buf_fini(&out);
    tsw_grid_fini(&grid);
}

static void test_json_when_rendered_then_strict(void **state)
{
    (void)state;
    assert_renders(TSW_FORMAT_JSON, "[\n {\n  \"name\": \"a\",\n  \"ns\": 1234,\n"
                                    "  \"why\": \"it, \\\"said\\\"\"\n },\n"
                                    " {\n  \"name\": \"long name\",\n  \"ns\": null,\n"
                                    "  \"why\": \"\"\n }\n]\n");
}

static void test_infinity_when_added_then_no_value(void **state)
{
    (void)state;
    tsw_grid_t grid = tsw_grid(columns + 1, 1);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_grid_number(&grid, INFINITY);
    assert_int_equal(tsw_grid_render(&grid, TSW_FORMAT_JSON, &out, NULL), TSW_OK);
    assert_non_null(strstr(tsw_buf_text(&out), "null"));
    tsw_buf_fini(&out);
    tsw_grid_fini(&grid);
}

static void test_allocation_when_any_fails_then_nomem(void **state)
{
    (void)state;
    for (long n = 1;; n++) {
        tsw_buf_t out = TSW_BUF_INIT;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_mem_fail_at(n);
        tsw_grid_t grid = two_rows();
        const tsw_status_t status = tsw_grid_render(&grid, TSW_FORMAT_CSV, &out, &err);
        tsw_mem_fail_at(0);
        tsw_grid_fini(&grid);
        tsw_buf_fini(&out);
        if (status == TSW_OK) {
            assert_true(n > 4); /* some did fail */
            return;
        }
        assert_int_equal(status, TSW_ERR_NOMEM);
    }
}

static void test_format_when_named_then_found(void **state)
{
    (void)state;
    assert_int_equal(tsw_format_parse("text"), TSW_FORMAT_TEXT);
    assert_int_equal(tsw_format_parse("csv"), TSW_FORMAT_CSV);
    assert_int_equal(tsw_format_parse("json"), TSW_FORMAT_JSON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_when_rendered_then_aligned),
        cmocka_unit_test(test_estimate_when_rendered_then_marked_in_text_alone),
        cmocka_unit_test(test_text_when_column_is_for_files_then_left_out),
        cmocka_unit_test(test_csv_when_rendered_then_quoted),
        cmocka_unit_test(test_json_when_rendered_then_strict),
        cmocka_unit_test(test_json_when_no_utf8_then_replaced),
        cmocka_unit_test(test_infinity_when_added_then_no_value),
        cmocka_unit_test(test_allocation_when_any_fails_then_nomem),
        cmocka_unit_test(test_format_when_named_then_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
