/* 1,024 ranks on two archs do 200,000 cells in virtual time: the real coordinator and the real
 * lanes; messages, builds and workers are events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "plan_builder.h"
#include "sched/coord.h"
#include "sched/lane.h"

#include <malloc.h>
#include <string.h>
#include <time.h>

#define RANKS      1024u
#define CELLS      200000u
#define CONFIGS    10u
#define HANDS      2u
#define SLOTS      2u
#define START_NS   1000000000ull /* of a worker */
#define BUILD_NS   1000000000ull
#define BEGIN_NS   2000000ull /* of a cell */
#define VERIFY_NS  1000000ull
#define MESSAGE_NS 2000000ull /* one way */

typedef enum {
    /* to the coordinator */
    WANTED,
    BUILT,
    DONE,
    /* to a rank */
    LEASED,
    PUSHED,
    BUILD_LEASED,
    /* from its worker */
    READY,
    VERIFIED,
    TIMED,
} event_type_t;

typedef struct {
    uint64_t time_ns;
    uint64_t number; /* order of events at one time */
    event_type_t type;
    uint32_t rank, id, attempt;
} event_t;

typedef struct {
    tsw_lane_t *lane;
    uint32_t cells[HANDS]; /* in the lane */
    uint32_t held;
    uint64_t worker_free_ns;
    uint64_t slots_free_ns[SLOTS];
    uint32_t verified[CONFIGS]; /* of the cell that the worker was sent last */
    uint32_t verified_count;
    uint32_t timing[CONFIGS]; /* of the one that it times; the next is sent meanwhile */
    uint32_t timing_count;
} rank_t;

typedef struct {
    tsw_plan_t *plan;
    tsw_coord_t *coord;
    event_t *events; /* a heap, earliest first */
    size_t count, capacity;
    uint64_t now_ns, number;
    rank_t ranks[RANKS];
    uint8_t *has_build; /* rank x build */
    uint8_t *cell_done, *build_made;
    size_t done;
    tsw_coord_actions_t coord_actions;
    tsw_lane_actions_t lane_actions;
    uint64_t coord_cpu_ns;
    size_t heap_early, heap_late; /* bytes after 1/4 and 3/4 of the cells */
    bool finished;
} world_t;

static tsw_err_t error = TSW_ERR_INIT;

/* ---- events ---- */

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

static void tell(world_t *world, event_type_t type, uint32_t rank, uint32_t id, uint32_t attempt)
{
    schedule(world, world->now_ns + MESSAGE_NS, type, rank, id, attempt);
}

/* ---- ranks ---- */

static void follow_lane(world_t *world, uint32_t r, tsw_status_t status);

static void tell_built(world_t *world, uint32_t r, uint32_t cell, int32_t index, uint32_t build)
{
    if (!world->has_build[(size_t)r * world->plan->build_count + build])
        return;
    tsw_lane_built_t built = {.cell = cell, .config_index = index, .outcome = TSW_OUTCOME_OK};
    built.launch_key = tsw_key_of(&build, sizeof(build));
    follow_lane(world, r,
                tsw_lane_built(world->ranks[r].lane, &built, &world->lane_actions, &error));
}

/* only: UINT32_MAX for all that are here. */
static void tell_builds_of(world_t *world, uint32_t r, uint32_t id, uint32_t only)
{
    const tsw_cell_t *cell = &world->plan->cells[id];
    const tsw_plan_variant_t *variant = &world->plan->variants[cell->variant];
    bool all = only == UINT32_MAX;
    if (all || only == 0)
        tell_built(world, r, id, TSW_LANE_TOOL, 0);
    if (all || only == variant->reference_build)
        tell_built(world, r, id, TSW_LANE_REFERENCE, variant->reference_build);
    for (size_t i = 0; i < cell->config_count; i++) {
        uint32_t build = variant->config_builds[cell->configs[i]];
        if (all || only == build)
            tell_built(world, r, id, (int32_t)i, build);
    }
}

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void store(world_t *world, uint32_t r, const tsw_lane_action_t *action)
{
    rank_t *rank = &world->ranks[r];
    tsw_cell_result_t result;
    tsw_lane_take_result(rank->lane, &result);
    assert_int_equal(result.complete, 1);
    assert_int_equal(result.record_count, CONFIGS);
    for (size_t i = 0; i < result.record_count; i++) {
        if (result.records[i].outcome != TSW_OUTCOME_OK)
            fail_msg("config %zu: %s", i, tsw_outcome_name(result.records[i].outcome));
    }
    tsw_cell_result_fini(&result);
    assert_true(rank->held > 0 && rank->cells[0] == action->cell);
    rank->cells[0] = rank->cells[--rank->held];
    world->done++;
    if (world->done == CELLS / 4)
        world->heap_early = heap_bytes();
    if (world->done == CELLS - CELLS / 4)
        world->heap_late = heap_bytes();
    tell(world, DONE, r, action->cell, action->attempt);
}

/* The worker does one thing after the other. */
static void let_worker(world_t *world, uint32_t r, uint64_t ns, event_type_t type, uint32_t id)
{
    rank_t *rank = &world->ranks[r];
    if (rank->worker_free_ns < world->now_ns)
        rank->worker_free_ns = world->now_ns;
    rank->worker_free_ns += ns;
    schedule(world, rank->worker_free_ns, type, r, id, 0);
}

static void carry_out(world_t *world, uint32_t r, const tsw_lane_action_t *action)
{
    rank_t *rank = &world->ranks[r];
    switch (action->type) {
    case TSW_LANE_ASK_CELL:
        tell(world, WANTED, r, 0, 0);
        return;
    case TSW_LANE_START_WORKER:
        let_worker(world, r, START_NS, READY, 0);
        return;
    case TSW_LANE_BEGIN_CELL:
        rank->verified_count = 0;
        rank->worker_free_ns += BEGIN_NS;
        return;
    case TSW_LANE_ADD_CONFIG:
        let_worker(world, r, VERIFY_NS, VERIFIED, action->config_index);
        return;
    case TSW_LANE_TIME_CELL:
        memcpy(rank->timing, rank->verified, sizeof(rank->timing));
        rank->timing_count = rank->verified_count;
        let_worker(world, r, (uint64_t)world->plan->cells[action->cell].cost_ns, TIMED,
                   action->cell);
        return;
    case TSW_LANE_STORE_CELL:
        store(world, r, action);
        return;
    case TSW_LANE_KILL_WORKER:
    case TSW_LANE_GIVE_BACK:
    case TSW_LANE_RETIRE:
        fail_msg("rank %u: nothing went wrong, yet action %d", r, (int)action->type);
    }
}

static void follow_lane(world_t *world, uint32_t r, tsw_status_t status)
{
    if (status != TSW_OK)
        fail_msg("rank %u: %s", r, error.text);
    for (size_t i = 0; i < world->lane_actions.count; i++) {
        tsw_lane_action_t action = world->lane_actions.items[i];
        carry_out(world, r, &action);
    }
    world->lane_actions.count = 0;
}

static void lease(world_t *world, const event_t *event)
{
    rank_t *rank = &world->ranks[event->rank];
    assert_int_equal(world->plan->cells[event->id].arch_index, event->rank % 2);
    assert_true(rank->held < HANDS);
    rank->cells[rank->held++] = event->id;
    follow_lane(
        world, event->rank,
        tsw_lane_cell_leased(rank->lane, event->id, event->attempt, &world->lane_actions, &error));
    tell_builds_of(world, event->rank, event->id, UINT32_MAX);
}

static void push(world_t *world, const event_t *event)
{
    rank_t *rank = &world->ranks[event->rank];
    uint8_t *has = &world->has_build[(size_t)event->rank * world->plan->build_count + event->id];
    assert_int_equal((*has)++, 0); /* each build goes to a rank once */
    for (uint32_t i = 0; i < rank->held; i++)
        tell_builds_of(world, event->rank, rank->cells[i], event->id);
}

static void build(world_t *world, const event_t *event)
{
    rank_t *rank = &world->ranks[event->rank];
    size_t slot = rank->slots_free_ns[1] < rank->slots_free_ns[0];
    if (rank->slots_free_ns[slot] < world->now_ns)
        rank->slots_free_ns[slot] = world->now_ns;
    rank->slots_free_ns[slot] += BUILD_NS;
    schedule(world, rank->slots_free_ns[slot] + MESSAGE_NS, BUILT, event->rank, event->id, 0);
}

static void verified(world_t *world, const event_t *event)
{
    rank_t *rank = &world->ranks[event->rank];
    rank->verified[rank->verified_count++] = event->id;
    follow_lane(world, event->rank,
                tsw_lane_config_state(rank->lane, event->id, TSW_OUTCOME_OK, NULL, NULL,
                                      &world->lane_actions, &error));
}

static void timed(world_t *world, const event_t *event)
{
    rank_t *rank = &world->ranks[event->rank];
    tsw_round_t round = {.stage = TSW_STAGE_ROUND};
    tsw_sample_t samples[CONFIGS];
    uint8_t fates[CONFIGS] = {0};
    for (size_t i = 0; i < CONFIGS; i++)
        samples[i] = (tsw_sample_t){
            .interval_ns = 1000, .launches = 1, .stage = TSW_STAGE_ROUND, .slot = (uint16_t)i};
    follow_lane(world, event->rank,
                tsw_lane_round(rank->lane, &round, rank->timing, samples, rank->timing_count,
                               &world->lane_actions, &error));
    tsw_lane_timed_t end = {
        .pick = -1, .indices = rank->timing, .fates = fates, .count = rank->timing_count};
    follow_lane(world, event->rank,
                tsw_lane_cell_timed(rank->lane, &end, &world->lane_actions, &error));
}

/* ---- the coordinator ---- */

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void follow_coord(world_t *world, tsw_status_t status)
{
    assert_int_equal(status, TSW_OK);
    for (size_t i = 0; i < world->coord_actions.count; i++) {
        const tsw_coord_action_t *action = &world->coord_actions.items[i];
        if (action->type == TSW_COORD_LEASE_CELL)
            tell(world, LEASED, action->rank, action->cell, action->attempt);
        else if (action->type == TSW_COORD_LEASE_BUILD)
            tell(world, BUILD_LEASED, action->rank, action->build, 0);
        else if (action->type == TSW_COORD_PUSH_BUILD)
            tell(world, PUSHED, action->rank, action->build, 0);
        else if (action->type == TSW_COORD_FINISHED)
            world->finished = true;
    }
    world->coord_actions.count = 0;
}

static tsw_status_t coordinate(world_t *world, const event_t *event)
{
    switch (event->type) {
    case WANTED:
        return tsw_coord_cell_wanted(world->coord, event->rank, &world->coord_actions, &error);
    case BUILT:
        assert_int_equal(world->build_made[event->id]++, 0);
        return tsw_coord_build_done(world->coord, event->rank, event->id, &world->coord_actions,
                                    &error);
    default:
        assert_int_equal(world->cell_done[event->id]++, 0);
        return tsw_coord_cell_done(world->coord, event->rank, event->id, event->attempt, true,
                                   &world->coord_actions, &error);
    }
}

static void handle(world_t *world, const event_t *event)
{
    switch (event->type) {
    case WANTED:
    case BUILT:
    case DONE: {
        uint64_t before = cpu_ns();
        tsw_status_t status = coordinate(world, event);
        world->coord_cpu_ns += cpu_ns() - before;
        follow_coord(world, status);
        return;
    }
    case LEASED:
        lease(world, event);
        return;
    case PUSHED:
        push(world, event);
        return;
    case BUILD_LEASED:
        build(world, event);
        return;
    case READY: {
        tsw_gpu_t gpu = {.arch = world->plan->job->archs[event->rank % 2]};
        follow_lane(world, event->rank,
                    tsw_lane_worker_ready(world->ranks[event->rank].lane, &gpu,
                                          &world->lane_actions, &error));
        return;
    }
    case VERIFIED:
        verified(world, event);
        return;
    case TIMED:
        timed(world, event);
        return;
    }
}

/* ---- the test ---- */

static world_t *world_new(void)
{
    plan_build_t what = {
        .archs = 2, .variants = 12, .configs = CONFIGS, .cells_per_arch = CELLS / 2};
    world_t *world = tsw_calloc(1, sizeof(*world));
    assert_non_null(world);
    world->plan = plan_build(&what);
    for (size_t i = 0; i < CELLS; i++) /* of up to a second */
        world->plan->cells[i].cost_ns /= CELLS / 2000;
    world->has_build = tsw_calloc(RANKS, world->plan->build_count);
    world->cell_done = tsw_calloc(CELLS, 1);
    world->build_made = tsw_calloc(world->plan->build_count, 1);
    static tsw_coord_rank_t ranks[RANKS];
    for (uint32_t r = 0; r < RANKS; r++)
        ranks[r] =
            (tsw_coord_rank_t){.arch_index = (int)(r % 2), .node = r / 8, .build_slots = SLOTS};
    assert_int_equal(tsw_coord_new(world->plan, NULL, ranks, RANKS, &world->coord, &error), TSW_OK);
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(
            tsw_lane_new(world->plan, (int32_t)r, "node", &world->ranks[r].lane, &error), TSW_OK);
    return world;
}

static void world_free(world_t *world)
{
    for (uint32_t r = 0; r < RANKS; r++)
        tsw_lane_free(world->ranks[r].lane);
    tsw_coord_actions_fini(&world->coord_actions);
    tsw_lane_actions_fini(&world->lane_actions);
    tsw_coord_free(world->coord);
    plan_built_free(world->plan);
    tsw_free(world->events);
    tsw_free(world->has_build);
    tsw_free(world->cell_done);
    tsw_free(world->build_made);
    tsw_free(world);
}

static void run(world_t *world)
{
    follow_coord(world, tsw_coord_start(world->coord, &world->coord_actions, &error));
    for (uint32_t r = 0; r < RANKS; r++)
        follow_lane(world, r, tsw_lane_start(world->ranks[r].lane, &world->lane_actions, &error));
    while (world->count > 0 && !world->finished) {
        event_t event = next_event(world);
        world->now_ns = event.time_ns;
        handle(world, &event);
    }
}

static void test_1024_ranks_do_200000_cells_once_and_keep_busy(void **state)
{
    (void)state;
    world_t *world = world_new();
    run(world);

    assert_true(world->finished);
    assert_int_equal(world->done, CELLS);
    double work_ns = 0; /* what one worker alone would take */
    for (size_t i = 0; i < CELLS; i++) {
        assert_int_equal(world->cell_done[i], 1);
        work_ns += world->plan->cells[i].cost_ns + BEGIN_NS + CONFIGS * (double)VERIFY_NS;
    }
    for (size_t i = 0; i < world->plan->build_count; i++)
        assert_int_equal(world->build_made[i], 1);
    double efficiency = work_ns / ((double)world->now_ns * RANKS);
    double coord_us = (double)world->coord_cpu_ns / CELLS / 1e3;
    double growth = ((double)world->heap_late - (double)world->heap_early) / RANKS;
    print_message("%u cells, %zu builds, %u ranks: %.1f s of virtual time, GPUs busy %.1f %%\n",
                  CELLS, world->plan->build_count, RANKS, (double)world->now_ns / 1e9,
                  100.0 * efficiency);
    print_message("coordinator: %.2f us of CPU per cell; heap per rank from 1/4 to 3/4 of the "
                  "cells: %+.0f bytes\n",
                  coord_us, growth);
    assert_true(efficiency >= 0.95);
    assert_true(coord_us < 100); /* a bound on its order of growth, not a measurement */
    assert_true(growth < 4096);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1024_ranks_do_200000_cells_once_and_keep_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
