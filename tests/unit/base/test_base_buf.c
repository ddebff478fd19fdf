#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static void test_buf_when_empty_then_empty_text(void **state)
{
    (void)state;
    tsw_buf_t buf = TSW_BUF_INIT;
    assert_string_equal(tsw_buf_text(&buf), "");
    tsw_buf_consume(&buf, 10);
    tsw_buf_clear(&buf);
    assert_true(tsw_buf_ok(&buf));
    char *text = tsw_buf_take_text(&buf);
    assert_string_equal(text, "");
    tsw_free(text);
    tsw_buf_fini(&buf);
}

static void test_buf_when_only_reserved_then_empty_text(void **state)
{
    (void)state;
    void *used = tsw_malloc(64); /* what the buffer may get again */
    assert_non_null(used);
    memset(used, 'x', 64);
    tsw_free(used);
    tsw_buf_t buf = TSW_BUF_INIT;
    assert_true(tsw_buf_reserve(&buf, 10));
    assert_string_equal(tsw_buf_text(&buf), "");
    tsw_buf_fini(&buf);
}

static void test_buf_when_appended_then_grows_and_terminates(void **state)
{
    (void)state;
    tsw_buf_t buf = TSW_BUF_INIT;
    for (int i = 0; i < 1000; i++)
        tsw_buf_printf(&buf, "%d,", i);
    assert_int_equal(buf.size, strlen(tsw_buf_text(&buf)));
    tsw_buf_consume(&buf, buf.size - 4);
    assert_string_equal(tsw_buf_text(&buf), "999,");
    tsw_buf_consume(&buf, 100); /* more than there is */
    assert_int_equal(buf.size, 0);
    tsw_buf_append(&buf, "a\0b", 3);
    assert_int_equal(buf.size, 3);
    assert_memory_equal(buf.data, "a\0b", 4);
    tsw_buf_fini(&buf);
}

static void test_buf_when_memory_fails_then_sticks_and_is_told_once(void **state)
{
    (void)state;
    tsw_buf_t buf = TSW_BUF_INIT;
    tsw_mem_fail_at(1);
    tsw_buf_append_text(&buf, "lost");
    tsw_mem_fail_at(0);
    tsw_buf_append_text(&buf, "also lost");
    assert_false(tsw_buf_ok(&buf));
    assert_null(tsw_buf_take_text(&buf));
    tsw_buf_fini(&buf);
    assert_true(tsw_buf_ok(&buf));
}

static void test_buf_when_cleared_then_failure_is_forgotten(void **state)
{
    (void)state;
    tsw_buf_t buf = TSW_BUF_INIT;
    tsw_mem_fail_at(1);
    tsw_buf_append_text(&buf, "lost");
    tsw_mem_fail_at(0);
    tsw_buf_clear(&buf);
    tsw_buf_append_text(&buf, "kept");
    assert_true(tsw_buf_ok(&buf));
    assert_string_equal(tsw_buf_text(&buf), "kept");
    tsw_buf_fini(&buf);
}

static void test_buf_when_size_overflows_then_fails(void **state)
{
    (void)state;
    tsw_buf_t buf = TSW_BUF_INIT;
    tsw_buf_append(&buf, "x", SIZE_MAX - 1); /* refused before it is read */
    assert_false(tsw_buf_ok(&buf));
    tsw_buf_fini(&buf);
}

static void test_memory_when_product_overflows_then_null(void **state)
{
    (void)state;
    assert_null(tsw_calloc(SIZE_MAX / 2, 4));
    assert_null(tsw_realloc_array(NULL, SIZE_MAX / 2, 4));
}

static void test_memory_when_failing_at_n_then_only_that_one(void **state)
{
    (void)state;
    tsw_mem_fail_at(2);
    char *a = tsw_strdup("a"), *b = tsw_strdup("b"), *c = tsw_strdup("c");
    tsw_mem_fail_at(0);
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    tsw_free(a);
    tsw_free(c);
}

static void test_grow_when_memory_fails_then_array_stays(void **state)
{
    (void)state;
    int *items = NULL;
    size_t capacity = 0, count = 0;
    while (count < 8) {
        assert_true(TSW_GROW(items, capacity, count));
        items[count] = (int)count;
        count++;
    }
    while (count < capacity)
        items[count++] = 0;
    tsw_mem_fail_at(1);
    assert_false(TSW_GROW(items, capacity, count));
    tsw_mem_fail_at(0);
    assert_int_equal(items[7], 7);
    assert_int_equal(count, capacity);
    tsw_free(items);
}

static void test_json_when_odd_then_escaped_or_null(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_json_append_text(&out, "a\"\\\n\x01");
    tsw_buf_append_text(&out, " ");
    tsw_json_append_text(&out, "w\xc3\xbc\xff cut\xc3");
    tsw_buf_append_text(&out, " ");
    tsw_json_append_real(&out, INFINITY);
    tsw_buf_append_text(&out, " ");
    tsw_json_append_real(&out, 0.25);
    assert_string_equal(tsw_buf_text(&out), "\"a\\\"\\\\\\u000a\\u0001\" "
                                            "\"w\xc3\xbc\xef\xbf\xbd cut\xef\xbf\xbd\" null 0.25");
    tsw_buf_fini(&out);
}

static void test_utf8_when_foreign_then_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"", ""},
        {"w\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80", "w\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\x80", "?"},
        {"\xc0\x80", "??"},           /* a zero, written longer */
        {"\xed\xa0\x80", "???"},      /* half of a pair */
        {"\xf4\x90\x80\x80", "????"}, /* beyond the last character */
        {"\xe2\x82", "??"},           /* cut */
        {"\xf0\x9fx", "??x"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_buf_t out = TSW_BUF_INIT;
        tsw_buf_t wanted = TSW_BUF_INIT;
        for (const char *c = cases[i].wanted; *c != '\0'; c++)
            tsw_buf_append(&wanted, *c == '?' ? "\xef\xbf\xbd" : c, *c == '?' ? 3 : 1);
        tsw_buf_append_utf8(&out, cases[i].text);
        assert_string_equal(tsw_buf_text(&out), tsw_buf_text(&wanted));
        tsw_buf_fini(&out);
        tsw_buf_fini(&wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buf_when_empty_then_empty_text),
        cmocka_unit_test(test_buf_when_only_reserved_then_empty_text),
        cmocka_unit_test(test_buf_when_appended_then_grows_and_terminates),
        cmocka_unit_test(test_buf_when_memory_fails_then_sticks_and_is_told_once),
        cmocka_unit_test(test_buf_when_cleared_then_failure_is_forgotten),
        cmocka_unit_test(test_buf_when_size_overflows_then_fails),
        cmocka_unit_test(test_memory_when_product_overflows_then_null),
        cmocka_unit_test(test_memory_when_failing_at_n_then_only_that_one),
        cmocka_unit_test(test_grow_when_memory_fails_then_array_stays),
        cmocka_unit_test(test_json_when_odd_then_escaped_or_null),
        cmocka_unit_test(test_utf8_when_foreign_then_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
