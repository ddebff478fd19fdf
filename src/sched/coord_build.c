/* Which build is made next, and by whom. */
#include "sched/coord_state.h"

void tsw_coord_enqueue_build(void *user, uint32_t build)
{
    tsw_coord_visit_t *visit = user;
    tsw_coord_build_t *b = &visit->coord->builds[build];
    uint8_t bit = (uint8_t)(1u << visit->queue);
    if (b->state != TSW_COORD_BUILD_OPEN || (b->queued & bit) != 0)
        return;
    b->queued |= bit;
    tsw_sched_ring_push(&visit->coord->queues[visit->queue], build);
}

static bool is_wanted(const tsw_coord_build_t *build)
{
    return build->state == TSW_COORD_BUILD_OPEN && build->needers > 0;
}

/* Queues the builds of the next cell that nobody looked at yet, the groups in turn. */
static bool look_ahead(tsw_coord_t *coord)
{
    for (uint32_t tried = 0; tried < coord->group_count; tried++) {
        tsw_coord_group_t *group = &coord->groups[coord->next_group];
        coord->next_group = (coord->next_group + 1) % coord->group_count;
        while (group->ahead < group->count) {
            uint32_t id = group->cells[group->ahead++];
            tsw_coord_cell_t *cell = &coord->cells[id];
            if (cell->state != TSW_COORD_CELL_OPEN || cell->looked_ahead)
                continue;
            cell->looked_ahead = true;
            tsw_coord_each_build(coord, id, TSW_COORD_LATER, tsw_coord_enqueue_build);
            return true;
        }
    }
    return false;
}

static bool next_build(tsw_coord_t *coord, uint32_t *build_p)
{
    do {
        for (uint32_t i = 0; i <= TSW_COORD_LATER; i++) {
            while (coord->queues[i].count > 0) {
                uint32_t id = tsw_sched_ring_pop(&coord->queues[i]);
                if (is_wanted(&coord->builds[id])) {
                    *build_p = id;
                    return true;
                }
            }
        }
    } while (look_ahead(coord));
    return false;
}

void tsw_coord_offer_builder(tsw_coord_t *coord, uint32_t r)
{
    tsw_coord_member_t *rank = &coord->ranks[r];
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
            tsw_coord_member_t *rank = &coord->ranks[r];
            rank->builder &= (uint8_t) ~(1u << i);
            if ((rank->building < rank->slots) == (i == 0) && rank->building <= rank->slots) {
                *rank_p = r;
                return true;
            }
        }
    }
    return false;
}

void tsw_coord_lease_builds(tsw_coord_t *coord)
{
    uint32_t r = 0;
    uint32_t id = 0;
    while (!coord->draining && !coord->failed && next_builder(coord, &r)) {
        bool found = next_build(coord, &id);
        if (found) {
            coord->builds[id].state = TSW_COORD_BUILD_LEASED;
            coord->builds[id].rank = r;
            coord->ranks[r].building++;
            tsw_coord_act(
                coord, (tsw_coord_action_t){.type = TSW_COORD_LEASE_BUILD, .rank = r, .build = id});
        }
        tsw_coord_offer_builder(coord, r);
        if (!found)
            return;
    }
}
