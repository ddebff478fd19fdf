#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "plan_builder.h"
#include "sched/coord.h"

typedef struct {
    tsw_plan_t *plan;
    tsw_coord_t *coord;
    tsw_coord_actions_t actions;
    tsw_err_t err;
} fixture_t;

static const tsw_coord_rank_t two_of_a_kind[] = {{.arch_index = 0, .build_slots = 1},
                                                 {.arch_index = 0, .build_slots = 1}};
static const tsw_coord_rank_t one_builder = {.arch_index = 0, .build_slots = 1};

static fixture_t open_coord(const plan_build_t *what, const bool *done,
                            const tsw_coord_rank_t *ranks, size_t count)
{
    fixture_t f = {.plan = plan_build(what)};
    assert_int_equal(tsw_coord_new(f.plan, done, ranks, count, &f.coord, &f.err), TSW_OK);
    return f;
}

static void close_coord(fixture_t *f)
{
    tsw_coord_actions_fini(&f->actions);
    tsw_coord_free(f->coord);
    plan_built_free(f->plan);
}

static size_t count_of(const fixture_t *f, tsw_coord_action_type_t type, uint32_t rank)
{
    size_t n = 0;
    for (size_t i = 0; i < f->actions.count; i++)
        n += f->actions.items[i].type == type && f->actions.items[i].rank == rank;
    return n;
}

/* The n-th action of its type for the rank. */
static tsw_coord_action_t nth(const fixture_t *f, tsw_coord_action_type_t type, uint32_t rank,
                              size_t n)
{
    for (size_t i = 0; i < f->actions.count; i++) {
        const tsw_coord_action_t *action = &f->actions.items[i];
        if (action->type == type && action->rank == rank && n-- == 0)
            return *action;
    }
    fail_msg("no such action of type %d for rank %u", (int)type, rank);
    return (tsw_coord_action_t){0};
}

static void start(fixture_t *f)
{
    f->actions.count = 0;
    assert_int_equal(tsw_coord_start(f->coord, &f->actions, &f->err), TSW_OK);
}

static void want(fixture_t *f, uint32_t rank)
{
    f->actions.count = 0;
    assert_int_equal(tsw_coord_cell_wanted(f->coord, rank, &f->actions, &f->err), TSW_OK);
}

static void built(fixture_t *f, uint32_t rank, uint32_t build)
{
    f->actions.count = 0;
    assert_int_equal(tsw_coord_build_done(f->coord, rank, build, &f->actions, &f->err), TSW_OK);
}

static void cell_done(fixture_t *f, uint32_t rank, uint32_t cell, uint32_t attempt)
{
    f->actions.count = 0;
    assert_int_equal(tsw_coord_cell_done(f->coord, rank, cell, attempt, true, &f->actions, &f->err),
                     TSW_OK);
}

static void returned(fixture_t *f, uint32_t rank, uint32_t cell, uint32_t attempt)
{
    f->actions.count = 0;
    assert_int_equal(tsw_coord_cell_returned(f->coord, rank, cell, attempt, &f->actions, &f->err),
                     TSW_OK);
}

static void retired(fixture_t *f, uint32_t rank)
{
    f->actions.count = 0;
    assert_int_equal(tsw_coord_rank_retired(f->coord, rank, &f->actions, &f->err), TSW_OK);
}

static void drain(fixture_t *f)
{
    f->actions.count = 0;
    assert_int_equal(tsw_coord_drain(f->coord, &f->actions, &f->err), TSW_OK);
}

static void expect_finished(const fixture_t *f, size_t ranks)
{
    assert_int_equal(f->actions.items[f->actions.count - 1].type, TSW_COORD_FINISHED);
    for (uint32_t r = 0; r < ranks; r++)
        assert_int_equal(count_of(f, TSW_COORD_STOP, r), 1);
}

static void test_a_known_build_travels_and_is_not_made(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 2, .cells_per_arch = 1};
    fixture_t f = open_coord(&what, NULL, &one_builder, 1);
    for (uint32_t i = 0; i < f.plan->build_count; i++)
        tsw_coord_build_known(f.coord, i);
    start(&f);
    assert_int_equal(f.actions.count, 0); /* nothing to make */
    assert_int_equal(tsw_coord_progress(f.coord).builds_total, 0);
    want(&f, 0);
    assert_int_equal(count_of(&f, TSW_COORD_LEASE_CELL, 0), 1);
    assert_int_equal(count_of(&f, TSW_COORD_PUSH_BUILD, 0), f.plan->build_count);
    cell_done(&f, 0, 0, 1);
    expect_finished(&f, 1);
    close_coord(&f);
}

static void test_start_leases_the_tool_build_first_and_one_ahead(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 2, .configs = 2, .cells_per_arch = 4};
    fixture_t f = open_coord(&what, NULL, two_of_a_kind, 2);
    start(&f);
    /* 1 slot + 1 ahead each; free slots go before places ahead. */
    assert_int_equal(f.actions.count, 4);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 0, 0).build, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 1, 0).build, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 0, 1).build, 2);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 1, 1).build, 3);
    close_coord(&f);
}

static void test_cells_go_largest_first_and_only_to_ranks_of_their_arch(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 2, .variants = 1, .configs = 1, .cells_per_arch = 3};
    tsw_coord_rank_t ranks[] = {{.arch_index = 0, .build_slots = 1},
                                {.arch_index = 1, .build_slots = 1}};
    fixture_t f = open_coord(&what, NULL, ranks, 2);
    start(&f);
    want(&f, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 1, 0).cell, 3);
    want(&f, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).cell, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).attempt, 1);
    want(&f, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).cell, 1);
    close_coord(&f);
}

static void test_a_cell_ahead_is_kept_for_a_rank_with_empty_hands(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 1, .cells_per_arch = 2};
    fixture_t f = open_coord(&what, NULL, two_of_a_kind, 2);
    start(&f);
    want(&f, 0);
    want(&f, 0);
    assert_int_equal(count_of(&f, TSW_COORD_LEASE_CELL, 0), 0);
    want(&f, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 1, 0).cell, 1);
    close_coord(&f);
}

static void test_a_build_is_pushed_once_to_each_rank_that_needs_it(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 1, .cells_per_arch = 6};
    fixture_t f = open_coord(&what, NULL, two_of_a_kind, 2);
    start(&f);
    want(&f, 0);
    want(&f, 0);
    built(&f, 0, 0);
    assert_int_equal(count_of(&f, TSW_COORD_PUSH_BUILD, 0), 1);
    assert_int_equal(count_of(&f, TSW_COORD_PUSH_BUILD, 1), 0);
    /* A later cell brings what is finished by then, nothing twice. */
    want(&f, 1);
    assert_int_equal(count_of(&f, TSW_COORD_PUSH_BUILD, 1), 1);
    assert_int_equal(nth(&f, TSW_COORD_PUSH_BUILD, 1, 0).build, 0);
    want(&f, 1);
    assert_int_equal(count_of(&f, TSW_COORD_PUSH_BUILD, 1), 0);
    built(&f, 1, 1);
    assert_int_equal(count_of(&f, TSW_COORD_PUSH_BUILD, 0), 1);
    assert_int_equal(count_of(&f, TSW_COORD_PUSH_BUILD, 1), 1);
    close_coord(&f);
}

static void test_builds_of_leased_cells_go_before_those_of_later_cells(void **state)
{
    (void)state;
    /* Builds: 0 tool, 1..3 variant 0, 4..6 variant 1, 7..9 variant 2. */
    plan_build_t what = {.archs = 2, .variants = 3, .configs = 2, .cells_per_arch = 3};
    tsw_coord_rank_t ranks[] = {{.arch_index = 0, .build_slots = 1},
                                {.arch_index = 1, .build_slots = 0}};
    fixture_t f = open_coord(&what, NULL, ranks, 2);
    f.plan->cells[3].variant = 2; /* the first cell of arch 1 */
    start(&f);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 0, 0).build, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 0, 1).build, 1);
    want(&f, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 1, 0).cell, 3);
    built(&f, 0, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 0, 0).build, 7);
    built(&f, 0, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 0, 0).build, 8);
    assert_int_equal(count_of(&f, TSW_COORD_LEASE_BUILD, 1), 0);
    close_coord(&f);
}

static void test_builds_of_the_cell_in_hand_go_before_those_of_a_cell_ahead(void **state)
{
    (void)state;
    /* Three variants, four builds each but the tool's; rank 0 holds cells 0 and 1, rank 1 cell 2.
     */
    plan_build_t what = {.archs = 1, .variants = 3, .configs = 3, .cells_per_arch = 3};
    tsw_coord_rank_t ranks[] = {{.arch_index = 0, .build_slots = 1},
                                {.arch_index = 0, .build_slots = 0}};
    fixture_t f = open_coord(&what, NULL, ranks, 2);
    start(&f);
    want(&f, 0);
    want(&f, 0);
    want(&f, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 1, 0).cell, 2);
    uint32_t order[13] = {0, 1};
    for (uint32_t i = 0; i + 2 < 13; i++) {
        built(&f, 0, order[i]);
        order[i + 2] = nth(&f, TSW_COORD_LEASE_BUILD, 0, 0).build;
    }
    static const uint32_t expected[13] = {0, 1, 2, 3, 4, 9, 10, 11, 12, 5, 6, 7, 8};
    assert_memory_equal(order, expected, sizeof(expected));
    close_coord(&f);
}

static void test_a_build_that_no_open_cell_needs_is_never_made(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 2, .configs = 1, .cells_per_arch = 4};
    bool done[] = {true, false, true, false};
    fixture_t f = open_coord(&what, done, &one_builder, 1);
    f.plan->cells[3].skip_reason = tsw_strdup("empty");
    tsw_coord_free(f.coord);
    assert_int_equal(tsw_coord_new(f.plan, done, &one_builder, 1, &f.coord, &f.err), TSW_OK);
    start(&f);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 0, 0).build, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 0, 1).build, 3);
    tsw_coord_progress_t progress = tsw_coord_progress(f.coord);
    assert_int_equal(progress.cells_total, 4);
    assert_int_equal(progress.cells_done, 2);
    assert_int_equal(progress.cells_skipped, 1);
    assert_int_equal(progress.builds_total, 3);
    assert_true(progress.cost_done_ns == 4e6 + 2e6);
    assert_true(progress.cost_total_ns == 4e6 + 3e6 + 2e6); /* without what is skipped */
    close_coord(&f);
}

static void test_builds_of_a_cell_that_ended_early_are_dropped(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 2, .configs = 4, .cells_per_arch = 2};
    fixture_t f = open_coord(&what, NULL, &one_builder, 1);
    start(&f);
    want(&f, 0);
    built(&f, 0, 0);
    /* Say the reference did not compile: the cell is over, its configs are not needed. */
    cell_done(&f, 0, 0, 1);
    built(&f, 0, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_BUILD, 0, 0).build, 6);
    close_coord(&f);
}

static void test_a_finished_run_stops_every_rank_once(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 1, .cells_per_arch = 1};
    fixture_t f = open_coord(&what, NULL, two_of_a_kind, 2);
    start(&f);
    want(&f, 0);
    want(&f, 1);
    f.actions.count = 0;
    assert_int_equal(tsw_coord_cell_done(f.coord, 0, 0, 1, false, &f.actions, &f.err), TSW_OK);
    expect_finished(&f, 2);
    assert_int_equal(tsw_coord_progress(f.coord).cells_failed, 1);
    /* Late messages do nothing. */
    want(&f, 0);
    assert_int_equal(f.actions.count, 0);
    built(&f, 0, 0);
    assert_int_equal(f.actions.count, 0);
    close_coord(&f);
}

static void test_nothing_to_do_finishes_at_the_start(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 1, .cells_per_arch = 2};
    bool done[] = {true, true};
    fixture_t f = open_coord(&what, done, two_of_a_kind, 2);
    start(&f);
    assert_int_equal(f.actions.count, 3);
    expect_finished(&f, 2);
    close_coord(&f);
}

static void test_cells_of_a_retired_rank_go_to_others_with_the_next_attempt(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 1, .cells_per_arch = 3};
    fixture_t f = open_coord(&what, NULL, two_of_a_kind, 2);
    start(&f);
    want(&f, 0);
    want(&f, 0); /* cells 0 and 1 */
    want(&f, 1); /* cell 2 */
    want(&f, 1); /* parked */
    assert_int_equal(f.actions.count, 0);
    retired(&f, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 1, 0).cell, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 1, 0).attempt, 2);
    assert_int_equal(tsw_coord_cell_done(f.coord, 0, 0, 1, true, &f.actions, &f.err), TSW_ERR_BUG);
    cell_done(&f, 1, 2, 1);
    want(&f, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 1, 0).cell, 1);
    want(&f, 0); /* a retired rank gets compile-only cells alone */
    assert_int_equal(f.actions.count, 0);
    cell_done(&f, 1, 0, 2);
    cell_done(&f, 1, 1, 2);
    expect_finished(&f, 2);
    close_coord(&f);
}

/* Cells come back one after the other. */
static void test_a_rank_that_waits_for_a_cell_ahead_is_served_again_and_again(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 1, .cells_per_arch = 3};
    const tsw_coord_rank_t ranks[] = {one_builder, one_builder, one_builder};
    fixture_t f = open_coord(&what, NULL, ranks, 3);
    start(&f);
    for (uint32_t r = 0; r < 3; r++)
        want(&f, r);
    want(&f, 2);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(count_of(&f, TSW_COORD_LEASE_CELL, 2), 0);
        retired(&f, r);
        assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 2, 0).cell, r);
        cell_done(&f, 2, r == 0 ? 2 : 0, r == 0 ? 1 : 2);
        want(&f, 2);
    }
    close_coord(&f);
}

static void test_a_rank_that_lost_its_gpu_is_served_with_what_needs_none(void **state)
{
    (void)state;
    plan_build_t what = {
        .archs = 2, .variants = 1, .configs = 1, .cells_per_arch = 1, .compile_only = 2};
    tsw_coord_rank_t ranks[] = {{.arch_index = 0, .build_slots = 1},
                                {.arch_index = -1, .build_slots = 1}};
    fixture_t f = open_coord(&what, NULL, ranks, 2);
    start(&f);
    want(&f, 0);
    want(&f, 0); /* the other cell is kept for rank 1 */
    assert_int_equal(count_of(&f, TSW_COORD_LEASE_CELL, 0), 0);
    retired(&f, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).cell, 1);
    close_coord(&f);
}

static void test_a_retired_rank_goes_on_building(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 4, .cells_per_arch = 2};
    tsw_coord_rank_t ranks[] = {{.arch_index = 0, .build_slots = 1},
                                {.arch_index = 0, .build_slots = 0}};
    fixture_t f = open_coord(&what, NULL, ranks, 2);
    start(&f);
    retired(&f, 0);
    built(&f, 0, 0);
    assert_int_equal(count_of(&f, TSW_COORD_LEASE_BUILD, 0), 1);
    close_coord(&f);
}

static void test_the_last_rank_of_an_arch_leaves_its_cells_unreachable(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 2, .variants = 1, .configs = 1, .cells_per_arch = 2};
    tsw_coord_rank_t ranks[] = {{.arch_index = 0, .build_slots = 1},
                                {.arch_index = 1, .build_slots = 1}};
    fixture_t f = open_coord(&what, NULL, ranks, 2);
    start(&f);
    want(&f, 0);
    want(&f, 1);
    retired(&f, 1);
    assert_int_equal(tsw_coord_unreachable(f.coord), 2);
    cell_done(&f, 0, 0, 1);
    want(&f, 0);
    cell_done(&f, 0, 1, 1);
    expect_finished(&f, 2);
    close_coord(&f);
}

static void test_an_arch_without_ranks_is_unreachable_and_not_built(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 2, .variants = 2, .configs = 1, .cells_per_arch = 2};
    fixture_t f = open_coord(&what, (bool[]){false, true, false, false}, &one_builder, 1);
    start(&f);
    assert_int_equal(tsw_coord_unreachable(f.coord), 2);
    assert_int_equal(tsw_coord_progress(f.coord).builds_total, 3);
    close_coord(&f);
}

static void test_compile_only_cells_go_to_any_rank_after_its_own(void **state)
{
    (void)state;
    plan_build_t what = {
        .archs = 2, .variants = 1, .configs = 1, .cells_per_arch = 2, .compile_only = 2};
    tsw_coord_rank_t ranks[] = {{.arch_index = 0, .build_slots = 1},
                                {.arch_index = -1, .build_slots = 1}};
    fixture_t f = open_coord(&what, NULL, ranks, 2);
    start(&f);
    want(&f, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 1, 0).cell, 2);
    want(&f, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).cell, 0);
    want(&f, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).cell, 1);
    cell_done(&f, 0, 0, 1);
    want(&f, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).cell, 3);
    retired(&f, 0); /* keeps the compile-only cell */
    assert_int_equal(tsw_coord_unreachable(f.coord), 1);
    cell_done(&f, 0, 3, 1);
    cell_done(&f, 1, 2, 1);
    expect_finished(&f, 2);
    close_coord(&f);
}

static void test_compile_only_cells_are_kept_for_and_returned_to_ranks_with_gpus(void **state)
{
    (void)state;
    plan_build_t what = {
        .archs = 2, .variants = 1, .configs = 1, .cells_per_arch = 2, .compile_only = 2};
    tsw_coord_rank_t ranks[] = {{.arch_index = 0, .build_slots = 1},
                                {.arch_index = -1, .build_slots = 1}};
    fixture_t f = open_coord(&what, (bool[]){true, true, false, false}, ranks, 2);
    start(&f);
    want(&f, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 1, 0).cell, 2);
    want(&f, 1); /* one is left for rank 0, whose hands are empty */
    assert_int_equal(count_of(&f, TSW_COORD_LEASE_CELL, 1), 0);
    want(&f, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).cell, 3);
    cell_done(&f, 0, 3, 1);
    want(&f, 0); /* waits */
    assert_int_equal(count_of(&f, TSW_COORD_LEASE_CELL, 0), 0);
    returned(&f, 1, 2, 1);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).cell, 2);
    close_coord(&f);
}

static void test_drain_leases_nothing_and_ends_when_nothing_is_held(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 2, .cells_per_arch = 5};
    fixture_t f = open_coord(&what, NULL, two_of_a_kind, 2);
    start(&f);
    want(&f, 0);
    want(&f, 1);
    drain(&f);
    assert_int_equal(f.actions.count, 0);
    built(&f, 0, 0); /* still pushed: who wants to may finish its cell */
    assert_int_equal(count_of(&f, TSW_COORD_PUSH_BUILD, 0), 1);
    assert_int_equal(count_of(&f, TSW_COORD_LEASE_BUILD, 0), 0);
    want(&f, 0);
    assert_int_equal(f.actions.count, 0);
    cell_done(&f, 0, 0, 1);
    assert_int_equal(f.actions.count, 0);
    returned(&f, 1, 1, 1);
    expect_finished(&f, 2);
    close_coord(&f);
}

static void test_a_returned_cell_is_leased_again(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 1, .cells_per_arch = 2};
    fixture_t f = open_coord(&what, NULL, two_of_a_kind, 2);
    start(&f);
    want(&f, 0);
    want(&f, 1);
    want(&f, 1);
    returned(&f, 0, 0, 1);
    assert_int_equal(count_of(&f, TSW_COORD_LEASE_CELL, 1), 0); /* kept for rank 0 */
    want(&f, 0);
    assert_int_equal(nth(&f, TSW_COORD_LEASE_CELL, 0, 0).attempt, 2);
    close_coord(&f);
}

static void test_events_that_cannot_be_are_bugs_and_change_nothing(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 1, .cells_per_arch = 9};
    fixture_t f = open_coord(&what, NULL, two_of_a_kind, 2);
    assert_int_equal(tsw_coord_cell_wanted(f.coord, 0, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_rank_retired(f.coord, 0, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_drain(f.coord, &f.actions, &f.err), TSW_ERR_BUG);
    start(&f);
    want(&f, 0);
    want(&f, 0);
    f.actions.count = 0;
    assert_int_equal(tsw_coord_start(f.coord, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_cell_wanted(f.coord, 0, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_cell_wanted(f.coord, 2, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_build_done(f.coord, 1, 0, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_build_done(f.coord, 2, 0, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(
        tsw_coord_build_done(f.coord, 0, (uint32_t)f.plan->build_count, &f.actions, &f.err),
        TSW_ERR_BUG);
    assert_int_equal(tsw_coord_rank_retired(f.coord, 2, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_cell_done(f.coord, 1, 0, 1, true, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_cell_done(f.coord, 0, 0, 2, true, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_cell_done(f.coord, 0, 9, 1, true, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(tsw_coord_cell_returned(f.coord, 0, 5, 1, &f.actions, &f.err), TSW_ERR_BUG);
    retired(&f, 0);
    f.actions.count = 0;
    assert_int_equal(tsw_coord_rank_retired(f.coord, 0, &f.actions, &f.err), TSW_ERR_BUG);
    assert_int_equal(f.actions.count, 0);
    close_coord(&f);
}

static void test_new_refuses_ranks_that_cannot_work(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 1, .configs = 1, .cells_per_arch = 1};
    tsw_plan_t *plan = plan_build(&what);
    tsw_coord_t *coord = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_coord_rank_t rank = {.arch_index = 1, .build_slots = 1};
    assert_int_equal(tsw_coord_new(plan, NULL, &rank, 1, &coord, &err), TSW_ERR_ARG);
    rank = (tsw_coord_rank_t){.arch_index = 0, .build_slots = 0};
    assert_int_equal(tsw_coord_new(plan, NULL, &rank, 1, &coord, &err), TSW_ERR_ARG);
    assert_int_equal(tsw_coord_new(plan, NULL, &rank, 0, &coord, &err), TSW_ERR_ARG);
    assert_null(coord);
    plan_built_free(plan);
}

/* Start, two leases, two builds; the n-th allocation fails. False: it was not reached. */
static bool run_with_failure(tsw_plan_t *plan, long n)
{
    tsw_coord_t *coord = NULL;
    tsw_coord_actions_t actions = {0};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_mem_fail_at(n);
    tsw_status_t status = tsw_coord_new(plan, NULL, &one_builder, 1, &coord, &err);
    if (status == TSW_OK)
        status = tsw_coord_start(coord, &actions, &err);
    for (int i = 0; i < 2 && status == TSW_OK; i++)
        status = tsw_coord_cell_wanted(coord, 0, &actions, &err);
    for (uint32_t i = 0; i < 2 && status == TSW_OK; i++)
        status = tsw_coord_build_done(coord, 0, i, &actions, &err);
    tsw_mem_fail_at(0);
    assert_true(status == TSW_OK || status == TSW_ERR_NOMEM);
    tsw_coord_actions_fini(&actions);
    tsw_coord_free(coord);
    return status == TSW_ERR_NOMEM;
}

static void test_every_failed_allocation_is_reported(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 1, .variants = 2, .configs = 9, .cells_per_arch = 3};
    tsw_plan_t *plan = plan_build(&what);
    long n = 1;
    while (run_with_failure(plan, n))
        n++;
    assert_true(n > 15);
    plan_built_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_leases_the_tool_build_first_and_one_ahead),
        cmocka_unit_test(test_a_known_build_travels_and_is_not_made),
        cmocka_unit_test(test_cells_go_largest_first_and_only_to_ranks_of_their_arch),
        cmocka_unit_test(test_a_cell_ahead_is_kept_for_a_rank_with_empty_hands),
        cmocka_unit_test(test_a_build_is_pushed_once_to_each_rank_that_needs_it),
        cmocka_unit_test(test_builds_of_leased_cells_go_before_those_of_later_cells),
        cmocka_unit_test(test_builds_of_the_cell_in_hand_go_before_those_of_a_cell_ahead),
        cmocka_unit_test(test_a_build_that_no_open_cell_needs_is_never_made),
        cmocka_unit_test(test_builds_of_a_cell_that_ended_early_are_dropped),
        cmocka_unit_test(test_a_finished_run_stops_every_rank_once),
        cmocka_unit_test(test_nothing_to_do_finishes_at_the_start),
        cmocka_unit_test(test_cells_of_a_retired_rank_go_to_others_with_the_next_attempt),
        cmocka_unit_test(test_a_rank_that_waits_for_a_cell_ahead_is_served_again_and_again),
        cmocka_unit_test(test_a_rank_that_lost_its_gpu_is_served_with_what_needs_none),
        cmocka_unit_test(test_compile_only_cells_are_kept_for_and_returned_to_ranks_with_gpus),
        cmocka_unit_test(test_a_retired_rank_goes_on_building),
        cmocka_unit_test(test_the_last_rank_of_an_arch_leaves_its_cells_unreachable),
        cmocka_unit_test(test_an_arch_without_ranks_is_unreachable_and_not_built),
        cmocka_unit_test(test_compile_only_cells_go_to_any_rank_after_its_own),
        cmocka_unit_test(test_drain_leases_nothing_and_ends_when_nothing_is_held),
        cmocka_unit_test(test_a_returned_cell_is_leased_again),
        cmocka_unit_test(test_events_that_cannot_be_are_bugs_and_change_nothing),
        cmocka_unit_test(test_new_refuses_ranks_that_cannot_work),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
