#include "reduce/reduce.h"

#include "base/mem.h"
#include "record/coverage.h"
#include "reduce/reduce_cell.h"
#include "reduce/reduce_gain.h"
#include "reduce/reduce_group.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups ---- */

/* A cell on its way into a group. */
typedef struct {
    const tsw_cell_summary_t *summary;
    const char *variant; /* NULL: the pack has one table for all */
} member_t;

static int compare_groups(const member_t *a, const member_t *b)
{
    const tsw_cell_result_t *x = a->summary->cell;
    const tsw_cell_result_t *y = b->summary->cell;
    int order = strcmp(x->pack, y->pack);
    if (order == 0)
        order = (x->arch > y->arch) - (x->arch < y->arch);
    if (order == 0)
        order = (a->variant != NULL) - (b->variant != NULL);
    if (order == 0 && a->variant != NULL)
        order = strcmp(a->variant, b->variant);
    return order;
}

static int compare_members(const void *a, const void *b)
{
    int order = compare_groups(a, b);
    const member_t *x = a;
    const member_t *y = b;
    return order != 0 ? order : tsw_key_compare(x->summary->cell->key, y->summary->cell->key);
}

static tsw_status_t add_group(tsw_reduction_t *r, size_t *capacity, const member_t *members,
                              size_t count, const tsw_reduce_options_t *options, tsw_err_t *err)
{
    if (!TSW_GROW(r->groups, *capacity, r->group_count))
        return tsw_err_nomem(err);
    tsw_group_t *group = &r->groups[r->group_count++];
    *group = (tsw_group_t){.pack = members[0].summary->cell->pack,
                           .arch = members[0].summary->cell->arch,
                           .variant = members[0].variant};
    group->cells = tsw_calloc(count, sizeof(*group->cells));
    if (group->cells == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++)
        group->cells[group->cell_count++] = members[i].summary;
    group->gain = tsw_reduce_gain(group);
    return tsw_reduce_group(group, options, err);
}

static tsw_status_t make_groups(tsw_reduction_t *r, const tsw_reduce_options_t *options,
                                tsw_err_t *err)
{
    member_t *members = tsw_calloc(r->cell_count, sizeof(*members));
    if (members == NULL)
        return tsw_err_nomem(err);
    size_t count = 0;
    for (size_t i = 0; i < r->cell_count; i++) {
        const tsw_cell_result_t *cell = r->cells[i].cell;
        if (r->cells[i].winner >= 0)
            members[count++] =
                (member_t){&r->cells[i], cell->separate_tables ? cell->variant : NULL};
    }
    if (count > 1)
        qsort(members, count, sizeof(*members), compare_members);
    tsw_status_t status = TSW_OK;
    size_t capacity = 0;
    for (size_t first = 0; status == TSW_OK && first < count;) {
        size_t end = first + 1;
        while (end < count && compare_groups(&members[first], &members[end]) == 0)
            end++;
        status = add_group(r, &capacity, &members[first], end - first, options, err);
        first = end;
    }
    tsw_free(members);
    return status;
}

static tsw_status_t reduce_cells(tsw_reduction_t *r, const tsw_dataset_t *dataset,
                                 const tsw_reduce_options_t *options, tsw_err_t *err)
{
    r->cells = tsw_calloc(dataset->cell_count, sizeof(*r->cells));
    if (r->cells == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < dataset->cell_count; i++) {
        if (tsw_coverage_is_superseded(dataset, i))
            continue;
        if (!dataset->cells[i].complete) {
            r->incomplete_count++;
            continue;
        }
        if (dataset->cells[i].record_count == 0) /* the plan skips it: nothing was to be tried */
            continue;
        tsw_status_t status = tsw_reduce_cell(&dataset->cells[i], options, dataset->meta.objective,
                                              &r->cells[r->cell_count], err);
        if (status != TSW_OK)
            return status;
        r->cell_count++;
    }
    return TSW_OK;
}

tsw_reduce_options_t tsw_reduce_options(size_t max_configs)
{
    return (tsw_reduce_options_t){
        .max_configs = max_configs, .indifference = 0.005, .confidence = TSW_REDUCE_CONFIDENCE};
}

static tsw_status_t check_options(const tsw_reduce_options_t *o, tsw_err_t *err)
{
    if (o->max_configs < 1)
        return tsw_err_set(err, TSW_ERR_ARG, "reduce: a table needs room for one config");
    if (!(o->indifference >= 0.0 && o->indifference < 1.0))
        return tsw_err_set(err, TSW_ERR_ARG, "reduce: indifference %g is not in 0 .. 1",
                           o->indifference);
    if (!(o->confidence > 0.0 && o->confidence < 1.0))
        return tsw_err_set(err, TSW_ERR_ARG, "reduce: confidence %g is not between 0 and 1",
                           o->confidence);
    return TSW_OK;
}

tsw_status_t tsw_reduce(const tsw_dataset_t *dataset, const tsw_reduce_options_t *options,
                        tsw_reduction_t **reduction_p, tsw_err_t *err)
{
    tsw_status_t status = check_options(options, err);
    if (status != TSW_OK)
        return status;
    tsw_reduction_t *r = tsw_calloc(1, sizeof(*r));
    if (r == NULL)
        return tsw_err_nomem(err);
    status = tsw_dataset_digest(dataset, &r->digest, err);
    if (status == TSW_OK)
        status = reduce_cells(r, dataset, options, err);
    if (status == TSW_OK)
        status = make_groups(r, options, err);
    if (status == TSW_OK)
        *reduction_p = r;
    else
        tsw_reduction_free(r);
    return status;
}

static void group_fini(tsw_group_t *group)
{
    tsw_free(group->selected);
    tsw_free(group->cells);
    tsw_free(group->choice);
    tsw_free(group->choice_regret);
    tsw_free(group->dropped_winners);
}

void tsw_reduction_free(tsw_reduction_t *reduction)
{
    if (reduction == NULL)
        return;
    for (size_t i = 0; i < reduction->cell_count; i++)
        tsw_reduce_cell_fini(&reduction->cells[i]);
    for (size_t i = 0; i < reduction->group_count; i++)
        group_fini(&reduction->groups[i]);
    tsw_free(reduction->cells);
    tsw_free(reduction->groups);
    tsw_free(reduction);
}
