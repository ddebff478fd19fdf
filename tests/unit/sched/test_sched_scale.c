/* 1,024 ranks on two archs do 20,000 cells in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "plan_builder.h"
#include "sched/coord.h"

#define RANKS      1024u
#define HANDS      2u
#define BUILD_NS   1000000000ull
#define MESSAGE_NS 2000000ull /* one way */

typedef enum { WANTED, LEASED, PUSHED, BUILD_LEASED, BUILT, CELL_OVER, DONE_HEARD } event_type_t;

typedef struct {
    uint64_t time_ns;
    uint64_t number; /* order of events at one time */
    event_type_t type;
    uint32_t rank, id, attempt;
} event_t;

typedef struct {
    uint32_t cells[HANDS], attempts[HANDS];
    uint32_t held;
    bool measuring;
    uint32_t building;
    uint64_t slots_free_ns[2]; /* when each build slot is free */
} rank_t;

typedef struct {
    tsw_plan_t *plan;
    tsw_coord_t *coord;
    event_t *events; /* a heap, earliest first */
    size_t count, capacity;
    uint64_t now_ns, number;
    rank_t ranks[RANKS];
    uint8_t *has_build; /* rank x build */
    uint32_t *cell_done, *build_made;
    bool finished;
} world_t;

static bool is_before(const event_t *a, const event_t *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

static void schedule(world_t *world, uint64_t at_ns, event_type_t type, uint32_t rank, uint32_t id,
                     uint32_t attempt)
{
    event_t event = {at_ns, world->number++, type, rank, id, attempt};
    assert_true(TSW_GROW(world->events, world->capacity, world->count));
    size_t at = world->count++;
    for (; at > 0 && is_before(&event, &world->events[(at - 1) / 2]); at = (at - 1) / 2)
        world->events[at] = world->events[(at - 1) / 2];
    world->events[at] = event;
}

static event_t next_event(world_t *world)
{
    event_t first = world->events[0];
    event_t last = world->events[--world->count];
    size_t at = 0;
    for (size_t child = 1; child < world->count; child = 2 * at + 1) {
        if (child + 1 < world->count && is_before(&world->events[child + 1], &world->events[child]))
            child++;
        if (!is_before(&world->events[child], &last))
            break;
        world->events[at] = world->events[child];
        at = child;
    }
    world->events[at] = last;
    return first;
}

static void carry_out(world_t *world, tsw_coord_actions_t *actions, tsw_status_t status)
{
    assert_int_equal(status, TSW_OK);
    uint64_t there = world->now_ns + MESSAGE_NS;
    for (size_t i = 0; i < actions->count; i++) {
        const tsw_coord_action_t *action = &actions->items[i];
        if (action->type == TSW_COORD_LEASE_CELL)
            schedule(world, there, LEASED, action->rank, action->cell, action->attempt);
        else if (action->type == TSW_COORD_LEASE_BUILD)
            schedule(world, there, BUILD_LEASED, action->rank, action->build, 0);
        else if (action->type == TSW_COORD_PUSH_BUILD)
            schedule(world, there, PUSHED, action->rank, action->build, 0);
        else if (action->type == TSW_COORD_FINISHED)
            world->finished = true;
    }
    actions->count = 0;
}

typedef struct {
    const uint8_t *has;
    bool all;
} supply_t;

static void check_supply(void *user, uint32_t build)
{
    supply_t *supply = user;
    supply->all = supply->all && supply->has[build] != 0;
}

/* Measures the cell in hand once all its builds are here. */
static void try_measure(world_t *world, uint32_t r)
{
    rank_t *rank = &world->ranks[r];
    if (rank->measuring || rank->held == 0)
        return;
    const tsw_cell_t *cell = &world->plan->cells[rank->cells[0]];
    supply_t supply = {&world->has_build[r * world->plan->build_count], true};
    tsw_plan_cell_builds(world->plan, cell, check_supply, &supply);
    if (!supply.all)
        return;
    rank->measuring = true;
    schedule(world, world->now_ns + (uint64_t)cell->cost_ns, CELL_OVER, r, cell->id,
             rank->attempts[0]);
}

static void start_build(world_t *world, const event_t *event)
{
    rank_t *rank = &world->ranks[event->rank];
    size_t slot = rank->slots_free_ns[1] < rank->slots_free_ns[0];
    if (rank->slots_free_ns[slot] < world->now_ns)
        rank->slots_free_ns[slot] = world->now_ns;
    rank->slots_free_ns[slot] += BUILD_NS;
    assert_true(++rank->building <= 3); /* two slots and one ahead */
    schedule(world, rank->slots_free_ns[slot] + MESSAGE_NS, BUILT, event->rank, event->id, 0);
}

static void end_cell(world_t *world, const event_t *event)
{
    rank_t *rank = &world->ranks[event->rank];
    rank->measuring = false;
    rank->held--;
    rank->cells[0] = rank->cells[1];
    rank->attempts[0] = rank->attempts[1];
    schedule(world, world->now_ns + MESSAGE_NS, DONE_HEARD, event->rank, event->id, event->attempt);
    schedule(world, world->now_ns + MESSAGE_NS, WANTED, event->rank, 0, 0);
    try_measure(world, event->rank);
}

static void handle(world_t *world, const event_t *event, tsw_coord_actions_t *actions)
{
    rank_t *rank = &world->ranks[event->rank];
    tsw_err_t err = TSW_ERR_INIT;
    switch (event->type) {
    case WANTED:
        carry_out(world, actions, tsw_coord_cell_wanted(world->coord, event->rank, actions, &err));
        break;
    case LEASED:
        assert_int_equal(world->plan->cells[event->id].arch_index, event->rank % 2);
        assert_true(rank->held < HANDS);
        rank->cells[rank->held] = event->id;
        rank->attempts[rank->held++] = event->attempt;
        try_measure(world, event->rank);
        break;
    case PUSHED:
        world->has_build[event->rank * world->plan->build_count + event->id]++;
        try_measure(world, event->rank);
        break;
    case BUILD_LEASED:
        start_build(world, event);
        break;
    case BUILT:
        rank->building--;
        world->build_made[event->id]++;
        carry_out(world, actions,
                  tsw_coord_build_done(world->coord, event->rank, event->id, actions, &err));
        break;
    case CELL_OVER:
        end_cell(world, event);
        break;
    case DONE_HEARD:
        world->cell_done[event->id]++;
        carry_out(world, actions,
                  tsw_coord_cell_done(world->coord, event->rank, event->id, event->attempt, true,
                                      actions, &err));
        break;
    }
}

static void run(world_t *world)
{
    tsw_coord_actions_t actions = {0};
    tsw_err_t err = TSW_ERR_INIT;
    carry_out(world, &actions, tsw_coord_start(world->coord, &actions, &err));
    for (uint32_t i = 0; i < HANDS * RANKS; i++)
        schedule(world, MESSAGE_NS, WANTED, i / HANDS, 0, 0);
    while (world->count > 0 && !world->finished) {
        event_t event = next_event(world);
        world->now_ns = event.time_ns;
        handle(world, &event, &actions);
    }
    tsw_coord_actions_fini(&actions);
}

static void test_1024_ranks_do_20000_cells_once_and_keep_busy(void **state)
{
    (void)state;
    plan_build_t what = {.archs = 2, .variants = 12, .configs = 30, .cells_per_arch = 10000};
    world_t *world = tsw_calloc(1, sizeof(*world));
    assert_non_null(world);
    world->plan = plan_build(&what);
    world->has_build = tsw_calloc(RANKS, world->plan->build_count);
    world->cell_done = tsw_calloc(world->plan->cell_count, sizeof(uint32_t));
    world->build_made = tsw_calloc(world->plan->build_count, sizeof(uint32_t));
    static tsw_coord_rank_t ranks[RANKS];
    for (uint32_t r = 0; r < RANKS; r++)
        ranks[r] = (tsw_coord_rank_t){.arch_index = (int)(r % 2), .node = r / 8, .build_slots = 2};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_coord_new(world->plan, NULL, ranks, RANKS, &world->coord, &err), TSW_OK);
    run(world);

    assert_true(world->finished);
    double cost_ns = 0;
    for (size_t i = 0; i < world->plan->cell_count; i++) {
        assert_int_equal(world->cell_done[i], 1);
        cost_ns += world->plan->cells[i].cost_ns;
    }
    for (size_t i = 0; i < world->plan->build_count; i++)
        assert_int_equal(world->build_made[i], 1);
    for (size_t i = 0; i < RANKS * world->plan->build_count; i++)
        assert_true(world->has_build[i] <= 1);
    double efficiency = cost_ns / ((double)world->now_ns * RANKS);
    print_message("%zu cells, %zu builds, %u ranks: %.1f s of virtual time, GPUs busy %.1f %%\n",
                  world->plan->cell_count, world->plan->build_count, RANKS,
                  (double)world->now_ns / 1e9, 100.0 * efficiency);
    assert_true(efficiency > 0.95);

    tsw_coord_free(world->coord);
    plan_built_free(world->plan);
    tsw_free(world->events);
    tsw_free(world->has_build);
    tsw_free(world->cell_done);
    tsw_free(world->build_made);
    tsw_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1024_ranks_do_20000_cells_once_and_keep_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
