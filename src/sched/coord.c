/* Events, and the life of a coordinator. */
#include "sched/coord_state.h"

#include "base/mem.h"

static void add_need(void *user, uint32_t build)
{
    tsw_coord_visit_t *visit = user;
    visit->coord->builds[build].needers++;
}

static void drop_need(void *user, uint32_t build)
{
    tsw_coord_visit_t *visit = user;
    visit->coord->builds[build].needers--;
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
    tsw_coord_lease_builds(coord);
    bool over = coord->progress.cells_leased == 0 && (coord->draining || coord->open == 0);
    if (over && !coord->finished) {
        coord->finished = true;
        coord->draining = true;
        for (size_t r = 0; r < coord->rank_count; r++)
            tsw_coord_act(coord, (tsw_coord_action_t){.type = TSW_COORD_STOP, .rank = (uint32_t)r});
        tsw_coord_act(coord, (tsw_coord_action_t){.type = TSW_COORD_FINISHED});
    }
    coord->out = NULL;
    return coord->failed ? tsw_err_nomem(err) : TSW_OK;
}

/* Open cells of a group without ranks can never be done, nor do they need builds. */
static void strand(tsw_coord_t *coord, uint32_t g)
{
    tsw_coord_group_t *group = &coord->groups[g];
    if (group->ranks > 0)
        return;
    while (group->open.count > 0) {
        uint32_t cell = tsw_sched_heap_pop(&group->open);
        coord->cells[cell].state = TSW_COORD_CELL_UNREACHABLE;
        coord->open--;
        coord->unreachable++;
        tsw_coord_each_build(coord, cell, 0, drop_need);
    }
}

void tsw_coord_build_known(tsw_coord_t *coord, uint32_t build)
{
    TSW_ASSERT(!coord->started && build < coord->plan->build_count);
    coord->builds[build].state = TSW_COORD_BUILD_DONE;
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
        coord->progress.builds_total +=
            coord->builds[i].needers > 0 && coord->builds[i].state != TSW_COORD_BUILD_DONE;
    for (size_t r = 0; r < coord->rank_count; r++)
        tsw_coord_offer_builder(coord, (uint32_t)r);
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
    tsw_coord_member_t *who = &coord->ranks[rank];
    if (!coord->finished && who->held_count + who->wanted >= TSW_COORD_HANDS)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: rank %u wants a cell too many", rank);
    status = begin_event(coord, out, err);
    if (status != TSW_OK || coord->finished)
        return status;
    who->wanted++;
    tsw_coord_serve_rank(coord, rank);
    return end_event(coord, err);
}

tsw_status_t tsw_coord_build_done(tsw_coord_t *coord, uint32_t rank, uint32_t build,
                                  tsw_coord_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = check_rank(coord, rank, err);
    if (status != TSW_OK)
        return status;
    if (build >= coord->plan->build_count || coord->builds[build].state != TSW_COORD_BUILD_LEASED ||
        coord->builds[build].rank != rank)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: rank %u did not make build %u", rank,
                           build);
    status = begin_event(coord, out, err);
    if (status != TSW_OK)
        return status;
    coord->builds[build].state = TSW_COORD_BUILD_DONE;
    coord->progress.builds_done++;
    coord->ranks[rank].building--;
    tsw_coord_offer_builder(coord, rank);
    tsw_coord_serve_waiters(coord, build);
    return end_event(coord, err);
}

/* Begins an event about a cell that the rank holds. */
static tsw_status_t begin_of_lease(tsw_coord_t *coord, uint32_t rank, uint32_t cell,
                                   uint32_t attempt, tsw_coord_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = check_rank(coord, rank, err);
    if (status != TSW_OK)
        return status;
    if (cell >= coord->plan->cell_count || coord->cells[cell].state != TSW_COORD_CELL_LEASED ||
        coord->cells[cell].rank != rank || coord->cells[cell].attempt != attempt)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: rank %u does not hold cell %u (try %u)",
                           rank, cell, attempt);
    return begin_event(coord, out, err);
}

tsw_status_t tsw_coord_cell_done(tsw_coord_t *coord, uint32_t rank, uint32_t cell, uint32_t attempt,
                                 bool usable, tsw_coord_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = begin_of_lease(coord, rank, cell, attempt, out, err);
    if (status != TSW_OK)
        return status;
    coord->cells[cell].state = TSW_COORD_CELL_DONE;
    coord->progress.cells_done++;
    coord->progress.cells_failed += !usable;
    coord->progress.cost_done_ns += coord->plan->cells[cell].cost_ns;
    tsw_coord_each_build(coord, cell, 0, drop_need);
    tsw_coord_let_go(coord, &coord->ranks[rank], cell);
    tsw_coord_serve_rank(coord, rank);
    return end_event(coord, err);
}

tsw_status_t tsw_coord_cell_returned(tsw_coord_t *coord, uint32_t rank, uint32_t cell,
                                     uint32_t attempt, tsw_coord_actions_t *out, tsw_err_t *err)
{
    tsw_status_t status = begin_of_lease(coord, rank, cell, attempt, out, err);
    if (status != TSW_OK)
        return status;
    tsw_coord_let_go(coord, &coord->ranks[rank], cell);
    tsw_coord_reopen_cell(coord, cell);
    tsw_coord_serve_all_parked(coord, tsw_coord_group_of_cell(coord, cell));
    tsw_coord_serve_rank(coord, rank);
    return end_event(coord, err);
}

/* Moves the rank to those that do compile-only cells alone. */
static void change_group(tsw_coord_t *coord, tsw_coord_member_t *rank)
{
    tsw_coord_group_t *old = &coord->groups[rank->group];
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
    tsw_coord_member_t *who = &coord->ranks[rank];
    uint32_t group = who->group;
    if (group == coord->shared)
        return tsw_err_set(err, TSW_ERR_BUG, "coordinator: rank %u has no device to lose", rank);
    status = begin_event(coord, out, err);
    if (status != TSW_OK)
        return status;
    for (uint32_t i = who->held_count; i-- > 0;) {
        uint32_t cell = who->held[i];
        if (tsw_coord_group_of_cell(coord, cell) == coord->shared)
            continue;
        tsw_coord_let_go(coord, who, cell);
        tsw_coord_reopen_cell(coord, cell);
    }
    change_group(coord, who);
    strand(coord, group);
    tsw_coord_serve_all_parked(coord, group);
    tsw_coord_serve_rank(coord, rank);
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
        coord->cells[i].state = TSW_COORD_CELL_OPEN;
        coord->open++;
        coord->groups[tsw_coord_group_of_cell(coord, i)].count++;
        tsw_coord_each_build(coord, i, 0, add_need);
    }
}

static bool fill_group(tsw_coord_t *coord, uint32_t g)
{
    tsw_coord_group_t *group = &coord->groups[g];
    group->cells = tsw_calloc(group->count, sizeof(*group->cells));
    if (group->cells == NULL || !tsw_sched_heap_init(&group->open, group->count))
        return false;
    for (uint32_t hand = 0; hand < TSW_COORD_HANDS; hand++)
        if (!tsw_sched_ring_init(&group->parked[hand], coord->rank_count))
            return false;
    size_t n = 0;
    for (uint32_t i = 0; i < coord->plan->cell_count; i++) {
        if (coord->cells[i].state != TSW_COORD_CELL_OPEN || tsw_coord_group_of_cell(coord, i) != g)
            continue;
        group->cells[n++] = i;
        tsw_sched_heap_push(&group->open, i);
    }
    return true;
}

static void place_ranks(tsw_coord_t *coord, const tsw_coord_rank_t *ranks)
{
    for (size_t r = 0; r < coord->rank_count; r++) {
        tsw_coord_member_t *rank = &coord->ranks[r];
        rank->slots = ranks[r].build_slots;
        rank->group = ranks[r].arch_index < 0 ? coord->shared : (uint32_t)ranks[r].arch_index;
        if (rank->group != coord->shared)
            coord->groups[rank->group].ranks++;
        tsw_coord_count_idle(coord, rank, +1);
    }
}

static bool fill(tsw_coord_t *coord, const bool *done, const tsw_coord_rank_t *ranks,
                 size_t rank_count)
{
    const tsw_plan_t *plan = coord->plan;
    coord->rank_count = rank_count;
    coord->shared = (uint32_t)plan->job->arch_count;
    coord->group_count = coord->shared + 1;
    coord->free_waiter = TSW_COORD_NONE;
    coord->cells = tsw_calloc(plan->cell_count, sizeof(*coord->cells));
    coord->builds = tsw_calloc(plan->build_count, sizeof(*coord->builds));
    coord->ranks = tsw_calloc(rank_count, sizeof(*coord->ranks));
    coord->groups = tsw_calloc(coord->group_count, sizeof(*coord->groups));
    if (coord->cells == NULL || coord->builds == NULL || coord->ranks == NULL ||
        coord->groups == NULL)
        return false;
    for (size_t i = 0; i < plan->build_count; i++)
        coord->builds[i].waiters = TSW_COORD_NONE;
    survey(coord, done);
    for (uint32_t g = 0; g < coord->group_count; g++)
        if (!fill_group(coord, g))
            return false;
    for (uint32_t i = 0; i <= TSW_COORD_LATER; i++)
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
        tsw_coord_group_t *group = &coord->groups[g];
        tsw_free(group->cells);
        tsw_sched_heap_fini(&group->open);
        for (uint32_t hand = 0; hand < TSW_COORD_HANDS; hand++)
            tsw_sched_ring_fini(&group->parked[hand]);
    }
    for (size_t r = 0; coord->ranks != NULL && r < coord->rank_count; r++)
        tsw_free(coord->ranks[r].pushed);
    for (uint32_t i = 0; i <= TSW_COORD_LATER; i++)
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
