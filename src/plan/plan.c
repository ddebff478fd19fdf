#include "plan/plan.h"

#include "base/mem.h"
#include "pack/place.h"
#include "plan/plan_internal.h"

#include <stdlib.h>
#include <string.h>

void tsw_plan_free(tsw_plan_t *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; plan->whole == NULL && i < plan->variant_count; i++) {
        for (size_t a = 0; a < TSW_PLAN_ARCH_MAX; a++)
            tsw_space_fini(&plan->variants[i].spaces[a]);
        tsw_free(plan->variants[i].configs);
        tsw_free(plan->variants[i].config_builds);
    }
    for (size_t i = 0; i < plan->cell_count; i++)
        tsw_plan_cell_fini(&plan->cells[i]);
    if (plan->whole == NULL) {
        tsw_free(plan->inputs);
        tsw_free(plan->variants);
        tsw_free(plan->builds);
    }
    tsw_free(plan->cells);
    tsw_free(plan);
}

static void maker_fini(tsw_plan_maker_t *m)
{
    for (size_t i = 0; i < m->plan->variant_count; i++)
        tsw_plan_map_fini(&m->maps[i]);
    tsw_free(m->maps);
    tsw_plan_index_fini(&m->variant_index);
    tsw_plan_index_fini(&m->asked_index);
    tsw_plan_index_fini(&m->build_index);
    tsw_plan_index_fini(&m->cell_index);
    tsw_eval_free(m->eval);
}

static tsw_status_t add_shapes(tsw_plan_maker_t *m, size_t entry, tsw_dtype_t dtype,
                               const uint32_t *flags)
{
    const tsw_job_entry_t *e = &m->job->entries[entry];
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < e->shape_count; i++) {
        uint32_t variant = 0;
        status = tsw_plan_variant_get(m, entry, dtype, flags, e->shapes[i].dims, &variant);
        if (status == TSW_OK)
            status = tsw_plan_cells_add(m, variant, &e->shapes[i]);
    }
    return status;
}

static tsw_status_t add_entry(tsw_plan_maker_t *m, size_t entry)
{
    const tsw_job_entry_t *e = &m->job->entries[entry];
    tsw_status_t status = TSW_OK;
    for (int dtype = 0; dtype < TSW_DTYPE_COUNT; dtype++) {
        if (!e->dtypes[dtype])
            continue;
        for (size_t i = 0; status == TSW_OK && i < e->flag_set_count; i++)
            status = add_shapes(m, entry, (tsw_dtype_t)dtype, e->flag_sets[i]);
    }
    return status;
}

/* Something must be left to do; cells of size zero alone are no reason to stop. */
static tsw_status_t check_left(const tsw_plan_t *plan, tsw_err_t *err)
{
    const char *reason = NULL;
    size_t entry = 0;
    for (size_t i = 0; i < plan->cell_count; i++) {
        const tsw_cell_t *cell = &plan->cells[i];
        if (cell->skip_reason == NULL)
            return TSW_OK;
        if (strcmp(cell->skip_reason, "empty") != 0) {
            reason = cell->skip_reason;
            entry = plan->variants[cell->variant].entry;
        }
    }
    if (plan->cell_count == 0)
        return tsw_err_set(err, TSW_ERR_INPUT, "the job has no cell: no arch, dtype or shape");
    if (reason == NULL)
        return TSW_OK;
    return tsw_place_err(err, TSW_ERR_INPUT, plan->job->entries[entry].place,
                         "no cell is left to run: %s", reason);
}

static int compare_keys(const void *a, const void *b)
{
    return tsw_key_compare(*(const tsw_key_t *)a, *(const tsw_key_t *)b);
}

/* A cell's key with what else its record holds. */
static tsw_key_t key_with_weight(const tsw_cell_t *cell)
{
    struct {
        tsw_key_t key;
        double weight;
        uint64_t compile_only;
    } all = {cell->key, cell->weight, cell->compile_only};
    return tsw_key_of(&all, sizeof(all));
}

static tsw_status_t key_plan(tsw_plan_t *plan, tsw_err_t *err)
{
    tsw_key_t *keys = tsw_calloc(plan->cell_count, sizeof(*keys));
    tsw_hash_t *hash = tsw_hash_new();
    tsw_status_t status = keys != NULL && hash != NULL ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK) {
        for (size_t i = 0; i < plan->cell_count; i++)
            keys[i] = key_with_weight(&plan->cells[i]);
        qsort(keys, plan->cell_count, sizeof(*keys), compare_keys);
        tsw_hash_text(hash, plan->inputs);
        tsw_hash_bytes(hash, keys, plan->cell_count * sizeof(*keys));
        plan->key = tsw_hash_key(hash);
    }
    tsw_free(keys);
    tsw_hash_free(hash);
    return status;
}

tsw_status_t tsw_plan_make(const tsw_job_t *job, tsw_plan_t **plan_p, tsw_err_t *err)
{
    if (job->arch_count > TSW_PLAN_ARCH_MAX)
        return tsw_err_set(err, TSW_ERR_INPUT, "%zu archs, a job has at most %d", job->arch_count,
                           TSW_PLAN_ARCH_MAX);
    tsw_plan_maker_t m = {.job = job, .err = err};
    m.plan = tsw_calloc(1, sizeof(*m.plan));
    if (m.plan == NULL)
        return tsw_err_nomem(err);
    m.plan->job = job;
    tsw_status_t status = tsw_eval_new(&m.eval, err);
    for (size_t i = 0; status == TSW_OK && i < job->entry_count; i++)
        status = add_entry(&m, i);
    if (status == TSW_OK)
        status = check_left(m.plan, err);
    if (status == TSW_OK) {
        tsw_plan_cells_sort(m.plan);
        status = tsw_plan_builds_make(&m);
    }
    if (status == TSW_OK)
        status = tsw_plan_inputs_make(m.plan, &m.plan->inputs, err);
    if (status == TSW_OK)
        status = key_plan(m.plan, err);
    maker_fini(&m);
    if (status == TSW_OK)
        *plan_p = m.plan;
    else
        tsw_plan_free(m.plan);
    return status;
}
