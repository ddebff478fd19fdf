/* What an event wants done, and the builds of a cell. */
#include "base/mem.h"
#include "sched/coord_state.h"

void tsw_coord_actions_fini(tsw_coord_actions_t *actions)
{
    tsw_free(actions->items);
    *actions = (tsw_coord_actions_t){0};
}

void tsw_coord_act(tsw_coord_t *coord, tsw_coord_action_t action)
{
    tsw_coord_actions_t *out = coord->out;
    if (!TSW_GROW(out->items, out->capacity, out->count)) {
        coord->failed = true;
        return;
    }
    out->items[out->count++] = action;
}

void tsw_coord_each_build(tsw_coord_t *coord, uint32_t cell, uint32_t queue,
                          void (*fn)(void *, uint32_t))
{
    tsw_coord_visit_t visit = {.coord = coord, .cell = cell, .queue = queue};
    tsw_plan_cell_builds(coord->plan, &coord->plan->cells[cell], fn, &visit);
}
