#include "pack/rows.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { PRODUCT_MAX = 1000000 };

void tsw_rows_free(tsw_config_row_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < TSW_KNOB_MAX; k++)
            tsw_free(rows[i].values[k]);
    }
    tsw_free(rows);
}

tsw_status_t tsw_knob_find(const tsw_pack_t *pack, const tsw_node_t *name, size_t *index_p,
                           tsw_err_t *err)
{
    const char *names[TSW_KNOB_MAX];
    for (size_t k = 0; k < pack->knob_count; k++) {
        names[k] = pack->knobs[k].name;
        if (strcmp(names[k], name->text) == 0) {
            *index_p = k;
            return TSW_OK;
        }
    }
    char hint[96] = "";
    if (pack->knob_count > 0)
        tsw_name_hint(name->text, names, pack->knob_count, hint);
    return tsw_place_err(err, TSW_ERR_INPUT, name->place,
                         "pack %s has no tunable or hint '%.60s'%s", pack->name, name->text, hint);
}

tsw_status_t tsw_knob_check(const tsw_knob_t *knob, int64_t value, tsw_place_t place,
                            tsw_err_t *err)
{
    if (!knob->is_hint)
        return TSW_OK;
    if (strcmp(knob->name, "occupancy") == 0) {
        if (value < 1 || value > 32)
            return tsw_place_err(err, TSW_ERR_INPUT, place,
                                 "occupancy is %" PRId64 ", wanted 1 to 32", value);
    } else if (value != 1 && value != 2 && value != 4 && value != 8 && value != 16) {
        return tsw_place_err(err, TSW_ERR_INPUT, place,
                             "%s is %" PRId64 ", wanted 1, 2, 4, 8 or 16", knob->name, value);
    }
    return TSW_OK;
}

static tsw_status_t read_values(const tsw_knob_t *knob, const tsw_node_t *node, int64_t **values_p,
                                size_t *count_p, tsw_err_t *err)
{
    size_t count = node->kind == TSW_NODE_LIST ? node->count : 1;
    int64_t *values = tsw_calloc(count, sizeof(*values));
    if (values == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        const tsw_node_t *item = node->kind == TSW_NODE_LIST ? node->items[i] : node;
        bool valid = tsw_node_i64(item, &values[i]);
        TSW_ASSERT(valid);
        tsw_status_t status = tsw_knob_check(knob, values[i], item->place, err);
        if (status != TSW_OK) {
            tsw_free(values);
            return status;
        }
    }
    *values_p = values;
    *count_p = count;
    return TSW_OK;
}

static tsw_status_t check_complete(const tsw_pack_t *pack, const tsw_config_row_t *row,
                                   tsw_err_t *err)
{
    uint64_t product = 1;
    for (size_t k = 0; k < pack->knob_count; k++) {
        if (row->count[k] == 0)
            return tsw_place_err(err, TSW_ERR_INPUT, row->place, "the row lacks '%s' of pack %s",
                                 pack->knobs[k].name, pack->name);
        product *= row->count[k]; /* below 10^6 * 4096 */
        if (product > PRODUCT_MAX)
            return tsw_place_err(err, TSW_ERR_INPUT, row->place,
                                 "the row stands for more than %d configs", PRODUCT_MAX);
    }
    return TSW_OK;
}

static tsw_status_t read_row(const tsw_pack_t *pack, const tsw_node_t *node, tsw_config_row_t *row,
                             tsw_err_t *err)
{
    row->place = node->place;
    for (size_t i = 0; i < node->count; i++) {
        size_t k = 0;
        tsw_status_t status = tsw_knob_find(pack, node->keys[i], &k, err);
        if (status == TSW_OK)
            status =
                read_values(&pack->knobs[k], node->items[i], &row->values[k], &row->count[k], err);
        if (status != TSW_OK)
            return status;
    }
    return check_complete(pack, row, err);
}

tsw_status_t tsw_rows_read(const tsw_pack_t *pack, const tsw_node_t *list,
                           tsw_config_row_t **rows_p, size_t *count_p, tsw_err_t *err)
{
    tsw_config_row_t *rows = tsw_calloc(list->count, sizeof(*rows));
    if (rows == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < list->count; i++) {
        tsw_status_t status = read_row(pack, list->items[i], &rows[i], err);
        if (status != TSW_OK) {
            tsw_rows_free(rows, list->count);
            return status;
        }
    }
    *rows_p = rows;
    *count_p = list->count;
    return TSW_OK;
}
