#include "cli/cli_usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect_line(const tsw_usage_t *usage, const char *line)
{
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_cli_usage_format(usage, &out);
    assert_string_equal(tsw_buf_text(&out), line);
    tsw_buf_fini(&out);
}

static void test_parts_are_listed_from_the_largest_on(void **state)
{
    (void)state;
    expect_line(&(tsw_usage_t){{[TSW_USE_IDLE] = 10000000,
                                [TSW_USE_LOAD] = 90000000,
                                [TSW_USE_VERIFY] = 200000000,
                                [TSW_USE_WAVE] = 700000000}},
                "  the workers measured 90.0 % of their 1.0 s: wave 70.0, verify 20.0; else load "
                "9.0, idle 1.0 %\n");
}

static void test_equal_parts_are_all_listed(void **state)
{
    (void)state;
    expect_line(
        &(tsw_usage_t){{[TSW_USE_FILL] = 25, [TSW_USE_REFERENCE] = 50, [TSW_USE_OTHER] = 25}},
        "  the workers measured 50.0 % of their 0.0 s: reference 50.0; else fill 25.0, "
        "other 25.0 %\n");
}

static void test_small_parts_and_no_time_say_nothing(void **state)
{
    (void)state;
    expect_line(&(tsw_usage_t){{[TSW_USE_IDLE] = 1, [TSW_USE_WAVE] = 1000000000}},
                "  the workers measured 100.0 % of their 1.0 s: wave 100.0 %\n");
    expect_line(&(tsw_usage_t){{0}}, "");
}

static void test_simulated_time_is_not_printed(void **state)
{
    (void)state;
    char sim[] = "sim", cuda[] = "cuda";
    tsw_cell_result_t cells[2] = {{.usage = {{[TSW_USE_WAVE] = 1000000000}}},
                                  {.usage = {{[TSW_USE_WAVE] = 2000000000}}}};
    tsw_dataset_t dataset = {.meta = {.mode = sim}, .cells = cells, .cell_count = 2};
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_cli_usage_print(&dataset, &out);
    assert_int_equal(out.size, 0);
    dataset.meta.mode = cuda;
    tsw_cli_usage_print(&dataset, &out);
    assert_string_equal(tsw_buf_text(&out),
                        "  the workers measured 100.0 % of their 3.0 s: wave 100.0 %\n");
    tsw_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_listed_from_the_largest_on),
        cmocka_unit_test(test_equal_parts_are_all_listed),
        cmocka_unit_test(test_small_parts_and_no_time_say_nothing),
        cmocka_unit_test(test_simulated_time_is_not_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
