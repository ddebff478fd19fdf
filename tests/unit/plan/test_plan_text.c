#include "base/json.h"
#include "plan/plan.h"
#include "sample_job.h"
#include "sample_pack.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

/* f16 and e4m3 on sm_90 and sm_80, one large, one small and one empty shape. */
static tsw_plan_t *sample_plan(const tsw_pack_t *pack)
{
    static sample_job_t s;
    tsw_plan_t *plan = NULL;
    sample_job_init(&s);
    tsw_job_entry_t *entry = sample_job_entry(&s, pack);
    entry->dtypes[TSW_DTYPE_E4M3] = true;
    sample_job_shape(&s, 8192, 4096, 64);
    sample_job_shape(&s, 64, 4096, 64);
    sample_job_shape(&s, 0, 4096, 64);
    sample_job_shape(&s, 64, 4096, 64);
    assert_int_equal(tsw_plan_make(&s.job, &plan, NULL), TSW_OK);
    return plan;
}

static void check_has(const tsw_buf_t *text, const char *part)
{
    if (strstr(tsw_buf_text(text), part) == NULL)
        fail_msg("no \"%s\" in\n%s", part, tsw_buf_text(text));
}

static void test_print_tells_configs_filters_cells_and_builds(void **state)
{
    (void)state;
    tsw_pack_t *pack =
        sample_pack_new("lists:\n"
                        "  default:\n"
                        "    source: a test\n"
                        "    configs:\n"
                        "      - {TILE_M: [64, 96], TILE_N: 64, occupancy: 1, num_ctas: 1}\n"
                        "  sm_80:\n"
                        "    source: a test\n"
                        "    configs:\n"
                        "      - {TILE_M: 64, TILE_N: 64, occupancy: 1, num_ctas: [2, 4]}\n",
                        "");
    tsw_plan_t *plan = sample_plan(pack);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_plan_print(plan, &out);
    check_has(&out, "job sample, purpose release: 12 cells, 7 builds, key ");
    check_has(&out, "4 cells are asked for again");
    check_has(&out,
              "mini dtype=f16 causal=no D=64\n"
              "  sm_90      2 configs of 3: power_of_two removed 1 (a tile is no power of two)\n"
              "  sm_80      1 configs of 3: only the baseline is left: cluster removed 2 "
              "(sm_80 has no clusters)\n");
    check_has(&out, "sm_80      0 configs of 3: dtype removed 3 (sm_80 has no e4m3)");
    check_has(&out, "sm_90: 4 cells, 2 skipped: empty, about ");
    check_has(&out, "sm_80: 2 cells, 1 skipped: empty, 3 skipped: dtype not there, about ");
    check_has(&out, "M=0 N=4096 D=64: skipped: empty\n");
    check_has(&out, "builds: 4 of configs, 2 of references, 1 of the tool: 10 cubins, about ");
    const char *large = strstr(tsw_buf_text(&out), "M=8192");
    const char *small = strstr(tsw_buf_text(&out), "M=64");
    assert_true(large != NULL && small != NULL && large < small);
    tsw_buf_fini(&out);
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

static void test_json_parses_and_says_the_same(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    tsw_plan_t *plan = sample_plan(pack);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_plan_json(plan, &out);
    json_error_t fault;
    json_t *top = json_loads(tsw_buf_text(&out), JSON_REJECT_DUPLICATES, &fault);
    if (top == NULL)
        fail_msg("%d:%d: %s", fault.line, fault.column, fault.text);
    assert_int_equal(json_array_size(json_object_get(top, "cells")), plan->cell_count);
    assert_int_equal(json_array_size(json_object_get(top, "builds")), plan->build_count);
    assert_int_equal(json_array_size(json_object_get(top, "variants")), 2);
    const json_t *cell = json_array_get(json_object_get(top, "cells"), 0);
    assert_string_equal(json_string_value(json_object_get(cell, "shape")), "M=8192 N=4096 D=64");
    assert_int_equal(json_array_size(json_object_get(cell, "configs")), 8);
    const json_t *build = json_array_get(json_object_get(top, "builds"), 0);
    assert_string_equal(json_string_value(json_object_get(build, "kind")), "tool");
    json_decref(top);
    tsw_buf_fini(&out);
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

static void test_json_text_is_escaped(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_json_append_text(&out, "a\"b\\c\n\x01\xc3\xa9");
    assert_string_equal(tsw_buf_text(&out), "\"a\\\"b\\\\c\\u000a\\u0001\xc3\xa9\"");
    tsw_buf_clear(&out);
    tsw_json_append_real(&out, 0.1);
    tsw_buf_append_text(&out, " ");
    tsw_json_append_real(&out, -INFINITY);
    tsw_buf_append_text(&out, " ");
    tsw_json_append_real(&out, NAN);
    assert_string_equal(tsw_buf_text(&out), "0.1 null null");
    tsw_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print_tells_configs_filters_cells_and_builds),
        cmocka_unit_test(test_json_parses_and_says_the_same),
        cmocka_unit_test(test_json_text_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
