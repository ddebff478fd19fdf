/* The order of a cell's builds, and how long they take on several cores in that order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "plan/plan.h"
#include "sample_job.h"
#include "sample_pack.h"

enum { CONFIGS_MAX = 128 };

static tsw_pack_t *pack;
static tsw_plan_t *plan;

/* One cell on sm_90 of these rows, as research. */
static const tsw_cell_t *plan_rows(const sample_row_t *rows, size_t count)
{
    static sample_job_t s;
    tsw_err_t err = TSW_ERR_INIT;
    pack = sample_pack_new(sample_pack_lists, "");
    sample_job_init(&s);
    s.job.arch_count = 1;
    s.job.purpose = TSW_PURPOSE_RESEARCH;
    tsw_job_entry_t *entry = sample_job_entry(&s, pack);
    entry->rows = sample_rows_new(pack, rows, count);
    entry->row_count = count;
    sample_job_shape(&s, 4096, 4096, 64);
    if (tsw_plan_make(&s.job, &plan, &err) != TSW_OK)
        fail_msg("%s", err.text);
    sample_rows_free(entry->rows, count);
    return &plan->cells[0];
}

static int teardown(void **state)
{
    (void)state;
    tsw_plan_free(plan);
    tsw_pack_free(pack);
    return 0;
}

static const tsw_config_t *config_at(const tsw_cell_t *cell, size_t place)
{
    return &plan->variants[cell->variant].configs[cell->configs[cell->order[place]]];
}

static int64_t tiles_at(const tsw_cell_t *cell, size_t place)
{
    const tsw_config_t *config = config_at(cell, place);
    return config->values[0] * config->values[1];
}

static void note_build(void *user, uint32_t build)
{
    uint32_t **at = user;
    *(*at)++ = build;
}

static void test_the_baseline_is_first_and_then_the_largest_tiles(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {
        {{{16, 64}, {16, 32}, {1, 2}, {1}}},
        {{{128}, {64, 256}, {2}, {1}}},
    };
    const tsw_cell_t *cell = plan_rows(rows, 2);
    bool seen[16] = {false};
    assert_int_equal(cell->config_count, 10);
    for (size_t i = 0; i < cell->config_count; i++) {
        assert_false(seen[cell->order[i]]);
        seen[cell->order[i]] = true;
    }
    assert_int_equal(cell->order[0], 0);
    for (size_t i = 2; i < cell->config_count; i++) {
        assert_true(tiles_at(cell, i) <= tiles_at(cell, i - 1));
        if (tiles_at(cell, i) == tiles_at(cell, i - 1))
            assert_true(cell->order[i] > cell->order[i - 1]);
    }
    assert_int_equal(tiles_at(cell, 1), 128 * 256);
}

static void test_builds_are_made_in_the_order_of_their_cell(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {{{{16, 64, 256}, {16, 32}, {1}, {1}}}};
    const tsw_cell_t *cell = plan_rows(rows, 1);
    uint32_t builds[16], *end = builds;
    tsw_plan_cell_builds(plan, cell, note_build, &end);
    assert_int_equal(end - builds, 2 + cell->config_count);
    assert_int_equal(plan->builds[builds[0]].kind, TSW_BUILD_TOOL);
    assert_int_equal(plan->builds[builds[1]].kind, TSW_BUILD_REFERENCE);
    for (uint32_t i = 0; i < cell->config_count; i++) {
        assert_int_equal(builds[2 + i], 2 + i);
        assert_int_equal(plan->builds[2 + i].config, cell->configs[cell->order[i]]);
    }
}

/* Each build goes to the slot that is free first; when the last one ends. */
static double makespan(const double *costs, size_t count, size_t slots)
{
    double free_at[16] = {0}, end = 0;
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;
        for (size_t s = 1; s < slots; s++)
            if (free_at[s] < free_at[first])
                first = s;
        free_at[first] += costs[i];
        end = free_at[first] > end ? free_at[first] : end;
    }
    return end;
}

/* Compile times as on a real toolchain: half a second to five, growing with the tiles, and a fifth
 * more or less that the plan cannot know. */
static double seconds_of(const tsw_config_t *config)
{
    const double share = (double)(config->values[0] * config->values[1]) / (256.0 * 256.0);
    return (0.4 + 3.8 * share) *
           (0.8 + 0.4 * tsw_rng_uniform(tsw_rng_u64(1, config->key.lo, 0, 0, 0)));
}

static void test_slots_end_together(void **state)
{
    (void)state;
    static const sample_row_t rows[] = {
        {{{16, 64, 128, 256}, {16, 64, 256}, {1, 2, 4}, {1, 2, 4}}}}; /* 4 x 3 x 3 x 3 */
    const size_t slots = 15;
    const tsw_cell_t *cell = plan_rows(rows, 1);
    double in_order[CONFIGS_MAX], by_index[CONFIGS_MAX], all = 0;
    assert_true(cell->config_count >= 108 && cell->config_count <= CONFIGS_MAX);
    for (size_t i = 0; i < cell->config_count; i++) {
        in_order[i] = seconds_of(config_at(cell, i));
        by_index[cell->order[i]] = in_order[i];
        all += in_order[i];
    }
    const double bound = all / (double)slots;
    assert_true(makespan(in_order, cell->config_count, slots) < 1.1 * bound);
    assert_true(makespan(by_index, cell->config_count, slots) > 1.2 * bound);
}

#define TEST(_name) cmocka_unit_test_teardown(_name, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_baseline_is_first_and_then_the_largest_tiles),
        TEST(test_builds_are_made_in_the_order_of_their_cell),
        TEST(test_slots_end_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
