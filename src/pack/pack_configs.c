/* Configs of kernel.yaml: the baseline, lists, what is filtered out and what is an exception. */
#include "pack/pack_fill.h"

#include "base/mem.h"
#include "pack/rows.h"

#include <string.h>

static tsw_status_t read_baseline(const tsw_pack_t *pack, const tsw_node_t *baseline,
                                  int64_t *values, tsw_err_t *err)
{
    for (size_t i = 0; i < baseline->count; i++) {
        size_t k = 0;
        tsw_status_t status = tsw_knob_find(pack, baseline->keys[i], &k, err);
        if (status != TSW_OK)
            return status;
        bool valid = tsw_node_i64(baseline->items[i], &values[k]);
        TSW_ASSERT(valid);
        int64_t value = values[k];
        if (pack->knobs[k].is_tile && (value < 1 || (value & (value - 1)) != 0))
            return tsw_place_err(err, TSW_ERR_INPUT, baseline->items[i]->place,
                                 "%s is %lld, wanted a power of two", pack->knobs[k].name,
                                 (long long)value);
        status = tsw_knob_check(&pack->knobs[k], value, baseline->items[i]->place, err);
        if (status != TSW_OK)
            return status;
    }
    for (size_t k = 0; k < pack->knob_count; k++) {
        if (tsw_node_find(baseline, pack->knobs[k].name) == NULL)
            return tsw_place_err(err, TSW_ERR_INPUT, baseline->place, "the baseline lacks '%s'",
                                 pack->knobs[k].name);
    }
    return TSW_OK;
}

tsw_status_t tsw_pack_fill_baseline(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    return read_baseline(pack, tsw_view_node(view, "baseline"), pack->baseline, err);
}

tsw_status_t tsw_pack_fill_lists(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    tsw_view_t lists = tsw_view_map(view, "lists");
    const tsw_node_t *arch = NULL;
    const tsw_node_t *value = NULL;
    if (lists.node->count == 0)
        return tsw_place_err(err, TSW_ERR_INPUT, lists.node->place, "there is no list of configs");
    pack->lists_place = lists.node->place;
    pack->lists = tsw_calloc(lists.node->count, sizeof(*pack->lists));
    if (pack->lists == NULL)
        return tsw_err_nomem(err);
    for (size_t cursor = 0; tsw_view_next(lists, &cursor, &arch, &value);) {
        tsw_config_list_t *list = &pack->lists[pack->list_count++];
        tsw_view_t item = tsw_view_rest_map(lists, value);
        list->place = arch->place;
        bool known = tsw_arch_parse(arch->text, &list->arch); /* default stays 0 */
        TSW_ASSERT(known || strcmp(arch->text, "default") == 0);
        tsw_status_t status = tsw_view_copy(item, "source", &list->source, err);
        if (status == TSW_OK)
            status = tsw_rows_read(pack, tsw_view_node(item, "configs"), &list->rows,
                                   &list->row_count, err);
        list->has_baseline = tsw_view_has(item, "baseline");
        if (status == TSW_OK && list->has_baseline)
            status = read_baseline(pack, tsw_view_node(item, "baseline"), list->baseline, err);
        if (status != TSW_OK)
            return status;
    }
    return TSW_OK;
}

tsw_status_t tsw_pack_fill_constraints(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    size_t count = tsw_view_count(view, "constraints");
    pack->constraints = tsw_calloc(count, sizeof(*pack->constraints));
    if (pack->constraints == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        tsw_view_t item = tsw_view_item(view, "constraints", i);
        tsw_constraint_t *constraint = &pack->constraints[pack->constraint_count++];
        tsw_status_t status = tsw_view_copy(item, "name", &constraint->name, err);
        if (status == TSW_OK)
            status = tsw_view_expr(item, "keep", &constraint->expr, err);
        if (status == TSW_OK)
            status = tsw_view_copy(item, "reason", &constraint->reason, err);
        if (status != TSW_OK)
            return status;
    }
    return tsw_pack_check_names(view, "constraints", "constraint", err);
}

tsw_status_t tsw_pack_fill_exceptions(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    size_t count = tsw_view_count(view, "exceptions");
    pack->exceptions = tsw_calloc(count, sizeof(*pack->exceptions));
    if (pack->exceptions == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        tsw_view_t item = tsw_view_item(view, "exceptions", i);
        tsw_exception_t *exception = &pack->exceptions[pack->exception_count++];
        exception->place = item.node->place;
        if (tsw_view_has(item, "arch")) {
            bool known = tsw_arch_parse(tsw_view_text(item, "arch"), &exception->arch);
            TSW_ASSERT(known);
        }
        tsw_status_t status = tsw_view_copy(item, "rule", &exception->rule, err);
        if (status == TSW_OK)
            status = tsw_view_copy(item, "reason", &exception->reason, err);
        if (status != TSW_OK)
            return status;
    }
    return TSW_OK;
}
