#include "sched/coord.h"

#include "base/mem.h"
#include "sched/sched_queue.h"

#define HANDS       2 /* cells that a rank holds at most: one in hand, one ahead */
#define NONE        UINT32_MAX
#define BUILD_LATER HANDS /* the queue behind those of cells in hand and ahead */

typedef enum {
    CELL_SKIPPED, /* by the plan, or done before */
    CELL_OPEN,
    CELL_LEASED,
    CELL_DONE,
    CELL_UNREACHABLE,
} cell_state_t;

typedef struct {
    cell_state_t state;
    bool looked_ahead; /* its builds have been queued at least for later */
    uint32_t rank;     /* leased */
    uint32_t attempt;
} cell_t;

typedef enum { BUILD_OPEN, BUILD_LEASED, BUILD_DONE } build_state_t;

typedef struct {
    build_state_t state;
    uint8_t queued;   /* bit i: stands in queue i */
    uint32_t needers; /* cells open or leased that need it */
    uint32_t rank;    /* leased */
    uint32_t waiters; /* first of a list, NONE: empty */
} build_t;

/* A leased cell waits for a build. Stale when the lease is over. */
typedef struct {
    uint32_t rank, cell, attempt;
    uint32_t next;
} waiter_t;

typedef struct {
    uint32_t group; /* of cells that it serves, besides the compile-only ones */
    uint32_t slots;
    uint32_t building;
    uint32_t wanted;      /* cells asked for and not given */
    uint32_t held[HANDS]; /* [0] in hand */
    uint32_t held_count;
    uint8_t parked;  /* bit i: stands in its group's parked[i] */
    uint8_t builder; /* bit i: stands in builders[i] */
    uint8_t *pushed; /* a bit per build; NULL before the first lease */
} rank_t;

/* The cells of one arch; the last group holds the compile-only cells of all archs, which any rank
 * may have. */
typedef struct {
    tsw_sched_heap_t open;
    tsw_sched_ring_t parked[HANDS]; /* ranks that want a cell, by the number of cells they hold */
    uint32_t *cells;                /* all, in the plan's order, for the look ahead */
    size_t count;
    size_t ahead;   /* next of them to look at */
    uint32_t ranks; /* that serve the group */
    uint32_t idle;  /* of them, hold no cell */
} group_t;

struct tsw_coord {
    const tsw_plan_t *plan;
    cell_t *cells;
    build_t *builds;
    rank_t *ranks;
    size_t rank_count;
    group_t *groups;
    uint32_t group_count;
    uint32_t shared;                    /* index of the compile-only group */
    tsw_sched_ring_t queues[HANDS + 1]; /* builds: for cells in hand, ahead, later */
    tsw_sched_ring_t builders[2];       /* ranks with a free slot, with room for one ahead */
    waiter_t *waiters;
    size_t waiter_count, waiter_capacity;
    uint32_t free_waiter;
    uint32_t next_group; /* to look ahead in */
    size_t open, unreachable;
    tsw_coord_progress_t progress;
    bool started, draining, finished;
    bool failed;              /* out of memory */
    tsw_coord_actions_t *out; /* of the event in hand */
};

void tsw_coord_actions_fini(tsw_coord_actions_t *actions)
{
    tsw_free(actions->items);
    *actions = (tsw_coord_actions_t){0};
}

static void act(tsw_coord_t *coord, tsw_coord_action_t action)
{
    tsw_coord_actions_t *out = coord->out;
    if (!TSW_GROW(out->items, out->capacity, out->count)) {
        coord->failed = true;
        return;
    }
    out->items[out->count++] = action;
}

/* ---- what cells and builds need of each other ---- */

typedef struct {
    tsw_coord_t *coord;
    uint32_t cell;
    uint32_t queue;
} visit_t;

static void each_build(tsw_coord_t *coord, uint32_t cell, uint32_t queue,
                       void (*fn)(void *, uint32_t))
{
    visit_t visit = {.coord = coord, .cell = cell, .queue = queue};
    tsw_plan_cell_builds(coord->plan, &coord->plan->cells[cell], fn, &visit);
}

static void add_need(void *user, uint32_t build)
{
    visit_t *visit = user;
    visit->coord->builds[build].needers++;
}

static void drop_need(void *user, uint32_t build)
{
    visit_t *visit = user;
    visit->coord->builds[build].needers--;
}

static void enqueue_build(void *user, uint32_t build)
{
    visit_t *visit = user;
    build_t *b = &visit->coord->builds[build];
    uint8_t bit = (uint8_t)(1u << visit->queue);
    if (b->state != BUILD_OPEN || (b->queued & bit) != 0)
        return;
    b->queued |= bit;
    tsw_sched_ring_push(&visit->coord->queues[visit->queue], build);
}

static void push_build(tsw_coord_t *coord, uint32_t rank, uint32_t cell, uint32_t build)
{
    uint8_t *byte = &coord->ranks[rank].pushed[build / 8];
    uint8_t bit = (uint8_t)(1u << (build % 8));
    if ((*byte & bit) != 0)
        return;
    *byte |= bit;
    act(coord, (tsw_coord_action_t){
                   .type = TSW_COORD_PUSH_BUILD, .rank = rank, .cell = cell, .build = build});
}

static void add_waiter(tsw_coord_t *coord, uint32_t cell, uint32_t build)
{
    uint32_t at = coord->free_waiter;
    if (at != NONE) {
        coord->free_waiter = coord->waiters[at].next;
    } else {
        if (!TSW_GROW(coord->waiters, coord->waiter_capacity, coord->waiter_count)) {
            coord->failed = true;
            return;
        }
        at = (uint32_t)coord->waiter_count++;
    }
    coord->waiters[at] = (waiter_t){.rank = coord->cells[cell].rank,
                                    .cell = cell,
                                    .attempt = coord->cells[cell].attempt,
                                    .next = coord->builds[build].waiters};
    coord->builds[build].waiters = at;
}

/* A cell was leased: a finished build travels, another is waited for. */
static void supply_build(void *user, uint32_t build)
{
    visit_t *visit = user;
    tsw_coord_t *coord = visit->coord;
    if (coord->builds[build].state == BUILD_DONE) {
        push_build(coord, coord->cells[visit->cell].rank, visit->cell, build);
        return;
    }
    add_waiter(coord, visit->cell, build);
    enqueue_build(user, build);
}

static void serve_waiters(tsw_coord_t *coord, uint32_t build)
{
    uint32_t at = coord->builds[build].waiters;
    coord->builds[build].waiters = NONE;
    while (at != NONE) {
        waiter_t *waiter = &coord->waiters[at];
        const cell_t *cell = &coord->cells[waiter->cell];
        if (cell->state == CELL_LEASED && cell->rank == waiter->rank &&
            cell->attempt == waiter->attempt)
            push_build(coord, waiter->rank, waiter->cell, build);
        uint32_t next = waiter->next;
        waiter->next = coord->free_waiter;
        coord->free_waiter = at;
        at = next;
    }
}

/* ---- leases of cells ---- */

/* Hands empty or full again: changes how many wait with empty hands. */
static void count_idle(tsw_coord_t *coord, const rank_t *rank, int change)
{
    coord->groups[rank->group].idle += (uint32_t)change;
    if (rank->group != coord->shared)
        coord->groups[coord->shared].idle += (uint32_t)change;
}

static void lease_cell(tsw_coord_t *coord, uint32_t r, group_t *group)
{
    rank_t *rank = &coord->ranks[r];
    uint32_t id = tsw_sched_heap_pop(&group->open);
    if (rank->pushed == NULL) {
        rank->pushed = tsw_calloc((coord->plan->build_count + 7) / 8, 1);
        if (rank->pushed == NULL) {
            coord->failed = true;
            return;
        }
    }
    cell_t *cell = &coord->cells[id];
    cell->state = CELL_LEASED;
    cell->rank = r;
    cell->attempt++;
    cell->looked_ahead = true;
    coord->open--;
    coord->progress.cells_leased++;
    if (rank->held_count == 0)
        count_idle(coord, rank, -1);
    uint32_t hand = rank->held_count++;
    rank->held[hand] = id;
    rank->wanted--;
    act(coord, (tsw_coord_action_t){
                   .type = TSW_COORD_LEASE_CELL, .rank = r, .cell = id, .attempt = cell->attempt});
    each_build(coord, id, hand, supply_build);
}

/* The group that has a cell for the rank now; NULL: none. A rank that holds a cell gets one ahead
 * only if enough are left for those that hold none. */
static group_t *group_for(tsw_coord_t *coord, const rank_t *rank)
{
    uint32_t candidates[2] = {rank->group, coord->shared};
    for (size_t i = 0; i < 2; i++) {
        group_t *group = &coord->groups[candidates[i]];
        size_t kept = rank->held_count > 0 ? group->idle : 0;
        if (group->open.count > kept)
            return group;
    }
    return NULL;
}

static void park(tsw_coord_t *coord, uint32_t r)
{
    rank_t *rank = &coord->ranks[r];
    uint8_t bit = (uint8_t)(1u << rank->held_count);
    if ((rank->parked & bit) != 0)
        return;
    rank->parked |= bit;
    tsw_sched_ring_push(&coord->groups[rank->group].parked[rank->held_count], r);
}

static void serve_rank(tsw_coord_t *coord, uint32_t r)
{
    rank_t *rank = &coord->ranks[r];
    while (rank->wanted > 0 && !coord->draining && !coord->failed) {
        group_t *group = group_for(coord, rank);
        if (group == NULL) {
            park(coord, r);
            return;
        }
        lease_cell(coord, r, group);
    }
}

/* Cells came back or ranks went: look through those that wait. */
static void serve_parked(tsw_coord_t *coord, uint32_t group)
{
    for (uint32_t hand = 0; hand < HANDS; hand++) {
        tsw_sched_ring_t *parked = &coord->groups[group].parked[hand];
        while (parked->count > 0 && !coord->failed) {
            uint32_t r = tsw_sched_ring_first(parked);
            rank_t *rank = &coord->ranks[r];
            bool waits = rank->group == group && rank->wanted > 0 && rank->held_count == hand;
            if (waits && group_for(coord, rank) == NULL)
                break;
            tsw_sched_ring_pop(parked);
            if (rank->group == group)
                rank->parked &= (uint8_t) ~(1u << hand);
            if (waits)
                serve_rank(coord, r);
        }
    }
}

static void serve_all_parked(tsw_coord_t *coord, uint32_t group)
{
    if (coord->draining)
        return;
    if (group != coord->shared) {
        serve_parked(coord, group);
        return;
    }
    for (uint32_t i = 0; i < coord->group_count; i++)
        serve_parked(coord, i);
}

static uint32_t group_of_cell(const tsw_coord_t *coord, uint32_t cell)
{
    const tsw_cell_t *planned = &coord->plan->cells[cell];
    return planned->compile_only ? coord->shared : planned->arch_index;
}

/* Takes a cell out of the rank's hands. The one ahead comes to hand: its builds are urgent now. */
static void let_go(tsw_coord_t *coord, rank_t *rank, uint32_t cell)
{
    coord->progress.cells_leased--;
    rank->held_count--;
    if (rank->held[0] == cell && rank->held_count > 0) {
        rank->held[0] = rank->held[1];
        each_build(coord, rank->held[0], 0, enqueue_build);
    }
    if (rank->held_count == 0)
        count_idle(coord, rank, +1);
}

static void reopen_cell(tsw_coord_t *coord, uint32_t cell)
{
    coord->cells[cell].state = CELL_OPEN;
    coord->open++;
    tsw_sched_heap_push(&coord->groups[group_of_cell(coord, cell)].open, cell);
}

/* ---- leases of builds ---- */

static bool is_wanted(const build_t *build)
{
    return build->state == BUILD_OPEN && build->needers > 0;
}

/* Queues the builds of the next cell that nobody looked at yet, the groups in turn. */
static bool look_ahead(tsw_coord_t *coord)
{
    for (uint32_t tried = 0; tried < coord->group_count; tried++) {
        group_t *group = &coord->groups[coord->next_group];
        coord->next_group = (coord->next_group + 1) % coord->group_count;
        while (group->ahead < group->count) {
            uint32_t id = group->cells[group->ahead++];
            cell_t *cell = &coord->cells[id];
            if (cell->state != CELL_OPEN || cell->looked_ahead)
                continue;
            cell->looked_ahead = true;
            each_build(coord, id, BUILD_LATER, enqueue_build);
            return true;
        }
    }
    return false;
}

static bool next_build(tsw_coord_t *coord, uint32_t *build_p)
{
    do {
        for (uint32_t i = 0; i <= BUILD_LATER; i++) {
            while (coord->queues[i].count > 0) {
                uint32_t id = tsw_sched_ring_pop(&coord->queues[i]);
                coord->builds[id].queued &= (uint8_t) ~(1u << i);
                if (is_wanted(&coord->builds[id])) {
                    *build_p = id;
                    return true;
                }
            }
        }
    } while (look_ahead(coord));
    return false;
}

/* Into the queue that fits: free slots first, then one ahead. */
static void offer_builder(tsw_coord_t *coord, uint32_t r)
{
    rank_t *rank = &coord->ranks[r];
    if (rank->slots == 0 || rank->building > rank->slots)
        return;
    uint32_t i = rank->building < rank->slots ? 0 : 1;
    uint8_t bit = (uint8_t)(1u << i);
    if ((rank->builder & bit) != 0)
        return;
    rank->builder |= bit;
    tsw_sched_ring_push(&coord->builders[i], r);
}

static bool next_builder(tsw_coord_t *coord, uint32_t *rank_p)
{
    for (uint32_t i = 0; i < 2; i++) {
        while (coord->builders[i].count > 0) {
            uint32_t r = tsw_sched_ring_pop(&coord->builders[i]);
            rank_t *rank = &coord->ranks[r];
            rank->builder &= (uint8_t) ~(1u << i);
            if ((rank->building < rank->slots) == (i == 0) && rank->building <= rank->slots) {
                *rank_p = r;
                return true;
            }
        }
    }
    return false;
}

static void lease_builds(tsw_coord_t *coord)
{
    uint32_t r = 0;
    uint32_t id = 0;
    while (!coord->draining && !coord->failed && next_builder(coord, &r)) {
        bool found = next_build(coord, &id);
        if (found) {
            coord->builds[id].state = BUILD_LEASED;
            coord->builds[id].rank = r;
            coord->ranks[r].building++;
            act(coord, (tsw_coord_action_t){.type = TSW_COORD_LEASE_BUILD, .rank = r, .build = id});
        }
        offer_builder(coord, r);
        if (!found)
            return;
    }
}

/* ---- events ---- */

static tsw_status_t begin_event(tsw_coord_t *coord, tsw_coord_actions_t *out, tsw_err_t *err)
{
    if (!coord->started)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: event before the start");
    coord->out = out;
    return TSW_OK;
}

static tsw_status_t end_event(tsw_coord_t *coord, tsw_err_t *err)
{
    lease_builds(coord);
    bool over = coord->progress.cells_leased == 0 && (coord->draining || coord->open == 0);
    if (over && !coord->finished) {
        coord->finished = true;
        coord->draining = true;
        for (size_t r = 0; r < coord->rank_count; r++)
            act(coord, (tsw_coord_action_t){.type = TSW_COORD_STOP, .rank = (uint32_t)r});
        act(coord, (tsw_coord_action_t){.type = TSW_COORD_FINISHED});
    }
    coord->out = NULL;
    return coord->failed ? tsw_err_nomem(err) : TSW_OK;
}

/* Open cells of a group without ranks can never be done, nor do they need builds. */
static void strand(tsw_coord_t *coord, uint32_t g)
{
    group_t *group = &coord->groups[g];
    if (group->ranks > 0)
        return;
    while (group->open.count > 0) {
        uint32_t cell = tsw_sched_heap_pop(&group->open);
        coord->cells[cell].state = CELL_UNREACHABLE;
        coord->open--;
        coord->unreachable++;
        each_build(coord, cell, 0, drop_need);
    }
}

tsw_status_t tsw_coord_start(tsw_coord_t *coord, tsw_coord_actions_t *out, tsw_err_t *err)
{
    if (coord->started)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: started twice");
    coord->started = true;
    coord->out = out;
    for (uint32_t g = 0; g < coord->shared; g++)
        strand(coord, g);
    for (size_t i = 0; i < coord->plan->build_count; i++)
        coord->progress.builds_total += coord->builds[i].needers > 0;
    for (size_t r = 0; r < coord->rank_count; r++)
        offer_builder(coord, (uint32_t)r);
    return end_event(coord, err);
}

static tsw_status_t check_rank(const tsw_coord_t *coord, uint32_t rank, tsw_err_t *err)
{
    if (rank >= coord->rank_count)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: there is no rank %u", rank);
    return TSW_OK;
}

tsw_status_t tsw_coord_cell_wanted(tsw_coord_t *coord, uint32_t rank, tsw_coord_actions_t *out,
                                   tsw_err_t *err)
{
    tsw_status_t status = check_rank(coord, rank, err);
    if (status != TSW_OK)
        return status;
    rank_t *who = &coord->ranks[rank];
    if (!coord->finished && who->held_count + who->wanted >= HANDS)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: rank %u wants a cell too many", rank);
    status = begin_event(coord, out, err);
    if (status != TSW_OK || coord->finished)
        return status;
    who->wanted++;
    serve_rank(coord, rank);
    return end_event(coord, err);
}

tsw_status_t tsw_coord_build_done(tsw_coord_t *coord, uint32_t rank, uint32_t build,
                                  tsw_coord_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = check_rank(coord, rank, err);
    if (status != TSW_OK)
        return status;
    if (build >= coord->plan->build_count || coord->builds[build].state != BUILD_LEASED ||
        coord->builds[build].rank != rank)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: rank %u did not make build %u", rank,
                           build);
    status = begin_event(coord, out, err);
    if (status != TSW_OK)
        return status;
    coord->builds[build].state = BUILD_DONE;
    coord->progress.builds_done++;
    coord->ranks[rank].building--;
    offer_builder(coord, rank);
    serve_waiters(coord, build);
    return end_event(coord, err);
}

static tsw_status_t check_lease(const tsw_coord_t *coord, uint32_t rank, uint32_t cell,
                                uint32_t attempt, tsw_err_t *err)
{
    tsw_status_t status = check_rank(coord, rank, err);
    if (status != TSW_OK)
        return status;
    if (cell >= coord->plan->cell_count || coord->cells[cell].state != CELL_LEASED ||
        coord->cells[cell].rank != rank || coord->cells[cell].attempt != attempt)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: rank %u does not hold cell %u (try %u)",
                           rank, cell, attempt);
    return TSW_OK;
}

tsw_status_t tsw_coord_cell_done(tsw_coord_t *coord, uint32_t rank, uint32_t cell, uint32_t attempt,
                                 bool usable, tsw_coord_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = check_lease(coord, rank, cell, attempt, err);
    if (status != TSW_OK)
        return status;
    status = begin_event(coord, out, err);
    if (status != TSW_OK)
        return status;
    coord->cells[cell].state = CELL_DONE;
    coord->progress.cells_done++;
    coord->progress.cells_failed += !usable;
    coord->progress.cost_done_ns += coord->plan->cells[cell].cost_ns;
    each_build(coord, cell, 0, drop_need);
    let_go(coord, &coord->ranks[rank], cell);
    serve_rank(coord, rank);
    return end_event(coord, err);
}

tsw_status_t tsw_coord_cell_returned(tsw_coord_t *coord, uint32_t rank, uint32_t cell,
                                     uint32_t attempt, tsw_coord_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = check_lease(coord, rank, cell, attempt, err);
    if (status != TSW_OK)
        return status;
    status = begin_event(coord, out, err);
    if (status != TSW_OK)
        return status;
    let_go(coord, &coord->ranks[rank], cell);
    reopen_cell(coord, cell);
    serve_all_parked(coord, group_of_cell(coord, cell));
    serve_rank(coord, rank);
    return end_event(coord, err);
}

/* Moves the rank to those that do compile-only cells alone. */
static void change_group(tsw_coord_t *coord, rank_t *rank)
{
    group_t *old = &coord->groups[rank->group];
    old->ranks--;
    if (rank->held_count == 0)
        old->idle--;
    rank->group = coord->shared;
    rank->parked = 0; /* entries in the old group are stale */
}

tsw_status_t tsw_coord_rank_retired(tsw_coord_t *coord, uint32_t rank, tsw_coord_actions_t *out,
                                    tsw_err_t *err)
{
    tsw_status_t status = check_rank(coord, rank, err);
    if (status != TSW_OK)
        return status;
    rank_t *who = &coord->ranks[rank];
    uint32_t group = who->group;
    if (group == coord->shared)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: rank %u has no device to lose", rank);
    status = begin_event(coord, out, err);
    if (status != TSW_OK)
        return status;
    for (uint32_t i = who->held_count; i-- > 0;) {
        uint32_t cell = who->held[i];
        if (group_of_cell(coord, cell) == coord->shared)
            continue;
        let_go(coord, who, cell);
        reopen_cell(coord, cell);
    }
    change_group(coord, who);
    strand(coord, group);
    serve_all_parked(coord, group);
    serve_rank(coord, rank);
    return end_event(coord, err);
}

tsw_status_t tsw_coord_drain(tsw_coord_t *coord, tsw_coord_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = begin_event(coord, out, err);
    if (status != TSW_OK)
        return status;
    coord->draining = true;
    return end_event(coord, err);
}

tsw_coord_progress_t tsw_coord_progress(const tsw_coord_t *coord)
{
    return coord->progress;
}

size_t tsw_coord_unreachable(const tsw_coord_t *coord)
{
    return coord->unreachable;
}

/* ---- life ---- */

static tsw_status_t check_ranks(const tsw_plan_t *plan, const tsw_coord_rank_t *ranks,
                                size_t rank_count, tsw_err_t *err)
{
    uint64_t slots = 0;
    for (size_t r = 0; r < rank_count; r++) {
        if (ranks[r].arch_index < -1 || ranks[r].arch_index >= (int)plan->job->arch_count)
            return tsw_err_set(err, TSW_ERR_ARG, "rank %zu: the job has no arch of index %d", r,
                               ranks[r].arch_index);
        slots += ranks[r].build_slots;
    }
    if (slots == 0)
        return tsw_err_set(err, TSW_ERR_ARG, "none of %zu ranks builds", rank_count);
    return TSW_OK;
}

/* Counts the cells of every group and what they need. */
static void survey(tsw_coord_t *coord, const bool *done)
{
    const tsw_plan_t *plan = coord->plan;
    coord->progress.cells_total = plan->cell_count;
    for (uint32_t i = 0; i < plan->cell_count; i++) {
        if (plan->cells[i].skip_reason != NULL) {
            coord->progress.cells_skipped++;
            continue;
        }
        coord->progress.cost_total_ns += plan->cells[i].cost_ns;
        if (done != NULL && done[i]) {
            coord->progress.cells_done++;
            coord->progress.cost_done_ns += plan->cells[i].cost_ns;
            continue;
        }
        coord->cells[i].state = CELL_OPEN;
        coord->open++;
        coord->groups[group_of_cell(coord, i)].count++;
        each_build(coord, i, 0, add_need);
    }
}

static bool fill_group(tsw_coord_t *coord, uint32_t g)
{
    group_t *group = &coord->groups[g];
    group->cells = tsw_calloc(group->count, sizeof(*group->cells));
    if (group->cells == NULL || !tsw_sched_heap_init(&group->open, group->count))
        return false;
    for (uint32_t hand = 0; hand < HANDS; hand++)
        if (!tsw_sched_ring_init(&group->parked[hand], coord->rank_count))
            return false;
    size_t n = 0;
    for (uint32_t i = 0; i < coord->plan->cell_count; i++) {
        if (coord->cells[i].state != CELL_OPEN || group_of_cell(coord, i) != g)
            continue;
        group->cells[n++] = i;
        tsw_sched_heap_push(&group->open, i);
    }
    return true;
}

static void place_ranks(tsw_coord_t *coord, const tsw_coord_rank_t *ranks)
{
    for (size_t r = 0; r < coord->rank_count; r++) {
        rank_t *rank = &coord->ranks[r];
        rank->slots = ranks[r].build_slots;
        rank->group = ranks[r].arch_index < 0 ? coord->shared : (uint32_t)ranks[r].arch_index;
        if (rank->group != coord->shared)
            coord->groups[rank->group].ranks++;
        count_idle(coord, rank, +1);
    }
}

static bool fill(tsw_coord_t *coord, const bool *done, const tsw_coord_rank_t *ranks,
                 size_t rank_count)
{
    const tsw_plan_t *plan = coord->plan;
    coord->rank_count = rank_count;
    coord->shared = (uint32_t)plan->job->arch_count;
    coord->group_count = coord->shared + 1;
    coord->free_waiter = NONE;
    coord->cells = tsw_calloc(plan->cell_count, sizeof(*coord->cells));
    coord->builds = tsw_calloc(plan->build_count, sizeof(*coord->builds));
    coord->ranks = tsw_calloc(rank_count, sizeof(*coord->ranks));
    coord->groups = tsw_calloc(coord->group_count, sizeof(*coord->groups));
    if (coord->cells == NULL || coord->builds == NULL || coord->ranks == NULL ||
        coord->groups == NULL)
        return false;
    for (size_t i = 0; i < plan->build_count; i++)
        coord->builds[i].waiters = NONE;
    survey(coord, done);
    for (uint32_t g = 0; g < coord->group_count; g++)
        if (!fill_group(coord, g))
            return false;
    for (uint32_t i = 0; i <= BUILD_LATER; i++)
        if (!tsw_sched_ring_init(&coord->queues[i], plan->build_count))
            return false;
    for (uint32_t i = 0; i < 2; i++)
        if (!tsw_sched_ring_init(&coord->builders[i], rank_count))
            return false;
    place_ranks(coord, ranks);
    return true;
}

tsw_status_t tsw_coord_new(const tsw_plan_t *plan, const bool *done, const tsw_coord_rank_t *ranks,
                           size_t rank_count, tsw_coord_t **coord_p, tsw_err_t *err)
{
    tsw_status_t status = check_ranks(plan, ranks, rank_count, err);
    if (status != TSW_OK)
        return status;
    tsw_coord_t *coord = tsw_calloc(1, sizeof(*coord));
    if (coord == NULL)
        return tsw_err_nomem(err);
    coord->plan = plan;
    if (!fill(coord, done, ranks, rank_count)) {
        tsw_coord_free(coord);
        return tsw_err_nomem(err);
    }
    *coord_p = coord;
    return TSW_OK;
}

void tsw_coord_free(tsw_coord_t *coord)
{
    if (coord == NULL)
        return;
    for (uint32_t g = 0; coord->groups != NULL && g < coord->group_count; g++) {
        group_t *group = &coord->groups[g];
        tsw_free(group->cells);
        tsw_sched_heap_fini(&group->open);
        for (uint32_t hand = 0; hand < HANDS; hand++)
            tsw_sched_ring_fini(&group->parked[hand]);
    }
    for (size_t r = 0; coord->ranks != NULL && r < coord->rank_count; r++)
        tsw_free(coord->ranks[r].pushed);
    for (uint32_t i = 0; i <= BUILD_LATER; i++)
        tsw_sched_ring_fini(&coord->queues[i]);
    for (uint32_t i = 0; i < 2; i++)
        tsw_sched_ring_fini(&coord->builders[i]);
    tsw_free(coord->groups);
    tsw_free(coord->ranks);
    tsw_free(coord->builds);
    tsw_free(coord->cells);
    tsw_free(coord->waiters);
    tsw_free(coord);
}
