/* In which order a cell's configs are built. */
#include "plan/plan_internal.h"

#include "base/mem.h"
#include "plan/plan_cost.h"

#include <stdlib.h>

typedef struct {
    double cost;
    uint32_t index;
} place_t;

static int compare_places(const void *a, const void *b)
{
    const place_t *x = a;
    const place_t *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

tsw_status_t tsw_plan_order_make(const tsw_plan_variant_t *variant, tsw_cell_t *cell,
                                 tsw_err_t *err)
{
    const size_t count = cell->config_count;
    place_t *places = tsw_calloc(count, sizeof(*places));
    uint32_t *order = tsw_calloc(count, sizeof(*order));
    if (places == NULL || order == NULL) {
        tsw_free(places);
        tsw_free(order);
        return tsw_err_nomem(err);
    }
    for (uint32_t i = 0; i < count; i++)
        places[i] = (place_t){
            .cost = tsw_plan_cost_config(variant->id.pack, &variant->configs[cell->configs[i]]),
            .index = i,
        };
    qsort(places + 1, count - 1, sizeof(*places), compare_places); /* the baseline stays */
    for (size_t i = 0; i < count; i++)
        order[i] = places[i].index;
    tsw_free(places);
    cell->order = order;
    return TSW_OK;
}
