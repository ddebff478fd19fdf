#include "base/mem.h"
#include "plan/plan.h"
#include "sample_job.h"
#include "sample_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static tsw_plan_t *make_ok(const sample_job_t *s)
{
    tsw_plan_t *plan = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_plan_make(&s->job, &plan, &err) != TSW_OK)
        fail_msg("%s", err.text);
    return plan;
}

static void check_refused(const sample_job_t *s, const char *part)
{
    tsw_plan_t *plan = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_plan_make(&s->job, &plan, &err), TSW_ERR_INPUT);
    if (strstr(err.text, part) == NULL)
        fail_msg("\"%s\" does not have \"%s\"", err.text, part);
    assert_null(plan);
}

static void test_make_orders_cells_by_cost_within_an_arch(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    sample_job_init(&s);
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 256, 256, 64);
    sample_job_shape(&s, 8192, 8192, 64);
    sample_job_shape(&s, 2048, 2048, 64);
    tsw_plan_t *plan = make_ok(&s);
    assert_int_equal(plan->cell_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        const tsw_cell_t *cell = &plan->cells[i];
        assert_int_equal(cell->id, i);
        assert_int_equal(cell->arch_index, i / 3);
        assert_int_equal(cell->dims[0], i % 3 == 0 ? 8192 : i % 3 == 1 ? 2048 : 256);
        assert_int_equal(cell->configs[0], 0);
        assert_int_equal(cell->config_count, 8);
        assert_true(cell->cost_ns > 0.0);
        assert_true(cell->flops == 2.0 * (double)(cell->dims[0] * cell->dims[1] * 64));
    }
    assert_true(plan->cells[3].cost_ns > plan->cells[0].cost_ns); /* the slower arch */
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

static void test_make_builds_each_config_once_for_all_archs(void **state)
{
    (void)state;
    tsw_pack_t *pack =
        sample_pack_new("lists:\n"
                        "  sm_90:\n"
                        "    source: a test\n"
                        "    configs:\n"
                        "      - {TILE_M: 64, TILE_N: 64, occupancy: 1, num_ctas: [1, 2]}\n"
                        "  default:\n"
                        "    source: a test\n"
                        "    configs:\n"
                        "      - {TILE_M: 64, TILE_N: [64, 32], occupancy: 1, num_ctas: 1}\n",
                        "");
    sample_job_t s;
    sample_job_init(&s);
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 256, 256, 64);
    sample_job_shape(&s, 512, 512, 64);
    tsw_plan_t *plan = make_ok(&s);
    assert_int_equal(plan->variant_count, 1);
    const tsw_plan_variant_t *v = &plan->variants[0];
    assert_int_equal(v->config_count, 4); /* baseline, two of sm_90, one more of sm_80 */
    assert_int_equal(plan->build_count, 2 + 4);
    assert_int_equal(plan->builds[0].kind, TSW_BUILD_TOOL);
    assert_int_equal(plan->builds[0].arch_mask, 3);
    assert_int_equal(plan->builds[1].kind, TSW_BUILD_REFERENCE);
    assert_int_equal(v->reference_build, 1);
    static const uint32_t masks[] = {3, 3, 1, 2};
    for (uint32_t i = 0; i < 4; i++) {
        const tsw_build_t *build = &plan->builds[v->config_builds[i]];
        assert_int_equal(build->id, v->config_builds[i]);
        assert_int_equal(build->kind, TSW_BUILD_CONFIG);
        assert_int_equal(build->config, i);
        assert_int_equal(build->arch_mask, masks[i]);
        for (uint32_t j = 0; j < build->id; j++)
            assert_false(tsw_key_equal(plan->builds[j].key, build->key));
    }
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

/* Each arch starts with its own, and builds nothing for that of the other. */
static void test_make_begins_with_the_baseline_of_the_arch(void **state)
{
    (void)state;
    tsw_pack_t *pack =
        sample_pack_new("lists:\n"
                        "  sm_90:\n"
                        "    source: a test\n"
                        "    configs:\n"
                        "      - {TILE_M: 64, TILE_N: 64, occupancy: 1, num_ctas: 1}\n"
                        "  sm_80:\n"
                        "    source: a test\n"
                        "    baseline: {TILE_M: 32, TILE_N: 32, occupancy: 1, num_ctas: 1}\n"
                        "    configs:\n"
                        "      - {TILE_M: [64, 32], TILE_N: 32, occupancy: 1, num_ctas: 1}\n",
                        "");
    sample_job_t s;
    sample_job_init(&s);
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 256, 256, 64);
    tsw_plan_t *plan = make_ok(&s);
    const tsw_plan_variant_t *v = &plan->variants[0];
    static const int64_t first[] = {128, 32};
    assert_int_equal(plan->cell_count, 2);
    for (uint32_t a = 0; a < 2; a++) {
        const tsw_cell_t *cell = &plan->cells[a];
        uint32_t at = cell->configs[0];
        assert_int_equal(cell->config_count, 2);
        assert_int_equal(cell->order[0], 0);
        assert_int_equal(v->configs[at].values[0], first[cell->arch_index]);
        assert_int_equal(plan->builds[v->config_builds[at]].arch_mask, 1u << cell->arch_index);
    }
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

static void count_build(void *user, uint32_t build)
{
    uint32_t *counts = user;
    counts[build]++;
}

static void test_make_of_a_compile_only_arch_needs_configs_alone(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    sample_job_init(&s);
    s.compile_only[1] = true;
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 256, 256, 64);
    tsw_plan_t *plan = make_ok(&s);
    assert_int_equal(plan->builds[0].arch_mask, 1);
    assert_int_equal(plan->builds[1].arch_mask, 1);
    assert_int_equal(plan->builds[2].arch_mask, 3);
    assert_true(plan->cells[1].compile_only);
    assert_true(plan->cells[1].cost_ns == 0.0);
    uint32_t counts[16] = {0};
    tsw_plan_cell_builds(plan, &plan->cells[1], count_build, counts);
    assert_int_equal(counts[0] + counts[1], 0);
    assert_int_equal(counts[2], 1);
    tsw_plan_cell_builds(plan, &plan->cells[0], count_build, counts);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[9], 2);
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

static void test_make_separates_flags_and_static_dims(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    sample_job_init(&s);
    s.job.arch_count = 1;
    tsw_job_entry_t *entry = sample_job_entry(&s, pack);
    entry->flag_set_count = 2;
    entry->flag_sets[1][0] = 1;
    entry->dtypes[TSW_DTYPE_E4M3] = true;
    sample_job_shape(&s, 256, 256, 64);
    sample_job_shape(&s, 256, 256, 128);
    sample_job_shape(&s, 512, 256, 128);
    tsw_plan_t *plan = make_ok(&s);
    assert_int_equal(plan->variant_count, 2 * 2 * 2);
    assert_int_equal(plan->cell_count, 2 * 2 * 3);
    assert_int_equal(plan->build_count, 1 + 8 * (1 + 8));
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

static void test_make_drops_duplicates(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {{{{64}, {64, 128}, {1, 2}, {1}}}};
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    sample_job_init(&s);
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 256, 256, 64);
    sample_job_shape(&s, 256, 256, 64);
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 256, 256, 64);
    s.shapes[1][0].weight = 5.0;
    tsw_job_entry_t *own = sample_job_entry(&s, pack); /* other configs: other cells, same builds */
    own->rows = sample_rows_new(pack, rows, 1);
    own->row_count = 1;
    sample_job_shape(&s, 256, 256, 64);
    tsw_plan_t *plan = make_ok(&s);
    assert_int_equal(plan->variant_count, 2);
    assert_int_equal(plan->cell_count, 4);
    assert_int_equal(plan->duplicate_count, 4);
    assert_int_equal(plan->build_count, 1 + 1 + 8);
    double weights = 0.0;
    for (size_t i = 0; i < 4; i++)
        weights += plan->cells[i].weight;
    assert_true(weights == 5.0 + 5.0 + 1.0 + 1.0);
    tsw_plan_free(plan);
    sample_rows_free(own->rows, 1);
    tsw_pack_free(pack);
}

static void test_make_skips_empty_shapes(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    sample_job_init(&s);
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 0, 256, 64);
    tsw_plan_t *plan = make_ok(&s); /* nothing else: still no error */
    assert_int_equal(plan->cell_count, 2);
    assert_string_equal(plan->cells[0].skip_reason, "empty");
    assert_int_equal(plan->cells[0].config_count, 0);
    assert_int_equal(plan->build_count, 1);
    uint32_t counts[4] = {0};
    tsw_plan_cell_builds(plan, &plan->cells[0], count_build, counts);
    assert_int_equal(counts[0], 0);
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

static void test_make_skips_archs_without_the_dtype(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    sample_job_init(&s);
    tsw_job_entry_t *entry = sample_job_entry(&s, pack);
    entry->dtypes[TSW_DTYPE_F16] = false;
    entry->dtypes[TSW_DTYPE_E4M3] = true;
    sample_job_shape(&s, 256, 256, 64);
    tsw_plan_t *plan = make_ok(&s);
    assert_int_equal(plan->cell_count, 2);
    assert_null(plan->cells[0].skip_reason);
    assert_string_equal(plan->cells[1].skip_reason, "sm_80 has no e4m3");
    assert_int_equal(plan->variants[0].spaces[1].count, 0);
    for (size_t i = 0; i < plan->build_count; i++)
        assert_int_equal(plan->builds[i].arch_mask, 1);
    tsw_plan_free(plan);
    s.archs[0] = 80;
    s.job.arch_count = 1;
    check_refused(&s, "job.yaml:10:5: no cell is left to run: sm_80 has no e4m3");
    tsw_pack_free(pack);
}

static void test_make_refuses_impossible_shapes(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    sample_job_init(&s);
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 256, -1, 64);
    check_refused(&s,
                  "job.yaml:10:5: mini dtype=f16 causal=no D=64 M=256 N=-1 D=64: N is negative");
    s.shapes[0][0].dims[1] = 4194305;
    check_refused(&s, "argument C has 1073742080 elements, pack mini allows 0 to 1073741824");
    s.shapes[0][0].dims[1] = 4194304; /* exactly as many as allowed */
    tsw_plan_free(make_ok(&s));
    s.shapes[0][0].dims[1] = INT64_MAX / 2;
    check_refused(&s, "elements of argument C");
    check_refused(&s, "64-bit");
    tsw_pack_free(pack);
}

static void test_make_refuses_too_many_configs(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(
        "lists:\n"
        "  default:\n"
        "    source: a test\n"
        "    configs:\n"
        "      - {TILE_M: [1, 2, 4, 8], TILE_N: [1, 2, 4, 8], occupancy: [1, 2], num_ctas: 1}\n",
        "");
    sample_job_t s;
    sample_job_init(&s);
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 256, 256, 64);
    check_refused(&s, "job.yaml:10:5: mini dtype=f16 causal=no D=64 on sm_90: 33 configs");
    s.job.entry_count = 0;
    check_refused(&s, "no cell");
    tsw_pack_free(pack);
}

enum { MANY = 3000 };

static void test_make_copes_with_thousands_of_cells(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    sample_job_init(&s);
    tsw_job_entry_t *entry = sample_job_entry(&s, pack);
    entry->shapes = tsw_calloc(2 * MANY, sizeof(*entry->shapes));
    assert_non_null(entry->shapes);
    entry->shape_count = 2 * MANY;
    for (int64_t i = 0; i < 2 * MANY; i++) /* each twice */
        entry->shapes[i] = (tsw_shape_t){.dims = {1 + i % MANY, 256, 64}, .weight = 1.0};
    tsw_plan_t *plan = make_ok(&s);
    assert_int_equal(plan->cell_count, 2 * MANY);
    assert_int_equal(plan->duplicate_count, 2 * MANY);
    bool seen[2][MANY] = {{false}};
    for (size_t i = 0; i < plan->cell_count; i++) {
        const tsw_cell_t *cell = &plan->cells[i];
        assert_false(seen[cell->arch_index][cell->dims[0] - 1]);
        seen[cell->arch_index][cell->dims[0] - 1] = true;
        if (i > 0 && cell->arch_index == cell[-1].arch_index)
            assert_true(cell->cost_ns <= cell[-1].cost_ns);
    }
    assert_int_equal(plan->build_count, 1 + 1 + 8);
    tsw_plan_free(plan);
    tsw_free(entry->shapes);
    tsw_pack_free(pack);
}

static void test_make_survives_a_lack_of_memory(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    sample_job_init(&s);
    sample_job_entry(&s, pack);
    sample_job_shape(&s, 64, 256, 64);
    sample_job_shape(&s, 0, 256, 64);
    bool done = false;
    for (long n = 1; n < 20000 && !done; n++) {
        tsw_plan_t *plan = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_mem_fail_at(n);
        tsw_status_t status = tsw_plan_make(&s.job, &plan, &err);
        tsw_mem_fail_at(0);
        if (status != TSW_OK && status != TSW_ERR_NOMEM)
            fail_msg("allocation %ld: %s", n, err.text);
        done = status == TSW_OK;
        tsw_plan_free(plan);
    }
    assert_true(done);
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_make_orders_cells_by_cost_within_an_arch),
        cmocka_unit_test(test_make_builds_each_config_once_for_all_archs),
        cmocka_unit_test(test_make_begins_with_the_baseline_of_the_arch),
        cmocka_unit_test(test_make_of_a_compile_only_arch_needs_configs_alone),
        cmocka_unit_test(test_make_separates_flags_and_static_dims),
        cmocka_unit_test(test_make_drops_duplicates),
        cmocka_unit_test(test_make_skips_empty_shapes),
        cmocka_unit_test(test_make_skips_archs_without_the_dtype),
        cmocka_unit_test(test_make_refuses_impossible_shapes),
        cmocka_unit_test(test_make_refuses_too_many_configs),
        cmocka_unit_test(test_make_copes_with_thousands_of_cells),
        cmocka_unit_test(test_make_survives_a_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
