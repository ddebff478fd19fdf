/* What a release never searches is refused by its rule, and found by the lint under the same name.
 */
#include "rules_pack.h"
#include "space/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ROWS_LIST                                                                                  \
    "hints: [occupancy]\nbaseline: {occupancy: 4}\nlists:\n  default:\n    source: tests\n"        \
    "    configs:\n      - {occupancy: [1, 2, 4, 8]}\n"
#define ROWS_WITH_CTAS(_values)                                                                    \
    "hints: [occupancy, num_ctas]\nbaseline: {occupancy: 4, num_ctas: 1}\nlists:\n  default:\n"    \
    "    source: tests\n    configs:\n      - {occupancy: [1, 2, 4, 8], num_ctas: " _values "}\n"
#define ROWS_BLOCK_HEAD                                                                            \
    "tunables: {}\nhints: [occupancy]\nbaseline: {occupancy: 4}\nlists:\n  default:\n    source: " \
    "tests\n    configs:\n      - {occupancy"
#define ROWS_WITH_BLOCK(_values)                                                                   \
    "tunables:\n  BLOCK: {tile: true}\nhints: [occupancy]\nbaseline: {BLOCK: 64, occupancy: 4}\n"  \
    "lists:\n  default:\n    source: tests\n    configs:\n      - {BLOCK: " _values ", occupancy"
#define MATMUL_HEAD(_tunable)                                                                      \
    "TILE_K: " _tunable                                                                            \
    "\nhints: [occupancy, num_ctas]\nbaseline: {TILE_M: 128, TILE_N: 64, TILE_K: 64, occupancy: "  \
    "2, num_ctas: 1}\noptions: []\nlists:\n  default:\n    source: tests\n    configs:\n      - "  \
    "{TILE_M: [64, 128], TILE_N: [64, 128], TILE_K: "
#define DUAL_ROW "occupancy: [1, 2], num_ctas"

/* A pack that breaks a rule. */
typedef struct {
    const char *rule; /* number and name */
    const char *place;
    const rules_base_t *base;
    const char *old, *new_text;
} case_t;

static const case_t cases[] = {
    {"R9 no_num_ctas", "pack t, kernel.yaml:16: ", &rules_rows, ROWS_LIST,
     ROWS_WITH_CTAS("[1, 2]")},
    {"R10 fixed_block", "pack t, kernel.yaml:16: ", &rules_rows, ROWS_BLOCK_HEAD,
     ROWS_WITH_BLOCK("[64, 128]")},
    {"R28 only_tiles", "pack t, kernel.yaml:18: ", &rules_matmul, MATMUL_HEAD("{tiles: K}") "64",
     MATMUL_HEAD("{}") "[32, 64]"},
    {"R5 dual_occupancy", "pack t, kernel.yaml:21: ", &rules_dual, DUAL_ROW,
     "occupancy: [1, 2, 4], num_ctas"},
};
enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

static tsw_pack_t *pack_of(const case_t *one)
{
    return rules_pack_new(one->base, one->old, one->new_text);
}

static tsw_status_t make(const tsw_pack_t *pack, tsw_purpose_t purpose, tsw_err_t *err)
{
    const tsw_variant_t variant = {.pack = pack, .dtype = TSW_DTYPE_F16};
    tsw_space_t space = {0};
    tsw_eval_t *eval = NULL;
    assert_int_equal(tsw_eval_new(&eval, NULL), TSW_OK);
    tsw_status_t status = tsw_space_make(&variant, 90, purpose, NULL, eval, &space, err);
    tsw_space_fini(&space);
    tsw_eval_free(eval);
    return status;
}

static void test_release_refuses_what_the_kind_forbids(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        tsw_pack_t *pack = pack_of(&cases[i]);
        tsw_err_t err = TSW_ERR_INIT;
        assert_int_equal(make(pack, TSW_PURPOSE_RELEASE, &err), TSW_ERR_INPUT);
        if (strstr(err.text, cases[i].rule) == NULL || strstr(err.text, cases[i].place) != err.text)
            fail_msg("case %zu: %s", i, err.text);
        tsw_pack_free(pack);
    }
}

static void test_research_and_the_fixed_config_are_free(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        tsw_pack_t *pack = pack_of(&cases[i]);
        assert_int_equal(make(pack, TSW_PURPOSE_RESEARCH, NULL), TSW_OK);
        assert_int_equal(make(pack, TSW_PURPOSE_FIXED, NULL), TSW_OK);
        tsw_pack_free(pack);
    }
}

static void test_an_exception_of_the_pack_lets_it_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT; i++) {
        tsw_pack_t *pack = pack_of(&cases[i]);
        char name[32];
        snprintf(name, sizeof(name), "%s", strchr(cases[i].rule, ' ') + 1);
        tsw_exception_t exception = {.rule = name, .reason = name};
        tsw_exception_t *own = pack->exceptions;
        pack->exceptions = &exception;
        pack->exception_count = 1;
        assert_int_equal(make(pack, TSW_PURPOSE_RELEASE, NULL), TSW_OK);
        exception.arch = 80;
        assert_int_equal(make(pack, TSW_PURPOSE_RELEASE, NULL), TSW_ERR_INPUT);
        pack->exceptions = own;
        pack->exception_count = 0;
        tsw_pack_free(pack);
    }
}

/* A tunable with one value is a constant. */
static void test_what_has_one_value_is_not_searched(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_rows, ROWS_LIST, ROWS_WITH_CTAS("1"));
    assert_int_equal(make(pack, TSW_PURPOSE_RELEASE, NULL), TSW_OK);
    tsw_pack_free(pack);
    pack = rules_pack_new(&rules_rows, ROWS_BLOCK_HEAD, ROWS_WITH_BLOCK("64"));
    assert_int_equal(make(pack, TSW_PURPOSE_RELEASE, NULL), TSW_OK);
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release_refuses_what_the_kind_forbids),
        cmocka_unit_test(test_research_and_the_fixed_config_are_free),
        cmocka_unit_test(test_an_exception_of_the_pack_lets_it_pass),
        cmocka_unit_test(test_what_has_one_value_is_not_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
