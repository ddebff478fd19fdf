/* Plans made by hand for tests: no job file, no pack, no space. */
#ifndef TSW_TESTS_PLAN_BUILDER_H
#define TSW_TESTS_PLAN_BUILDER_H

#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to make. Builds: 0 is the tool's, then for each variant its reference and its configs, all
 * for every arch. Cells: those of arch 0 first; cell c of an arch is of variant c mod variants, has
 * all its configs, and costs (cells_per_arch - c) ms. */
typedef struct {
    size_t archs; /* at most 8 */
    size_t variants;
    size_t configs;
    size_t cells_per_arch;
    uint32_t compile_only; /* bit i: arch i */
    bool backwards;        /* order of the configs: the first, then from the last down */
} plan_build_t;

/* Dies with a message instead of returning an error; free with plan_built_free. */
tsw_plan_t *plan_build(const plan_build_t *what);
void plan_built_free(tsw_plan_t *plan);

uint32_t plan_built_reference(const tsw_plan_t *plan, uint32_t cell);
uint32_t plan_built_config(const tsw_plan_t *plan, uint32_t cell, size_t config_index);

#endif
