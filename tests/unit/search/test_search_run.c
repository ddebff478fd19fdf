/* The generations of a search over made-up results: what they measure, and that they are the same
 * after a stop. */
#include "search/search_run.h"

#include "base/mem.h"
#include "sample_dataset.h"
#include "sample_job.h"
#include "sample_pack.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BUILDS = 48, PER_GENERATION = 10, GENERATIONS_MAX = 16, SPACE = 512 };

static const char lists[] =
    "lists:\n"
    "  default:\n"
    "    source: a test\n"
    "    configs:\n"
    "      - {TILE_M: [16, 32, 64, 128, 256], TILE_N: [16, 32, 64, 128, 256],\n"
    "         occupancy: [1, 2, 3, 4, 6, 8], num_ctas: [1, 2, 4]}\n";

typedef struct {
    sample_job_t job;
    tsw_pack_t *pack;
    tsw_plan_t *whole;
} fixture_t;

static void open_fixture(fixture_t *f)
{
    f->pack = sample_pack_new(lists, "");
    sample_job_init(&f->job);
    f->job.job.arch_count = 1;
    f->job.job.purpose = TSW_PURPOSE_RESEARCH;
    f->job.job.search =
        (tsw_search_t){.given = true, .builds = BUILDS, .per_generation = PER_GENERATION};
    sample_job_entry(&f->job, f->pack);
    sample_job_shape(&f->job, 512, 512, 64);
    sample_job_shape(&f->job, 4096, 256, 64);
    assert_int_equal(tsw_plan_make(&f->job.job, &f->whole, NULL), TSW_OK);
    assert_true(tsw_plan_is_searched(f->whole));
    assert_int_equal(f->whole->cell_count, 2);
}

static void close_fixture(fixture_t *f)
{
    tsw_plan_free(f->whole);
    tsw_pack_free(f->pack);
    tsw_fileset_fini(&f->job.job.snapshot);
}

/* A valley whose lowest point depends on the shape, and in which no two configs are equal; 0: the
 * config fails. */
static uint64_t time_of(const int64_t *values, const int64_t *dims)
{
    double m = log2((double)values[0]), n = log2((double)values[1]);
    double best_m = dims[0] > 1000 ? 7.0 : 6.0;
    if (values[0] * values[1] > 256 * 128 || values[2] == 6)
        return 0;
    return (uint64_t)(1e7 * (1.0 + 0.1 * fabs(m - best_m - 0.07)) * (1.0 + 0.11 * fabs(n - 5.05)) *
                      (1.0 + 0.02 * fabs((double)values[2] - 3.03)) *
                      (1.0 + 0.03 * (double)(values[3] - 1)));
}

/* speed: of the GPU that measured. */
static void add_result(tsw_dataset_t *dataset, const tsw_plan_t *plan, const tsw_cell_t *cell,
                       double speed)
{
    const tsw_plan_variant_t *variant = &plan->variants[cell->variant];
    tsw_buf_t shape = TSW_BUF_INIT;
    tsw_shape_format(variant->id.pack, cell->dims, &shape);
    tsw_cell_result_t *result = sample_dataset_cell(dataset, "mini", "v", tsw_buf_text(&shape), 90);
    result->key = cell->key;
    result->coverage = cell->coverage;
    for (size_t i = 0; i < cell->config_count; i++) {
        const tsw_config_t *config = &variant->configs[cell->configs[i]];
        tsw_buf_t text = TSW_BUF_INIT;
        tsw_config_format(variant->id.pack, config, &text);
        uint64_t time = time_of(config->values, cell->dims);
        tsw_record_t *record = time > 0 ? sample_dataset_timed(result, tsw_buf_text(&text),
                                                               (uint64_t)((double)time * speed))
                                        : sample_dataset_record(result, tsw_buf_text(&text),
                                                                TSW_OUTCOME_LAUNCH_FAILED);
        record->config_key = config->key;
        tsw_buf_fini(&text);
    }
    tsw_buf_fini(&shape);
}

typedef struct {
    tsw_plan_t *plans[GENERATIONS_MAX];
    size_t count;
} history_t;

static void history_fini(history_t *history)
{
    for (size_t i = 0; i < history->count; i++)
        tsw_plan_free(history->plans[i]);
}

/* Runs generations until there are `until` of them or no more; what they measure goes into dataset
 * unless it is there. Each generation's GPU is so many times slower than the one before. */
static void search_on(const fixture_t *f, double slower, tsw_dataset_t *dataset, size_t until,
                      history_t *history)
{
    tsw_search_run_t *run = NULL;
    assert_int_equal(tsw_search_run_new(f->whole, &run, NULL), TSW_OK);
    *history = (history_t){.count = 0};
    while (history->count < until) {
        const tsw_plan_choice_t *choices = NULL;
        size_t count = 0;
        assert_int_equal(tsw_search_run_choose(run, &choices, &count, NULL), TSW_OK);
        if (count == 0)
            break;
        tsw_plan_t *plan = NULL;
        assert_int_equal(
            tsw_plan_make_generation(f->whole, choices, count, history->count == 0, &plan, NULL),
            TSW_OK);
        bool done[2];
        tsw_plan_resume(plan, dataset, done);
        for (size_t i = 0; i < plan->cell_count; i++) {
            if (!done[i])
                add_result(dataset, plan, &plan->cells[i], pow(slower, (double)history->count));
        }
        tsw_dataset_canonicalise(dataset);
        assert_int_equal(tsw_search_run_learn(run, plan, dataset, NULL), TSW_OK);
        assert_true(history->count < GENERATIONS_MAX);
        history->plans[history->count++] = plan;
    }
    tsw_search_run_free(run);
}

static void search(const fixture_t *f, tsw_dataset_t *dataset, size_t until, history_t *history)
{
    search_on(f, 1.1, dataset, until, history);
}

static void test_run_keeps_its_budget_and_ends_with_the_best(void **state)
{
    (void)state;
    fixture_t f;
    history_t history;
    open_fixture(&f);
    tsw_dataset_t dataset = sample_dataset_new();
    search(&f, &dataset, GENERATIONS_MAX, &history);
    const tsw_plan_variant_t *variant = &f.whole->variants[0];
    bool built[SPACE] = {false};
    size_t count = 0;
    for (size_t g = 0; g < history.count; g++) {
        const tsw_plan_t *plan = history.plans[g];
        assert_ptr_equal(plan->builds, f.whole->builds); /* ids stay */
        assert_int_equal(plan->cell_count, 2);
        for (size_t c = 0; c < plan->cell_count; c++) {
            const tsw_cell_t *cell = &plan->cells[c];
            assert_int_equal(cell->configs[0], 0); /* the baseline */
            assert_int_equal(cell->coverage.generation, g + 1);
            assert_int_equal(cell->coverage.space_configs, variant->config_count);
            for (size_t i = 0; i < cell->config_count; i++) {
                count += !built[cell->configs[i]];
                built[cell->configs[i]] = true;
            }
        }
    }
    assert_int_equal(count, BUILDS);
    assert_int_equal(history.count, 6); /* of 10, 10, 10, 10 and 7, and one that builds nothing */
    const tsw_plan_t *last = history.plans[history.count - 1];
    for (size_t c = 0; c < 2; c++) {
        assert_int_equal(history.plans[4]->cells[c].coverage.built_configs, BUILDS);
        assert_int_equal(last->cells[c].coverage.built_configs, BUILDS);
        assert_int_equal(last->cells[c].config_count, last->cells[0].config_count);
        assert_memory_equal(last->cells[c].configs, last->cells[0].configs,
                            last->cells[0].config_count * sizeof(*last->cells[0].configs));
    }
    /* The last one has, of all 450, the best for each shape, or what is within 2 % of it. */
    for (size_t c = 0; c < 2; c++) {
        const tsw_cell_t *cell = &last->cells[c];
        uint64_t best = UINT64_MAX, found = UINT64_MAX;
        for (size_t i = 0; i < variant->config_count; i++) {
            uint64_t time = time_of(variant->configs[i].values, cell->dims);
            best = time > 0 && time < best ? time : best;
        }
        for (size_t i = 0; i < cell->config_count; i++) {
            uint64_t time = time_of(variant->configs[cell->configs[i]].values, cell->dims);
            found = time > 0 && time < found ? time : found;
        }
        assert_true((double)found <= 1.02 * (double)best);
    }
    tsw_dataset_fini(&dataset);
    history_fini(&history);
    close_fixture(&f);
}

static void assert_same(const history_t *a, const history_t *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t g = 0; g < a->count; g++) {
        assert_int_equal(a->plans[g]->cell_count, b->plans[g]->cell_count);
        for (size_t c = 0; c < a->plans[g]->cell_count; c++)
            assert_true(tsw_key_equal(a->plans[g]->cells[c].key, b->plans[g]->cells[c].key));
    }
}

/* Twice as slow from generation to generation: without a common scale only the first would count.
 */
static void test_run_takes_the_same_way_whatever_gpu_measures(void **state)
{
    (void)state;
    fixture_t f;
    history_t once, slower;
    open_fixture(&f);
    tsw_dataset_t dataset = sample_dataset_new(), other = sample_dataset_new();
    search_on(&f, 1.0, &dataset, GENERATIONS_MAX, &once);
    search_on(&f, 2.0, &other, GENERATIONS_MAX, &slower);
    assert_same(&once, &slower);
    history_fini(&once);
    history_fini(&slower);
    tsw_dataset_fini(&dataset);
    tsw_dataset_fini(&other);
    close_fixture(&f);
}

static void append_untried(tsw_buf_t *out, const char *name, const int64_t *values, size_t count,
                           int64_t a, int64_t b)
{
    const char *before = tsw_buf_text(out)[0] != '\0' ? " " : "";
    for (size_t i = 0, n = 0; i < count; i++)
        if (values[i] != a && values[i] != b) {
            if (n++ == 0)
                tsw_buf_printf(out, "%s%s=%lld", before, name, (long long)values[i]);
            else
                tsw_buf_printf(out, ",%lld", (long long)values[i]);
        }
}

/* One config beside the baseline: what no other of the two has is named. */
static void test_run_names_the_values_that_it_never_tried(void **state)
{
    (void)state;
    static const int64_t tiles[] = {16, 32, 64, 128, 256}, occupancies[] = {1, 2, 3, 4, 6, 8},
                         ctas[] = {1, 2, 4};
    fixture_t f;
    history_t history;
    open_fixture(&f);
    f.job.job.search = (tsw_search_t){.given = true, .builds = 2, .per_generation = 1};
    tsw_dataset_t dataset = sample_dataset_new();
    search(&f, &dataset, 1, &history);
    const tsw_cell_t *cell = &history.plans[0]->cells[0];
    assert_int_equal(cell->config_count, 2);
    const int64_t *a = f.whole->variants[0].configs[cell->configs[0]].values;
    const int64_t *b = f.whole->variants[0].configs[cell->configs[1]].values;
    tsw_buf_t wanted = TSW_BUF_INIT;
    append_untried(&wanted, "TILE_M", tiles, 5, a[0], b[0]);
    append_untried(&wanted, "TILE_N", tiles, 5, a[1], b[1]);
    append_untried(&wanted, "occupancy", occupancies, 6, a[2], b[2]);
    append_untried(&wanted, "num_ctas", ctas, 3, a[3], b[3]);
    assert_string_equal(cell->coverage.untried, tsw_buf_text(&wanted));
    tsw_buf_fini(&wanted);
    history_fini(&history);
    tsw_dataset_fini(&dataset);
    close_fixture(&f);
}

static void test_run_goes_on_the_same_way_after_any_stop(void **state)
{
    (void)state;
    fixture_t f;
    history_t once;
    open_fixture(&f);
    tsw_dataset_t dataset = sample_dataset_new();
    search(&f, &dataset, GENERATIONS_MAX, &once);
    for (size_t stop = 1; stop < once.count; stop++) {
        tsw_dataset_t part = sample_dataset_new();
        history_t before, after;
        search(&f, &part, stop, &before);
        history_fini(&before);
        search(&f, &part, GENERATIONS_MAX, &after);
        assert_same(&once, &after);
        history_fini(&after);
        tsw_dataset_fini(&part);
    }
    tsw_dataset_fini(&dataset);
    history_fini(&once);
    close_fixture(&f);
}

static void test_run_tries_what_older_sweeps_found_on_the_nearest_shape(void **state)
{
    (void)state;
    static const char seeds[] = "mini\tdtype=f16 causal=no D=64\tsm_90\tM=16 N=16 D=64\tTILE_M=16 "
                                "TILE_N=16 occupancy=8 num_ctas=4\n"
                                "mini\tdtype=f16 causal=no D=64\tsm_90\tM=5000 N=250 "
                                "D=64\tTILE_M=256 TILE_N=16 occupancy=1 num_ctas=4\n"
                                "mini\tdtype=e4m3 causal=no D=64\tsm_90\tM=4096 N=256 "
                                "D=64\tTILE_M=16 TILE_N=16 occupancy=8 num_ctas=1\n"
                                "mini\tdtype=f16 causal=no D=64\tsm_80\tM=4096 N=256 "
                                "D=64\tTILE_M=16 TILE_N=16 occupancy=8 num_ctas=2\n"
                                "mini\tdtype=f16 causal=no D=64\tsm_90\tM=500 N=500 "
                                "D=64\tTILE_M=99 TILE_N=16 occupancy=1 num_ctas=1\n"
                                "mini\tdtype=f16 causal=no D=64\tsm_90\tM=500 N=500 "
                                "D=64\tTILE_M=32 TILE_N=256 occupancy=8 num_ctas=4\n"
                                "garbage\n";
    fixture_t f;
    open_fixture(&f);
    assert_int_equal(
        tsw_fileset_add(&f.job.job.snapshot, TSW_JOB_SEEDS, seeds, strlen(seeds), NULL), TSW_OK);
    tsw_search_run_t *run = NULL;
    const tsw_plan_choice_t *choices = NULL;
    size_t count = 0;
    assert_int_equal(tsw_search_run_new(f.whole, &run, NULL), TSW_OK);
    assert_int_equal(tsw_search_run_choose(run, &choices, &count, NULL), TSW_OK);
    assert_int_equal(count, 2);
    size_t found = 0;
    for (size_t i = 0; i < 2;
         i++) { /* the first two of the generation, in the order of the cells */
        const int64_t *values = f.whole->variants[0].configs[choices[0].configs[i]].values;
        found += values[0] == 256 && values[1] == 16 && values[2] == 1 && values[3] == 4;
        found += values[0] == 32 && values[1] == 256 && values[2] == 8 && values[3] == 4;
    }
    assert_int_equal(found, 2);
    const tsw_pack_t *pack = NULL;
    f.job.job.search.seed_count = 1;
    assert_int_equal(tsw_search_run_unseeded(run, &pack), 0);
    assert_null(pack);
    tsw_search_run_free(run);
    tsw_fileset_fini(&f.job.job.snapshot); /* and now they are of another job */
    assert_int_equal(tsw_search_run_new(f.whole, &run, NULL), TSW_OK);
    assert_int_equal(tsw_search_run_unseeded(run, &pack), 1);
    assert_ptr_equal(pack, f.pack);
    tsw_search_run_free(run);
    close_fixture(&f);
}

static void test_run_has_nothing_to_do_without_a_searched_cell(void **state)
{
    (void)state;
    fixture_t f;
    open_fixture(&f);
    tsw_plan_free(f.whole);
    f.job.job.search.builds = 450; /* all of them */
    assert_int_equal(tsw_plan_make(&f.job.job, &f.whole, NULL), TSW_OK);
    assert_false(tsw_plan_is_searched(f.whole));
    tsw_search_run_t *run = NULL;
    const tsw_plan_choice_t *choices = NULL;
    size_t count = 9;
    assert_int_equal(tsw_search_run_new(f.whole, &run, NULL), TSW_OK);
    assert_int_equal(tsw_search_run_choose(run, &choices, &count, NULL), TSW_OK);
    assert_int_equal(count, 0);
    tsw_search_run_free(run);
    close_fixture(&f);
}

static void test_run_fails_cleanly_without_memory(void **state)
{
    (void)state;
    fixture_t f;
    open_fixture(&f);
    tsw_status_t status = TSW_ERR_NOMEM;
    for (long n = 1; status != TSW_OK; n++) {
        tsw_search_run_t *run = NULL;
        tsw_plan_t *plan = NULL;
        const tsw_plan_choice_t *choices = NULL;
        size_t count = 0;
        assert_true(n < 4000);
        tsw_mem_fail_at(n);
        status = tsw_search_run_new(f.whole, &run, NULL);
        if (status == TSW_OK)
            status = tsw_search_run_choose(run, &choices, &count, NULL);
        if (status == TSW_OK)
            status = tsw_plan_make_generation(f.whole, choices, count, true, &plan, NULL);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK || (status == TSW_ERR_NOMEM && plan == NULL));
        tsw_plan_free(plan);
        tsw_search_run_free(run);
    }
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_keeps_its_budget_and_ends_with_the_best),
        cmocka_unit_test(test_run_takes_the_same_way_whatever_gpu_measures),
        cmocka_unit_test(test_run_names_the_values_that_it_never_tried),
        cmocka_unit_test(test_run_goes_on_the_same_way_after_any_stop),
        cmocka_unit_test(test_run_tries_what_older_sweeps_found_on_the_nearest_shape),
        cmocka_unit_test(test_run_has_nothing_to_do_without_a_searched_cell),
        cmocka_unit_test(test_run_fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
