#include "base/mem.h"
#include "sample_pack.h"
#include "space/space.h"
#include "space/space_probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A pack, its f16 variant, and an evaluator. */
typedef struct {
    tsw_pack_t *pack;
    tsw_variant_t variant;
    tsw_eval_t *eval;
} bench_t;

static bench_t bench_new(const char *lists, const char *constraints)
{
    bench_t b = {.pack = sample_pack_new(lists, constraints)};
    b.variant = (tsw_variant_t){.pack = b.pack, .dtype = TSW_DTYPE_F16, .static_dims = {0, 0, 64}};
    assert_int_equal(tsw_eval_new(&b.eval, NULL), TSW_OK);
    return b;
}

static void bench_free(bench_t *b)
{
    tsw_eval_free(b->eval);
    tsw_pack_free(b->pack);
}

static tsw_space_t make_ok(bench_t *b, tsw_arch_t arch, tsw_purpose_t purpose,
                           const tsw_job_entry_t *entry)
{
    tsw_space_t space = {0};
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_space_make(&b->variant, arch, purpose, entry, b->eval, &space, &err) != TSW_OK)
        fail_msg("%s", err.text);
    return space;
}

static void check_refused(bench_t *b, tsw_arch_t arch, tsw_purpose_t purpose,
                          const tsw_job_entry_t *entry, const char *part)
{
    tsw_space_t space = {.count = 77};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_space_make(&b->variant, arch, purpose, entry, b->eval, &space, &err),
                     TSW_ERR_INPUT);
    if (strstr(err.text, part) == NULL)
        fail_msg("\"%s\" does not have \"%s\"", err.text, part);
    assert_int_equal(space.count, 77);
}

/* The job's own space. */
static tsw_job_entry_t entry_of(const bench_t *b, const sample_row_t *rows, size_t count)
{
    static char file[] = "job.yaml";
    return (tsw_job_entry_t){.rows = sample_rows_new(b->pack, rows, count),
                             .row_count = count,
                             .place = {.file = file, .line = 7, .column = 3}};
}

static void entry_free(tsw_job_entry_t *entry)
{
    sample_rows_free(entry->rows, entry->row_count);
}

static void check_filter(const tsw_space_t *space, size_t index, const char *name, size_t in,
                         size_t removed)
{
    assert_true(index < space->report.count);
    const tsw_filter_t *filter = &space->report.filters[index];
    assert_string_equal(filter->name, name);
    assert_int_equal(filter->in, in);
    assert_int_equal(filter->removed, removed);
    assert_true(filter->reason[0] != '\0');
}

static void check_values(const tsw_config_t *config, int64_t a, int64_t b, int64_t c, int64_t d)
{
    assert_int_equal(config->values[0], a);
    assert_int_equal(config->values[1], b);
    assert_int_equal(config->values[2], c);
    assert_int_equal(config->values[3], d);
}

static void test_make_moves_the_baseline_to_the_front(void **state)
{
    (void)state;
    bench_t b = bench_new(sample_pack_lists, "");
    tsw_space_t space = make_ok(&b, 90, TSW_PURPOSE_RELEASE, NULL);
    assert_int_equal(space.count, 8);
    assert_int_equal(space.listed, 8);
    assert_true(space.baseline_listed);
    check_values(&space.configs[0], 128, 64, 2, 1);
    check_values(&space.configs[1], 64, 64, 1, 1); /* the rest in the order of the list */
    check_values(&space.configs[2], 64, 64, 2, 1);
    check_values(&space.configs[7], 128, 128, 2, 1);
    tsw_space_fini(&space);
    bench_free(&b);
}

static void test_make_filters_in_order_and_counts(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {
        {{{64}, {64}, {1}, {1, 2}}},      /* good; num_ctas 2 where clusters are */
        {{{96}, {64}, {1}, {1}}},         /* no power of two */
        {{{64}, {64}, {33, 32}, {1}}},    /* occupancy out of range, the limit */
        {{{64}, {64}, {1}, {3, 32, 16}}}, /* num_ctas out of range; 16 is the limit */
        {{{256}, {256}, {1}, {1}}},       /* the pack's constraint */
        {{{64}, {64}, {1}, {1}}},         /* again */
        {{{128}, {64}, {2}, {1}}},        /* the baseline */
    };
    bench_t b = bench_new(sample_pack_lists, "constraints:\n"
                                             "  - name: fits\n"
                                             "    keep: TILE_M * TILE_N < 65536\n"
                                             "    reason: too large\n"
                                             "  - name: small_shape\n"
                                             "    keep: M > 1\n"
                                             "    reason: not looked at here\n");
    tsw_job_entry_t entry = entry_of(&b, rows, 7);
    tsw_space_t space = make_ok(&b, 90, TSW_PURPOSE_RELEASE, &entry);
    assert_int_equal(space.listed, 11);
    assert_int_equal(space.report.count, 5);
    check_filter(&space, 0, "power_of_two", 11, 1);
    check_filter(&space, 1, "hint_range", 10, 3);
    check_filter(&space, 2, "cluster", 7, 0);
    check_filter(&space, 3, "fits", 7, 1);
    check_filter(&space, 4, "duplicate", 6, 1);
    assert_string_equal(space.report.filters[3].reason, "too large");
    assert_int_equal(space.count, 5);
    tsw_space_fini(&space);
    space = make_ok(&b, 80, TSW_PURPOSE_RELEASE, &entry);
    check_filter(&space, 2, "cluster", 7, 2);
    assert_int_equal(space.count, 3);
    tsw_space_fini(&space);
    space = make_ok(&b, 120, TSW_PURPOSE_RELEASE, &entry); /* clusters of at most 8 */
    check_filter(&space, 2, "cluster", 7, 1);
    tsw_space_fini(&space);
    entry_free(&entry);
    bench_free(&b);
}

/* Whatever filter would take it. */
static void test_make_keeps_the_baseline_through_every_filter(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {{{{96}, {64}, {1}, {1}}}, {{{64}, {64}, {99}, {1}}}};
    bench_t b = bench_new(sample_pack_lists, "constraints:\n"
                                             "  - {name: none, keep: TILE_M < 0, reason: no}\n");
    b.pack->baseline[0] = 100;
    b.pack->baseline[2] = 50;
    b.pack->baseline[3] = 64;
    tsw_job_entry_t entry = entry_of(&b, rows, 2);
    tsw_space_t space = make_ok(&b, 80, TSW_PURPOSE_RELEASE, &entry);
    assert_int_equal(space.count, 1);
    assert_false(space.baseline_listed);
    check_values(&space.configs[0], 100, 64, 50, 64);
    assert_true(tsw_space_only_baseline(&space));
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_filter_report_print(&space.report, "  ", &text);
    assert_non_null(strstr(tsw_buf_text(&text),
                           "  filter power_of_two: 3 in, 1 removed (a tile is no power of two)\n"
                           "  filter hint_range: 2 in, 1 removed ("));
    tsw_buf_fini(&text);
    tsw_space_fini(&space);
    entry_free(&entry);
    bench_free(&b);
}

static void test_make_takes_the_baseline_of_the_list(void **state)
{
    (void)state;
    bench_t b = bench_new("lists:\n"
                          "  sm_80:\n"
                          "    source: a test\n"
                          "    baseline: {TILE_M: 32, TILE_N: 64, occupancy: 4, num_ctas: 1}\n"
                          "    configs:\n"
                          "      - {TILE_M: [64, 32], TILE_N: 64, occupancy: 4, num_ctas: 1}\n"
                          "  default:\n"
                          "    source: a test\n"
                          "    configs:\n"
                          "      - {TILE_M: 64, TILE_N: 64, occupancy: 1, num_ctas: 1}\n",
                          "");
    tsw_space_t space = make_ok(&b, 80, TSW_PURPOSE_RELEASE, NULL);
    assert_int_equal(space.count, 2);
    assert_true(space.baseline_listed);
    check_values(&space.configs[0], 32, 64, 4, 1);
    check_values(&space.configs[1], 64, 64, 4, 1);
    tsw_space_fini(&space);
    space = make_ok(&b, 80, TSW_PURPOSE_FIXED, NULL);
    assert_int_equal(space.count, 1);
    check_values(&space.configs[0], 32, 64, 4, 1);
    tsw_space_fini(&space);
    space = make_ok(&b, 90, TSW_PURPOSE_FIXED, NULL);
    check_values(&space.configs[0], 128, 64, 2, 1);
    tsw_space_fini(&space);
    bench_free(&b);
}

static void test_make_limits_by_purpose(void **state)
{
    (void)state;
    static const sample_row_t thirty[] = {{{{1, 2, 4, 8}, {1, 2, 4, 8}, {1}, {1}}},
                                          {{{16, 32}, {1, 2, 4, 8}, {1}, {1}}},
                                          {{{64}, {1, 2, 4, 8}, {1}, {1}}},
                                          {{{128}, {64}, {1}, {1}}},
                                          {{{1}, {1}, {1}, {1}}},
                                          {{{128}, {128}, {1}, {1}}}};
    bench_t b = bench_new(sample_pack_lists, "");
    tsw_job_entry_t entry = entry_of(&b, thirty, 5); /* 29, one of them twice, and the baseline */
    tsw_space_t space = make_ok(&b, 90, TSW_PURPOSE_RELEASE, &entry);
    assert_int_equal(space.count, 30);
    tsw_space_fini(&space);
    entry_free(&entry);

    entry = entry_of(&b, thirty, 6);
    check_refused(&b, 90, TSW_PURPOSE_RELEASE, &entry, "job.yaml:7:3: mini dtype=f16");
    check_refused(&b, 90, TSW_PURPOSE_RELEASE, &entry,
                  "31 configs, baseline in; purpose release allows 30 (probe allows 100, research");
    check_refused(&b, 90, TSW_PURPOSE_RELEASE, &entry, "filter duplicate: 32 in, 1 removed");
    space = make_ok(&b, 90, TSW_PURPOSE_RESEARCH, &entry);
    assert_int_equal(space.count, 31);
    tsw_space_fini(&space);
    entry_free(&entry);
    bench_free(&b);
}

static void test_make_limits_probes_to_100(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {
        {{{1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2, 3, 4}, {1}}}, /* 64 */
        {{{16, 32}, {1, 2, 4, 8}, {1, 2, 3, 4}, {1}}},     /* 32 */
        {{{64}, {1, 2, 4}, {1}, {1}}},                     /* 3, and the baseline: 100 */
        {{{64}, {8}, {1}, {1}}},
    };
    static char tile_m[] = "TILE_M";
    static char tile_n[] = "TILE_N";
    static char occupancy[] = "occupancy";
    static char num_ctas[] = "num_ctas";
    bench_t b = bench_new(sample_pack_lists, "");
    for (size_t count = 3; count <= 4; count++) {
        tsw_job_entry_t entry = entry_of(&b, rows, count);
        entry.fixed[0] = num_ctas;
        entry.fixed_count = 1;
        entry.varied[0] = tile_m;
        entry.varied[1] = tile_n;
        entry.varied[2] = occupancy;
        entry.varied_count = 3;
        if (count == 3) {
            tsw_space_t space = make_ok(&b, 90, TSW_PURPOSE_PROBE, &entry);
            assert_int_equal(space.count, 100);
            tsw_space_fini(&space);
        } else {
            check_refused(&b, 90, TSW_PURPOSE_PROBE, &entry, "101 configs");
            check_refused(&b, 90, TSW_PURPOSE_PROBE, &entry, "purpose probe allows 100");
        }
        entry_free(&entry);
    }
    bench_free(&b);
}

static void test_make_wants_probes_directed(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {{{{256}, {64}, {1, 2, 4}, {1, 2, 4, 8}}},
                                        {{{256}, {64}, {1, 2, 4}, {16}}}};
    static const sample_row_t with_baseline[] = {{{{128}, {64}, {1, 2, 4}, {1, 2, 4, 8}}},
                                                 {{{128}, {64}, {1, 2, 4}, {16}}}};
    static char tile_m[] = "TILE_M";
    static char tile_n[] = "TILE_N";
    static char occupancy[] = "occupancy";
    static char num_ctas[] = "num_ctas";
    static char typo[] = "num_cta";
    bench_t b = bench_new(sample_pack_lists, "");
    tsw_job_entry_t entry = entry_of(&b, rows, 2);
    entry.fixed[0] = tile_m;
    entry.fixed[1] = tile_n;
    entry.fixed_count = 2;
    entry.varied[0] = occupancy;
    entry.varied[1] = num_ctas;
    entry.varied_count = 2;
    tsw_space_t space = make_ok(&b, 90, TSW_PURPOSE_PROBE, &entry); /* baseline: another tile */
    assert_int_equal(space.count, 16);
    tsw_space_fini(&space);
    check_refused(&b, 80, TSW_PURPOSE_PROBE, &entry,
                  "num_ctas is varied, but after the filters it has one value");
    entry.varied[1] = typo;
    check_refused(&b, 90, TSW_PURPOSE_PROBE, &entry, "did you mean \"num_ctas\"?");
    entry.varied[1] = occupancy;
    check_refused(&b, 90, TSW_PURPOSE_PROBE, &entry, "occupancy is named twice");
    entry.varied_count = 1;
    check_refused(&b, 90, TSW_PURPOSE_PROBE, &entry, "whether num_ctas is fixed or varied");
    entry.fixed[2] = num_ctas;
    entry.fixed_count = 3;
    check_refused(&b, 90, TSW_PURPOSE_PROBE, &entry, "num_ctas is fixed, but the rows give it");
    entry_free(&entry);

    entry = entry_of(&b, with_baseline, 2); /* the rows have the baseline: it counts */
    entry.fixed[0] = tile_m;
    entry.fixed[1] = tile_n;
    entry.fixed_count = 2;
    entry.varied[0] = occupancy;
    entry.varied[1] = num_ctas;
    entry.varied_count = 2;
    space = make_ok(&b, 90, TSW_PURPOSE_PROBE, &entry);
    assert_int_equal(space.count, 15);
    tsw_space_fini(&space);
    entry_free(&entry);
    bench_free(&b);
}

static tsw_job_entry_t probe_of(const bench_t *b, const sample_row_t *rows, size_t count)
{
    static char tile_m[] = "TILE_M", tile_n[] = "TILE_N";
    static char occupancy[] = "occupancy", num_ctas[] = "num_ctas";
    tsw_job_entry_t entry = entry_of(b, rows, count);
    entry.fixed[0] = tile_n;
    entry.fixed[1] = occupancy;
    entry.fixed_count = 2;
    entry.varied[0] = tile_m;
    entry.varied[1] = num_ctas;
    entry.varied_count = 2;
    return entry;
}

/* Below 30 configs it must be all that the varied knobs allow; above, any of them. */
static void test_make_wants_whole_probes_or_30_configs(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {{{{16, 32, 64, 128}, {64}, {1}, {1, 2, 4, 8}}},
                                        {{{256}, {64}, {1}, {1, 2, 4, 8}}},
                                        {{{16, 32, 64, 128}, {64}, {1}, {16}}},
                                        {{{256}, {64}, {1}, {16}}}};
    bench_t b = bench_new(sample_pack_lists, "");
    tsw_job_entry_t entry = probe_of(&b, rows, 2);
    check_refused(&b, 90, TSW_PURPOSE_PROBE, &entry,
                  "job.yaml:7:3: probe: mini on sm_90: 21 configs, baseline in; a probe has 30 to "
                  "100, or all that there are, and what it varies allows 26: it lacks 5, such as "
                  "TILE_M=16 TILE_N=64 occupancy=1 num_ctas=16");
    entry_free(&entry);
    entry = probe_of(&b, rows, 4);
    tsw_space_t space = make_ok(&b, 90, TSW_PURPOSE_PROBE, &entry);
    assert_int_equal(space.count, 26);
    tsw_space_fini(&space);
    entry_free(&entry);

    /* A constraint leaves fewer to be had. */
    bench_t few = bench_new(sample_pack_lists, "constraints:\n"
                                               "  - {name: few, keep: num_ctas < 16, reason: r}\n");
    entry = probe_of(&few, rows, 2);
    space = make_ok(&few, 90, TSW_PURPOSE_PROBE, &entry);
    assert_int_equal(space.count, 21);
    tsw_space_fini(&space);
    entry_free(&entry);
    bench_free(&few);

    /* The occupancy varies too: 75 are to be had, so 30 of them will do. */
    static const sample_row_t wide[] = {{{{32, 64, 128}, {64}, {1, 2, 4}, {1, 2, 4}}},
                                        {{{256}, {64}, {1, 2, 4}, {1}}}};
    entry = probe_of(&b, wide, 2);
    entry.varied[entry.varied_count++] = entry.fixed[--entry.fixed_count];
    space = make_ok(&b, 90, TSW_PURPOSE_PROBE, &entry);
    assert_int_equal(space.count, 30);
    tsw_space_fini(&space);
    entry_free(&entry);
    entry = probe_of(&b, wide, 1);
    entry.varied[entry.varied_count++] = entry.fixed[--entry.fixed_count];
    check_refused(&b, 90, TSW_PURPOSE_PROBE, &entry,
                  "27 configs, baseline in; a probe has 30 to "
                  "100, and what it varies allows 75");
    entry_free(&entry);
    bench_free(&b);
}

static void test_make_of_a_missing_dtype_is_empty_with_a_reason(void **state)
{
    (void)state;
    bench_t b = bench_new(sample_pack_lists, "");
    b.variant.dtype = TSW_DTYPE_E4M3;
    tsw_space_t space = make_ok(&b, 80, TSW_PURPOSE_RELEASE, NULL);
    assert_int_equal(space.count, 0);
    check_filter(&space, 0, "dtype", 8, 8);
    assert_string_equal(space.report.filters[0].reason, "sm_80 has no e4m3");
    tsw_space_fini(&space);
    space = make_ok(&b, 90, TSW_PURPOSE_RELEASE, NULL);
    assert_int_equal(space.count, 8);
    tsw_space_fini(&space);
    bench_free(&b);
}

static void test_make_without_a_list_says_so(void **state)
{
    (void)state;
    bench_t b = bench_new("lists:\n"
                          "  sm_90:\n"
                          "    source: a test\n"
                          "    configs:\n"
                          "      - {TILE_M: 64, TILE_N: 64, occupancy: 1, num_ctas: 1}\n",
                          "");
    tsw_space_t space = make_ok(&b, 90, TSW_PURPOSE_RELEASE, NULL);
    assert_int_equal(space.count, 2);
    tsw_space_fini(&space);
    check_refused(&b, 80, TSW_PURPOSE_RELEASE, NULL, "pack mini has no configs for sm_80");
    bench_free(&b);
}

static void test_make_bounds_products(void **state)
{
    (void)state;
    bench_t b = bench_new(sample_pack_lists, "");
    int64_t *many = tsw_calloc(2000, sizeof(*many));
    assert_non_null(many);
    static const sample_row_t one[] = {{{{1}, {1}, {1}, {1}}}};
    tsw_job_entry_t entry = entry_of(&b, one, 1);
    tsw_free(entry.rows[0].values[0]);
    entry.rows[0].values[0] = many;
    entry.rows[0].count[0] = 2000;
    tsw_free(entry.rows[0].values[1]);
    entry.rows[0].values[1] = tsw_memdup(many, 2000 * sizeof(*many));
    entry.rows[0].count[1] = 2000;
    check_refused(&b, 90, TSW_PURPOSE_RESEARCH, &entry, "more than 1000000 configs");
    entry.rows[0].count[1] = 0;
    check_refused(&b, 90, TSW_PURPOSE_RESEARCH, &entry, "TILE_N has no value");
    entry_free(&entry);
    bench_free(&b);
}

static void test_make_survives_a_lack_of_memory(void **state)
{
    (void)state;
    bench_t b = bench_new(sample_pack_lists, "constraints:\n"
                                             "  - {name: c, keep: TILE_M > 0, reason: r}\n");
    bool done = false;
    for (long n = 1; n < 5000 && !done; n++) {
        tsw_space_t space = {0};
        tsw_err_t err = TSW_ERR_INIT;
        tsw_mem_fail_at(n);
        tsw_status_t status =
            tsw_space_make(&b.variant, 90, TSW_PURPOSE_RELEASE, NULL, b.eval, &space, &err);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
        done = status == TSW_OK;
        tsw_space_fini(&space);
    }
    assert_true(done);
    bench_free(&b);
}

static void test_probe_roles_follow_the_kind(void **state)
{
    (void)state;
    bench_t b = bench_new(sample_pack_lists, "");
    tsw_pack_t *pack = b.pack;
    const int m = 0, n = 1, occupancy = 2, num_ctas = 3;
    for (size_t k = 0; k < pack->knob_count; k++)
        assert_int_equal(tsw_space_probe_role(pack, k), TSW_PROBE_FREE);
    pack->template_id = TSW_TEMPLATE_T9_DUAL;
    assert_int_equal(tsw_space_probe_role(pack, m), TSW_PROBE_FIXED);
    assert_int_equal(tsw_space_probe_role(pack, n), TSW_PROBE_FIXED);
    assert_int_equal(tsw_space_probe_role(pack, occupancy), TSW_PROBE_VARIED);
    assert_int_equal(tsw_space_probe_role(pack, num_ctas), TSW_PROBE_VARIED);
    pack->template_id = TSW_TEMPLATE_T5_FMHA;
    tsw_free(pack->kernel.grid[0].text);
    pack->kernel.grid[0].text = tsw_strdup("ceildiv(M, TILE_M)");
    assert_int_equal(tsw_space_probe_role(pack, m), TSW_PROBE_VARIED);
    assert_int_equal(tsw_space_probe_role(pack, n), TSW_PROBE_FIXED);
    assert_int_equal(tsw_space_probe_role(pack, occupancy), TSW_PROBE_FREE);
    assert_int_equal(tsw_space_probe_role(pack, num_ctas), TSW_PROBE_VARIED);
    bench_free(&b);
}

static void test_make_refuses_a_probe_that_is_not_of_its_kind(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {{{{64, 128}, {64}, {1}, {1, 2}}}};
    static char names[4][12] = {"TILE_M", "TILE_N", "occupancy", "num_ctas"};
    bench_t b = bench_new(sample_pack_lists, "");
    tsw_job_entry_t entry = entry_of(&b, rows, 1);
    b.pack->template_id = TSW_TEMPLATE_T9_DUAL;
    entry.fixed[0] = names[1];
    entry.fixed[1] = names[2];
    entry.fixed_count = 2;
    entry.varied[0] = names[0];
    entry.varied[1] = names[3];
    entry.varied_count = 2;
    check_refused(&b, 90, TSW_PURPOSE_PROBE, &entry, "a probe of template T9 has TILE_M fixed");
    entry_free(&entry);
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_make_moves_the_baseline_to_the_front),
        cmocka_unit_test(test_make_filters_in_order_and_counts),
        cmocka_unit_test(test_make_keeps_the_baseline_through_every_filter),
        cmocka_unit_test(test_make_takes_the_baseline_of_the_list),
        cmocka_unit_test(test_make_limits_by_purpose),
        cmocka_unit_test(test_make_limits_probes_to_100),
        cmocka_unit_test(test_make_wants_probes_directed),
        cmocka_unit_test(test_make_wants_whole_probes_or_30_configs),
        cmocka_unit_test(test_probe_roles_follow_the_kind),
        cmocka_unit_test(test_make_refuses_a_probe_that_is_not_of_its_kind),
        cmocka_unit_test(test_make_of_a_missing_dtype_is_empty_with_a_reason),
        cmocka_unit_test(test_make_without_a_list_says_so),
        cmocka_unit_test(test_make_bounds_products),
        cmocka_unit_test(test_make_survives_a_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
