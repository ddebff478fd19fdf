#include "plan/plan_internal.h"

#include "base/mem.h"
#include "pack/place.h"
#include "plan/plan_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHERE_MAX = 512 };

/* What all archs share of one shape. */
typedef struct {
    const tsw_shape_t *shape;
    bool empty;
    double flops, bytes;
} problem_t;

/* ---- checks of a shape ---- */

/* "matmul dtype=f16 M=4096 ..", cut. */
static void describe(const tsw_plan_variant_t *variant, const int64_t *dims, char out[WHERE_MAX])
{
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_buf_printf(&text, "%s ", variant->id.pack->name);
    tsw_variant_format(&variant->id, &text);
    tsw_buf_append_text(&text, " ");
    tsw_shape_format(variant->id.pack, dims, &text);
    snprintf(out, WHERE_MAX, "%s", tsw_buf_text(&text));
    tsw_buf_fini(&text);
}

static tsw_status_t refuse(tsw_plan_maker_t *m, const tsw_plan_variant_t *variant,
                           const int64_t *dims, const char *what)
{
    char where[WHERE_MAX];
    describe(variant, dims, where);
    return tsw_place_err(m->err, TSW_ERR_INPUT, m->job->entries[variant->entry].place, "%s: %s",
                         where, what);
}

/* An expression of the pack failed for this shape: the job asks for too much. */
static tsw_status_t refuse_expression(tsw_plan_maker_t *m, const tsw_plan_variant_t *variant,
                                      const int64_t *dims, const char *what, const tsw_err_t *why)
{
    char text[TSW_ERR_TEXT_MAX];
    if (why->code == TSW_ERR_NOMEM)
        return tsw_err_nomem(m->err);
    snprintf(text, sizeof(text), "%s: %.1700s", what, why->text);
    return refuse(m, variant, dims, text);
}

static tsw_status_t check_sizes(tsw_plan_maker_t *m, const tsw_plan_variant_t *variant,
                                const int64_t *dims)
{
    const tsw_pack_t *pack = variant->id.pack;
    char text[256];
    for (size_t i = 0; i < pack->arg_count; i++) {
        const tsw_arg_t *arg = &pack->args[i];
        int64_t elements = 0;
        tsw_err_t why = TSW_ERR_INIT;
        if (arg->role == TSW_ROLE_SCALAR)
            continue;
        snprintf(text, sizeof(text), "elements of argument %s", arg->name);
        if (tsw_eval_i64(m->eval, &arg->size, &elements, &why) != TSW_OK)
            return refuse_expression(m, variant, dims, text, &why);
        if (elements >= 0 && (pack->max_elements <= 0 || elements <= pack->max_elements))
            continue;
        snprintf(text, sizeof(text), "argument %s has %lld elements, pack %s allows 0 to %lld",
                 arg->name, (long long)elements, pack->name, (long long)pack->max_elements);
        return refuse(m, variant, dims, text);
    }
    return TSW_OK;
}

static tsw_status_t weigh(tsw_plan_maker_t *m, const tsw_plan_variant_t *variant,
                          const int64_t *dims, const tsw_expr_t *expr, const char *what,
                          double *value_p)
{
    tsw_err_t why = TSW_ERR_INIT;
    *value_p = 0.0;
    if (expr->text != NULL && tsw_eval_f64(m->eval, expr, value_p, &why) != TSW_OK)
        return refuse_expression(m, variant, dims, what, &why);
    if (*value_p < 0.0)
        return refuse(m, variant, dims, "flops or bytes are negative");
    return TSW_OK;
}

static tsw_status_t examine(tsw_plan_maker_t *m, const tsw_plan_variant_t *variant,
                            const tsw_shape_t *shape, problem_t *problem)
{
    const tsw_pack_t *pack = variant->id.pack;
    *problem = (problem_t){.shape = shape};
    for (size_t i = 0; i < pack->dim_count; i++) {
        char text[128];
        snprintf(text, sizeof(text), "%.64s is negative", pack->dims[i]);
        if (shape->dims[i] < 0)
            return refuse(m, variant, shape->dims, text);
        problem->empty = problem->empty || shape->dims[i] == 0;
    }
    if (problem->empty)
        return TSW_OK;
    tsw_status_t status = tsw_variant_bind(&variant->id, shape->dims, NULL, 1, m->eval, m->err);
    if (status == TSW_OK)
        status = check_sizes(m, variant, shape->dims);
    if (status == TSW_OK)
        status = weigh(m, variant, shape->dims, &pack->flops, "flops", &problem->flops);
    if (status == TSW_OK)
        status = weigh(m, variant, shape->dims, &pack->bytes, "bytes", &problem->bytes);
    return status;
}

/* ---- one cell ---- */

static tsw_status_t choose_configs(tsw_plan_maker_t *m, tsw_cell_t *cell)
{
    const tsw_plan_variant_t *variant = &m->plan->variants[cell->variant];
    const tsw_space_t *space = &variant->spaces[cell->arch_index];
    const uint32_t *map = m->maps[cell->variant].of_space[cell->arch_index];
    tsw_arch_t arch = m->job->archs[cell->arch_index];
    bool *keep = tsw_calloc(space->count, sizeof(*keep));
    cell->configs = tsw_calloc(space->count, sizeof(*cell->configs));
    tsw_status_t status = keep != NULL && cell->configs != NULL ? TSW_OK : tsw_err_nomem(m->err);
    if (status == TSW_OK)
        status = tsw_space_filter_shape(space, &variant->id, arch, cell->dims, m->eval, keep,
                                        &cell->report, m->err);
    if (status == TSW_OK)
        status = tsw_space_order_shape(space, &variant->id, arch, cell->dims, m->eval, keep,
                                       cell->configs, &cell->config_count, m->err);
    for (size_t i = 0; status == TSW_OK && i < cell->config_count; i++)
        cell->configs[i] = map[cell->configs[i]];
    if (status == TSW_OK)
        status = tsw_plan_order_make(variant, cell, m->err);
    tsw_free(keep);
    return status;
}

static tsw_status_t skip(tsw_plan_maker_t *m, tsw_cell_t *cell, const char *reason)
{
    cell->skip_reason = tsw_strdup(reason);
    return cell->skip_reason != NULL ? TSW_OK : tsw_err_nomem(m->err);
}

static tsw_status_t decide(tsw_plan_maker_t *m, const problem_t *problem, tsw_cell_t *cell)
{
    const tsw_plan_variant_t *variant = &m->plan->variants[cell->variant];
    tsw_arch_t arch = m->job->archs[cell->arch_index];
    const tsw_space_t *space = &variant->spaces[cell->arch_index];
    if (space->count == 0)
        return skip(m, cell,
                    space->report.count > 0 ? space->report.filters[0].reason : "no config");
    if (problem->empty)
        return skip(m, cell, "empty");
    tsw_status_t status = choose_configs(m, cell);
    cell->is_searched = tsw_job_searches(m->job, space->count);
    size_t measured = cell->config_count;
    if (cell->is_searched && measured > m->job->search.builds)
        measured = m->job->search.builds;
    if (status == TSW_OK && !cell->compile_only)
        cell->cost_ns = tsw_plan_cost_cell_ns(arch, variant->id.dtype, &m->job->policy, cell->flops,
                                              cell->bytes, measured);
    return status;
}

static tsw_status_t key_cell(tsw_plan_maker_t *m, tsw_cell_t *cell)
{
    const tsw_plan_variant_t *variant = &m->plan->variants[cell->variant];
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL)
        return tsw_err_nomem(m->err);
    tsw_hash_subkey(hash, variant->key);
    tsw_hash_i64(hash, m->job->archs[cell->arch_index]);
    for (size_t i = 0; i < variant->id.pack->dim_count; i++)
        tsw_hash_i64(hash, cell->dims[i]);
    tsw_hash_i64(hash, (int64_t)cell->config_count);
    for (size_t i = 0; i < cell->config_count; i++)
        tsw_hash_subkey(hash, variant->configs[cell->configs[i]].key);
    cell->key = tsw_hash_key(hash);
    cell->whole_key = cell->key;
    tsw_hash_free(hash);
    return TSW_OK;
}

void tsw_plan_cell_fini(tsw_cell_t *cell)
{
    tsw_free(cell->configs);
    tsw_free(cell->order);
    tsw_free(cell->skip_reason);
    tsw_filter_report_fini(&cell->report);
}

/* Into the plan, unless it is there. Takes over what the cell owns. */
static tsw_status_t keep_cell(tsw_plan_maker_t *m, tsw_cell_t *cell)
{
    tsw_plan_t *plan = m->plan;
    uint32_t at = 0;
    if (tsw_plan_index_find(&m->cell_index, cell->key, &at)) {
        if (cell->weight > plan->cells[at].weight)
            plan->cells[at].weight = cell->weight;
        plan->duplicate_count++;
        tsw_plan_cell_fini(cell);
        return TSW_OK;
    }
    tsw_status_t status = TSW_OK;
    if (plan->cell_count >= UINT32_MAX - 1)
        status = tsw_err_set(m->err, TSW_ERR_INPUT, "more cells than a plan can number");
    else if (!TSW_GROW(plan->cells, m->cell_capacity, plan->cell_count))
        status = tsw_err_nomem(m->err);
    if (status == TSW_OK)
        status = tsw_plan_index_add(&m->cell_index, cell->key, (uint32_t)plan->cell_count, m->err);
    if (status == TSW_OK)
        plan->cells[plan->cell_count++] = *cell;
    else
        tsw_plan_cell_fini(cell);
    return status;
}

tsw_status_t tsw_plan_cells_add(tsw_plan_maker_t *m, uint32_t variant, const tsw_shape_t *shape)
{
    problem_t problem;
    tsw_status_t status = examine(m, &m->plan->variants[variant], shape, &problem);
    for (uint32_t a = 0; status == TSW_OK && a < m->job->arch_count; a++) {
        tsw_cell_t cell = {.variant = variant,
                           .arch_index = a,
                           .weight = shape->weight,
                           .flops = problem.flops,
                           .bytes = problem.bytes,
                           .compile_only = m->job->compile_only[a]};
        memcpy(cell.dims, shape->dims, sizeof(cell.dims));
        status = decide(m, &problem, &cell);
        if (status == TSW_OK)
            status = key_cell(m, &cell);
        if (status == TSW_OK)
            status = keep_cell(m, &cell);
        else
            tsw_plan_cell_fini(&cell);
    }
    return status;
}

/* ---- order ---- */

static int compare_cells(const void *a, const void *b)
{
    const tsw_cell_t *x = a;
    const tsw_cell_t *y = b;
    if (x->arch_index != y->arch_index)
        return x->arch_index < y->arch_index ? -1 : 1;
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
    return tsw_key_compare(x->key, y->key);
}

void tsw_plan_cells_sort(tsw_plan_t *plan)
{
    if (plan->cell_count > 1)
        qsort(plan->cells, plan->cell_count, sizeof(*plan->cells), compare_cells);
    for (size_t i = 0; i < plan->cell_count; i++)
        plan->cells[i].id = (uint32_t)i;
}

bool tsw_plan_is_searched(const tsw_plan_t *plan)
{
    for (size_t i = 0; i < plan->cell_count; i++) {
        if (plan->cells[i].is_searched)
            return true;
    }
    return false;
}
