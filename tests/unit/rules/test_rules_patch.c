/* Patches of lists change nothing but them. */
#include "rules/patch.h"

#include "base/mem.h"
#include "rules_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const rows[] = {"{occupancy: 4}", "{occupancy: 3}"};

#define DEFAULT_LIST                                                                               \
    "  default:\n    source: tests\n    configs:\n      - {occupancy: [1, 2, 4, 8]}\n"
#define SM_90_LIST                                                                                 \
    "  sm_90:\n    source: old\n    configs:\n      - {occupancy: 4}\n      # a remark\n"          \
    "      - {occupancy: 2} # why\n\n"
#define NEW_LIST                                                                                   \
    "  sm_90:\n    source: \"new\"\n    configs:\n      - {occupancy: 4}\n      - {occupancy: "    \
    "3}\n"

/* What the base becomes, as the text behind the line of `lists:`. */
static void check_replace(const char *lists, const char *wanted)
{
    tsw_pack_t *pack = rules_pack_new(&rules_rows, DEFAULT_LIST, lists);
    tsw_buf_t out = TSW_BUF_INIT;
    assert_int_equal(tsw_patch_replace(pack, 90, "new", rows, 2, &out, NULL), TSW_OK);
    const char *before = (const char *)tsw_fileset_find(&pack->files, "kernel.yaml")->bytes;
    const char *after = tsw_buf_text(&out);
    size_t head = (size_t)(strstr(before, "lists:\n") - before) + strlen("lists:\n");
    assert_int_equal(memcmp(before, after, head), 0);
    assert_int_equal(strncmp(after + head, wanted, strlen(wanted)), 0);
    assert_string_equal(after + head + strlen(wanted), strstr(before, "tolerances:"));
    tsw_buf_fini(&out);
    tsw_pack_free(pack);
}

static void test_replace_when_the_arch_has_a_list_replaces_it_alone(void **state)
{
    (void)state;
    check_replace(SM_90_LIST DEFAULT_LIST, NEW_LIST "\n" DEFAULT_LIST);
    check_replace(DEFAULT_LIST SM_90_LIST, DEFAULT_LIST NEW_LIST "\n");
}

static void test_replace_when_the_arch_has_none_adds_one(void **state)
{
    (void)state;
    check_replace(DEFAULT_LIST, NEW_LIST DEFAULT_LIST);
}

#define HALF_LIST                                                                                  \
    "  default:\n    source: tests\n    baseline: {occupancy: 8}\n    configs:\n      - "          \
    "{occupancy: "                                                                                 \
    "[1, 8]}\n"

static void test_replace_keeps_the_baseline_of_the_list(void **state)
{
    (void)state;
    check_replace(HALF_LIST,
                  "  sm_90:\n    source: \"new\"\n    baseline: {occupancy: 8}\n    "
                  "configs:\n      - {occupancy: 4}\n      - {occupancy: 3}\n" HALF_LIST);
}

static void check_add_to(const char *old, const char *new_text, const char *wanted)
{
    tsw_pack_t *pack = rules_pack_new(&rules_rows, old, new_text);
    tsw_buf_t out = TSW_BUF_INIT;
    assert_int_equal(tsw_patch_add(pack, 90, "{occupancy: 3}", "coverage", &out, NULL), TSW_OK);
    if (strstr(tsw_buf_text(&out), wanted) == NULL)
        fail_msg("%s", tsw_buf_text(&out));
    tsw_buf_fini(&out);
    tsw_pack_free(pack);
}

static void check_add(const char *lists, const char *wanted)
{
    check_add_to(DEFAULT_LIST, lists, wanted);
}

static void test_add_behind_the_last_line_of_the_text_begins_a_new_one(void **state)
{
    (void)state;
    check_add_to("lists:\n" DEFAULT_LIST TSW_RULES_TAIL,
                 TSW_RULES_TAIL "lists:\n  sm_90:\n    source: a\n    configs:\n"
                                "      - {occupancy: [1, 2, 4, 8]}",
                 "      - {occupancy: [1, 2, 4, 8]}\n      - {occupancy: 3} # coverage\n");
}

static void test_add_appends_to_the_list_of_the_arch(void **state)
{
    (void)state;
    check_add(SM_90_LIST DEFAULT_LIST,
              "- {occupancy: 2} # why\n      - {occupancy: 3} # coverage\n");
    check_add(DEFAULT_LIST, "  sm_90:\n    source: \"the default list, and coverage\"\n    "
                            "configs:\n      - {occupancy: [1, 2, 4, 8]}\n      - {occupancy: 3} # "
                            "coverage\n" DEFAULT_LIST);
}

static void test_lists_that_are_not_blocks_are_refused(void **state)
{
    static const char *const lists[] = {
        "  default: {source: tests, configs: [{occupancy: [1, 2, 4, 8]}]}\n",
        "  {default: {source: tests, configs: [{occupancy: [1, 2, 4, 8]}]}}\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        tsw_pack_t *pack = rules_pack_new(&rules_rows, DEFAULT_LIST, lists[i]);
        tsw_buf_t out = TSW_BUF_INIT;
        tsw_err_t err = TSW_ERR_INIT;
        assert_int_equal(tsw_patch_replace(pack, 90, "new", rows, 2, &out, &err),
                         TSW_ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "kernel.yaml:"));
        assert_int_equal(tsw_patch_add(pack, 90, rows[0], "why", &out, &err), TSW_ERR_UNSUPPORTED);
        assert_int_equal(out.size, 0);
        tsw_buf_fini(&out);
        tsw_pack_free(pack);
    }
    static const char *const odd_rows[] = {
        "    configs:\n      - occupancy: 1\n      - occupancy: [2, 4, 8]\n",
        "    configs: [{occupancy: 1}, {occupancy: [2, 4, 8]}]\n",
    };
    for (size_t i = 0; i < sizeof(odd_rows) / sizeof(odd_rows[0]); i++) {
        for (uint32_t arch = 80; arch <= 90; arch += 10) { /* served by default, and its own */
            char list[256];
            snprintf(list, sizeof(list), "  default:\n    source: a\n%s  sm_90:\n    source: b\n%s",
                     odd_rows[i], odd_rows[i]);
            tsw_pack_t *pack = rules_pack_new(&rules_rows, DEFAULT_LIST, list);
            tsw_buf_t out = TSW_BUF_INIT;
            assert_int_equal(tsw_patch_add(pack, arch, rows[0], "why", &out, NULL),
                             TSW_ERR_UNSUPPORTED);
            tsw_buf_fini(&out);
            tsw_pack_free(pack);
        }
    }
}

static void check_diff(const char *before, const char *after, const char *wanted)
{
    tsw_buf_t out = TSW_BUF_INIT;
    assert_int_equal(tsw_patch_diff(before, after, "k", &out, NULL), TSW_OK);
    assert_string_equal(tsw_buf_text(&out), wanted);
    tsw_buf_fini(&out);
}

static void test_diff_is_what_patch_reads(void **state)
{
    (void)state;
    check_diff("a\nb\n", "a\nb\n", "");
    check_diff("", "a\n", "--- a/k\n+++ b/k\n@@ -0,0 +1,1 @@\n+a\n");
    check_diff("a\n", "", "--- a/k\n+++ b/k\n@@ -1,1 +0,0 @@\n-a\n");
    check_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
               "--- a/k\n+++ b/k\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
    check_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "x\n2\n3\n4\n5\n6\n7\n8\n9\ny\n",
               "--- a/k\n+++ b/k\n@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n"
               "@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+y\n");
    check_diff("1\n2\n3\n4\n5\n", "x\n2\n3\n4\ny\n",
               "--- a/k\n+++ b/k\n@@ -1,5 +1,5 @@\n-1\n+x\n 2\n 3\n 4\n-5\n+y\n");
    check_diff("a", "b",
               "--- a/k\n+++ b/k\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n"
               "+b\n\\ No newline at end of file\n");
}

static void test_allocation_when_one_fails_leaks_nothing(void **state)
{
    (void)state;
    for (long n = 1; n < 8; n++) {
        tsw_buf_t out = TSW_BUF_INIT;
        tsw_mem_fail_at(n);
        tsw_status_t status = tsw_patch_diff("a\nb\n", "a\nc\n", "k", &out, NULL);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
        tsw_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace_when_the_arch_has_a_list_replaces_it_alone),
        cmocka_unit_test(test_replace_when_the_arch_has_none_adds_one),
        cmocka_unit_test(test_replace_keeps_the_baseline_of_the_list),
        cmocka_unit_test(test_add_behind_the_last_line_of_the_text_begins_a_new_one),
        cmocka_unit_test(test_add_appends_to_the_list_of_the_arch),
        cmocka_unit_test(test_lists_that_are_not_blocks_are_refused),
        cmocka_unit_test(test_diff_is_what_patch_reads),
        cmocka_unit_test(test_allocation_when_one_fails_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
