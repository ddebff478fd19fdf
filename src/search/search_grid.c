/* Configs as points on a grid of levels. */
#include "search/search.h"

#include "base/mem.h"

#include <stdlib.h>

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The distinct values of one axis in rising order, into column; returns their number. */
static size_t rank_values(const int64_t *values, size_t count, size_t axis_count, size_t axis,
                          int64_t *column)
{
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++)
        column[i] = values[i * axis_count + axis];
    qsort(column, count, sizeof(*column), compare_values);
    for (size_t i = 0; i < count; i++) {
        if (distinct == 0 || column[distinct - 1] != column[i])
            column[distinct++] = column[i];
    }
    return distinct;
}

static uint32_t level_of(const int64_t *column, size_t count, int64_t value)
{
    const int64_t *found = bsearch(&value, column, count, sizeof(*column), compare_values);
    TSW_ASSERT(found != NULL);
    return (uint32_t)(found - column);
}

/* ---- points by their levels ---- */

typedef struct {
    const uint32_t *levels;
    size_t axis_count;
    uint32_t point;
} row_t;

static int compare_levels(const uint32_t *a, const uint32_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

static int compare_rows(const void *a, const void *b)
{
    const row_t *x = a;
    const row_t *y = b;
    return compare_levels(x->levels, y->levels, x->axis_count);
}

static tsw_status_t sort_points(tsw_search_grid_t *grid, tsw_err_t *err)
{
    row_t *rows = tsw_calloc(grid->count, sizeof(*rows));
    if (rows == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < grid->count; i++)
        rows[i] = (row_t){grid->levels + i * grid->axis_count, grid->axis_count, (uint32_t)i};
    qsort(rows, grid->count, sizeof(*rows), compare_rows);
    for (size_t i = 0; i < grid->count; i++)
        grid->sorted[i] = rows[i].point;
    tsw_free(rows);
    return TSW_OK;
}

uint32_t tsw_search_grid_find(const tsw_search_grid_t *grid, const uint32_t *levels)
{
    size_t low = 0;
    size_t high = grid->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint32_t point = grid->sorted[middle];
        int order =
            compare_levels(grid->levels + point * grid->axis_count, levels, grid->axis_count);
        if (order == 0)
            return point;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return UINT32_MAX;
}

/* ---- life ---- */

tsw_status_t tsw_search_grid_init(tsw_search_grid_t *grid, const int64_t *values, size_t count,
                                  size_t axis_count, tsw_err_t *err)
{
    if (axis_count > TSW_SEARCH_AXES_MAX || count == 0 || count >= UINT32_MAX)
        return tsw_err_set(err, TSW_ERR_ARG, "%zu axes and %zu points are no grid", axis_count,
                           count);
    *grid = (tsw_search_grid_t){.axis_count = axis_count, .count = count};
    int64_t *column = tsw_calloc(count, sizeof(*column));
    grid->levels = tsw_calloc(count * axis_count + 1, sizeof(*grid->levels));
    grid->sorted = tsw_calloc(count, sizeof(*grid->sorted));
    tsw_status_t status = column != NULL && grid->levels != NULL && grid->sorted != NULL
                              ? TSW_OK
                              : tsw_err_nomem(err);
    for (size_t axis = 0; status == TSW_OK && axis < axis_count; axis++) {
        size_t distinct = rank_values(values, count, axis_count, axis, column);
        grid->level_counts[axis] = (uint32_t)distinct;
        for (size_t i = 0; i < count; i++)
            grid->levels[i * axis_count + axis] =
                level_of(column, distinct, values[i * axis_count + axis]);
    }
    if (status == TSW_OK)
        status = sort_points(grid, err);
    tsw_free(column);
    if (status != TSW_OK)
        tsw_search_grid_fini(grid);
    return status;
}

void tsw_search_grid_fini(tsw_search_grid_t *grid)
{
    tsw_free(grid->levels);
    tsw_free(grid->sorted);
    *grid = (tsw_search_grid_t){0};
}
