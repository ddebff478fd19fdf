#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"

#include <math.h>
#include <string.h>

static const char *nearest(const char *word)
{
    static const char *const known[] = {"packs", "archs", "purpose", "M", "TILE_M"};
    return tsw_text_nearest(word, known, sizeof(known) / sizeof(known[0]));
}

static void test_nearest_when_close_then_found(void **state)
{
    (void)state;
    assert_string_equal(nearest("pakcs"), "packs"); /* two letters swapped */
    assert_string_equal(nearest("PACKS"), "packs");
    assert_string_equal(nearest("purpos"), "purpose");
    assert_string_equal(nearest("TILE_N"), "TILE_M");
}

static void test_nearest_when_far_then_null(void **state)
{
    (void)state;
    assert_null(nearest("shapes_of_things"));
    assert_null(nearest("K")); /* not M: they share no letter */
    assert_null(nearest(""));
    assert_null(tsw_text_nearest("x", NULL, 0));
}

static void test_nearest_when_very_long_then_bounded(void **state)
{
    (void)state;
    char word[1000];
    memset(word, 'a', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    assert_null(nearest(word));
}

static void test_i64_when_strict_then_parsed(void **state)
{
    (void)state;
    int64_t value = 0;
    assert_true(tsw_text_parse_i64("9223372036854775807", &value) && value == INT64_MAX);
    assert_true(tsw_text_parse_i64("-9223372036854775808", &value) && value == INT64_MIN);
    assert_true(tsw_text_parse_i64("-0", &value) && value == 0);
}

static void test_i64_when_anything_else_then_refused_and_untouched(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "-", "+1", " 1", "1 ", "0x10", "1e3", "1.0", "--1", "1,0", "9223372036854775808"};
    int64_t value = 77;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(tsw_text_parse_i64(bad[i], &value));
    assert_int_equal(value, 77);
}

static void test_f64_when_not_finite_decimal_then_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "nan", "inf", "0x1p3", " 1", "1 ", "1e999", "one"};
    double value = 0;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(tsw_text_parse_f64(bad[i], &value));
    assert_true(tsw_text_parse_f64("-1.5e-3", &value) && fabs(value + 0.0015) < 1e-12);
}

static void test_seconds_when_with_unit_then_scaled(void **state)
{
    (void)state;
    double s = 0;
    assert_true(tsw_text_parse_seconds("90", &s) && fabs(s - 90) < 1e-9);
    assert_true(tsw_text_parse_seconds("1.5m", &s) && fabs(s - 90) < 1e-9);
    assert_true(tsw_text_parse_seconds("8h", &s) && fabs(s - 28800) < 1e-9);
    assert_false(tsw_text_parse_seconds("-1s", &s));
    assert_false(tsw_text_parse_seconds("s", &s));
    assert_false(tsw_text_parse_seconds("1d", &s));
    assert_false(tsw_text_parse_seconds("11111111111111111111111111111111111", &s));
    assert_false(tsw_text_parse_seconds("99999999999h", &s)); /* beyond 64 bits of ns */
}

static void test_format_when_seconds_then_in_a_fitting_unit(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(tsw_text_format_seconds(45.4, text), "45 s");
    assert_string_equal(tsw_text_format_seconds(720, text), "12 min");
    assert_string_equal(tsw_text_format_seconds(12240, text), "3.4 h");
    assert_string_equal(tsw_text_format_seconds((double)NAN, text), "?");
}

static void test_format_when_scaled_then_three_digits(void **state)
{
    (void)state;
    char out[32];
    assert_string_equal(tsw_text_format_ns(999, out), "999 ns");
    assert_string_equal(tsw_text_format_ns(1234, out), "1.23 us");
    assert_string_equal(tsw_text_format_ns(12345678, out), "12.3 ms");
    assert_string_equal(tsw_text_format_ns(5e12, out), "5000 s");
    assert_string_equal(tsw_text_format_bytes(38092, out), "37.2 KiB");
}

static void test_ends_when_longer_than_text_then_false(void **state)
{
    (void)state;
    assert_true(tsw_text_starts_with("sim:h200", "sim:"));
    assert_false(tsw_text_starts_with("si", "sim:"));
    assert_true(tsw_text_ends_with("a.json", ".json"));
    assert_false(tsw_text_ends_with("json", ".json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_when_close_then_found),
        cmocka_unit_test(test_nearest_when_far_then_null),
        cmocka_unit_test(test_nearest_when_very_long_then_bounded),
        cmocka_unit_test(test_i64_when_strict_then_parsed),
        cmocka_unit_test(test_i64_when_anything_else_then_refused_and_untouched),
        cmocka_unit_test(test_f64_when_not_finite_decimal_then_refused),
        cmocka_unit_test(test_seconds_when_with_unit_then_scaled),
        cmocka_unit_test(test_format_when_seconds_then_in_a_fitting_unit),
        cmocka_unit_test(test_format_when_scaled_then_three_digits),
        cmocka_unit_test(test_ends_when_longer_than_text_then_false),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
