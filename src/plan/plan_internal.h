/* A plan in the making. Private to plan. */
#ifndef TSW_PLAN_PLAN_INTERNAL_H
#define TSW_PLAN_PLAN_INTERNAL_H

#include "plan/plan.h"
#include "plan/plan_index.h"

/* Per variant: from the configs of each arch's space to those of the variant. */
typedef struct {
    uint32_t *of_space[TSW_PLAN_ARCH_MAX];
} tsw_plan_map_t;

typedef struct {
    const tsw_job_t *job;
    tsw_plan_t *plan;
    tsw_eval_t *eval;
    tsw_plan_map_t *maps; /* per variant */
    size_t map_capacity;
    size_t variant_capacity, build_capacity, cell_capacity;
    tsw_plan_index_t variant_index; /* identity and config lists -> variant */
    tsw_plan_index_t asked_index;   /* entry, dtype, flags, static dims -> variant */
    tsw_plan_index_t build_index;
    tsw_plan_index_t cell_index;
    tsw_err_t *err;
} tsw_plan_maker_t;

/* The variant of an entry for a dtype, flags and the static ones of dims, made when it is new. */
tsw_status_t tsw_plan_variant_get(tsw_plan_maker_t *m, size_t entry, tsw_dtype_t dtype,
                                  const uint32_t *flags, const int64_t *dims, uint32_t *variant_p);
void tsw_plan_map_fini(tsw_plan_map_t *map);

/* The cells of one shape of a variant, one per arch. */
tsw_status_t tsw_plan_cells_add(tsw_plan_maker_t *m, uint32_t variant, const tsw_shape_t *shape);
void tsw_plan_cell_fini(tsw_cell_t *cell);
/* Sets the order of a cell that has its configs. */
tsw_status_t tsw_plan_order_make(const tsw_plan_variant_t *variant, tsw_cell_t *cell,
                                 tsw_err_t *err);
/* The text of plan->inputs; heap. */
tsw_status_t tsw_plan_inputs_make(const tsw_plan_t *plan, char **inputs_p, tsw_err_t *err);
/* Order and ids. */
void tsw_plan_cells_sort(tsw_plan_t *plan);

/* All builds that cells need, in their order. */
tsw_status_t tsw_plan_builds_make(tsw_plan_maker_t *m);

#endif
