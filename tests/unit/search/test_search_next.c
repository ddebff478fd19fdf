/* The search on landscapes whose best point is known, and on a recorded space. The bounds on regret
 * are such that a search that does not descend (or samples badly) breaks them: each was seen to. */
#include "search/search.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { POINTS_MAX = 32768 };

typedef double (*landscape_t)(const int64_t *values, size_t axis_count);

typedef struct {
    int64_t values[POINTS_MAX * TSW_SEARCH_AXES_MAX];
    double truth[POINTS_MAX]; /* INFINITY: fails */
    size_t count, axis_count;
} space_t;

typedef struct {
    double scores[POINTS_MAX];
    bool valid[POINTS_MAX];
    bool tried[POINTS_MAX];
    uint32_t chosen[POINTS_MAX];
} knowledge_t;

static space_t space;
static knowledge_t known;

/* All combinations of 0..count-1 on each axis. */
static void make_space(const size_t *counts, size_t axis_count, landscape_t landscape)
{
    space.axis_count = axis_count;
    space.count = 1;
    for (size_t a = 0; a < axis_count; a++)
        space.count *= counts[a];
    assert_true(space.count <= POINTS_MAX);
    for (size_t i = 0; i < space.count; i++) {
        size_t rest = i;
        for (size_t a = axis_count; a-- > 0; rest /= counts[a])
            space.values[i * axis_count + a] = (int64_t)(rest % counts[a]);
        space.truth[i] = landscape(&space.values[i * axis_count], axis_count);
    }
}

static double best_truth(void)
{
    double best = INFINITY;
    for (size_t i = 0; i < space.count; i++)
        best = fmin(best, space.truth[i]);
    return best;
}

/* Searches with one view; the regret of the best point found. */
static double search(size_t builds, size_t per_generation, uint64_t seed, size_t *built_p)
{
    tsw_search_grid_t grid;
    assert_int_equal(tsw_search_grid_init(&grid, space.values, space.count, space.axis_count, NULL),
                     TSW_OK);
    for (size_t i = 0; i < space.count; i++) {
        known.scores[i] = NAN;
        known.valid[i] = true;
        known.tried[i] = false;
    }
    tsw_search_view_t view = {known.valid, known.scores};
    tsw_search_state_t state = {.grid = &grid,
                                .views = &view,
                                .view_count = 1,
                                .tried = known.tried,
                                .seed = seed,
                                .generation = 0};
    size_t built = 0;
    size_t count = 1;
    double found = INFINITY;
    while (built < builds && count > 0) {
        size_t room = builds - built < per_generation ? builds - built : per_generation;
        state.generation++;
        assert_int_equal(tsw_search_next(&state, room, known.chosen, &count, NULL), TSW_OK);
        assert_true(count <= room);
        for (size_t k = 0; k < count; k++) {
            uint32_t point = known.chosen[k];
            assert_false(known.tried[point]); /* nothing is built twice */
            known.tried[point] = true;
            known.scores[point] = space.truth[point];
            found = fmin(found, space.truth[point]);
        }
        built += count;
    }
    tsw_search_grid_fini(&grid);
    *built_p = built;
    return found / best_truth() - 1.0;
}

enum { SEEDS = 20 };

static void check_regret(size_t builds, size_t per_generation, double mean_bound,
                         double worst_bound)
{
    double sum = 0.0, worst = 0.0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        size_t built = 0;
        double regret = search(builds, per_generation, seed, &built);
        assert_int_equal(built, builds);
        sum += regret;
        worst = fmax(worst, regret);
    }
    printf("%zu of %zu points: regret %.4f in the mean, %.4f at worst\n", builds, space.count,
           sum / SEEDS, worst);
    assert_true(sum / SEEDS <= mean_bound);
    assert_true(worst <= worst_bound);
}

/* ---- landscapes ---- */

static double separable(const int64_t *v, size_t n)
{
    static const double best[] = {5, 2, 3, 1, 2};
    double time = 100.0;
    for (size_t a = 0; a < n; a++)
        time *= 1.0 + 0.08 * fabs((double)v[a] - best[a]);
    return time;
}

/* A narrow valley along a diagonal of the first two axes; its floor falls towards one end. */
static double ridge(const int64_t *v, size_t n)
{
    double time =
        100.0 * (1.0 + 0.5 * fabs((double)(v[0] - v[1]))) * (1.0 + 0.1 * (double)(7 - v[0]));
    for (size_t a = 2; a < n; a++)
        time *= 1.0 + 0.1 * fabs((double)v[a] - 2.0);
    return time;
}

/* A tenth of the points fails, by lot; so do all beyond a cliff; single points are off by 5 %. */
static double rugged(const int64_t *v, size_t n)
{
    uint64_t at = 0;
    for (size_t a = 0; a < n; a++)
        at = at * 16 + (uint64_t)v[a];
    uint64_t lot = tsw_rng_u64(7, at, 0, 0, 0);
    if (lot % 10 == 0 || v[0] + v[1] > 11)
        return INFINITY;
    return separable(v, n) * (1.0 + 0.05 * tsw_rng_uniform(tsw_rng_u64(8, at, 0, 0, 0)));
}

static const size_t axes[] = {8, 8, 6, 5, 4}; /* 7680 points */

static void test_search_descends_on_a_separable_landscape(void **state)
{
    (void)state;
    make_space(axes, 5, separable);
    check_regret(128, 16, 0.0, 0.0);
}

static void test_search_follows_a_ridge(void **state)
{
    (void)state;
    make_space(axes, 5, ridge);
    check_regret(192, 24, 0.02, 0.12);
}

static void test_search_crosses_failing_configs(void **state)
{
    (void)state;
    make_space(axes, 5, rugged);
    check_regret(160, 20, 0.015, 0.05);
}

/* ---- a recorded space ---- */

/* 108 configs of a matmul on an H200; lines of five knobs and a median in ns, 0 for a failure. */
static void read_recorded(void)
{
    FILE *file = fopen(TSW_SOURCE_DIR "/tests/data/search/matmul108.txt", "r");
    char line[256];
    assert_non_null(file);
    space.axis_count = 5;
    space.count = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        long long v[6];
        if (sscanf(line, "%lld %lld %lld %lld %lld %lld", &v[0], &v[1], &v[2], &v[3], &v[4],
                   &v[5]) != 6)
            continue;
        for (size_t a = 0; a < 5; a++)
            space.values[space.count * 5 + a] = v[a];
        space.truth[space.count++] = v[5] > 0 ? (double)v[5] : (double)INFINITY;
    }
    fclose(file);
    assert_int_equal(space.count, 108);
}

static void test_search_finds_the_best_of_a_recorded_space(void **state)
{
    (void)state;
    read_recorded();
    check_regret(40, 8, 0.01, 0.05);
}

/* ---- sampling ---- */

static void test_search_tries_every_value_in_its_first_generation(void **state)
{
    (void)state;
    make_space(axes, 5, separable);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        size_t built = 0;
        search(8, 8, seed, &built); /* as many as the longest axis has values */
        for (size_t a = 0; a < 5; a++) {
            for (int64_t level = 0; level < (int64_t)axes[a]; level++) {
                bool used = false;
                for (size_t i = 0; i < space.count; i++)
                    used = used || (known.tried[i] && space.values[i * 5 + a] == level);
                assert_true(used);
            }
        }
    }
}

static void test_search_takes_all_of_a_small_space_and_then_nothing(void **state)
{
    (void)state;
    static const size_t small[] = {3, 4};
    size_t built = 0;
    make_space(small, 2, separable);
    assert_true(search(100, 5, 1, &built) == 0.0);
    assert_int_equal(built, 12);
}

static void test_search_never_leaves_the_valid_points(void **state)
{
    (void)state;
    make_space(axes, 5, separable);
    tsw_search_grid_t grid;
    assert_int_equal(tsw_search_grid_init(&grid, space.values, space.count, 5, NULL), TSW_OK);
    bool *valid = known.valid;
    for (size_t i = 0; i < space.count; i++) {
        known.scores[i] = NAN;
        known.tried[i] = false;
        valid[i] = space.values[i * 5] < 2;
    }
    tsw_search_view_t view = {valid, known.scores};
    tsw_search_state_t search_state = {.grid = &grid,
                                       .views = &view,
                                       .view_count = 1,
                                       .tried = known.tried,
                                       .seed = 3,
                                       .generation = 1};
    size_t count = 0;
    assert_int_equal(tsw_search_next(&search_state, 64, known.chosen, &count, NULL), TSW_OK);
    assert_int_equal(count, 64);
    for (size_t i = 0; i < count; i++)
        assert_true(valid[known.chosen[i]]);
    tsw_search_grid_fini(&grid);
}

static void test_search_takes_seeds_first_and_once(void **state)
{
    (void)state;
    make_space(axes, 5, separable);
    tsw_search_grid_t grid;
    assert_int_equal(tsw_search_grid_init(&grid, space.values, space.count, 5, NULL), TSW_OK);
    for (size_t i = 0; i < space.count; i++) {
        known.scores[i] = NAN;
        known.tried[i] = i == 0;
        known.valid[i] = true;
    }
    const uint32_t seeds[] = {77, 0, 77, 1234};
    tsw_search_view_t view = {known.valid, known.scores};
    tsw_search_state_t search_state = {.grid = &grid,
                                       .views = &view,
                                       .view_count = 1,
                                       .tried = known.tried,
                                       .seeds = seeds,
                                       .seed_count = 4,
                                       .seed = 3,
                                       .generation = 1};
    size_t count = 0;
    assert_int_equal(tsw_search_next(&search_state, 8, known.chosen, &count, NULL), TSW_OK);
    assert_int_equal(count, 8);
    assert_int_equal(known.chosen[0], 77);
    assert_int_equal(known.chosen[1], 1234);
    for (size_t i = 2; i < count; i++)
        assert_true(known.chosen[i] != 77 && known.chosen[i] != 0);
    tsw_search_grid_fini(&grid);
}

/* ---- steps, one by one ---- */

/* What the second generation tries of a space of two axes, most wanted first. */
static size_t next_of(size_t count, const bool *valid, const double *scores, size_t room)
{
    bool tried[32];
    tsw_search_grid_t grid;
    assert_int_equal(tsw_search_grid_init(&grid, space.values, count, 2, NULL), TSW_OK);
    for (size_t i = 0; i < count; i++)
        tried[i] = !isnan(scores[i]);
    tsw_search_view_t view = {valid, scores};
    tsw_search_state_t state = {
        .grid = &grid, .views = &view, .view_count = 1, .tried = tried, .seed = 1, .generation = 2};
    size_t chosen = 0;
    assert_int_equal(tsw_search_next(&state, room, known.chosen, &chosen, NULL), TSW_OK);
    tsw_search_grid_fini(&grid);
    return chosen;
}

/* Three points in a row, one row above: from the first of them on. The order of points is (0, 0),
 * (0, 1), (1, 0), (1, 1), (2, 0), (2, 1). */
static void test_search_steps_over_what_is_no_point_or_fails(void **state)
{
    (void)state;
    static const size_t counts[] = {3, 2};
    bool valid[6] = {true, true, true, true, true, true};
    double scores[6] = {100.0, NAN, NAN, NAN, NAN, NAN};
    make_space(counts, 2, separable);
    assert_int_equal(next_of(6, valid, scores, 1), 1);
    assert_int_equal(known.chosen[0], 2);
    scores[2] = 120.0; /* what has a time is no way */
    next_of(6, valid, scores, 1);
    assert_int_equal(known.chosen[0], 1);
    scores[2] = INFINITY;
    next_of(6, valid, scores, 1);
    assert_int_equal(known.chosen[0], 4);
    scores[2] = NAN;
    valid[2] = false;
    next_of(6, valid, scores, 1);
    assert_int_equal(known.chosen[0], 4);
    for (size_t i = 2; i < 5; i++) /* (1, 0) is not in the space */
        memcpy(&space.values[2 * i], &space.values[2 * i + 2], 2 * sizeof(int64_t));
    valid[2] = true;
    next_of(5, valid, scores, 1);
    assert_int_equal(known.chosen[0], 3);
}

/* From the middle of 5 x 5, whose four neighbours fail: beyond these, then on both axes at once. */
static void test_search_tries_the_diagonals_after_the_axes(void **state)
{
    (void)state;
    static const size_t counts[] = {5, 5};
    static const uint32_t failing[] = {7, 11, 13, 17}, wanted[] = {2, 10, 14, 22, 6, 16, 8, 18};
    bool valid[25];
    double scores[25];
    make_space(counts, 2, separable);
    for (size_t i = 0; i < 25; i++) {
        valid[i] = true;
        scores[i] = i == 12 ? 1.0 : (double)NAN;
    }
    for (size_t i = 0; i < 4; i++)
        scores[failing[i]] = INFINITY;
    assert_int_equal(next_of(25, valid, scores, 9), 9); /* one is for far points */
    for (size_t i = 0; i < 8; i++) {
        bool found = false;
        for (size_t k = i < 4 ? 0 : 4; k < (i < 4 ? 4 : 8); k++)
            found = found || known.chosen[k] == wanted[i];
        assert_true(found);
    }
}

/* The points of a diagonal are known, so that every value was tried: what comes next is far from
 * it, in one of the corners. */
static void test_search_samples_far_from_what_was_tried(void **state)
{
    (void)state;
    static const size_t counts[] = {16, 16};
    make_space(counts, 2, separable);
    tsw_search_grid_t grid;
    assert_int_equal(tsw_search_grid_init(&grid, space.values, space.count, 2, NULL), TSW_OK);
    for (size_t i = 0; i < space.count; i++) {
        known.scores[i] = NAN;
        known.tried[i] = space.values[2 * i] == space.values[2 * i + 1];
        known.valid[i] = true;
    }
    tsw_search_view_t view = {known.valid, known.scores};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        tsw_search_state_t search_state = {.grid = &grid,
                                           .views = &view,
                                           .view_count = 1,
                                           .tried = known.tried,
                                           .seed = seed,
                                           .generation = 1};
        size_t count = 0;
        assert_int_equal(tsw_search_next(&search_state, 1, known.chosen, &count, NULL), TSW_OK);
        const int64_t *at = &space.values[2 * known.chosen[0]];
        assert_true(llabs(at[0] - at[1]) >= 10);
    }
    tsw_search_grid_fini(&grid);
}

static void test_best_are_in_order_and_no_more_than_wanted(void **state)
{
    (void)state;
    const double scores[] = {5.0, 3.0, NAN, 1.0, 3.0, INFINITY};
    const tsw_search_grid_t grid = {.count = 6};
    const tsw_search_view_t view = {NULL, scores};
    uint32_t best[6];
    assert_int_equal(tsw_search_best(&grid, &view, 2, best), 2);
    assert_int_equal(tsw_search_best(&grid, &view, 6, best), 4);
    assert_true(best[0] == 3 && best[1] == 1 && best[2] == 4 && best[3] == 0);
}

static void test_search_fails_cleanly_without_memory(void **state)
{
    (void)state;
    static const size_t small[] = {3, 4};
    make_space(small, 2, separable);
    tsw_status_t status = TSW_ERR_NOMEM;
    for (long n = 1; status != TSW_OK; n++) {
        tsw_search_grid_t grid = {0};
        size_t count = 99;
        assert_true(n < 100);
        for (size_t i = 0; i < space.count; i++) {
            known.scores[i] = i < 3 ? (double)i : (double)NAN;
            known.tried[i] = i < 3;
            known.valid[i] = true;
        }
        tsw_search_view_t view = {known.valid, known.scores};
        tsw_search_state_t search_state = {
            .grid = &grid, .views = &view, .view_count = 1, .tried = known.tried, .generation = 2};
        tsw_mem_fail_at(n);
        status = tsw_search_grid_init(&grid, space.values, space.count, 2, NULL);
        if (status == TSW_OK)
            status = tsw_search_next(&search_state, 4, known.chosen, &count, NULL);
        tsw_mem_fail_at(0);
        assert_true(status == TSW_OK ? count == 4 : status == TSW_ERR_NOMEM && count == 99);
        tsw_search_grid_fini(&grid);
    }
    tsw_search_grid_t none;
    assert_int_equal(tsw_search_grid_init(&none, space.values, 4, TSW_SEARCH_AXES_MAX + 1, NULL),
                     TSW_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search_descends_on_a_separable_landscape),
        cmocka_unit_test(test_search_follows_a_ridge),
        cmocka_unit_test(test_search_crosses_failing_configs),
        cmocka_unit_test(test_search_finds_the_best_of_a_recorded_space),
        cmocka_unit_test(test_search_tries_every_value_in_its_first_generation),
        cmocka_unit_test(test_search_takes_all_of_a_small_space_and_then_nothing),
        cmocka_unit_test(test_search_never_leaves_the_valid_points),
        cmocka_unit_test(test_search_takes_seeds_first_and_once),
        cmocka_unit_test(test_search_steps_over_what_is_no_point_or_fails),
        cmocka_unit_test(test_search_tries_the_diagonals_after_the_axes),
        cmocka_unit_test(test_search_samples_far_from_what_was_tried),
        cmocka_unit_test(test_best_are_in_order_and_no_more_than_wanted),
        cmocka_unit_test(test_search_fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
