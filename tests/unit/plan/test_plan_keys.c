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

static void fill(sample_job_t *s, const tsw_pack_t *pack, bool reversed)
{
    sample_job_init(s);
    for (int i = 0; i < 3; i++) {
        sample_job_entry(s, pack);
        sample_job_shape(s, 256 << (reversed ? 2 - i : i), 256, 64);
        sample_job_shape(s, 256, 4096 << (reversed ? 2 - i : i), 128);
    }
}

static bool has_cell(const tsw_plan_t *plan, tsw_key_t key)
{
    for (size_t i = 0; i < plan->cell_count; i++) {
        if (tsw_key_equal(plan->cells[i].key, key))
            return true;
    }
    return false;
}

static bool has_build(const tsw_plan_t *plan, tsw_key_t key)
{
    for (size_t i = 0; i < plan->build_count; i++) {
        if (tsw_key_equal(plan->builds[i].key, key))
            return true;
    }
    return false;
}

static void test_keys_do_not_depend_on_the_order_of_entries(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t a;
    sample_job_t b;
    fill(&a, pack, false);
    fill(&b, pack, true);
    tsw_plan_t *x = make_ok(&a);
    tsw_plan_t *y = make_ok(&b);
    assert_true(tsw_key_equal(x->key, y->key));
    assert_int_equal(x->cell_count, y->cell_count);
    assert_int_equal(x->build_count, y->build_count);
    for (size_t i = 0; i < x->cell_count; i++) /* the very same order */
        assert_true(tsw_key_equal(x->cells[i].key, y->cells[i].key));
    for (size_t i = 0; i < x->build_count; i++)
        assert_true(tsw_key_equal(x->builds[i].key, y->builds[i].key));
    tsw_plan_free(x);
    tsw_plan_free(y);
    tsw_pack_free(pack);
}

/* What people are told of a difference says the same for any order of the entries. */
static void test_inputs_name_what_the_plan_is_made_from(void **state)
{
    (void)state;
    static const char *const lines[] = {"\npurpose: release\n",  "\nmeasure.rounds: 20\n",
                                        "\nmeasure.warmup: 2\n", "\narch sm_90: measured\n",
                                        "\nconfigs of mini ",    "\nshapes of mini ",
                                        " sm_90: all 1\n"};
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t a;
    sample_job_t b;
    fill(&a, pack, false);
    fill(&b, pack, true);
    tsw_plan_t *x = make_ok(&a);
    tsw_plan_t *y = make_ok(&b);
    assert_string_equal(x->inputs, y->inputs);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (strstr(x->inputs, lines[i]) == NULL)
            fail_msg("\"%s\" lacks \"%s\"", x->inputs, lines[i]);
    }
    tsw_plan_free(x);
    tsw_plan_free(y);
    tsw_pack_free(pack);
}

static void test_keys_are_all_different(void **state)
{
    (void)state;
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    sample_job_t s;
    fill(&s, pack, false);
    tsw_plan_t *plan = make_ok(&s);
    for (size_t i = 0; i < plan->cell_count; i++) {
        for (size_t j = 0; j < i; j++)
            assert_false(tsw_key_equal(plan->cells[i].key, plan->cells[j].key));
    }
    tsw_plan_free(plan);
    tsw_pack_free(pack);
}

typedef enum {
    NOTHING,
    PACK,
    DTYPE,
    FLAG,
    SHAPE,
    STATIC_DIM,
    ARCH,
    ROWS,
    POLICY,
    WEIGHT,
    PURPOSE
} change_t;

/* One cell, on sm_90, with one thing changed. */
static tsw_plan_t *changed(change_t change, const tsw_pack_t *pack, const tsw_pack_t *other,
                           tsw_config_row_t *rows)
{
    static sample_job_t s;
    sample_job_init(&s);
    s.job.arch_count = 1;
    tsw_job_entry_t *entry = sample_job_entry(&s, change == PACK ? other : pack);
    sample_job_shape(&s, change == SHAPE ? 512 : 256, 256, change == STATIC_DIM ? 128 : 64);
    entry->flag_sets[0][0] = change == FLAG;
    entry->dtypes[TSW_DTYPE_F16] = change != DTYPE;
    entry->dtypes[TSW_DTYPE_E4M3] = change == DTYPE;
    entry->rows = change == ROWS ? rows : NULL;
    entry->row_count = change == ROWS;
    s.archs[0] = change == ARCH ? 100 : 90;
    s.job.policy.rounds = change == POLICY ? 21 : 20;
    s.shapes[0][0].weight = change == WEIGHT ? 2.0 : 1.0;
    s.job.purpose = change == PURPOSE ? TSW_PURPOSE_RESEARCH : TSW_PURPOSE_RELEASE;
    return make_ok(&s);
}

static void test_keys_depend_on_all_that_matters(void **state)
{
    (void)state;
    static const sample_row_t row = {{{64}, {64}, {1}, {1}}};
    static const struct {
        change_t change;
        bool same_cell, same_builds;
    } cases[] = {
        {NOTHING, true, true}, {PACK, false, false},  {DTYPE, false, false},
        {FLAG, false, false},  {SHAPE, false, true},  {STATIC_DIM, false, false},
        {ARCH, false, true},   {ROWS, false, true},   {POLICY, true, true},
        {WEIGHT, true, true},  {PURPOSE, true, true},
    };
    tsw_pack_t *pack = sample_pack_new(sample_pack_lists, "");
    tsw_pack_t *other = sample_pack_new(sample_pack_lists, "# one more comment\n");
    tsw_config_row_t *rows = sample_rows_new(pack, &row, 1);
    tsw_plan_t *base = changed(NOTHING, pack, other, rows);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tsw_plan_t *plan = changed(cases[i].change, pack, other, rows);
        assert_int_equal(plan->cell_count, 1);
        assert_int_equal(has_cell(base, plan->cells[0].key), cases[i].same_cell);
        for (size_t j = 1; j < plan->build_count; j++)
            assert_int_equal(has_build(base, plan->builds[j].key), cases[i].same_builds);
        assert_true(tsw_key_equal(plan->builds[0].key, base->builds[0].key));
        assert_int_equal(tsw_key_equal(plan->key, base->key), cases[i].change == NOTHING);
        tsw_plan_free(plan);
    }
    tsw_plan_free(base);
    sample_rows_free(rows, 1);
    tsw_pack_free(other);
    tsw_pack_free(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_do_not_depend_on_the_order_of_entries),
        cmocka_unit_test(test_inputs_name_what_the_plan_is_made_from),
        cmocka_unit_test(test_keys_are_all_different),
        cmocka_unit_test(test_keys_depend_on_all_that_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
