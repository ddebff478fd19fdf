#include "plan/plan.h"

/* A result is final when it is complete and no config is to be tried again. That of a search is
 * final once it is complete: later generations were chosen by it. */
static bool is_final(const tsw_cell_result_t *result)
{
    if (!result->complete || result->coverage.generation > 0)
        return result->complete != 0;
    for (size_t i = 0; i < result->record_count; i++) {
        if (tsw_outcome_again(result->records[i].outcome))
            return false;
    }
    return true;
}

static bool has_record(const tsw_cell_result_t *result, size_t guess, tsw_key_t config)
{
    if (guess < result->record_count && tsw_key_equal(result->records[guess].config_key, config))
        return true;
    for (size_t i = 0; i < result->record_count; i++) {
        if (tsw_key_equal(result->records[i].config_key, config))
            return true;
    }
    return false;
}

static bool covers(const tsw_plan_t *plan, const tsw_cell_t *cell, const tsw_cell_result_t *result)
{
    const tsw_plan_variant_t *variant = &plan->variants[cell->variant];
    if (!is_final(result))
        return false;
    for (size_t i = 0; i < cell->config_count; i++) {
        if (!has_record(result, i, variant->configs[cell->configs[i]].key))
            return false;
    }
    return true;
}

void tsw_plan_resume(const tsw_plan_t *plan, const tsw_dataset_t *dataset, bool *done)
{
    for (size_t i = 0; i < plan->cell_count; i++) {
        const tsw_cell_t *cell = &plan->cells[i];
        const tsw_cell_result_t *result = tsw_dataset_find(dataset, cell->key);
        done[i] = cell->skip_reason == NULL && result != NULL && covers(plan, cell, result);
    }
}
