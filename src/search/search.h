/* Which configs of a huge space to try next. Pure: the same observations give the same choice, on
 * whatever rank and after whatever interruption. docs/search.md has the rules in words.
 *
 * A space is a set of points on a grid: one axis per knob, its levels the values of that knob in
 * rising order. A view is what one cell (a shape on an arch) knows of the points. All views share
 * the points that are tried: what is built for one shape is measured for all. */
#ifndef TSW_SEARCH_SEARCH_H
#define TSW_SEARCH_SEARCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TSW_SEARCH_AXES_MAX = 16 };

typedef struct {
    size_t axis_count;
    uint32_t level_counts[TSW_SEARCH_AXES_MAX];
    uint32_t *levels; /* count rows of axis_count levels */
    size_t count;     /* of points; no two alike */
    uint32_t *sorted; /* points in lexicographic order of their levels */
} tsw_search_grid_t;

/* values: count rows of axis_count values, copied into levels. TSW_ERR_ARG: too many axes or
 * points. */
tsw_status_t tsw_search_grid_init(tsw_search_grid_t *grid, const int64_t *values, size_t count,
                                  size_t axis_count, tsw_err_t *err);
void tsw_search_grid_fini(tsw_search_grid_t *grid);
/* The point with these levels; UINT32_MAX: none. */
uint32_t tsw_search_grid_find(const tsw_search_grid_t *grid, const uint32_t *levels);

typedef struct {
    const bool *valid;    /* per point: the cell may try it */
    const double *scores; /* per point: a time on any one scale; INFINITY: tried and failed; NAN:
                             not tried */
} tsw_search_view_t;

typedef struct {
    const tsw_search_grid_t *grid;
    const tsw_search_view_t *views;
    size_t view_count;
    const bool *tried; /* per point: built for some view */
    const uint32_t *seeds;
    size_t seed_count; /* points worth a try, the best first; for the first generation */
    uint64_t seed;
    uint32_t generation; /* from 1 on; the first has nothing to descend from */
} tsw_search_state_t;

/* The points of the next generation, at most room, into chosen; fewer when nothing is left to try.
 * First those that descend from the best of each view, then points far from all that were tried.
 * TSW_ERR_NOMEM. */
tsw_status_t tsw_search_next(const tsw_search_state_t *state, size_t room, uint32_t *chosen,
                             size_t *count_p, tsw_err_t *err);

/* The best `wanted` points of a view with a finite score, the best first (equal ones: the lower
 * point first), into best. */
size_t tsw_search_best(const tsw_search_grid_t *grid, const tsw_search_view_t *view, size_t wanted,
                       uint32_t *best);

#endif
