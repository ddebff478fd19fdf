#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/fileset.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add(tsw_fileset_t *set, const char *name, const char *text)
{
    assert_int_equal(tsw_fileset_add(set, name, text, strlen(text), NULL), TSW_OK);
}

static tsw_key_t key_of(const tsw_fileset_t *set)
{
    tsw_key_t key = {0};
    assert_int_equal(tsw_fileset_key(set, &key, NULL), TSW_OK);
    return key;
}

static void test_add_when_name_is_there_then_exists(void **state)
{
    (void)state;
    tsw_fileset_t set = TSW_FILESET_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    add(&set, "a", "1");
    assert_int_equal(tsw_fileset_add(&set, "a", "2", 1, &err), TSW_ERR_EXISTS);
    assert_string_equal((const char *)tsw_fileset_find(&set, "a")->bytes, "1");
    assert_null(tsw_fileset_find(&set, "b"));
    tsw_fileset_fini(&set);
}

static void test_key_when_order_differs_then_equal(void **state)
{
    (void)state;
    tsw_fileset_t a = TSW_FILESET_INIT, b = TSW_FILESET_INIT;
    add(&a, "x", "1");
    add(&a, "y", "2");
    add(&b, "y", "2");
    add(&b, "x", "1");
    assert_true(tsw_key_equal(key_of(&a), key_of(&b)));
    tsw_fileset_fini(&a);
    tsw_fileset_fini(&b);
}

static void test_key_when_anything_differs_then_differs(void **state)
{
    (void)state;
    tsw_fileset_t base = TSW_FILESET_INIT, swapped = TSW_FILESET_INIT, moved = TSW_FILESET_INIT;
    add(&base, "x", "1");
    add(&base, "y", "2");
    add(&swapped, "x", "2");
    add(&swapped, "y", "1");
    add(&moved, "x1", "");
    add(&moved, "y", "2");
    assert_false(tsw_key_equal(key_of(&base), key_of(&swapped)));
    assert_false(tsw_key_equal(key_of(&base), key_of(&moved)));
    tsw_fileset_fini(&base);
    tsw_fileset_fini(&swapped);
    tsw_fileset_fini(&moved);
}

static void test_subset_when_prefixed_then_names_without_it(void **state)
{
    (void)state;
    tsw_fileset_t set = TSW_FILESET_INIT, part = TSW_FILESET_INIT;
    add(&set, "job.yaml", "j");
    add(&set, "packs/a/k.cu", "k");
    add(&set, "packs/ab/k.cu", "no");
    assert_int_equal(tsw_fileset_subset(&set, "packs/a/", &part, NULL), TSW_OK);
    assert_int_equal(part.count, 1);
    assert_string_equal(part.items[0].name, "k.cu");
    tsw_fileset_fini(&set);
    tsw_fileset_fini(&part);
}

static void test_dir_when_added_then_recursive_sorted_without_hidden(void **state)
{
    (void)state;
    static const char *const names[] = {"b", "a/c", ".hidden", "a/.git"};
    char dir[] = "/tmp/tsw-test-set-XXXXXX";
    char path[128];
    tsw_fileset_t set = TSW_FILESET_INIT;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/a", dir);
    assert_int_equal(tsw_dir_make(path, NULL), TSW_OK);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        assert_int_equal(tsw_file_write_atomic(path, "x", 1, NULL), TSW_OK);
    }
    assert_int_equal(tsw_fileset_add_dir(&set, "p/", dir, NULL), TSW_OK);
    assert_int_equal(set.count, 2);
    assert_string_equal(set.items[0].name, "p/a/c");
    assert_string_equal(set.items[1].name, "p/b");
    assert_int_equal(tsw_dir_remove(dir, NULL), TSW_OK);
    tsw_fileset_fini(&set);
}

static void test_dir_when_it_holds_a_pipe_then_refused(void **state)
{
    (void)state;
    tsw_fileset_t set = TSW_FILESET_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    char dir[] = "/tmp/tsw-test-set-XXXXXX";
    char path[128];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/pipe", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(tsw_fileset_add_dir(&set, "", dir, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "pipe is neither a file nor a folder"));
    assert_int_equal(set.count, 0);
    assert_int_equal(tsw_dir_remove(dir, NULL), TSW_OK);
    tsw_fileset_fini(&set);
}

static void test_dir_when_it_holds_too_much_then_refused(void **state)
{
    (void)state;
    char dir[] = "/tmp/tsw-test-fileset-XXXXXX";
    char path[64];
    tsw_fileset_t set = TSW_FILESET_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/core", dir);
    assert_int_equal(tsw_file_write_atomic(path, "x", 1, NULL), TSW_OK);
    assert_int_equal(truncate(path, (off_t)TSW_FILESET_BYTES_MAX + 1), 0);
    assert_int_equal(tsw_fileset_add_dir(&set, "", dir, &err), TSW_ERR_INPUT);
    assert_non_null(strstr(err.text, "/core"));
    assert_int_equal(set.count, 0);
    tsw_fileset_fini(&set);
    assert_int_equal(tsw_dir_remove(dir, NULL), TSW_OK);
}

static void test_add_when_any_allocation_fails_then_set_stays(void **state)
{
    (void)state;
    tsw_fileset_t set = TSW_FILESET_INIT;
    for (long n = 1; n <= 3; n++) {
        tsw_mem_fail_at(n);
        assert_int_equal(tsw_fileset_add(&set, "a", "1", 1, NULL), TSW_ERR_NOMEM);
        tsw_mem_fail_at(0);
        assert_int_equal(set.count, 0);
    }
    add(&set, "a", "1");
    tsw_fileset_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_when_name_is_there_then_exists),
        cmocka_unit_test(test_key_when_order_differs_then_equal),
        cmocka_unit_test(test_key_when_anything_differs_then_differs),
        cmocka_unit_test(test_subset_when_prefixed_then_names_without_it),
        cmocka_unit_test(test_dir_when_added_then_recursive_sorted_without_hidden),
        cmocka_unit_test(test_dir_when_it_holds_a_pipe_then_refused),
        cmocka_unit_test(test_dir_when_it_holds_too_much_then_refused),
        cmocka_unit_test(test_add_when_any_allocation_fails_then_set_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
