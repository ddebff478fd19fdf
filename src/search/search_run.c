#include "search/search_run.h"

#include "base/mem.h"
#include "reduce/reduce_cell.h"
#include "search/search_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CARRIED = 4,    /* the best of a cell, measured again beside what is new */
    FINALISTS = 30, /* of a space, or the best of every cell when those are more */
    FINAL_RANKS = 8 /* of a cell at most, if it needs so many to fill them up */
};

/* The configs that a space measures next: new to all cells, and per cell old ones. */
typedef struct {
    uint32_t *list;
    size_t count;
} list_t;

struct tsw_search_run {
    const tsw_plan_t *whole;
    tsw_search_space_t *spaces;
    size_t space_count, space_capacity;
    tsw_plan_choice_t *choices; /* of the last call */
    list_t *lists;              /* that they show */
    size_t choice_count;
};

/* ---- life ---- */

static void space_fini(tsw_search_space_t *space)
{
    for (size_t v = 0; v < space->view_count; v++) {
        tsw_free(space->valid[v]);
        tsw_free(space->scores[v]);
    }
    tsw_search_grid_fini(&space->grid);
    tsw_free(space->cells);
    tsw_free(space->views);
    tsw_free(space->valid);
    tsw_free(space->scores);
    tsw_free(space->tried);
    tsw_free(space->seeds);
}

static void drop_choices(tsw_search_run_t *search)
{
    for (size_t i = 0; search->lists != NULL && i < search->choice_count; i++)
        tsw_free(search->lists[i].list);
    tsw_free(search->lists);
    tsw_free(search->choices);
    search->lists = NULL;
    search->choices = NULL;
    search->choice_count = 0;
}

void tsw_search_run_free(tsw_search_run_t *search)
{
    if (search == NULL)
        return;
    drop_choices(search);
    for (size_t i = 0; i < search->space_count; i++)
        space_fini(&search->spaces[i]);
    tsw_free(search->spaces);
    tsw_free(search);
}

static tsw_search_space_t *find_space(tsw_search_run_t *search, const tsw_cell_t *cell)
{
    for (size_t i = 0; i < search->space_count; i++) {
        tsw_search_space_t *space = &search->spaces[i];
        if (space->variant == cell->variant && space->arch_index == cell->arch_index)
            return space;
    }
    return NULL;
}

static tsw_status_t make_grid(const tsw_plan_variant_t *variant, tsw_search_grid_t *grid,
                              tsw_err_t *err)
{
    size_t axes = variant->id.pack->knob_count;
    int64_t *values = tsw_calloc(variant->config_count * axes + 1, sizeof(*values));
    if (values == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < variant->config_count; i++)
        memcpy(values + i * axes, variant->configs[i].values, axes * sizeof(*values));
    tsw_status_t status = tsw_search_grid_init(grid, values, variant->config_count, axes, err);
    tsw_free(values);
    return status;
}

static tsw_status_t add_space(tsw_search_run_t *search, const tsw_cell_t *cell, tsw_err_t *err)
{
    const tsw_plan_t *whole = search->whole;
    if (!TSW_GROW(search->spaces, search->space_capacity, search->space_count))
        return tsw_err_nomem(err);
    tsw_search_space_t *space = &search->spaces[search->space_count++];
    *space = (tsw_search_space_t){.variant = cell->variant, .arch_index = cell->arch_index};
    size_t points = whole->variants[cell->variant].config_count;
    space->tried = tsw_calloc(points, sizeof(*space->tried));
    space->cells = tsw_calloc(whole->cell_count, sizeof(*space->cells));
    space->views = tsw_calloc(whole->cell_count, sizeof(*space->views));
    space->valid = tsw_calloc(whole->cell_count, sizeof(*space->valid));
    space->scores = tsw_calloc(whole->cell_count, sizeof(*space->scores));
    if (space->tried == NULL || space->cells == NULL || space->views == NULL ||
        space->valid == NULL || space->scores == NULL)
        return tsw_err_nomem(err);
    space->tried[cell->configs[0]] = true; /* the baseline is in every generation */
    space->built = 1;
    return make_grid(&whole->variants[cell->variant], &space->grid, err);
}

static tsw_status_t add_view(tsw_search_space_t *space, const tsw_cell_t *cell, tsw_err_t *err)
{
    size_t v = space->view_count++;
    space->cells[v] = cell->id;
    space->valid[v] = tsw_calloc(space->grid.count, sizeof(**space->valid));
    space->scores[v] = tsw_calloc(space->grid.count, sizeof(**space->scores));
    if (space->valid[v] == NULL || space->scores[v] == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < space->grid.count; i++)
        space->scores[v][i] = (double)NAN;
    for (size_t i = 0; i < cell->config_count; i++)
        space->valid[v][cell->configs[i]] = true;
    space->views[v] = (tsw_search_view_t){space->valid[v], space->scores[v]};
    return TSW_OK;
}

tsw_status_t tsw_search_run_new(const tsw_plan_t *whole, tsw_search_run_t **search_p,
                                tsw_err_t *err)
{
    tsw_search_run_t *search = tsw_calloc(1, sizeof(*search));
    if (search == NULL)
        return tsw_err_nomem(err);
    search->whole = whole;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < whole->cell_count; i++) {
        const tsw_cell_t *cell = &whole->cells[i];
        if (!cell->is_searched)
            continue;
        if (find_space(search, cell) == NULL)
            status = add_space(search, cell, err);
        if (status == TSW_OK)
            status = add_view(find_space(search, cell), cell, err);
    }
    for (size_t i = 0; status == TSW_OK && i < search->space_count; i++)
        status = tsw_search_seeds_find(whole, &search->spaces[i], err);
    if (status == TSW_OK)
        *search_p = search;
    else
        tsw_search_run_free(search);
    return status;
}

size_t tsw_search_run_unseeded(const tsw_search_run_t *search, const tsw_pack_t **pack_p)
{
    size_t count = 0;
    if (search->whole->job->search.seed_count == 0)
        return 0;
    for (size_t i = 0; i < search->space_count; i++) {
        const tsw_search_space_t *space = &search->spaces[i];
        if (space->seed_count > 0)
            continue;
        if (count++ == 0)
            *pack_p = search->whole->variants[space->variant].id.pack;
    }
    return count;
}

/* ---- choosing ---- */

/* New ones, and of every cell its own best. */
static tsw_status_t add_choice(tsw_search_run_t *search, const tsw_search_space_t *space, size_t v,
                               const uint32_t *points, size_t count, size_t carried, tsw_err_t *err)
{
    tsw_plan_choice_t *choice = &search->choices[search->choice_count];
    list_t *list = &search->lists[search->choice_count++];
    list->list = tsw_calloc(count + carried + 1, sizeof(*list->list));
    if (list->list == NULL)
        return tsw_err_nomem(err);
    memcpy(list->list, points, count * sizeof(*points));
    list->count =
        count + tsw_search_best(&space->grid, &space->views[v], carried, list->list + count);
    *choice = (tsw_plan_choice_t){
        .cell = space->cells[v],
        .configs = list->list,
        .count = list->count,
        .coverage = {
            .generation = space->generation,
            .space_configs =
                (uint32_t)search->whole->variants[space->variant].spaces[space->arch_index].count,
            .built_configs = space->built}};
    tsw_search_untried(search->whole, space, choice->coverage.untried);
    return TSW_OK;
}

static tsw_status_t add_choices(tsw_search_run_t *search, const tsw_search_space_t *space,
                                const uint32_t *points, size_t count, size_t carried,
                                tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t v = 0; status == TSW_OK && v < space->view_count; v++)
        status = add_choice(search, space, v, points, count, carried, err);
    return status;
}

/* The best of each cell, then the second of each, ..., until there are enough. */
static tsw_status_t choose_final(tsw_search_run_t *search, tsw_search_space_t *space,
                                 tsw_err_t *err)
{
    size_t capacity = space->view_count * FINAL_RANKS;
    uint32_t *points = tsw_calloc(space->grid.count, sizeof(*points));
    uint32_t *best = tsw_calloc(capacity, sizeof(*best));
    size_t *best_count = tsw_calloc(space->view_count, sizeof(*best_count));
    bool *in = tsw_calloc(space->grid.count, sizeof(*in));
    tsw_status_t status = points != NULL && best != NULL && best_count != NULL && in != NULL
                              ? TSW_OK
                              : tsw_err_nomem(err);
    size_t count = 0;
    for (size_t v = 0; status == TSW_OK && v < space->view_count; v++)
        best_count[v] =
            tsw_search_best(&space->grid, &space->views[v], FINAL_RANKS, best + v * FINAL_RANKS);
    for (size_t rank = 0; status == TSW_OK && rank < FINAL_RANKS && count < FINALISTS; rank++) {
        for (size_t v = 0; v < space->view_count; v++) {
            uint32_t point = rank < best_count[v] ? best[v * FINAL_RANKS + rank] : 0;
            bool wanted = rank < best_count[v] && !in[point] && (rank == 0 || count < FINALISTS);
            in[point] = in[point] || wanted;
            if (wanted)
                points[count++] = point;
        }
    }
    if (status == TSW_OK && count > 0) {
        space->generation++;
        status = add_choices(search, space, points, count, 0, err);
    }
    tsw_free(points);
    tsw_free(best);
    tsw_free(best_count);
    tsw_free(in);
    return status;
}

static tsw_status_t choose_next(tsw_search_run_t *search, tsw_search_space_t *space, tsw_err_t *err)
{
    const tsw_search_t *budget = &search->whole->job->search;
    tsw_search_state_t state = {.grid = &space->grid,
                                .views = space->views,
                                .view_count = space->view_count,
                                .tried = space->tried,
                                .seeds = space->seeds,
                                .seed_count = space->seed_count,
                                .seed = search->whole->job->policy.seed,
                                .generation = space->generation + 1};
    size_t room = budget->builds > space->built ? budget->builds - space->built : 0;
    room = room < budget->per_generation ? room : budget->per_generation;
    uint32_t *points = tsw_calloc(room + 1, sizeof(*points));
    size_t count = 0;
    if (points == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_OK;
    if (room > 0)
        status = tsw_search_next(&state, room, points, &count, err);
    if (status == TSW_OK && count == 0) {
        space->over = true;
        status = choose_final(search, space, err);
    } else if (status == TSW_OK) {
        for (size_t i = 0; i < count; i++)
            space->tried[points[i]] = true;
        space->built += (uint32_t)count;
        space->generation++;
        status = add_choices(search, space, points, count, CARRIED, err);
    }
    tsw_free(points);
    return status;
}

tsw_status_t tsw_search_run_choose(tsw_search_run_t *search, const tsw_plan_choice_t **choices_p,
                                   size_t *count_p, tsw_err_t *err)
{
    drop_choices(search);
    search->choices = tsw_calloc(search->whole->cell_count + 1, sizeof(*search->choices));
    search->lists = tsw_calloc(search->whole->cell_count + 1, sizeof(*search->lists));
    tsw_status_t status =
        search->choices != NULL && search->lists != NULL ? TSW_OK : tsw_err_nomem(err);
    for (size_t i = 0; status == TSW_OK && i < search->space_count; i++) {
        if (!search->spaces[i].over)
            status = choose_next(search, &search->spaces[i], err);
    }
    if (status == TSW_OK) {
        *choices_p = search->choices;
        *count_p = search->choice_count;
    }
    return status;
}

/* ---- learning ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From the times of this generation to those of the others, by the configs that both have: another
 * GPU or another hour must not make what is new look better. 1: none. */
static tsw_status_t find_scale(const double *scores, const double *times, size_t count,
                               double *scale_p, tsw_err_t *err)
{
    double *ratios = tsw_calloc(count + 1, sizeof(*ratios));
    size_t n = 0;
    if (ratios == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        if (isfinite(scores[i]) && isfinite(times[i]))
            ratios[n++] = scores[i] / times[i];
    }
    qsort(ratios, n, sizeof(*ratios), compare_doubles);
    *scale_p = n > 0 ? (ratios[(n - 1) / 2] + ratios[n / 2]) / 2 : 1.0;
    tsw_free(ratios);
    return TSW_OK;
}

static void read_times(const tsw_cell_summary_t *summary, const tsw_cell_t *cell, double *times)
{
    for (size_t i = 0; i < summary->config_count; i++) {
        const tsw_config_result_t *config = &summary->configs[i];
        uint32_t index = config->record->config_index;
        if (index < cell->config_count)
            times[cell->configs[index]] = config->usable && config->time_ns.median > 0.0
                                              ? config->time_ns.median
                                              : (double)INFINITY;
    }
}

static tsw_status_t learn_cell(tsw_search_space_t *space, size_t v, const tsw_cell_t *cell,
                               const tsw_cell_result_t *result, const char *objective,
                               tsw_err_t *err)
{
    const tsw_reduce_options_t options = tsw_reduce_options(1);
    tsw_cell_summary_t summary = {.cell = NULL};
    double scale = 1.0;
    double *times = tsw_calloc(space->grid.count, sizeof(*times));
    if (times == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < space->grid.count; i++)
        times[i] = (double)NAN;
    tsw_status_t status = tsw_reduce_cell(result, &options, objective, &summary, err);
    if (status == TSW_OK) {
        read_times(&summary, cell, times);
        tsw_reduce_cell_fini(&summary);
        status = find_scale(space->scores[v], times, space->grid.count, &scale, err);
    }
    for (size_t i = 0; status == TSW_OK && i < space->grid.count; i++) {
        if (!isnan(times[i]))
            space->scores[v][i] = times[i] * scale;
    }
    tsw_free(times);
    return status;
}

tsw_status_t tsw_search_run_learn(tsw_search_run_t *search, const tsw_plan_t *generation,
                                  const tsw_dataset_t *dataset, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < generation->cell_count; i++) {
        const tsw_cell_t *cell = &generation->cells[i];
        const tsw_cell_result_t *result =
            cell->coverage.generation > 0 ? tsw_dataset_find(dataset, cell->key) : NULL;
        tsw_search_space_t *space = result != NULL ? find_space(search, cell) : NULL;
        for (size_t v = 0; space != NULL && status == TSW_OK && v < space->view_count; v++) {
            const tsw_cell_t *whole = &search->whole->cells[space->cells[v]];
            if (result->complete && !cell->compile_only &&
                tsw_key_equal(whole->whole_key, cell->whole_key))
                status = learn_cell(space, v, cell, result, dataset->meta.objective, err);
        }
    }
    return status;
}
