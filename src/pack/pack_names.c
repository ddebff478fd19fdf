/* Names of kernel.yaml: dims and flags. */
#include "pack/pack_fill.h"

#include "base/mem.h"

#include <string.h>

tsw_status_t tsw_pack_check_new_name(const tsw_pack_t *pack, const tsw_node_t *name, tsw_err_t *err)
{
    static const char *const own[] = {"NUM_SM", "ELEM_BYTES", "occupancy", "num_ctas"};
    const char *owner = NULL;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcmp(own[i], name->text) == 0)
            owner = "a name of the tool";
    }
    if (tsw_pack_dim_index(pack, name->text) >= 0)
        owner = "a dim";
    if (tsw_pack_knob_index(pack, name->text) >= 0)
        owner = "a tunable";
    for (size_t i = 0; i < pack->flag_count; i++) {
        if (strcmp(pack->flags[i].name, name->text) == 0)
            owner = "a flag";
    }
    if (owner == NULL)
        return TSW_OK;
    return tsw_place_err(err, TSW_ERR_INPUT, name->place, "'%s' is %s already", name->text, owner);
}

tsw_status_t tsw_pack_too_many(const tsw_node_t *node, const char *what, int limit, tsw_err_t *err)
{
    return tsw_place_err(err, TSW_ERR_INPUT, node->place, "a pack has at most %d %s", limit, what);
}

static tsw_status_t copy_text(const tsw_node_t *node, char **text_p, tsw_err_t *err)
{
    *text_p = tsw_strdup(node->text);
    return *text_p != NULL ? TSW_OK : tsw_err_nomem(err);
}

tsw_status_t tsw_pack_copy_texts(const tsw_node_t *list, char ***texts_p, size_t *count_p,
                                 tsw_err_t *err)
{
    *texts_p = tsw_calloc(list->count, sizeof(**texts_p));
    if (*texts_p == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < list->count; i++) {
        tsw_status_t status = copy_text(list->items[i], &(*texts_p)[i], err);
        if (status != TSW_OK)
            return status;
        (*count_p)++;
    }
    return TSW_OK;
}

tsw_status_t tsw_pack_check_distinct(const tsw_node_t *list, tsw_err_t *err)
{
    for (size_t i = 0; i < list->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(list->items[i]->text, list->items[j]->text) == 0)
                return tsw_place_err(err, TSW_ERR_INPUT, list->items[i]->place,
                                     "'%.60s' is there twice", list->items[i]->text);
        }
    }
    return TSW_OK;
}

tsw_status_t tsw_pack_check_names(tsw_view_t view, const char *key, const char *what,
                                  tsw_err_t *err)
{
    size_t count = tsw_view_count(view, key);
    for (size_t i = 0; i < count; i++) {
        tsw_view_t item = tsw_view_item(view, key, i);
        const char *name = tsw_view_text(item, "name");
        for (size_t j = 0; j < i; j++) {
            if (strcmp(tsw_view_text(tsw_view_item(view, key, j), "name"), name) == 0)
                return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(item, "name"),
                                     "%s '%s' is there twice", what, name);
        }
    }
    return TSW_OK;
}

tsw_status_t tsw_pack_fill_dims(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    const tsw_node_t *dims = tsw_view_node(view, "dims");
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < dims->count; i++) {
        status = tsw_pack_check_new_name(pack, dims->items[i], err);
        if (status == TSW_OK)
            status = copy_text(dims->items[i], &pack->dims[pack->dim_count], err);
        pack->dim_count += status == TSW_OK;
    }
    const tsw_node_t *fixed = tsw_view_node(view, "static");
    for (size_t i = 0; status == TSW_OK && fixed != NULL && i < fixed->count; i++) {
        int index = tsw_pack_dim_index(pack, fixed->items[i]->text);
        char hint[96];
        if (index < 0)
            return tsw_place_err(err, TSW_ERR_INPUT, fixed->items[i]->place,
                                 "'%s' is no dim of the pack%s", fixed->items[i]->text,
                                 tsw_name_hint(fixed->items[i]->text,
                                               (const char *const *)pack->dims, pack->dim_count,
                                               hint));
        pack->dim_is_static[index] = true;
    }
    return status;
}

tsw_status_t tsw_pack_fill_flags(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    tsw_view_t flags = tsw_view_map(view, "flags");
    const tsw_node_t *name = NULL;
    const tsw_node_t *values = NULL;
    for (size_t cursor = 0; tsw_view_next(flags, &cursor, &name, &values);) {
        if (pack->flag_count == TSW_FLAG_MAX)
            return tsw_pack_too_many(name, "flags", TSW_FLAG_MAX, err);
        tsw_status_t status = tsw_pack_check_new_name(pack, name, err);
        if (status == TSW_OK)
            status = tsw_pack_check_distinct(values, err);
        if (status != TSW_OK)
            return status;
        tsw_flag_t *flag = &pack->flags[pack->flag_count];
        status = copy_text(name, &flag->name, err);
        if (status != TSW_OK)
            return status;
        pack->flag_count++;
        status = tsw_pack_copy_texts(values, &flag->values, &flag->value_count, err);
        if (status != TSW_OK)
            return status;
    }
    return TSW_OK;
}
