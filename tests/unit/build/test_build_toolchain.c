#include "base/file.h"
#include "base/mem.h"
#include "build/toolchain.h"
#include "temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define FAKE_ROOT TSW_BINARY_DIR "/fake-toolchain"

static void forget_environment(void)
{
    unsetenv("TSW_TOOLCHAIN");
    unsetenv("CUDA_HOME");
}

static tsw_toolchain_t find(const char *option)
{
    tsw_toolchain_t toolchain;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_toolchain_find(option, NULL, &toolchain, &err);
    if (status != TSW_OK)
        fail_msg("%s", err.text);
    return toolchain;
}

static void test_option_names_a_folder_with_everything(void **state)
{
    (void)state;
    forget_environment();
    tsw_toolchain_t toolchain = find(FAKE_ROOT);
    char digits[TSW_KEY_TEXT_SIZE];
    assert_true(toolchain.found);
    assert_string_equal(toolchain.root, FAKE_ROOT);
    assert_string_equal(toolchain.nvrtc, FAKE_ROOT "/lib/libnvrtc.so.13");
    assert_string_equal(toolchain.tileiras, FAKE_ROOT "/bin/tileiras");
    static const char versions[] = "nvrtc 13.5 tileiras 13.5.0 ptxas 13.5.0 ";
    assert_memory_equal(toolchain.text, versions, sizeof(versions) - 1);
    assert_int_equal(strlen(toolchain.text), sizeof(versions) - 1 + 8);
    tsw_key_format(toolchain.key, digits);
    assert_memory_equal(toolchain.text + sizeof(versions) - 1, digits, 8);
    tsw_toolchain_fini(&toolchain);
}

/* Keepers and compilers work in other folders than the one that the user named it from. */
static void test_relative_folder_becomes_absolute(void **state)
{
    (void)state;
    char here[4096];
    forget_environment();
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(TSW_BINARY_DIR), 0);
    tsw_toolchain_t option = find("fake-toolchain");
    assert_int_equal(setenv("TSW_TOOLCHAIN", "fake-toolchain", 1), 0);
    tsw_toolchain_t environment = find(NULL);
    forget_environment();
    assert_int_equal(chdir(here), 0);
    assert_string_equal(option.root, FAKE_ROOT);
    assert_string_equal(option.tileiras, FAKE_ROOT "/bin/tileiras");
    assert_string_equal(option.nvrtc, FAKE_ROOT "/lib/libnvrtc.so.13");
    assert_string_equal(environment.tileiras, FAKE_ROOT "/bin/tileiras");
    tsw_toolchain_fini(&option);
    tsw_toolchain_fini(&environment);
}

static void test_option_without_nvrtc_is_an_error_that_names_it(void **state)
{
    (void)state;
    tsw_toolchain_t toolchain = {.found = true};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_toolchain_find("/nowhere/cuda", NULL, &toolchain, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "/nowhere/cuda"));
    assert_true(toolchain.found); /* untouched */
}

static void test_environment_is_used_in_its_order(void **state)
{
    (void)state;
    forget_environment();
    setenv("TSW_TOOLCHAIN", FAKE_ROOT, 1);
    setenv("CUDA_HOME", "/nowhere/else", 1);
    tsw_toolchain_t toolchain = find(NULL);
    assert_true(toolchain.found);
    assert_string_equal(toolchain.root, FAKE_ROOT);
    tsw_toolchain_fini(&toolchain);
    forget_environment();
}

static void test_chosen_place_that_is_empty_is_absence_with_its_reason(void **state)
{
    (void)state;
    forget_environment();
    setenv("TSW_TOOLCHAIN", "/nowhere/at/all", 1);
    setenv("CUDA_HOME", FAKE_ROOT, 1); /* is not asked then */
    tsw_toolchain_t toolchain = find(NULL);
    assert_false(toolchain.found);
    assert_null(toolchain.nvrtc);
    assert_non_null(strstr(toolchain.text, "/nowhere/at/all"));
    tsw_toolchain_fini(&toolchain);
    forget_environment();
}

/* A toolchain folder whose files are links to the fake one's. */
static void link_into(const char *root, const char *name)
{
    char from[4096], to[4096];
    snprintf(from, sizeof(from), "%s/%s", FAKE_ROOT, name);
    snprintf(to, sizeof(to), "%s/%s", root, name);
    assert_int_equal(symlink(from, to), 0);
}

static void make_root(const char *root)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/bin", root);
    assert_int_equal(tsw_dir_make(path, NULL), TSW_OK);
    snprintf(path, sizeof(path), "%s/lib", root);
    assert_int_equal(tsw_dir_make(path, NULL), TSW_OK);
    link_into(root, "lib/libnvrtc.so.13");
}

static void test_plain_cuda_alone_has_no_tileiras(void **state)
{
    (void)state;
    const char *root = tsw_temp_path("root");
    make_root(root);
    tsw_toolchain_t toolchain = find(root);
    assert_true(toolchain.found);
    assert_null(toolchain.tileiras);
    assert_null(strstr(toolchain.text, "tileiras"));
    assert_null(strstr(toolchain.text, "/"));
    tsw_toolchain_fini(&toolchain);
}

static void test_key_follows_the_bytes_not_the_folder(void **state)
{
    (void)state;
    const char *root = tsw_temp_path("root");
    make_root(root);
    link_into(root, "bin/tileiras");
    link_into(root, "bin/ptxas");
    tsw_toolchain_t original = find(FAKE_ROOT);
    tsw_toolchain_t moved = find(root);
    assert_true(tsw_key_equal(original.key, moved.key));
    assert_string_equal(original.text, moved.text);

    char path[4096];
    snprintf(path, sizeof(path), "%s/lib/libnvvm.so.4", root);
    assert_int_equal(tsw_file_write_atomic(path, "x", 1, NULL), TSW_OK);
    tsw_toolchain_t changed = find(root);
    assert_false(tsw_key_equal(original.key, changed.key));
    tsw_toolchain_fini(&changed);
    tsw_toolchain_fini(&moved);
    tsw_toolchain_fini(&original);
}

/* The only file of the folder, after checking that it is the only one. */
static const char *only_memo(const char *dir)
{
    tsw_names_t names = {0};
    assert_int_equal(tsw_dir_list(dir, &names, NULL), TSW_OK);
    assert_int_equal(names.count, 1);
    char name[128];
    snprintf(name, sizeof(name), "memo/%s", names.names[0]);
    tsw_names_fini(&names);
    return tsw_temp_path(name);
}

static tsw_key_t key_with_memo(const char *root, const char *dir)
{
    tsw_toolchain_t toolchain;
    assert_int_equal(tsw_toolchain_find(root, dir, &toolchain, NULL), TSW_OK);
    const tsw_key_t key = toolchain.key;
    tsw_toolchain_fini(&toolchain);
    return key;
}

static void test_key_is_remembered_until_a_file_changes(void **state)
{
    (void)state;
    const char *root = tsw_temp_path("root"), *dir = tsw_temp_path("memo");
    const tsw_key_t planted = tsw_key_of_text("planted");
    char digits[TSW_KEY_TEXT_SIZE], path[4096];
    make_root(root);
    snprintf(path, sizeof(path), "%s/lib/libnvvm.so.4", root);
    assert_int_equal(tsw_file_write_atomic(path, "x", 1, NULL), TSW_OK);
    tsw_toolchain_t plain = find(root);
    assert_true(tsw_key_equal(key_with_memo(root, dir), plain.key));

    const char *memo = only_memo(dir);
    tsw_key_format(planted, digits);
    assert_int_equal(tsw_file_write_atomic(memo, digits, strlen(digits), NULL), TSW_OK);
    assert_true(tsw_key_equal(key_with_memo(root, dir), planted));
    assert_int_equal(tsw_file_write_atomic(memo, digits, 7, NULL), TSW_OK); /* torn */
    assert_true(tsw_key_equal(key_with_memo(root, dir), plain.key));

    assert_int_equal(tsw_file_write_atomic(path, "y", 1, NULL), TSW_OK);
    tsw_toolchain_t changed = find(root);
    assert_false(tsw_key_equal(changed.key, plain.key));
    assert_true(tsw_key_equal(key_with_memo(root, dir), changed.key));
    /* A place where nothing can be kept does no harm. */
    assert_true(tsw_key_equal(key_with_memo(root, path), changed.key));
    tsw_toolchain_fini(&changed);
    tsw_toolchain_fini(&plain);
}

static void test_broken_nvrtc_is_reported(void **state)
{
    (void)state;
    const char *root = tsw_temp_path("root");
    char path[4096];
    snprintf(path, sizeof(path), "%s/lib", root);
    assert_int_equal(tsw_dir_make(path, NULL), TSW_OK);
    snprintf(path, sizeof(path), "%s/lib/libnvrtc.so.13", root);
    assert_int_equal(tsw_file_write_atomic(path, "junk", 4, NULL), TSW_OK);
    tsw_toolchain_t toolchain;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_toolchain_find(root, NULL, &toolchain, &err), TSW_ERR_ENV);
    assert_non_null(strstr(err.text, "NVRTC"));
}

static void test_failed_allocations_are_reported(void **state)
{
    (void)state;
    tsw_status_t status = TSW_ERR_NOMEM;
    for (long n = 1; status != TSW_OK; n++) {
        assert_true(n < 500);
        tsw_toolchain_t toolchain;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_mem_fail_at(n);
        status = tsw_toolchain_find(FAKE_ROOT, NULL, &toolchain, &err);
        tsw_mem_fail_at(0);
        /* a folder that could not be listed counts as one without the file: ENV or OK */
        if (status == TSW_OK && toolchain.tileiras == NULL) {
            tsw_toolchain_fini(&toolchain);
            status = TSW_ERR_NOMEM;
        } else if (status == TSW_OK) {
            tsw_toolchain_fini(&toolchain);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option_names_a_folder_with_everything),
        cmocka_unit_test(test_relative_folder_becomes_absolute),
        cmocka_unit_test(test_option_without_nvrtc_is_an_error_that_names_it),
        cmocka_unit_test(test_environment_is_used_in_its_order),
        cmocka_unit_test(test_chosen_place_that_is_empty_is_absence_with_its_reason),
        cmocka_unit_test_setup_teardown(test_plain_cuda_alone_has_no_tileiras, tsw_temp_dir_make,
                                        tsw_temp_dir_remove),
        cmocka_unit_test_setup_teardown(test_key_follows_the_bytes_not_the_folder,
                                        tsw_temp_dir_make, tsw_temp_dir_remove),
        cmocka_unit_test_setup_teardown(test_key_is_remembered_until_a_file_changes,
                                        tsw_temp_dir_make, tsw_temp_dir_remove),
        cmocka_unit_test_setup_teardown(test_broken_nvrtc_is_reported, tsw_temp_dir_make,
                                        tsw_temp_dir_remove),
        cmocka_unit_test(test_failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
