/* What is told and never done. */
#include "rules/suggest.h"

#include "rules_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define KERNEL "void t("

/* part NULL: nothing is suggested. */
static void check(const rules_base_t *base, const char *old, const char *new_text,
                  tsw_suggest_facts_t facts, const char *part)
{
    tsw_pack_t *pack = rules_pack_new(base, old, new_text);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_suggest(pack, &facts, "- ", &out);
    if (part == NULL)
        assert_string_equal(tsw_buf_text(&out), "");
    else if (strstr(tsw_buf_text(&out), part) == NULL)
        fail_msg("'%s' is not in: %s", part, tsw_buf_text(&out));
    tsw_buf_fini(&out);
    tsw_pack_free(pack);
}

static const tsw_suggest_facts_t none = {.roof_ratio = 0};
static const tsw_suggest_facts_t losing = {.large_tiles_lose = true};
static const tsw_suggest_facts_t idle = {.has_idle_sms = true};
static const tsw_suggest_facts_t slow = {.roof_ratio = 0.5};
static const tsw_suggest_facts_t fast = {.roof_ratio = 0.9};

static void test_attention_when_large_tiles_lose_names_the_math(void **state)
{
    (void)state;
    check(&rules_matmul, "template: T3", "template: T5", losing, "worth 34 to 72 %");
    check(&rules_matmul, "template: T3", "template: T5", none, NULL);
    check(&rules_matmul, NULL, NULL, losing, NULL);
}

static void test_math_by_the_words_of_the_source(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(
        &rules_matmul, KERNEL, "/* round_approximate_t round_subnormals_to_zero_t */ " KERNEL);
    assert_true(tsw_suggest_math(pack).approximates && tsw_suggest_math(pack).flushes);
    pack->template_id = TSW_TEMPLATE_T8_VARLEN;
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_suggest(pack, &losing, "", &out);
    assert_string_equal(tsw_buf_text(&out), "");
    tsw_buf_fini(&out);
    tsw_pack_free(pack);
    pack = rules_pack_new(&rules_matmul, NULL, NULL);
    assert_false(tsw_suggest_math(pack).approximates || tsw_suggest_math(pack).flushes);
    tsw_pack_free(pack);
}

static void test_other_suggestions_by_source_and_facts(void **state)
{
    (void)state;
    check(&rules_rows, KERNEL, "/* ct::gather */ " KERNEL, none, "through views");
    check(&rules_rows, KERNEL, "/* x.load_masked( */ " KERNEL, slow, "bounds checks");
    check(&rules_rows, KERNEL, "/* x.load_masked( */ " KERNEL, fast, NULL);
    check(&rules_rows, KERNEL, "/* ct::select( */ " KERNEL, slow, "let the view pad");
    check(&rules_rows, NULL, NULL, slow, "far below the roof");
    check(&rules_matmul, NULL, NULL, idle, "split the loop over K");
    check(&rules_rows, NULL, NULL, idle, NULL);
    check(&rules_matmul, "template: T3", "template: T7", idle, "longest groups first");
}

static void test_tile_area_of_a_config(void **state)
{
    (void)state;
    tsw_pack_t *pack = rules_pack_new(&rules_matmul, NULL, NULL);
    assert_int_equal(
        tsw_suggest_tile_area(pack, "TILE_M=64 TILE_N=128 TILE_K=32 occupancy=1 num_ctas=1"), 8192);
    tsw_pack_free(pack);
    pack = rules_pack_new(&rules_rows, NULL, NULL);
    assert_int_equal(tsw_suggest_tile_area(pack, "occupancy=1"), 0);
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_when_large_tiles_lose_names_the_math),
        cmocka_unit_test(test_math_by_the_words_of_the_source),
        cmocka_unit_test(test_other_suggestions_by_source_and_facts),
        cmocka_unit_test(test_tile_area_of_a_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
