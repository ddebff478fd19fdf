#include "pack/node.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static tsw_status_t read_text(const char *text, tsw_node_t **node_p, tsw_err_t *err)
{
    return tsw_node_read("a.yaml", text, strlen(text), node_p, err);
}

static void test_tree_keeps_places(void **state)
{
    (void)state;
    tsw_node_t *root = NULL;
    assert_int_equal(read_text("# c\nname: x\nlist: [1, {k: 'v'}]\n", &root, NULL), TSW_OK);
    assert_int_equal(root->kind, TSW_NODE_MAP);
    assert_int_equal(root->count, 2);
    const tsw_node_t *list = tsw_node_find(root, "list");
    assert_int_equal(list->kind, TSW_NODE_LIST);
    assert_int_equal(list->place.line, 3);
    assert_int_equal(list->place.column, 7);
    const tsw_node_t *value = tsw_node_find(list->items[1], "k");
    assert_string_equal(value->text, "v");
    assert_true(value->quoted);
    assert_int_equal(value->place.column, 15);
    assert_int_equal(root->keys[1]->place.column, 1);
    assert_null(tsw_node_find(root, "other"));
    tsw_node_free(root);
}

static void test_scalars_are_yaml_1_2(void **state)
{
    (void)state;
    const struct {
        const char *text;
        bool is_i64, is_f64, is_bool, is_null;
    } cases[] = {
        {"12", true, true, false, false},       {"-3", true, true, false, false},
        {"0", true, true, false, false},        {"010", false, false, false, false},
        {"0x10", false, false, false, false},   {"1_000", false, false, false, false},
        {"'12'", false, false, false, false},   {"1.5", false, true, false, false},
        {"1e3", false, true, false, false},     {"true", false, false, true, false},
        {"'true'", false, false, false, false}, {"yes", false, false, false, false},
        {"True", false, false, false, false},   {"~", false, false, false, true},
        {"", false, false, false, true},        {"''", false, false, false, false},
        {"1:30", false, false, false, false},   {"9223372036854775808", false, true, false, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        tsw_node_t *root = NULL;
        int64_t integer = 0;
        double real = 0.0;
        bool truth = false;
        snprintf(text, sizeof(text), "k: %s\n", cases[i].text);
        assert_int_equal(read_text(text, &root, NULL), TSW_OK);
        const tsw_node_t *node = root->items[0];
        if (tsw_node_i64(node, &integer) != cases[i].is_i64 ||
            tsw_node_f64(node, &real) != cases[i].is_f64 ||
            tsw_node_bool(node, &truth) != cases[i].is_bool ||
            tsw_node_is_null(node) != cases[i].is_null)
            fail_msg("%s", cases[i].text);
        tsw_node_free(root);
    }
}

static void test_bad_yaml_says_where(void **state)
{
    (void)state;
    const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"", "a.yaml:1:1: the file is empty"},
        {"# only a comment\n", "the file is empty"},
        {"a: 1\nb: 2\na: 3\n", "a.yaml:3:1: key 'a' is there twice, first in line 1"},
        {"a: &x 1\n", "a.yaml:1:4: anchors (&x)"},
        {"a: {row: ceildiv(M, 8) * 8}\n", "a.yaml:1:21: '8) * 8' is no key: inside { }"},
        {"a: *x\n", "a.yaml:1:4: aliases (*x)"},
        {"a: !!str 1\n", "a.yaml:1:4: tags"},
        {"a: !mine [1]\n", "a.yaml:1:4: tags"},
        {"a: 1\n---\nb: 1\n", "a.yaml:2:1: a second document"},
        {"? [a, b]\n: 1\n", "a key must be a word"},
        {"a: [1, 2\nb: 3\n", "a.yaml:2:"},
        {"a: \"x\n", "a.yaml:"},
        {"a: 1\n\tb: 2\n", "a.yaml:2:"},
        {"a: 1\nb: \xff\xfe\n", "a.yaml:2:4: no UTF-8 text"},
        {"a: \"\\0\"\n", "zero byte"},
        {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "a.yaml:1:17: nested deeper than 16"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_node_t *root = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = read_text(cases[i].text, &root, &err);
        if (status != TSW_ERR_INPUT || strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s: status %d: %s", cases[i].text, (int)status, err.text);
        assert_null(root);
    }
}

static void test_sizes_are_bounded(void **state)
{
    (void)state;
    tsw_node_t *root = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    size_t size = TSW_NODE_BYTES_MAX + 1;
    char *text = tsw_malloc(size + 1);
    memset(text, '#', size);
    assert_int_equal(tsw_node_read("a.yaml", text, size, &root, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "larger than"));
    size_t used = 0;
    for (int i = 0; i <= TSW_NODE_KEYS_MAX; i++)
        used += (size_t)snprintf(text + used, size - used, "k%d: 1\n", i);
    assert_int_equal(tsw_node_read("a.yaml", text, used, &root, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "at most 1024 keys"));
    tsw_free(text);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    const char *text = "a: {b: [1, 2, 3, 4, 5], c: x}\nd: 'y'\n";
    bool failed = false;
    for (long n = 1; n < 60; n++) {
        tsw_node_t *root = NULL;
        tsw_mem_fail_at(n);
        tsw_status_t status = read_text(text, &root, NULL);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || (status == TSW_ERR_NOMEM && root == NULL));
        failed = failed || status == TSW_ERR_NOMEM;
        tsw_node_free(root);
    }
    assert_true(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_keeps_places),
        cmocka_unit_test(test_scalars_are_yaml_1_2),
        cmocka_unit_test(test_bad_yaml_says_where),
        cmocka_unit_test(test_sizes_are_bounded),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
