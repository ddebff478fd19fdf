/* One generation: seeds, descent, sampling. */
#include "search/search.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum {
    PARENTS = 8,       /* of a view, whose neighbours are tried at most */
    EXPLORE_SHARE = 8, /* at least one in so many is far from all others */
    CANDIDATES = 48,   /* drawn for one far point */
    STREAM = 0x5ea7c4  /* of random numbers: none else draws from it */
};

typedef struct {
    const tsw_search_state_t *state;
    const tsw_search_grid_t *grid;
    bool *taken;  /* tried, or chosen now */
    bool *usable; /* valid in some view */
    uint32_t *chosen;
    size_t count, room;
    uint32_t *known; /* points that are taken, in the order in which they were */
    size_t known_count;
} work_t;

static void take(work_t *w, uint32_t point)
{
    if (w->count >= w->room || w->taken[point] || !w->usable[point])
        return;
    w->taken[point] = true;
    w->chosen[w->count++] = point;
    w->known[w->known_count++] = point;
}

/* ---- the best of a view ---- */

size_t tsw_search_best(const tsw_search_grid_t *grid, const tsw_search_view_t *view, size_t wanted,
                       uint32_t *best)
{
    size_t count = 0;
    for (uint32_t i = 0; i < grid->count; i++) {
        if (!isfinite(view->scores[i]))
            continue;
        size_t at = count;
        while (at > 0 && view->scores[best[at - 1]] > view->scores[i])
            at--;
        if (at >= wanted)
            continue;
        if (count < wanted)
            count++;
        memmove(best + at + 1, best + at, (count - 1 - at) * sizeof(*best));
        best[at] = i;
    }
    return count;
}

/* ---- descent ---- */

/* The next point from `from` along an axis: what is not in the space, not valid here or has failed
 * is stepped over. UINT32_MAX: none, or the next one has a time. */
static uint32_t step_along(const work_t *w, const tsw_search_view_t *view, uint32_t from,
                           size_t axis, int direction)
{
    const tsw_search_grid_t *grid = w->grid;
    uint32_t levels[TSW_SEARCH_AXES_MAX];
    memcpy(levels, grid->levels + from * grid->axis_count, grid->axis_count * sizeof(*levels));
    while (direction < 0 ? levels[axis] > 0 : levels[axis] + 1 < grid->level_counts[axis]) {
        levels[axis] += (uint32_t)direction;
        uint32_t point = tsw_search_grid_find(grid, levels);
        if (point == UINT32_MAX || !view->valid[point] || isinf(view->scores[point]))
            continue;
        return w->taken[point] ? UINT32_MAX : point;
    }
    return UINT32_MAX;
}

static void take_neighbours(work_t *w, const tsw_search_view_t *view, uint32_t parent)
{
    for (size_t axis = 0; axis < w->grid->axis_count; axis++) {
        for (int direction = -1; direction <= 1; direction += 2) {
            uint32_t point = step_along(w, view, parent, axis, direction);
            if (point != UINT32_MAX)
                take(w, point);
        }
    }
}

/* One step on two axes at once: for ridges, where each step alone leads up. */
static void take_diagonals(work_t *w, const tsw_search_view_t *view, uint32_t parent)
{
    const tsw_search_grid_t *grid = w->grid;
    for (size_t a = 0; a < grid->axis_count; a++) {
        for (size_t b = a + 1; b < grid->axis_count; b++) {
            for (int way = 0; way < 4; way++) {
                uint32_t levels[TSW_SEARCH_AXES_MAX];
                memcpy(levels, grid->levels + parent * grid->axis_count,
                       grid->axis_count * sizeof(*levels));
                levels[a] += (way & 1) != 0 ? 1U : UINT32_MAX; /* below 0: no level, so no point */
                levels[b] += (way & 2) != 0 ? 1U : UINT32_MAX;
                uint32_t point = tsw_search_grid_find(grid, levels);
                if (point != UINT32_MAX && view->valid[point])
                    take(w, point);
            }
        }
    }
}

/* Around the best of each view, then around its second best, ...; the views take turns in being the
 * first, since there may not be room for all. */
static void descend(work_t *w, const uint32_t *best, const size_t *best_count)
{
    const tsw_search_state_t *state = w->state;
    for (size_t rank = 0; rank <= PARENTS && w->count < w->room; rank++) {
        for (size_t i = 0; i < state->view_count; i++) {
            size_t v = (i + state->generation) % state->view_count;
            if (rank < best_count[v])
                take_neighbours(w, &state->views[v], best[v * PARENTS + rank]);
        }
        for (size_t i = 0; rank > 0 && i < state->view_count; i++) {
            size_t v = (i + state->generation) % state->view_count;
            if (rank - 1 < best_count[v])
                take_diagonals(w, &state->views[v], best[v * PARENTS + rank - 1]);
        }
    }
}

static tsw_status_t descend_all(work_t *w, tsw_err_t *err)
{
    const tsw_search_state_t *state = w->state;
    uint32_t *best = tsw_calloc(state->view_count * PARENTS + 1, sizeof(*best));
    size_t *best_count = tsw_calloc(state->view_count + 1, sizeof(*best_count));
    tsw_status_t status = best != NULL && best_count != NULL ? TSW_OK : tsw_err_nomem(err);
    for (size_t v = 0; status == TSW_OK && v < state->view_count; v++)
        best_count[v] = tsw_search_best(state->grid, &state->views[v], PARENTS, best + v * PARENTS);
    if (status == TSW_OK)
        descend(w, best, best_count);
    tsw_free(best);
    tsw_free(best_count);
    return status;
}

/* ---- sampling ---- */

/* Which levels have no point yet that was tried. */
typedef struct {
    bool *missing; /* per axis and level */
    size_t offset[TSW_SEARCH_AXES_MAX];
    size_t count;
} gaps_t;

static void fill_gap(const work_t *w, gaps_t *gaps, uint32_t point)
{
    for (size_t axis = 0; axis < w->grid->axis_count; axis++) {
        bool *missing = &gaps->missing[gaps->offset[axis] +
                                       w->grid->levels[point * w->grid->axis_count + axis]];
        gaps->count -= *missing;
        *missing = false;
    }
}

static tsw_status_t gaps_init(const work_t *w, gaps_t *gaps, tsw_err_t *err)
{
    size_t total = 0;
    for (size_t axis = 0; axis < w->grid->axis_count; axis++) {
        gaps->offset[axis] = total;
        total += w->grid->level_counts[axis];
    }
    gaps->missing = tsw_calloc(total + 1, sizeof(*gaps->missing));
    if (gaps->missing == NULL)
        return tsw_err_nomem(err);
    memset(gaps->missing, true, total);
    gaps->count = total;
    for (size_t i = 0; i < w->known_count; i++)
        fill_gap(w, gaps, w->known[i]);
    return TSW_OK;
}

static size_t gaps_of(const work_t *w, const gaps_t *gaps, uint32_t point)
{
    size_t count = 0;
    for (size_t axis = 0; axis < w->grid->axis_count; axis++)
        count +=
            gaps->missing[gaps->offset[axis] + w->grid->levels[point * w->grid->axis_count + axis]];
    return count;
}

static uint64_t draw(const work_t *w, uint64_t a, uint64_t b)
{
    return tsw_rng_u64(w->state->seed, STREAM, w->state->generation, a, b);
}

/* Every value of every knob at least once, as far as there is room: the point with most new values
 * first, equal ones by lot. */
static void cover(work_t *w, gaps_t *gaps)
{
    while (gaps->count > 0 && w->count < w->room) {
        uint32_t best = UINT32_MAX;
        size_t best_gain = 0;
        uint64_t best_lot = 0;
        for (uint32_t i = 0; i < w->grid->count; i++) {
            size_t gain = w->taken[i] || !w->usable[i] ? 0 : gaps_of(w, gaps, i);
            if (gain == 0 || gain < best_gain)
                continue;
            uint64_t lot = draw(w, w->count, (uint64_t)i + CANDIDATES);
            if (gain == best_gain && lot >= best_lot)
                continue;
            best = i;
            best_gain = gain;
            best_lot = lot;
        }
        if (best == UINT32_MAX)
            return;
        fill_gap(w, gaps, best);
        take(w, best);
    }
}

/* Sum over the axes of the distance in levels, each axis 1 long. */
static double distance(const tsw_search_grid_t *grid, uint32_t a, uint32_t b)
{
    const uint32_t *x = grid->levels + a * grid->axis_count;
    const uint32_t *y = grid->levels + b * grid->axis_count;
    double sum = 0.0;
    for (size_t axis = 0; axis < grid->axis_count; axis++) {
        if (grid->level_counts[axis] > 1)
            sum += fabs((double)x[axis] - (double)y[axis]) / (grid->level_counts[axis] - 1);
    }
    return sum;
}

static double distance_to_known(const work_t *w, uint32_t point)
{
    double least = INFINITY;
    for (size_t i = 0; i < w->known_count; i++)
        least = fmin(least, distance(w->grid, point, w->known[i]));
    return least;
}

/* Of some drawn points the one that is farthest from all known ones. */
static void spread(work_t *w, uint32_t *pool, size_t pool_count)
{
    while (w->count < w->room && pool_count > 0) {
        size_t best = 0;
        double best_distance = -1.0;
        for (size_t k = 0; k < CANDIDATES; k++) {
            size_t at = (size_t)(draw(w, w->count, k) % pool_count);
            double far = distance_to_known(w, pool[at]);
            if (far > best_distance) {
                best_distance = far;
                best = at;
            }
        }
        take(w, pool[best]);
        pool[best] = pool[--pool_count];
    }
}

static tsw_status_t sample(work_t *w, tsw_err_t *err)
{
    gaps_t gaps = {.missing = NULL};
    uint32_t *pool = tsw_calloc(w->grid->count, sizeof(*pool));
    tsw_status_t status = pool != NULL ? gaps_init(w, &gaps, err) : tsw_err_nomem(err);
    if (status == TSW_OK) {
        size_t count = 0;
        cover(w, &gaps);
        for (uint32_t i = 0; i < w->grid->count; i++) {
            if (!w->taken[i] && w->usable[i])
                pool[count++] = i;
        }
        spread(w, pool, count);
    }
    tsw_free(pool);
    tsw_free(gaps.missing);
    return status;
}

/* ---- all ---- */

static tsw_status_t begin(work_t *w, tsw_err_t *err)
{
    const tsw_search_state_t *state = w->state;
    size_t count = w->grid->count;
    w->taken = tsw_calloc(count, sizeof(*w->taken));
    w->usable = tsw_calloc(count, sizeof(*w->usable));
    w->known = tsw_calloc(count, sizeof(*w->known));
    if (w->taken == NULL || w->usable == NULL || w->known == NULL)
        return tsw_err_nomem(err);
    for (uint32_t i = 0; i < count; i++) {
        w->taken[i] = state->tried[i];
        if (state->tried[i])
            w->known[w->known_count++] = i;
        for (size_t v = 0; v < state->view_count && !w->usable[i]; v++)
            w->usable[i] = state->views[v].valid[i];
    }
    return TSW_OK;
}

tsw_status_t tsw_search_next(const tsw_search_state_t *state, size_t room, uint32_t *chosen,
                             size_t *count_p, tsw_err_t *err)
{
    work_t w = {.state = state, .grid = state->grid, .chosen = chosen};
    tsw_status_t status = begin(&w, err);
    if (status == TSW_OK) {
        /* What is known already leads to half of the first generation, to most of the others. */
        bool first = state->generation <= 1;
        w.room = first ? room / 2 : room - room / EXPLORE_SHARE;
        for (size_t i = 0; first && i < state->seed_count; i++)
            take(&w, state->seeds[i]);
        if (!first)
            status = descend_all(&w, err);
    }
    if (status == TSW_OK) {
        w.room = room;
        status = sample(&w, err);
    }
    if (status == TSW_OK)
        *count_p = w.count;
    tsw_free(w.taken);
    tsw_free(w.usable);
    tsw_free(w.known);
    return status;
}
