#include "base/mem.h"
#include "sample_pack.h"
#include "space/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { CONFIGS_MAX = 32 };

typedef struct {
    tsw_pack_t *pack;
    tsw_variant_t variant;
    tsw_eval_t *eval;
    tsw_space_t space;
    bool keep[CONFIGS_MAX];
    uint32_t order[CONFIGS_MAX];
    size_t count;
    tsw_filter_report_t report;
} bench_t;

static bench_t bench_new(const char *lists, const char *constraints)
{
    bench_t b = {.pack = sample_pack_new(lists, constraints)};
    tsw_err_t err = TSW_ERR_INIT;
    b.variant = (tsw_variant_t){.pack = b.pack, .dtype = TSW_DTYPE_F16, .static_dims = {0, 0, 64}};
    assert_int_equal(tsw_eval_new(&b.eval, NULL), TSW_OK);
    if (tsw_space_make(&b.variant, 90, TSW_PURPOSE_RELEASE, NULL, b.eval, &b.space, &err) != TSW_OK)
        fail_msg("%s", err.text);
    assert_true(b.space.count <= CONFIGS_MAX);
    return b;
}

static void bench_free(bench_t *b)
{
    tsw_filter_report_fini(&b->report);
    tsw_space_fini(&b->space);
    tsw_eval_free(b->eval);
    tsw_pack_free(b->pack);
}

static void filter(bench_t *b, int64_t m, int64_t n)
{
    const int64_t dims[TSW_DIM_MAX] = {m, n, 64};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_filter_report_fini(&b->report);
    if (tsw_space_filter_shape(&b->space, &b->variant, 90, dims, b->eval, b->keep, &b->report,
                               &err) != TSW_OK)
        fail_msg("%s", err.text);
    if (tsw_space_order_shape(&b->space, &b->variant, 90, dims, b->eval, b->keep, b->order,
                              &b->count, &err) != TSW_OK)
        fail_msg("%s", err.text);
}

static void test_size_guard_removes_tiles_beyond_the_dim(void **state)
{
    (void)state;
    bench_t b = bench_new(sample_pack_lists, "");
    filter(&b, 64, 4096);
    /* TILE_M 128 goes, but for the baseline, which has it */
    for (size_t i = 0; i < b.space.count; i++)
        assert_int_equal(b.keep[i], i == 0 || b.space.configs[i].values[0] == 64);
    assert_int_equal(b.report.count, 1);
    assert_string_equal(b.report.filters[0].name, "size_guard");
    assert_int_equal(b.report.filters[0].in, 8);
    assert_int_equal(b.report.filters[0].removed, 3);
    assert_int_equal(b.count, 5);
    filter(&b, 128, 128);
    assert_int_equal(b.report.count, 0);
    assert_int_equal(b.count, 8);
    bench_free(&b);
}

static void test_size_guard_keeps_the_smallest_tile(void **state)
{
    (void)state;
    bench_t b = bench_new(sample_pack_lists, "");
    filter(&b, 1, 1);
    for (size_t i = 1; i < b.space.count; i++)
        assert_int_equal(b.keep[i],
                         b.space.configs[i].values[0] == 64 && b.space.configs[i].values[1] == 64);
    assert_int_equal(b.count, 3);
    bench_free(&b);
}

static void test_constraints_with_dims_filter_a_shape(void **state)
{
    (void)state;
    bench_t b = bench_new(sample_pack_lists, "constraints:\n"
                                             "  - name: blocks\n"
                                             "    keep: ceildiv(M, TILE_M) >= occupancy\n"
                                             "    reason: fewer blocks than the occupancy\n");
    filter(&b, 128, 4096);
    /* TILE_M 128 gives one block: occupancy 2 goes, but the baseline stays */
    assert_int_equal(b.report.count, 1);
    assert_string_equal(b.report.filters[0].name, "blocks");
    assert_int_equal(b.report.filters[0].in, 8);
    assert_int_equal(b.report.filters[0].removed, 1);
    assert_int_equal(b.count, 7);
    filter(&b, 64, 4096); /* first the guard, then the constraint on what is left */
    assert_int_equal(b.report.count, 2);
    assert_string_equal(b.report.filters[0].name, "size_guard");
    assert_int_equal(b.report.filters[1].in, 5);
    assert_int_equal(b.report.filters[1].removed, 2);
    bench_free(&b);
}

static void test_order_puts_dividing_grids_first_and_removes_none(void **state)
{
    (void)state;
    bench_t b = bench_new("lists:\n"
                          "  default:\n"
                          "    source: a test\n"
                          "    configs:\n"
                          "      - {TILE_M: 64, TILE_N: 64, occupancy: [1, 2], num_ctas: 2}\n"
                          "      - {TILE_M: 128, TILE_N: 64, occupancy: 1, num_ctas: [2, 1]}\n",
                          "");
    /* grids: 64x64 -> 3 * 1 = 3 (odd), 128x64 -> 2 * 1 = 2 */
    filter(&b, 192, 64);
    const uint32_t odd[] = {0, 3, 4, 1, 2};
    assert_int_equal(b.count, 5);
    assert_memory_equal(b.order, odd, sizeof(odd));
    filter(&b, 256, 64);
    const uint32_t even[] = {0, 1, 2, 3, 4};
    assert_memory_equal(b.order, even, sizeof(even));
    bench_free(&b);
}

static void test_bind_sets_all_and_nothing_else(void **state)
{
    (void)state;
    bench_t b = bench_new(sample_pack_lists, "");
    const int64_t dims[TSW_DIM_MAX] = {100, 200, 64};
    static char text[] =
        "M + N + D + TILE_M + TILE_N + occupancy + num_ctas + causal + ELEM_BYTES + NUM_SM";
    static char knob[] = "TILE_M";
    static char dim[] = "M";
    static char static_dim[] = "D";
    tsw_expr_t all = {.text = text};
    tsw_config_t config = tsw_config_baseline(b.pack, 90);
    int64_t value = 0;
    b.variant.flags[0] = 1;
    assert_int_equal(tsw_variant_bind(&b.variant, dims, &config, 1000, b.eval, NULL), TSW_OK);
    assert_int_equal(tsw_eval_i64(b.eval, &all, &value, NULL), TSW_OK);
    assert_int_equal(value, 100 + 200 + 64 + 128 + 64 + 2 + 1 + 1 + 2 + 1000);
    tsw_expr_t e = {.text = knob};
    assert_int_equal(tsw_variant_bind(&b.variant, dims, NULL, 1000, b.eval, NULL), TSW_OK);
    assert_int_equal(tsw_eval_i64(b.eval, &e, &value, NULL), TSW_ERR_INPUT);
    assert_int_equal(tsw_variant_bind(&b.variant, NULL, &config, 1000, b.eval, NULL), TSW_OK);
    e.text = dim;
    assert_int_equal(tsw_eval_i64(b.eval, &e, &value, NULL), TSW_ERR_INPUT);
    e.text = static_dim;
    assert_int_equal(tsw_eval_i64(b.eval, &e, &value, NULL), TSW_OK);
    assert_int_equal(value, 64);
    bench_free(&b);
}

static tsw_status_t geometry(tsw_eval_t *eval, const char *const *texts, tsw_geometry_t *g,
                             tsw_err_t *err)
{
    tsw_launch_spec_t spec = {.source = NULL};
    tsw_expr_t *exprs[] = {&spec.grid[0],  &spec.grid[1],  &spec.grid[2],     &spec.block[0],
                           &spec.block[1], &spec.block[2], &spec.shared_bytes};
    for (int i = 0; i < 7; i++) {
        exprs[i]->text = texts[i] != NULL ? tsw_strdup(texts[i]) : NULL;
        exprs[i]->place = (tsw_place_t){.file = "kernel.yaml", .line = 9, .column = i + 1};
    }
    tsw_status_t status = tsw_geometry_of(&spec, eval, g, err);
    for (int i = 0; i < 7; i++)
        tsw_free(exprs[i]->text);
    return status;
}

static void test_geometry_has_the_limits_of_a_launch(void **state)
{
    (void)state;
    static const struct {
        const char *texts[7];
        const char *fault; /* NULL: fine */
    } cases[] = {
        {{"2147483647", "65535", "65535", "16", "8", "8", "1024"}, NULL},
        {{"1", NULL, NULL, NULL, NULL, NULL, NULL}, NULL},
        {{"2147483648", NULL, NULL, NULL, NULL, NULL, NULL},
         "kernel.yaml:9:1: grid x is 2147483648"},
        {{"0", NULL, NULL, NULL, NULL, NULL, NULL}, "grid x is 0"},
        {{"-1", NULL, NULL, NULL, NULL, NULL, NULL}, "grid x is -1"},
        {{"1", "65536", NULL, NULL, NULL, NULL, NULL}, "grid y is 65536"},
        {{"1", NULL, "65536", NULL, NULL, NULL, NULL}, "grid z is 65536"},
        {{"1", NULL, NULL, "1025", NULL, NULL, NULL}, "block x is 1025"},
        {{"1", NULL, NULL, "1", "1", "65", NULL}, "block z is 65"},
        {{"1", NULL, NULL, "32", "33", "1", NULL}, "a block of 1056 threads"},
        {{"1", NULL, NULL, "0", NULL, NULL, NULL}, "block x is 0"},
        {{"1", NULL, NULL, NULL, NULL, NULL, "-4"}, "dynamic shared memory is -4"},
        {{"9223372036854775807 * 4", NULL, NULL, NULL, NULL, NULL, NULL}, "64-bit"},
    };
    tsw_eval_t *eval = NULL;
    assert_int_equal(tsw_eval_new(&eval, NULL), TSW_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_geometry_t g = {.shared_bytes = 77};
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = geometry(eval, cases[i].texts, &g, &err);
        assert_int_equal(status, cases[i].fault == NULL ? TSW_OK : TSW_ERR_OVERFLOW);
        if (cases[i].fault != NULL && strstr(err.text, cases[i].fault) == NULL)
            fail_msg("\"%s\" does not have \"%s\"", err.text, cases[i].fault);
        assert_int_equal(g.shared_bytes, cases[i].fault != NULL ? 77 : i == 0 ? 1024 : 0);
    }
    tsw_eval_free(eval);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_guard_removes_tiles_beyond_the_dim),
        cmocka_unit_test(test_size_guard_keeps_the_smallest_tile),
        cmocka_unit_test(test_constraints_with_dims_filter_a_shape),
        cmocka_unit_test(test_order_puts_dividing_grids_first_and_removes_none),
        cmocka_unit_test(test_bind_sets_all_and_nothing_else),
        cmocka_unit_test(test_geometry_has_the_limits_of_a_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
