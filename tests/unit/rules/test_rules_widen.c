/* Lists that lack something, widened: the lint of the result is content. */
#include "rules/widen.h"

#include "base/mem.h"
#include "rules_lint.h"
#include "rules_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MATMUL_ROWS                                                                                \
    "      - {TILE_M: [64, 128], TILE_N: [64, 128], TILE_K: 64, occupancy: [1, 2], num_ctas: 1}\n" \
    "      - {TILE_M: 256, TILE_N: 128, TILE_K: 64, occupancy: 1, num_ctas: 2}\n"
#define DUAL_ROW                                                                                   \
    "      - {TILE_M: [64, 128], TILE_N: [64, 128], occupancy: [1, 2], num_ctas: [1, 2]}\n"
#define CONSTRAINT(_keep) "constraints:\n  - {name: c, keep: " _keep ", reason: r}\n"

/* The rule that speaks. Lists are default ones, that serve archs with
 * clusters and without. */
static const struct {
    const char *rule;
    const rules_base_t *base;
    const char *old, *new_text;
} cases[] = {
    {"baseline_listed", &rules_rows, "occupancy: 4}", "occupancy: 5}"},
    {"baseline_listed", &rules_matmul, MATMUL_ROWS,
     "      - {TILE_M: [64, 256], TILE_N: [64, 128], TILE_K: 64, occupancy: [1, 2], num_ctas: [1, "
     "2]}\n"},
    {"four_occupancies", &rules_rows, "[1, 2, 4, 8]", "[4, 8]"},
    {"both_num_ctas", &rules_matmul, "occupancy: 1, num_ctas: 2}", "occupancy: 1, num_ctas: 1}"},
    {"both_num_ctas", &rules_fp8, "[1, 2], num_ctas: [1, 2]}", "[1, 2], num_ctas: 1}"},
    {"both_num_ctas", &rules_dual, "num_ctas: [1, 2]}", "num_ctas: 1}"},
    /* The baseline with num_ctas 2 is not legal, another config is. */
    {"both_num_ctas", &rules_dual, DUAL_ROW TSW_RULES_TAIL,
     "      - {TILE_M: [64, 128], TILE_N: [64, 128], occupancy: [1, 2], num_ctas: 1}\n" CONSTRAINT(
         "num_ctas == 1 or TILE_M == 64") TSW_RULES_TAIL},
    /* Only pairs of CTAs have the second value, which archs without clusters lose. */
    {"two_values", &rules_matmul, MATMUL_ROWS,
     "      - {TILE_M: 128, TILE_N: [64, 128], TILE_K: 64, occupancy: [1, 2], num_ctas: [1, 2]} # "
     "kept\n"
     "      - {TILE_M: 256, TILE_N: 128, TILE_K: 64, occupancy: 1, num_ctas: 2}\n"},
    {"two_values", &rules_matmul, MATMUL_ROWS,
     "      - {TILE_M: [64, 128], TILE_N: 64, TILE_K: 64, occupancy: 2, num_ctas: [1, 2, 4]}\n"},
    /* The next value is not legal: 32 of 64 for TILE_N, 4 of 2 for the occupancy. */
    {"two_values", &rules_matmul, MATMUL_ROWS TSW_RULES_TAIL,
     "      - {TILE_M: [64, 128], TILE_N: 64, TILE_K: 64, occupancy: 2, num_ctas: [1, 2]}\n" //
     CONSTRAINT("TILE_N >= 64 and occupancy <= 2") TSW_RULES_TAIL},
    {"two_values", &rules_dual, DUAL_ROW,
     "      - {TILE_M: 128, TILE_N: 64, occupancy: 1, num_ctas: [1, 2]}\n"
     "      - {TILE_M: 128, TILE_N: 128, occupancy: 1, num_ctas: [1, 2]}\n"},
};
enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

static tsw_pack_t *widen(const tsw_pack_t *pack, size_t *left_p)
{
    tsw_pack_t *wider = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_widen(pack, NULL, 0, &wider, left_p, &err) != TSW_OK)
        fail_msg("%s", err.text);
    return wider;
}

static const char *text_of(const tsw_pack_t *pack)
{
    return (const char *)tsw_fileset_find(&pack->files, "kernel.yaml")->bytes;
}

static void test_widened_packs_have_no_finding(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        tsw_pack_t *pack = rules_pack_new(cases[i].base, cases[i].old, cases[i].new_text);
        tsw_lint_t lint = rules_lint_of(pack);
        if (lint.open == 0 || strcmp(lint.findings[0].rule, cases[i].rule) != 0)
            fail_msg("case %zu: not %s", i, cases[i].rule);
        tsw_lint_fini(&lint);
        size_t left = 99;
        tsw_pack_t *wider = widen(pack, &left);
        lint = rules_lint_of(wider);
        if (lint.count > 0 || left > 0)
            fail_msg("case %zu, %zu left: %s on %s: %s\n%s", i, left, lint.findings[0].rule,
                     lint.findings[0].archs, lint.findings[0].text, text_of(wider));
        tsw_lint_fini(&lint);
        tsw_pack_free(wider);
        tsw_pack_free(pack);
    }
}

static void test_rows_for_an_arch_without_clusters_lose_theirs(void **state)
{
    (void)state;
    size_t left = 0;
    tsw_pack_t *pack = rules_pack_new(cases[7].base, cases[7].old, cases[7].new_text);
    tsw_pack_t *wider = widen(pack, &left);
    assert_non_null(strstr(
        text_of(wider), "  sm_80:\n    source: \"the default list, and coverage\"\n    configs:\n"
                        "      - {TILE_M: 128, TILE_N: [64, 128], TILE_K: 64, occupancy: [1, 2], "
                        "num_ctas: 1} # kept\n"
                        "      - {TILE_M: 64, TILE_N: 64, TILE_K: 64, occupancy: 2, num_ctas: 1} "
                        "# coverage: two_values\n  sm_86:\n"));
    tsw_pack_free(wider);
    tsw_pack_free(pack);
}

/* What no row can mend stays, and costs no row: nothing legal is left, or the list is full. */
static void test_what_no_row_can_mend_stays(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new_text;
    } stuck[] = {
        {MATMUL_ROWS TSW_RULES_TAIL,
         "      - {TILE_M: [64, 128], TILE_N: 64, TILE_K: 64, occupancy: [1, 2], num_ctas: [1, "
         "2]}\n" CONSTRAINT("TILE_N == 64") TSW_RULES_TAIL},
        {MATMUL_ROWS,
         "      - {TILE_M: [32, 64, 128], TILE_N: [32, 64, 128], TILE_K: 64, occupancy: [1, 2, 4], "
         "num_ctas: 1}\n"
         "      - {TILE_M: 256, TILE_N: [32, 64, 128], TILE_K: 64, occupancy: 1, num_ctas: 1}\n"},
    };
    for (size_t i = 0; i < 2; i++) {
        tsw_pack_t *pack = rules_pack_new(&rules_matmul, stuck[i].old, stuck[i].new_text);
        size_t left = 0;
        tsw_pack_t *wider = widen(pack, &left);
        assert_int_equal(left, 1);
        assert_string_equal(text_of(wider), text_of(pack));
        tsw_pack_free(wider);
        tsw_pack_free(pack);
    }
}

/* As a promoted list is: in other words than the pack's, and for its arch alone. */
static void test_one_arch_is_widened_alone(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_rows, NULL, NULL);
    tsw_pack_t *bent = rules_pack_new(
        &rules_rows,
        "  default:\n    source: tests\n    configs:\n      - {occupancy: [1, 2, 4, 8]}",
        "  sm_90:\n    source: best\n    configs:\n      - {occupancy: [4, 8]}\n"
        "  default:\n    source: tests\n    configs:\n      - {occupancy: [1, 2, 4]}");
    tsw_pack_t *wider = NULL;
    size_t left = 0;
    assert_int_equal(tsw_widen(pack, text_of(bent), 90, &wider, &left, NULL), TSW_OK);
    assert_int_equal(left, 1);
    assert_non_null(strstr(text_of(wider), "      - {occupancy: [4, 8]}\n"
                                           "      - {occupancy: 1} # coverage: four_occupancies\n"
                                           "      - {occupancy: 2} # coverage: four_occupancies\n"
                                           "  default:\n    source: tests\n"
                                           "    configs:\n      - {occupancy: [1, 2, 4]}\n"));
    tsw_pack_free(wider);
    tsw_pack_free(bent);
    tsw_pack_free(pack);
}

static void test_allocation_when_one_fails_leaks_nothing(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(cases[2].base, cases[2].old, cases[2].new_text);
    for (long n = 1; n < 3000; n += 7) {
        tsw_pack_t *wider = NULL;
        size_t left = 0;
        tsw_mem_fail_at(n);
        tsw_status_t status = tsw_widen(pack, NULL, 0, &wider, &left, NULL);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
        tsw_pack_free(wider);
    }
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widened_packs_have_no_finding),
        cmocka_unit_test(test_rows_for_an_arch_without_clusters_lose_theirs),
        cmocka_unit_test(test_what_no_row_can_mend_stays),
        cmocka_unit_test(test_one_arch_is_widened_alone),
        cmocka_unit_test(test_allocation_when_one_fails_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
