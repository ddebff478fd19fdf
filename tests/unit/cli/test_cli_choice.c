#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli_choice.h"
#include "cli/cli_tables.h"
#include "sample_dataset.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    tsw_dataset_t dataset;
    tsw_reduction_t *reduction;
    tsw_cli_verdicts_t verdicts;
} fixture_t;

static void reduce(fixture_t *f)
{
    const tsw_reduce_options_t options = tsw_reduce_options(8);
    assert_int_equal(tsw_reduce(&f->dataset, &options, &f->reduction, NULL), TSW_OK);
    assert_int_equal(tsw_cli_verdicts_make(f->reduction, NULL, 0, &f->verdicts, NULL), TSW_OK);
}

/* Two archs; on sm_90 one shape where b wins, one where nothing works. */
static fixture_t fixture_new(void)
{
    fixture_t f = {.dataset = sample_dataset_new()};
    tsw_dataset_t *dataset = &f.dataset;
    tsw_cell_result_t *cell = sample_dataset_cell(dataset, "demo", "dtype=f16", "M=8", 90);
    sample_dataset_timed(cell, "T=1", 2000000);
    sample_dataset_timed(cell, "T=2", 1000000);
    cell = sample_dataset_cell(dataset, "demo", "dtype=f16", "M=9", 90);
    sample_dataset_record(cell, "T=1", TSW_OUTCOME_WRONG_RESULT);
    tsw_record_t *record = sample_dataset_record(cell, "T=2", TSW_OUTCOME_COMPILE_FAILED);
    strcpy(record->detail, "no such type");
    cell = sample_dataset_cell(dataset, "demo", "dtype=f16", "M=8", 80);
    sample_dataset_timed(cell, "T=1", 3000000);
    tsw_dataset_canonicalise(dataset);
    reduce(&f);
    return f;
}

static void fixture_free(fixture_t *f)
{
    tsw_cli_verdicts_fini(&f->verdicts);
    tsw_reduction_free(f->reduction);
    tsw_dataset_fini(&f->dataset);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void test_print_when_simulated_then_says_so_everywhere(void **state)
{
    (void)state;
    fixture_t f = fixture_new();
    tsw_buf_t out = TSW_BUF_INIT;
    assert_int_equal(tsw_cli_choice_print(&f.dataset, f.reduction, &f.verdicts, &out, NULL),
                     TSW_OK);
    const char *text = tsw_buf_text(&out);
    assert_int_equal(strncmp(text, "SIMULATED", 9), 0);
    assert_has(text, "demo on sm_90, simulated: 2 of 2 configs for 1 shape\n");
    assert_has(text, "demo on sm_80, simulated: 1 of 1 configs for 1 shape\n");
    assert_has(text, "0  T=1  (baseline)");
    assert_has(text, "baseline alone 100.00 % 100.00 %");
    tsw_buf_fini(&out);
    fixture_free(&f);
}

/* Time ran out: one early launch each. */
static void test_print_and_tables_when_all_are_estimates_then_no_interval(void **state)
{
    (void)state;
    fixture_t f = {.dataset = sample_dataset_new()};
    tsw_cell_result_t *cell = sample_dataset_cell(&f.dataset, "demo", "dtype=f16", "M=8", 90);
    for (int i = 0; i < 2; i++) {
        tsw_record_t *record = sample_dataset_record(cell, i == 0 ? "T=1" : "T=2", TSW_OUTCOME_OK);
        record->fate = TSW_FATE_BUDGET;
        sample_dataset_sample(record, TSW_STAGE_EARLY, 0, i == 0 ? 3000000 : 1000000);
    }
    tsw_dataset_canonicalise(&f.dataset);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_cli_tables_t tables = {0};
    reduce(&f);
    assert_int_equal(tsw_cli_choice_print(&f.dataset, f.reduction, &f.verdicts, &out, NULL),
                     TSW_OK);
    assert_has(tsw_buf_text(&out), "~1.00 ms  -");
    assert_has(tsw_buf_text(&out), "~3.000  -");
    assert_int_equal(tsw_cli_tables_make(&f.dataset, f.reduction, &f.verdicts, &tables, NULL),
                     TSW_OK);
    tsw_buf_clear(&out);
    assert_int_equal(tsw_cli_tables_json(&tables, &out, NULL), TSW_OK);
    assert_has(tsw_buf_text(&out), "\"ci_low_ns\": null, \"ci_high_ns\": null");
    tsw_cli_tables_fini(&tables);
    tsw_buf_fini(&out);
    fixture_free(&f);
}

static void test_print_when_nothing_usable_then_names_why(void **state)
{
    (void)state;
    fixture_t f = fixture_new();
    tsw_buf_t out = TSW_BUF_INIT;
    assert_int_equal(tsw_cli_choice_print(&f.dataset, f.reduction, &f.verdicts, &out, NULL),
                     TSW_OK);
    assert_has(tsw_buf_text(&out), "demo on sm_90, dtype=f16 M=9: nothing usable");
    assert_has(tsw_buf_text(&out), "1 x compile_failed, first: no such type");
    assert_has(tsw_buf_text(&out), "1 x wrong_result\n");
    assert_has(tsw_buf_text(&out), "what it often is: docs/rules.md#results-are-corrupt");
    tsw_buf_fini(&out);
    fixture_free(&f);
}

/* One that fails beside others that work is told too, with where to go on. */
static void test_print_when_some_fail_then_names_them(void **state)
{
    (void)state;
    fixture_t f = {.dataset = sample_dataset_new()};
    tsw_cell_result_t *cell = sample_dataset_cell(&f.dataset, "demo", "dtype=f16", "M=8", 90);
    sample_dataset_timed(cell, "T=1", 2000000);
    tsw_record_t *record = sample_dataset_record(cell, "T=2", TSW_OUTCOME_WRONG_RESULT);
    strcpy(record->detail, "right at the first launch, wrong at the last");
    sample_dataset_record(cell, "T=4", TSW_OUTCOME_COMPILE_TIMEOUT);
    sample_dataset_record(cell, "T=8", TSW_OUTCOME_COMPILE_TIMEOUT);
    sample_dataset_record(cell, "T=16", TSW_OUTCOME_INTERRUPTED);
    sample_dataset_timed(cell, "T=32", 2050000);
    tsw_dataset_canonicalise(&f.dataset);
    reduce(&f);
    tsw_buf_t out = TSW_BUF_INIT;
    assert_int_equal(tsw_cli_choice_print(&f.dataset, f.reduction, &f.verdicts, &out, NULL),
                     TSW_OK);
    assert_has(tsw_buf_text(&out), "  not usable: 1 x wrong_result, first: T=2 at M=8: right at "
                                   "the first launch, wrong at the last\n");
    assert_has(tsw_buf_text(&out), "  not usable: 2 x compile_timeout, first: T=4 at M=8\n");
    assert_has(tsw_buf_text(&out), "what it often is: docs/rules.md#results-are-corrupt");
    assert_has(tsw_buf_text(&out), "what takes so long: docs/rules.md#tuning-is-slow");
    assert_null(strstr(tsw_buf_text(&out), "interrupted"));
    assert_has(tsw_buf_text(&out),
               "left out, though within 5 % of the best on some shape: 1 config\n");
    tsw_buf_fini(&out);
    fixture_free(&f);
}

/* Shapes of one arch that were measured on different GPUs are in one table; it says so. */
static void test_print_when_models_differ_then_says_so(void **state)
{
    (void)state;
    for (int differ = 0; differ <= 1; differ++) {
        fixture_t f = {.dataset = sample_dataset_new()};
        for (int m = 0; m < 2; m++) {
            tsw_cell_result_t *cell =
                sample_dataset_cell(&f.dataset, "demo", "dtype=f16", m == 0 ? "M=8" : "M=9", 90);
            sample_dataset_timed(cell, "T=1", 2000000);
            strcpy(cell->gpu.name, m * differ == 0 ? "GPU A" : "GPU B");
        }
        tsw_dataset_canonicalise(&f.dataset);
        reduce(&f);
        tsw_buf_t out = TSW_BUF_INIT;
        assert_int_equal(tsw_cli_choice_print(&f.dataset, f.reduction, &f.verdicts, &out, NULL),
                         TSW_OK);
        bool is_told = strstr(tsw_buf_text(&out), "measured on several models of GPU") != NULL;
        assert_int_equal(is_told, differ);
        tsw_buf_fini(&out);
        fixture_free(&f);
    }
}

static void print_with_builds(const char *purpose, uint64_t compile_ns, tsw_buf_t *out)
{
    fixture_t f = fixture_new();
    for (size_t c = 0; c < f.dataset.cell_count; c++) {
        tsw_cell_result_t *cell = &f.dataset.cells[c];
        for (size_t i = 0; i < cell->record_count; i++)
            cell->records[i].build.compile_cpu_ns = compile_ns;
    }
    tsw_free(f.dataset.meta.purpose);
    f.dataset.meta.purpose = tsw_strdup(purpose);
    assert_int_equal(tsw_cli_choice_print(&f.dataset, f.reduction, &f.verdicts, out, NULL), TSW_OK);
    fixture_free(&f);
}

/* What tuning takes, with the chosen configs and with all; more than five minutes is a defect. */
static void test_print_tells_what_tuning_takes(void **state)
{
    (void)state;
    static const char slow[] =
        "slow to tune: all of them took 7 min for one shape, more than 300 s: "
        "docs/rules.md#tuning-is-slow";
    tsw_buf_t out = TSW_BUF_INIT;
    print_with_builds("release", 1000000000, &out);
    assert_has(tsw_buf_text(&out), "tuning a shape takes at most 2.03 s with these, 2.03 s with "
                                   "all; builds on one core\n");
    assert_null(strstr(tsw_buf_text(&out), "slow to tune"));
    tsw_buf_clear(&out);
    print_with_builds("release", 200000000000, &out);
    assert_has(tsw_buf_text(&out), slow);
    tsw_buf_clear(&out);
    print_with_builds("research", 200000000000, &out);
    assert_null(strstr(tsw_buf_text(&out), slow));
    tsw_buf_clear(&out);
    print_with_builds("release", 0, &out); /* from a cache: not known */
    assert_null(strstr(tsw_buf_text(&out), "tuning a shape takes"));
    tsw_buf_fini(&out);
}

/* Only where all builds are known: those from a cache took nothing. */
static void test_print_when_chosen_configs_are_slow_to_tune_then_says_so(void **state)
{
    (void)state;
    for (int known = 1; known <= 2; known++) {
        fixture_t f = fixture_new();
        tsw_buf_t out = TSW_BUF_INIT;
        for (size_t c = 0; c < f.dataset.cell_count; c++) {
            tsw_cell_result_t *cell = &f.dataset.cells[c];
            for (int i = 0; cell->arch == 90 && strcmp(cell->shape, "M=8") == 0 && i < known; i++)
                cell->records[i].build.compile_cpu_ns = 15000000000;
        }
        assert_int_equal(tsw_cli_choice_print(&f.dataset, f.reduction, &f.verdicts, &out, NULL),
                         TSW_OK);
        bool is_told =
            strstr(tsw_buf_text(&out), "slow to tune: these alone took 30 s for one shape, more "
                                       "than 25 s: docs/rules.md#tuning-is-slow") != NULL;
        assert_int_equal(is_told, known == 2);
        tsw_buf_fini(&out);
        fixture_free(&f);
    }
}

static void test_tables_when_made_then_one_per_arch_and_consistent(void **state)
{
    (void)state;
    fixture_t f = fixture_new();
    tsw_cli_tables_t tables = {0};
    assert_int_equal(tsw_cli_tables_make(&f.dataset, f.reduction, &f.verdicts, &tables, NULL),
                     TSW_OK);
    assert_int_equal(tables.count, 2);
    assert_int_equal(tables.items[0].arch, 80);
    assert_int_equal(tables.items[1].arch, 90);
    const tsw_table_pack_t *pack = &tables.items[1].packs[0];
    assert_int_equal(pack->row_count, 1);
    assert_string_equal(pack->configs[pack->rows[0].config], "T=2");
    assert_true(pack->rows[0].speedup > 1.9 && pack->rows[0].speedup < 2.1);
    for (size_t i = 0; i < tables.count; i++) {
        tsw_buf_t report = TSW_BUF_INIT;
        tsw_err_t err = TSW_ERR_INIT;
        size_t faults = 0;
        tsw_table_check(&tables.items[i], &report, &faults);
        assert_string_equal(tsw_buf_text(&report), "");
        assert_int_equal(faults, 0);
        assert_int_equal(tsw_table_usable(&tables.items[i], &err), TSW_ERR_UNSUPPORTED);
        tsw_buf_fini(&report);
    }
    tsw_cli_tables_fini(&tables);
    fixture_free(&f);
}

static void test_tables_when_not_for_release_then_refused(void **state)
{
    (void)state;
    fixture_t f = fixture_new();
    tsw_cli_tables_t tables = {0};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_free(f.dataset.meta.purpose);
    f.dataset.meta.purpose = tsw_strdup("research");
    assert_int_equal(tsw_cli_tables_make(&f.dataset, f.reduction, &f.verdicts, &tables, &err),
                     TSW_ERR_UNSUPPORTED);
    assert_has(err.text, "research");
    assert_int_equal(tables.count, 0);
    fixture_free(&f);
}

static void test_tables_when_written_then_read_back_equal(void **state)
{
    (void)state;
    fixture_t f = fixture_new();
    tsw_cli_tables_t tables = {0};
    tsw_buf_t names = TSW_BUF_INIT, bytes = TSW_BUF_INIT, again = TSW_BUF_INIT;
    tsw_table_t table = {0};
    char dir[] = "/tmp/tsw-test-choice-XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_int_equal(tsw_cli_tables_make(&f.dataset, f.reduction, &f.verdicts, &tables, NULL),
                     TSW_OK);
    assert_int_equal(tsw_cli_tables_write(&tables, dir, &names, NULL), TSW_OK);
    assert_has(tsw_buf_text(&names), "/sm_80.json\n");
    assert_has(tsw_buf_text(&names), "/sm_90.json\n");
    char *path = tsw_path_join(dir, "sm_90.json");
    assert_int_equal(tsw_file_read(path, &bytes, NULL), TSW_OK);
    assert_int_equal(tsw_table_read(bytes.data, bytes.size, &table, NULL), TSW_OK);
    assert_int_equal(tsw_table_write(&table, &again, NULL), TSW_OK);
    assert_string_equal(tsw_buf_text(&again), tsw_buf_text(&bytes));
    assert_int_equal(tsw_dir_remove(dir, NULL), TSW_OK);
    tsw_free(path);
    tsw_table_fini(&table);
    tsw_buf_fini(&names);
    tsw_buf_fini(&bytes);
    tsw_buf_fini(&again);
    tsw_cli_tables_fini(&tables);
    fixture_free(&f);
}

static void test_tables_when_any_allocation_fails_then_nomem(void **state)
{
    (void)state;
    fixture_t f = fixture_new();
    for (long n = 1;; n++) {
        tsw_cli_tables_t tables = {0};
        tsw_mem_fail_at(n);
        const tsw_status_t status =
            tsw_cli_tables_make(&f.dataset, f.reduction, &f.verdicts, &tables, NULL);
        tsw_mem_fail_at(0);
        tsw_cli_tables_fini(&tables);
        if (status == TSW_OK) {
            assert_true(n > 10); /* many did fail */
            break;
        }
        assert_int_equal(status, TSW_ERR_NOMEM);
    }
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print_when_simulated_then_says_so_everywhere),
        cmocka_unit_test(test_print_and_tables_when_all_are_estimates_then_no_interval),
        cmocka_unit_test(test_print_when_nothing_usable_then_names_why),
        cmocka_unit_test(test_print_when_some_fail_then_names_them),
        cmocka_unit_test(test_print_when_models_differ_then_says_so),
        cmocka_unit_test(test_print_tells_what_tuning_takes),
        cmocka_unit_test(test_print_when_chosen_configs_are_slow_to_tune_then_says_so),
        cmocka_unit_test(test_tables_when_made_then_one_per_arch_and_consistent),
        cmocka_unit_test(test_tables_when_not_for_release_then_refused),
        cmocka_unit_test(test_tables_when_written_then_read_back_equal),
        cmocka_unit_test(test_tables_when_any_allocation_fails_then_nomem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
