/* What a search knows. Private to search. */
#ifndef TSW_SEARCH_SEARCH_STATE_H
#define TSW_SEARCH_SEARCH_STATE_H

#include "plan/plan.h"
#include "record/record.h"
#include "search/search.h"

/* The space of a variant on an arch; its points are the configs of the variant. */
typedef struct {
    uint32_t variant, arch_index;
    tsw_search_grid_t grid;
    uint32_t *cells; /* of the whole plan, one per view */
    tsw_search_view_t *views;
    size_t view_count;
    bool **valid; /* per view and point: what the views show */
    double **scores;
    bool *tried;
    uint32_t built;
    uint32_t *seeds;
    size_t seed_count;
    uint32_t generation; /* the last one chosen */
    bool over;
} tsw_search_space_t;

/* Points that older sweeps suggest, out of the snapshot of the job, into space. */
tsw_status_t tsw_search_seeds_find(const tsw_plan_t *whole, tsw_search_space_t *space,
                                   tsw_err_t *err);

/* The values that are in the space and were never tried, for people. */
void tsw_search_untried(const tsw_plan_t *whole, const tsw_search_space_t *space,
                        char out[TSW_UNTRIED_MAX]);

#endif
