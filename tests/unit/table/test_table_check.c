#include "table/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char base_config[] = "TILE_M=128";
static char other_config[] = "TILE_M=64";
static char f16[] = "dtype=f16";
static char f8[] = "dtype=f8";
static char m512[] = "M=512 N=8";
static char m1024[] = "M=1024 N=8";
static char name[] = "matmul";
static char cuda[] = "cuda";
static char sim[] = "sim";
static char release[] = "release";
static char probe[] = "probe";
static char median[] = "median";
static char energy[] = "energy";
static char marks[] = "clock+drift";

typedef struct {
    char *configs[9];
    tsw_table_row_t rows[2];
    tsw_table_pack_t packs[2];
    tsw_table_t table;
} sample_t;

/* A table without faults, in static text only: never handed to tsw_table_fini. */
static void fill(sample_t *s)
{
    *s = (sample_t){0};
    s->configs[0] = base_config;
    s->configs[1] = other_config;
    s->rows[0] = (tsw_table_row_t){.variant = f16,
                                   .shape = m512,
                                   .config = 1,
                                   .time_ns = 10,
                                   .ci_low_ns = 9,
                                   .ci_high_ns = 11,
                                   .speedup = 1.2,
                                   .energy_mj = NAN,
                                   .energy_low_mj = NAN,
                                   .energy_high_mj = NAN,
                                   .power_w = NAN};
    s->rows[1] = s->rows[0];
    s->rows[1].shape = m1024;
    s->rows[1].config = 0;
    s->rows[1].time_ns = s->rows[1].ci_low_ns = s->rows[1].ci_high_ns = 20;
    s->rows[1].speedup = 1.0;
    s->packs[0] = (tsw_table_pack_t){.name = name,
                                     .configs = s->configs,
                                     .config_count = 2,
                                     .rows = s->rows,
                                     .row_count = 2,
                                     .candidate_count = 12,
                                     .mean_regret = 0.01,
                                     .worst_regret = 0.02,
                                     .baseline_mean_regret = 0.1,
                                     .baseline_worst_regret = INFINITY};
    s->packs[1] = s->packs[0];
    s->table = (tsw_table_t){.schema = TSW_TABLE_SCHEMA,
                             .arch = 90,
                             .mode = cuda,
                             .purpose = release,
                             .objective = median,
                             .packs = s->packs,
                             .pack_count = 1};
}

static void check_faults(const sample_t *s, size_t wanted, const char *part)
{
    tsw_buf_t report = TSW_BUF_INIT;
    size_t faults = 99;
    tsw_table_check(&s->table, &report, &faults);
    if (faults != wanted || strstr(tsw_buf_text(&report), part) == NULL)
        fail_msg("%zu faults: %s", faults, tsw_buf_text(&report));
    tsw_buf_fini(&report);
}

static void test_check_of_a_good_table_finds_nothing(void **state)
{
    (void)state;
    sample_t s;
    fill(&s);
    check_faults(&s, 0, "");
    s.packs[0].candidate_count = 2;
    check_faults(&s, 0, "");
}

static void test_check_names_each_fault(void **state)
{
    (void)state;
    sample_t s;
    fill(&s);
    s.rows[0].config = 2;
    check_faults(&s, 1, "pack matmul: dtype=f16 M=512 N=8: config 2 of 2");
    fill(&s);
    s.configs[1] = base_config;
    check_faults(&s, 1, "the same");
    fill(&s);
    s.packs[0].config_count = 9;
    for (int i = 0; i < 9; i++)
        s.configs[i] = i == 0 ? base_config : (char *)other_config + (i - 1);
    check_faults(&s, 1, "9 configs, at most 8");
    fill(&s);
    s.packs[0].config_count = 0;
    check_faults(&s, 3, "not even the baseline");
    fill(&s);
    s.rows[1].ci_low_ns = 21;
    check_faults(&s, 1, "outside its interval");
    fill(&s);
    s.rows[1].ci_low_ns = NAN;
    check_faults(&s, 1, "half an interval");
    s.rows[1].ci_high_ns = NAN;
    check_faults(&s, 0, "");
    fill(&s);
    s.rows[1].time_ns = NAN;
    check_faults(&s, 2, "time");
    s.rows[1].time_ns = 0.0;
    check_faults(&s, 2, "time 0 ns");
    fill(&s);
    s.packs[0].candidate_count = 1;
    check_faults(&s, 1, "2 configs out of 1 candidates");
    fill(&s);
    s.packs[0].worst_regret = 0.001;
    check_faults(&s, 1, "regret of the configs");
    fill(&s);
    s.rows[1].shape = m512;
    check_faults(&s, 1, "there twice");
    fill(&s);
    s.rows[0].shape = m1024;
    s.rows[1].shape = m512;
    check_faults(&s, 1, "out of order");
    fill(&s);
    s.table.pack_count = 2;
    check_faults(&s, 1, "there twice");
    s.packs[0].variant = f16;
    s.packs[1].variant = f8; /* with rows of f16 */
    check_faults(&s, 3, "table of dtype=f8: out of order");
    fill(&s);
    s.table.mode = name;
    check_faults(&s, 1, "mode matmul");
}

static void test_check_of_marks_and_energies(void **state)
{
    (void)state;
    sample_t s;
    fill(&s);
    s.rows[0].unstable = marks;
    check_faults(&s, 0, "");
    s.rows[0].unstable = name;
    check_faults(&s, 1, "dtype=f16 M=512 N=8: unstable by matmul, which is not known");
    fill(&s);
    s.rows[0].energy_mj = 2;
    s.rows[0].power_w = 400;
    check_faults(&s, 1, "an energy, though the objective is median");
    s.table.objective = energy;
    check_faults(&s, 0, "");
    s.rows[0].energy_low_mj = 1;
    check_faults(&s, 1, "half an interval of the energy");
    s.rows[0].energy_high_mj = 1.5;
    check_faults(&s, 1, "energy 2 mJ outside its interval 1 .. 1.5");
    s.rows[0].energy_high_mj = 2;
    check_faults(&s, 0, "");
    s.rows[0].power_w = NAN;
    check_faults(&s, 1, "energy 2 mJ, power nan W");
    s.rows[0].energy_mj = NAN;
    check_faults(&s, 2, "an interval or power without an energy");
    fill(&s);
    s.table.objective = name;
    check_faults(&s, 1, "objective matmul is none of");
}

static void test_usable_takes_measured_release_tables_only(void **state)
{
    (void)state;
    sample_t s;
    tsw_err_t err = TSW_ERR_INIT;
    fill(&s);
    assert_int_equal(tsw_table_usable(&s.table, &err), TSW_OK);
    s.table.mode = sim;
    assert_int_equal(tsw_table_usable(&s.table, &err), TSW_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "mode sim"));
    s.table.mode = cuda;
    s.table.purpose = probe;
    assert_int_equal(tsw_table_usable(&s.table, &err), TSW_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "purpose probe"));
}

static void test_sort_orders_numbers_by_value(void **state)
{
    (void)state;
    sample_t s;
    fill(&s);
    s.rows[0].shape = m1024;
    s.rows[1].shape = m512;
    tsw_table_sort(&s.table);
    assert_ptr_equal(s.rows[0].shape, m512);
    s.table.pack_count = 2;
    s.packs[0].variant = f16;
    s.packs[1].variant = f8;
    tsw_table_sort(&s.table);
    assert_ptr_equal(s.packs[0].variant, f8);
    assert_true(tsw_table_compare("M=512 N=8", "M=1024 N=8") < 0);
    assert_true(tsw_table_compare("M=1024 N=9", "M=1024 N=10") < 0);
    assert_true(tsw_table_compare("M=129", "M=128") > 0);
    assert_true(tsw_table_compare("M=12", "M=12 N=1") < 0);
    assert_true(tsw_table_compare("M=x", "M=1") > 0);
    assert_true(tsw_table_compare(NULL, "") < 0);
    assert_int_equal(tsw_table_compare(NULL, NULL), 0);
    assert_int_equal(tsw_table_compare("M=12", "M=12"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_of_a_good_table_finds_nothing),
        cmocka_unit_test(test_check_names_each_fault),
        cmocka_unit_test(test_check_of_marks_and_energies),
        cmocka_unit_test(test_usable_takes_measured_release_tables_only),
        cmocka_unit_test(test_sort_orders_numbers_by_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
