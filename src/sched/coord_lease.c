/* Who gets which cell, and which finished builds with it. */
#include "sched/coord_state.h"

#include "base/mem.h"

static void push_build(tsw_coord_t *coord, uint32_t rank, uint32_t cell, uint32_t build)
{
    uint8_t *byte = &coord->ranks[rank].pushed[build / 8];
    uint8_t bit = (uint8_t)(1u << (build % 8));
    if ((*byte & bit) != 0)
        return;
    *byte |= bit;
    tsw_coord_act(coord,
                  (tsw_coord_action_t){
                      .type = TSW_COORD_PUSH_BUILD, .rank = rank, .cell = cell, .build = build});
}

static void add_waiter(tsw_coord_t *coord, uint32_t cell, uint32_t build)
{
    uint32_t at = coord->free_waiter;
    if (at != TSW_COORD_NONE) {
        coord->free_waiter = coord->waiters[at].next;
    } else {
        if (!TSW_GROW(coord->waiters, coord->waiter_capacity, coord->waiter_count)) {
            coord->failed = true;
            return;
        }
        at = (uint32_t)coord->waiter_count++;
    }
    coord->waiters[at] = (tsw_coord_waiter_t){.rank = coord->cells[cell].rank,
                                              .cell = cell,
                                              .attempt = coord->cells[cell].attempt,
                                              .next = coord->builds[build].waiters};
    coord->builds[build].waiters = at;
}

/* A cell was leased: a finished build travels, another is waited for. */
static void supply_build(void *user, uint32_t build)
{
    tsw_coord_visit_t *visit = user;
    tsw_coord_t *coord = visit->coord;
    if (coord->builds[build].state == TSW_COORD_BUILD_DONE) {
        push_build(coord, coord->cells[visit->cell].rank, visit->cell, build);
        return;
    }
    add_waiter(coord, visit->cell, build);
    tsw_coord_enqueue_build(user, build);
}

void tsw_coord_serve_waiters(tsw_coord_t *coord, uint32_t build)
{
    uint32_t at = coord->builds[build].waiters;
    coord->builds[build].waiters = TSW_COORD_NONE;
    while (at != TSW_COORD_NONE) {
        tsw_coord_waiter_t *waiter = &coord->waiters[at];
        const tsw_coord_cell_t *cell = &coord->cells[waiter->cell];
        if (cell->state == TSW_COORD_CELL_LEASED && cell->rank == waiter->rank &&
            cell->attempt == waiter->attempt)
            push_build(coord, waiter->rank, waiter->cell, build);
        uint32_t next = waiter->next;
        waiter->next = coord->free_waiter;
        coord->free_waiter = at;
        at = next;
    }
}

/* ---- leases of cells ---- */

void tsw_coord_count_idle(tsw_coord_t *coord, const tsw_coord_member_t *rank, int change)
{
    coord->groups[rank->group].idle += (uint32_t)change;
    if (rank->group != coord->shared)
        coord->groups[coord->shared].idle += (uint32_t)change;
}

static void lease_cell(tsw_coord_t *coord, uint32_t r, tsw_coord_group_t *group)
{
    tsw_coord_member_t *rank = &coord->ranks[r];
    uint32_t id = tsw_sched_heap_pop(&group->open);
    if (rank->pushed == NULL) {
        rank->pushed = tsw_calloc((coord->plan->build_count + 7) / 8, 1);
        if (rank->pushed == NULL) {
            coord->failed = true;
            return;
        }
    }
    tsw_coord_cell_t *cell = &coord->cells[id];
    cell->state = TSW_COORD_CELL_LEASED;
    cell->rank = r;
    cell->attempt++;
    cell->looked_ahead = true;
    coord->open--;
    coord->progress.cells_leased++;
    if (rank->held_count == 0)
        tsw_coord_count_idle(coord, rank, -1);
    uint32_t hand = rank->held_count++;
    rank->held[hand] = id;
    rank->wanted--;
    tsw_coord_act(
        coord, (tsw_coord_action_t){
                   .type = TSW_COORD_LEASE_CELL, .rank = r, .cell = id, .attempt = cell->attempt});
    tsw_coord_each_build(coord, id, hand, supply_build);
}

/* The group that has a cell for the rank now; NULL: none. A rank that holds a cell gets one ahead
 * only if enough are left for those that hold none. */
static tsw_coord_group_t *group_for(tsw_coord_t *coord, const tsw_coord_member_t *rank)
{
    uint32_t candidates[2] = {rank->group, coord->shared};
    for (size_t i = 0; i < 2; i++) {
        tsw_coord_group_t *group = &coord->groups[candidates[i]];
        size_t kept = rank->held_count > 0 ? group->idle : 0;
        if (group->open.count > kept)
            return group;
    }
    return NULL;
}

static void park(tsw_coord_t *coord, uint32_t r)
{
    tsw_coord_member_t *rank = &coord->ranks[r];
    uint8_t bit = (uint8_t)(1u << rank->held_count);
    if ((rank->parked & bit) != 0)
        return;
    rank->parked |= bit;
    tsw_sched_ring_push(&coord->groups[rank->group].parked[rank->held_count], r);
}

void tsw_coord_serve_rank(tsw_coord_t *coord, uint32_t r)
{
    tsw_coord_member_t *rank = &coord->ranks[r];
    while (rank->wanted > 0 && !coord->draining && !coord->failed) {
        tsw_coord_group_t *group = group_for(coord, rank);
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
    for (uint32_t hand = 0; hand < TSW_COORD_HANDS; hand++) {
        tsw_sched_ring_t *parked = &coord->groups[group].parked[hand];
        while (parked->count > 0 && !coord->failed) {
            uint32_t r = tsw_sched_ring_first(parked);
            tsw_coord_member_t *rank = &coord->ranks[r];
            bool waits = rank->group == group && rank->wanted > 0 && rank->held_count == hand;
            if (waits && group_for(coord, rank) == NULL)
                break;
            tsw_sched_ring_pop(parked);
            if (rank->group == group)
                rank->parked &= (uint8_t) ~(1u << hand);
            if (waits)
                tsw_coord_serve_rank(coord, r);
        }
    }
}

void tsw_coord_serve_all_parked(tsw_coord_t *coord, uint32_t group)
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

uint32_t tsw_coord_group_of_cell(const tsw_coord_t *coord, uint32_t cell)
{
    const tsw_cell_t *planned = &coord->plan->cells[cell];
    return planned->compile_only ? coord->shared : planned->arch_index;
}

void tsw_coord_let_go(tsw_coord_t *coord, tsw_coord_member_t *rank, uint32_t cell)
{
    coord->progress.cells_leased--;
    rank->held_count--;
    if (rank->held[0] == cell && rank->held_count > 0) {
        rank->held[0] = rank->held[1];
        tsw_coord_each_build(coord, rank->held[0], 0, tsw_coord_enqueue_build);
    }
    if (rank->held_count == 0)
        tsw_coord_count_idle(coord, rank, +1);
}

void tsw_coord_reopen_cell(tsw_coord_t *coord, uint32_t cell)
{
    coord->cells[cell].state = TSW_COORD_CELL_OPEN;
    coord->open++;
    tsw_sched_heap_push(&coord->groups[tsw_coord_group_of_cell(coord, cell)].open, cell);
}
