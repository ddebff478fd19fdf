/* Each rule on a pack that breaks exactly it. */
#include "rules/lint.h"

#include "base/file.h"
#include "base/mem.h"
#include "rules/widen.h"
#include "rules_lint.h"
#include "rules_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MATMUL_ROW "occupancy: [1, 2], num_ctas: 1}"
#define PAIR_ROW   "      - {TILE_M: 256, TILE_N: 128, TILE_K: 64, occupancy: 1, num_ctas: 2}\n"
#define SM_80                                                                                      \
    "  sm_80:\n    source: tests\n    configs:\n      - {TILE_M: [64, 128], TILE_N: [64, 128], "   \
    "TILE_K: 64, occupancy: [1, 2], num_ctas: 1}\n"

/* What is bent, and the one rule that then speaks. */
static const struct {
    const char *rule;
    const rules_base_t *base;
    const char *old, *new_text;
} cases[] = {
    {"no_num_ctas", &rules_rows,
     "hints: [occupancy]\nbaseline: {occupancy: 4}\nlists:\n  default:\n    source: tests\n    "
     "configs:\n      - {occupancy: [1, 2, 4, 8]}\n",
     "hints: [occupancy, num_ctas]\nbaseline: {occupancy: 4, num_ctas: 1}\nlists:\n  default:\n    "
     "source: tests\n    configs:\n      - {occupancy: [1, 2, 4, 8], num_ctas: "
     "1}\n"},
    {"fixed_block", &rules_rows,
     "tunables: {}\nhints: [occupancy]\nbaseline: {occupancy: 4}\nlists:\n  default:\n    source: "
     "tests\n    configs:\n      - {occupancy",
     "tunables:\n  BLOCK: {tile: true}\nconstraints:\n  - {name: c, keep: BLOCK > 0, reason: r}\n"
     "hints: [occupancy]\nbaseline: {BLOCK: 64, occupancy: 4}\nlists:\n  default:\n    source: "
     "tests\n    configs:\n      - {BLOCK: 64, occupancy"},
    {"only_tiles", &rules_matmul, "TILE_K: {tiles: K}", "TILE_K: {}"},
    {"size_guard", &rules_matmul, "TILE_K: {tiles: K}", "TILE_K: {tile: true}"},
    {"grid_formula", &rules_matmul, "ceildiv(M, TILE_M) *", "M *"},
    {"persistent_grid", &rules_rows, "NUM_SM * occupancy", "NUM_SM * 4"},
    {"persistent_grid", &rules_matmul, "template: T3", "template: T4"},
    {"math_flags", &rules_matmul, "options: []", "options: [--use_fast_math]"},
    {"split_buffers", &rules_rope, "DTYPE* Y", "DTYPE* __restrict__ Y"},
    {"split_buffers", &rules_rope, "const DTYPE* X, DTYPE* Y",
     "const pair<int, 2>* X, pair<int, 2>* __restrict__ Y"},
    {"hints_in_source", &rules_rows, "occupancy = OCCUPANCY", "occupancy = 4"},
    {"hint_for_arch", &rules_rows, "hint(0", "hint(900"},
    {"has_list", &rules_rows, "  default:", "  sm_90:"},
    {"empty_list", &rules_rows,
     "tolerances:", "constraints:\n  - {name: c, keep: occupancy == 4, reason: r}\ntolerances:"},
    {"at_most_30", &rules_matmul, "TILE_K: 64, occupancy: [1, 2]",
     "TILE_K: [16, 32, 64, 128], occupancy: [1, 2]"},
    {"baseline_listed", &rules_rows, "occupancy: 4}", "occupancy: 5}"},
    {"baseline_legal", &rules_matmul, "tolerances:",
     "constraints:\n  - {name: c, keep: TILE_M ~= 128 or TILE_N ~= 64, reason: r}\ntolerances:"},
    {"baseline_legal", &rules_matmul, "128, TILE_N: 64, TILE_K: 64, occupancy: 2, num_ctas: 1}",
     "256, TILE_N: 128, TILE_K: 64, occupancy: 1, num_ctas: 2}"}, /* where clusters lack */
    {"two_values", &rules_matmul,
     "hints: [occupancy, num_ctas]\nbaseline: {TILE_M: 128, TILE_N: 64, TILE_K: 64, occupancy: 2, "
     "num_ctas: 1}\noptions: []\nlists:\n  default:\n    source: tests\n    configs:\n"
     "      - {TILE_M: [64, 128], TILE_N: [64, 128], TILE_K: 64, " MATMUL_ROW "\n" PAIR_ROW,
     "hints: [num_ctas]\nbaseline: {TILE_M: 128, TILE_N: 64, TILE_K: 64, num_ctas: 1}\n"
     "lists:\n  default:\n    source: tests\n    configs:\n"
     "      - {TILE_M: [64, 128], TILE_N: [64, 128], TILE_K: 64, num_ctas: [1, 2]}\n"},
    {"two_values", &rules_matmul,
     "TILE_N: [64, 128], TILE_K: 64, occupancy: [1, 2], num_ctas: 1}\n"
     "      - {TILE_M: 256, TILE_N: 128",
     "TILE_N: 64, TILE_K: 64, occupancy: [1, 2], num_ctas: 1}\n      - {TILE_M: 256, TILE_N: 64"},
    {"two_values", &rules_matmul,
     "occupancy: [1, 2], num_ctas: 1}\n      - {TILE_M: 256, TILE_N: "
     "128, TILE_K: 64, occupancy: 1",
     "occupancy: 2, num_ctas: 1}\n      - {TILE_M: 256, TILE_N: 128, TILE_K: 64, occupancy: 2"},
    {"both_num_ctas", &rules_matmul, PAIR_ROW, ""},
    {"four_occupancies", &rules_rows, "[1, 2, 4, 8]", "[1, 2, 4]"},
    {"dual_occupancy", &rules_dual, "occupancy: [1, 2]", "occupancy: [1, 2, 4]"},
    {"dual_start", &rules_dual, "TILE_N: [64, 128]", "TILE_N: [32, 64]"},
    {"power_of_two", &rules_matmul, "TILE_M: [64, 128]", "TILE_M: [64, 96, 128]"},
    {"fp8_block", &rules_fp8, "TILE_M: [64, 128], TILE_K: 128",
     "TILE_M: [64, 128], TILE_K: [64, 128]"},
    {"ctas_have_clusters", &rules_matmul, "  default:",
     "  sm_80:\n    source: tests\n    configs:\n      - {TILE_M: [64, 128], TILE_N: [64, 128], "
     "TILE_K: 64, occupancy: [1, 2], num_ctas: [1, 2]}\n  default:"},
    {"exceptions", &rules_rows,
     "tolerances:", "exceptions:\n  - {rule: two_values, reason: r}\ntolerances:"},
    {"exceptions", &rules_rows,
     "tolerances:", "exceptions:\n  - {rule: no_such_rule, reason: r}\ntolerances:"},
    {"exceptions", &rules_rows,
     "tolerances:", "exceptions:\n  - {rule: exceptions, reason: r}\ntolerances:"},
};
enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

static void test_clean_packs_have_no_finding(void **state)
{
    const rules_base_t *const bases[] = {&rules_matmul, &rules_rows, &rules_rope, &rules_fp8,
                                         &rules_dual};
    (void)state;
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        tsw_pack_t *pack = rules_pack_new(bases[i], NULL, NULL);
        tsw_lint_t lint = rules_lint_of(pack);
        if (lint.count > 0)
            fail_msg("base %zu: %s: %s", i, lint.findings[0].rule, lint.findings[0].text);
        tsw_lint_fini(&lint);
        tsw_pack_free(pack);
    }
}

static void test_sources_that_hint_for_all_archs_are_clean(void **state)
{
    static const char *const hints[] = {
        "hint(0, occupancy = OCCUPANCY), hint(900, occupancy = OCCUPANCY)",
        "hint(900, occupancy = OCCUPANCY), hint(0, occupancy = OCCUPANCY)",
        "hint(900, num_ctas = (2)), other(OCCUPANCY)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        tsw_pack_t *pack = rules_pack_new(&rules_rows, "hint(0, occupancy = OCCUPANCY)", hints[i]);
        tsw_lint_t lint = rules_lint_of(pack);
        if (lint.count > 0)
            fail_msg("%s: %s", hints[i], lint.findings[0].text);
        tsw_lint_fini(&lint);
        tsw_pack_free(pack);
    }
}

/* Rows that are proposed mend what they are for, and break no other rule. */
static void check_widened(const tsw_pack_t *pack, const char *rule)
{
    tsw_pack_t *wider = NULL;
    size_t left = 0;
    assert_int_equal(tsw_widen(pack, NULL, 0, &wider, &left, NULL), TSW_OK);
    tsw_lint_t lint = rules_lint_of(wider);
    assert_int_equal(lint.open, left);
    for (size_t k = 0; k < lint.count; k++) {
        assert_string_equal(lint.findings[k].rule, rule);
        assert_null(lint.findings[k].row);
    }
    tsw_lint_fini(&lint);
    tsw_pack_free(wider);
}

static void check_case(size_t i)
{
    tsw_pack_t *pack = rules_pack_new(cases[i].base, cases[i].old, cases[i].new_text);
    tsw_lint_t lint = rules_lint_of(pack);
    if (lint.open == 0)
        fail_msg("case %zu: %s says nothing", i, cases[i].rule);
    for (size_t k = 0; k < lint.count; k++) {
        const tsw_finding_t *finding = &lint.findings[k];
        if (strcmp(finding->rule, cases[i].rule) != 0)
            fail_msg("case %zu, wanted %s alone: %s: %s", i, cases[i].rule, finding->rule,
                     finding->text);
        assert_non_null(finding->fix);
        assert_string_equal(finding->place.file, "kernel.yaml");
        assert_true(finding->place.line > 0);
    }
    check_widened(pack, cases[i].rule);
    tsw_lint_fini(&lint);
    tsw_pack_free(pack);
}

static void test_each_rule_when_broken_speaks_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++)
        check_case(i);
}

/* A matmul that calls itself memory-bound loses its tiles, so other rules speak too. */
static void test_kind_fits_when_class_belies_template(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_matmul, "class: compute", "class: memory");
    tsw_lint_t lint = rules_lint_of(pack);
    assert_true(lint.open > 0);
    assert_string_equal(lint.findings[0].rule, "kind_fits");
    tsw_lint_fini(&lint);
    tsw_pack_free(pack);
}

/* Rules of tables have tests of their own. */
static void test_every_rule_has_a_case(void **state)
{
    static const char *const elsewhere[] = {"kind_fits",    "at_most_8", "baseline_first",
                                            "release_only", "fallback",  "same_pack"};
    tsw_rule_t rule;
    size_t named = 0;
    (void)state;
    for (size_t i = 0; tsw_lint_rule(i, &rule); i++) {
        bool found = false;
        for (size_t k = 0; k < CASE_COUNT; k++)
            found = found || strcmp(cases[k].rule, rule.name) == 0;
        for (size_t k = 0; k < sizeof(elsewhere) / sizeof(elsewhere[0]); k++)
            found = found || strcmp(elsewhere[k], rule.name) == 0;
        if (!found)
            fail_msg("rule %s has no test", rule.name);
        named += found;
    }
    assert_int_equal(named, 30);
}

static void test_docs_name_every_rule(void **state)
{
    tsw_buf_t page = TSW_BUF_INIT;
    tsw_rule_t rule;
    (void)state;
    assert_int_equal(tsw_file_read(TSW_SOURCE_DIR "/docs/rules.md", &page, NULL), TSW_OK);
    for (size_t i = 0; tsw_lint_rule(i, &rule); i++) {
        char row[80];
        snprintf(row, sizeof(row), "| %s | `%s` |", rule.number, rule.name);
        if (strstr(tsw_buf_text(&page), row) == NULL)
            fail_msg("docs/rules.md lacks '%s'", row);
    }
    tsw_buf_fini(&page);
}

static void check_exception(const char *rule, const char *text)
{
    char exception[128];
    snprintf(exception, sizeof(exception),
             "exceptions:\n  - {rule: %s, reason: r}\ntolerances:", rule);
    tsw_pack_t *pack = rules_pack_new(&rules_rows, "tolerances:", exception);
    tsw_lint_t lint = rules_lint_of(pack);
    assert_int_equal(lint.count, 1);
    assert_string_equal(lint.findings[0].text, text);
    tsw_lint_fini(&lint);
    tsw_pack_free(pack);
}

static void test_exceptions_of_no_use_are_told_from_misspelt_ones(void **state)
{
    (void)state;
    check_exception("two_values", "no exception from two_values is needed");
    check_exception("two_value", "there is no rule 'two_value' (did you mean 'two_values'?)");
    check_exception("x", "there is no rule 'x'");
}

static void test_exception_for_every_arch_leaves_nothing_to_say(void **state)
{
    (void)state;
    tsw_pack_t *pack =
        rules_pack_new(&rules_rows, "[1, 2, 4, 8]}\n",
                       "[1, 2, 4]}\nexceptions:\n  - {rule: four_occupancies, reason: no room}\n");
    tsw_lint_t lint = rules_lint_of(pack);
    assert_int_equal(lint.count, 1);
    assert_int_equal(lint.open, 0);
    tsw_lint_fini(&lint);
    tsw_pack_free(pack);
}

/* Of two dtypes, two values of a flag and a static dim: a filter leaves the whole list, or, of some
 * variant, nothing but the baseline. */
static void check_variants(const char *keep, size_t wanted)
{
    const char *rows = rules_rows.yaml;
    tsw_buf_t yaml = TSW_BUF_INIT;
    tsw_buf_printf(&yaml,
                   "%.*sdims: [M, D]\nstatic: [D]\nflags: {causal: [0, 1]}\ndtypes: [f16, f32]\n"
                   "constraints:\n  - {name: c, keep: \"occupancy == 4 or %s\", reason: r}\n%s",
                   (int)(strstr(rows, "dims:") - rows), rows, keep, strstr(rows, "args:"));
    const rules_base_t base = {tsw_buf_text(&yaml), rules_rows.source};
    tsw_pack_t *pack =
        rules_pack_new(&base, "tolerances:\n", "tolerances:\n  f32: {atol: 0.1, rtol: 0.01}\n");
    tsw_lint_t lint = rules_lint_of(pack);
    assert_int_equal(lint.count, wanted);
    if (wanted > 0) { /* the same for each variant and arch */
        assert_string_equal(lint.findings[0].rule, "empty_list");
        assert_string_equal(lint.findings[0].archs,
                            "sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_120");
    }
    tsw_lint_fini(&lint);
    tsw_pack_free(pack);
    tsw_buf_fini(&yaml);
}

static void test_lists_are_asked_for_every_variant(void **state)
{
    (void)state;
    check_variants("ELEM_BYTES > 0 and D == 128", 0);
    check_variants("ELEM_BYTES == 2", 1);
    check_variants("ELEM_BYTES == 4", 1);
    check_variants("causal == 0", 1);
    check_variants("causal == 1", 1);
    check_variants("D ~= 128", 1);
}

static void test_exception_when_stated_keeps_the_finding_closed(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(
        &rules_rows, "[1, 2, 4, 8]}\n",
        "[1, 2, 4]}\nexceptions:\n  - {rule: four_occupancies, arch: sm_80, reason: no room}\n");
    tsw_lint_t lint = rules_lint_of(pack);
    assert_int_equal(lint.count, 2);
    assert_int_equal(lint.open, 1);
    assert_string_equal(lint.findings[0].archs, "sm_80");
    assert_string_equal(lint.findings[0].reason, "no room");
    assert_false(tsw_finding_is_coverage(&lint.findings[0]));
    assert_null(lint.findings[1].reason);
    assert_string_equal(lint.findings[1].archs, "sm_86, sm_89, sm_90, sm_100, sm_103, sm_120");
    assert_true(tsw_finding_is_coverage(&lint.findings[1]));
    tsw_lint_fini(&lint);
    tsw_pack_free(pack);
}

static void test_coverage_when_missing_proposes_a_row(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_matmul, PAIR_ROW, "");
    tsw_lint_t lint = rules_lint_of(pack);
    assert_int_equal(lint.count, 1);
    assert_string_equal(lint.findings[0].row,
                        "{TILE_M: 128, TILE_N: 64, TILE_K: 64, occupancy: 2, num_ctas: 2}");
    assert_string_equal(lint.findings[0].archs, "sm_100, sm_103, sm_120");
    tsw_lint_fini(&lint);
    tsw_pack_free(pack);
}

/* Every entry of the router is named by some rule. */
static void test_messages_lead_to_all_five_entries(void **state)
{
    bool seen[TSW_ENTRY_COUNT] = {false};
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        tsw_pack_t *pack = rules_pack_new(cases[i].base, cases[i].old, cases[i].new_text);
        tsw_lint_t lint = rules_lint_of(pack);
        for (size_t k = 0; k < lint.count; k++)
            seen[lint.findings[k].entry] = true;
        tsw_lint_fini(&lint);
        tsw_pack_free(pack);
    }
    for (int i = 0; i < TSW_ENTRY_COUNT; i++) {
        assert_true(seen[i]);
        assert_non_null(strstr(tsw_entry_anchor((tsw_entry_t)i), "docs/rules.md#"));
    }
}

static void test_expression_when_it_fails_is_an_error(void **state)
{
    (void)state;
    tsw_lint_t lint = {0};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_pack_t *pack = rules_pack_new(
        &rules_rows, "tolerances:",
        "constraints:\n  - {name: c, keep: occupancy // 0 > 1, reason: r}\ntolerances:");
    assert_int_not_equal(tsw_lint_pack(pack, &lint, &err), TSW_OK);
    assert_null(lint.findings);
    tsw_pack_free(pack);
}

static void test_allocation_when_one_fails_leaks_nothing(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_matmul, PAIR_ROW, "");
    for (long n = 1; n < 40; n++) {
        tsw_lint_t lint = {0};
        tsw_err_t err = TSW_ERR_INIT;
        tsw_mem_fail_at(n);
        tsw_status_t status = tsw_lint_pack(pack, &lint, &err);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
        tsw_lint_fini(&lint);
    }
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean_packs_have_no_finding),
        cmocka_unit_test(test_sources_that_hint_for_all_archs_are_clean),
        cmocka_unit_test(test_each_rule_when_broken_speaks_alone),
        cmocka_unit_test(test_kind_fits_when_class_belies_template),
        cmocka_unit_test(test_every_rule_has_a_case),
        cmocka_unit_test(test_docs_name_every_rule),
        cmocka_unit_test(test_exceptions_of_no_use_are_told_from_misspelt_ones),
        cmocka_unit_test(test_exception_for_every_arch_leaves_nothing_to_say),
        cmocka_unit_test(test_lists_are_asked_for_every_variant),
        cmocka_unit_test(test_exception_when_stated_keeps_the_finding_closed),
        cmocka_unit_test(test_coverage_when_missing_proposes_a_row),
        cmocka_unit_test(test_messages_lead_to_all_five_entries),
        cmocka_unit_test(test_expression_when_it_fails_is_an_error),
        cmocka_unit_test(test_allocation_when_one_fails_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
