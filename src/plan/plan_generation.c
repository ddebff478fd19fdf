/* One generation of a search: cells of the whole plan with some of their configs. */
#include "plan/plan_internal.h"

#include "base/mem.h"
#include "plan/plan_cost.h"

/* Deep, but for what the choice replaces: the lists of configs. */
static tsw_status_t copy_cell(const tsw_cell_t *from, tsw_cell_t *cell, tsw_err_t *err)
{
    *cell = *from;
    cell->configs = NULL;
    cell->order = NULL;
    cell->skip_reason = NULL;
    cell->report = (tsw_filter_report_t){.filters = NULL};
    if (from->skip_reason != NULL && (cell->skip_reason = tsw_strdup(from->skip_reason)) == NULL)
        return tsw_err_nomem(err);
    return TSW_OK;
}

/* The configs of from that are chosen (NULL: all), in its order. */
static tsw_status_t copy_configs(const tsw_cell_t *from, const bool *chosen, tsw_cell_t *cell,
                                 tsw_err_t *err)
{
    cell->config_count = 0;
    cell->configs = tsw_calloc(from->config_count + 1, sizeof(*cell->configs));
    if (cell->configs == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < from->config_count; i++) {
        if (i == 0 || chosen == NULL || chosen[from->configs[i]])
            cell->configs[cell->config_count++] = from->configs[i];
    }
    return TSW_OK;
}

static tsw_status_t key_cell(const tsw_plan_variant_t *variant, tsw_cell_t *cell, tsw_err_t *err)
{
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL)
        return tsw_err_nomem(err);
    tsw_hash_subkey(hash, cell->whole_key);
    tsw_hash_text(hash, "generation");
    tsw_hash_i64(hash, cell->coverage.generation);
    for (size_t i = 0; i < cell->config_count; i++)
        tsw_hash_subkey(hash, variant->configs[cell->configs[i]].key);
    cell->key = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return TSW_OK;
}

static tsw_status_t add_chosen(tsw_plan_t *plan, const tsw_plan_choice_t *choice, tsw_err_t *err)
{
    const tsw_cell_t *from = &plan->whole->cells[choice->cell];
    const tsw_plan_variant_t *variant = &plan->variants[from->variant];
    tsw_cell_t *cell = &plan->cells[plan->cell_count++];
    bool *chosen = tsw_calloc(variant->config_count, sizeof(*chosen));
    tsw_status_t status = copy_cell(from, cell, err);
    if (status == TSW_OK && chosen == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK) {
        for (size_t i = 0; i < choice->count; i++)
            chosen[choice->configs[i]] = true;
        cell->coverage = choice->coverage;
        status = copy_configs(from, chosen, cell, err);
    }
    if (status == TSW_OK)
        status = tsw_plan_order_make(variant, cell, err);
    if (status == TSW_OK)
        status = key_cell(variant, cell, err);
    if (status == TSW_OK && !cell->compile_only)
        cell->cost_ns =
            tsw_plan_cost_cell_ns(plan->job->archs[cell->arch_index], variant->id.dtype,
                                  &plan->job->policy, cell->flops, cell->bytes, cell->config_count);
    tsw_free(chosen);
    return status;
}

static tsw_status_t add_whole(tsw_plan_t *plan, const tsw_cell_t *from, tsw_err_t *err)
{
    tsw_cell_t *cell = &plan->cells[plan->cell_count++];
    tsw_status_t status = copy_cell(from, cell, err);
    if (status != TSW_OK || from->skip_reason != NULL)
        return status;
    status = copy_configs(from, NULL, cell, err);
    if (status == TSW_OK)
        status = tsw_plan_order_make(&plan->variants[cell->variant], cell, err);
    return status;
}

tsw_status_t tsw_plan_make_generation(const tsw_plan_t *whole, const tsw_plan_choice_t *choices,
                                      size_t choice_count, bool with_rest, tsw_plan_t **plan_p,
                                      tsw_err_t *err)
{
    tsw_plan_t *plan = tsw_calloc(1, sizeof(*plan));
    if (plan == NULL)
        return tsw_err_nomem(err);
    *plan = *whole;
    plan->whole = whole;
    plan->cell_count = 0;
    plan->cells = tsw_calloc(choice_count + whole->cell_count, sizeof(*plan->cells));
    tsw_status_t status = plan->cells != NULL ? TSW_OK : tsw_err_nomem(err);
    for (size_t i = 0; status == TSW_OK && i < choice_count; i++)
        status = add_chosen(plan, &choices[i], err);
    for (size_t i = 0; status == TSW_OK && with_rest && i < whole->cell_count; i++) {
        if (!whole->cells[i].is_searched)
            status = add_whole(plan, &whole->cells[i], err);
    }
    if (status == TSW_OK) {
        tsw_plan_cells_sort(plan);
        *plan_p = plan;
    } else {
        tsw_plan_free(plan);
    }
    return status;
}
