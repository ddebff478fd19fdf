#include "pack/job_shapes.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

/* ---- a row: values per dim, then their product ---- */

typedef struct {
    int64_t *values[TSW_DIM_MAX];
    size_t count[TSW_DIM_MAX];
} axes_t;

static void axes_fini(axes_t *axes)
{
    for (size_t d = 0; d < TSW_DIM_MAX; d++)
        tsw_free(axes->values[d]);
}

static tsw_status_t too_many(tsw_place_t place, tsw_err_t *err)
{
    return tsw_place_err(err, TSW_ERR_INPUT, place, "more than %d shapes", TSW_JOB_SHAPES_MAX);
}

static tsw_status_t expand_range(tsw_view_t view, int64_t **values_p, size_t *count_p,
                                 tsw_err_t *err)
{
    tsw_place_t place = view.node->place;
    int64_t from = tsw_view_i64(view, "from");
    int64_t to = tsw_view_i64(view, "to");
    if (tsw_view_has(view, "step") == tsw_view_has(view, "times"))
        return tsw_place_err(err, TSW_ERR_INPUT, place, "a range needs either 'step' or 'times'");
    if (from > to)
        return tsw_place_err(err, TSW_ERR_INPUT, place, "the range ends before it begins");
    bool is_step = tsw_view_has(view, "step");
    int64_t factor = tsw_view_i64(view, is_step ? "step" : "times");
    if (!is_step && from == 0)
        return tsw_place_err(err, TSW_ERR_INPUT, place,
                             "a range with 'times' cannot begin with 0: it would stay there");
    if (is_step && (to - from) / factor >= TSW_JOB_SHAPES_MAX)
        return too_many(place, err);
    size_t count = is_step ? (size_t)((to - from) / factor) + 1 : 64;
    int64_t *values = tsw_calloc(count, sizeof(*values));
    if (values == NULL)
        return tsw_err_nomem(err);
    size_t n = 0;
    values[n++] = from;
    while (is_step ? to - values[n - 1] >= factor : values[n - 1] <= to / factor) {
        values[n] = is_step ? values[n - 1] + factor : values[n - 1] * factor;
        n++;
    }
    *values_p = values;
    *count_p = n;
    return TSW_OK;
}

static tsw_status_t expand_values(tsw_view_t row, const tsw_node_t *node, int64_t **values_p,
                                  size_t *count_p, tsw_err_t *err)
{
    if (node->kind == TSW_NODE_MAP)
        return expand_range(tsw_view_rest_map(row, node), values_p, count_p, err);
    size_t count = node->kind == TSW_NODE_LIST ? node->count : 1;
    int64_t *values = tsw_calloc(count, sizeof(*values));
    if (values == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        bool valid = tsw_node_i64(node->kind == TSW_NODE_LIST ? node->items[i] : node, &values[i]);
        TSW_ASSERT(valid);
    }
    *values_p = values;
    *count_p = count;
    return TSW_OK;
}

static tsw_status_t unknown_dim(const tsw_pack_t *pack, const tsw_node_t *key, tsw_err_t *err)
{
    const char *names[TSW_DIM_MAX + 2];
    size_t count = 0;
    char hint[96];
    for (; count < pack->dim_count; count++)
        names[count] = pack->dims[count];
    names[count++] = "weight";
    names[count++] = "csv";
    return tsw_place_err(err, TSW_ERR_INPUT, key->place, "pack %s has no dim '%s'%s", pack->name,
                         key->text, tsw_name_hint(key->text, names, count, hint));
}

static tsw_status_t read_axes(const tsw_pack_t *pack, tsw_view_t row, axes_t *axes, tsw_err_t *err)
{
    const tsw_node_t *key = NULL;
    const tsw_node_t *value = NULL;
    for (size_t cursor = 0; tsw_view_next(row, &cursor, &key, &value);) {
        int d = tsw_pack_dim_index(pack, key->text);
        if (d < 0)
            return unknown_dim(pack, key, err);
        tsw_status_t status = expand_values(row, value, &axes->values[d], &axes->count[d], err);
        if (status != TSW_OK)
            return status;
    }
    for (size_t d = 0; d < pack->dim_count; d++) {
        if (axes->count[d] == 0)
            return tsw_place_err(err, TSW_ERR_INPUT, row.node->place,
                                 "the shape lacks '%s' of pack %s", pack->dims[d], pack->name);
    }
    return TSW_OK;
}

/* The last dim runs fastest. */
static tsw_status_t add_product(const tsw_pack_t *pack, const axes_t *axes, double weight,
                                tsw_place_t place, tsw_shape_set_t *set, tsw_err_t *err)
{
    size_t total = 1;
    for (size_t d = 0; d < pack->dim_count; d++) {
        if (total > (size_t)TSW_JOB_SHAPES_MAX / axes->count[d])
            return too_many(place, err);
        total *= axes->count[d];
    }
    if (set->count + total > TSW_JOB_SHAPES_MAX)
        return too_many(place, err);
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < total; i++) {
        tsw_shape_t shape = {.weight = weight};
        size_t rest = i;
        for (size_t d = pack->dim_count; d-- > 0;) {
            shape.dims[d] = axes->values[d][rest % axes->count[d]];
            rest /= axes->count[d];
        }
        status = tsw_shape_set_add(set, &shape, err);
    }
    return status;
}

static tsw_status_t read_csv_row(const tsw_pack_t *pack, tsw_view_t row, double weight,
                                 const tsw_fileset_t *snapshot, tsw_shape_set_t *set,
                                 tsw_err_t *err)
{
    const tsw_node_t *key = NULL;
    const tsw_node_t *value = NULL;
    size_t cursor = 0;
    if (tsw_view_next(row, &cursor, &key, &value))
        return tsw_place_err(err, TSW_ERR_INPUT, key->place,
                             "'%s' beside 'csv': the file has all dims", key->text);
    char *name = tsw_shapes_csv_name(tsw_view_text(row, "csv"));
    if (name == NULL)
        return tsw_err_nomem(err);
    const tsw_fileset_item_t *file = tsw_fileset_find(snapshot, name);
    tsw_status_t status =
        file == NULL ? tsw_place_err(err, TSW_ERR_NOT_FOUND, tsw_view_place(row, "csv"),
                                     "no file '%.200s'", tsw_view_text(row, "csv"))
                     : tsw_shapes_read_csv(pack, name + strlen("csv/"), (const char *)file->bytes,
                                           file->size, weight, set, err);
    tsw_free(name);
    return status;
}

static tsw_status_t read_row(const tsw_pack_t *pack, tsw_view_t row, const tsw_fileset_t *snapshot,
                             tsw_shape_set_t *set, tsw_err_t *err)
{
    double weight = tsw_view_real(row, "weight");
    if (!tsw_weight_is_good(weight))
        return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(row, "weight"),
                             "'weight' is %g, wanted " TSW_WEIGHT_RANGE, weight);
    if (tsw_view_has(row, "csv"))
        return read_csv_row(pack, row, weight, snapshot, set, err);
    axes_t axes = {.count = {0}};
    tsw_status_t status = read_axes(pack, row, &axes, err);
    if (status == TSW_OK)
        status = add_product(pack, &axes, weight, row.node->place, set, err);
    axes_fini(&axes);
    return status;
}

tsw_status_t tsw_shapes_read(const tsw_pack_t *pack, tsw_view_t entry,
                             const tsw_fileset_t *snapshot, tsw_shape_t **shapes_p, size_t *count_p,
                             tsw_err_t *err)
{
    tsw_shape_set_t set = {.shapes = NULL};
    tsw_status_t status = TSW_OK;
    size_t rows = tsw_view_count(entry, "shapes");
    for (size_t i = 0; status == TSW_OK && i < rows; i++)
        status = read_row(pack, tsw_view_item(entry, "shapes", i), snapshot, &set, err);
    if (status == TSW_OK) {
        *shapes_p = set.shapes;
        *count_p = set.count;
        set.shapes = NULL;
    }
    tsw_shape_set_fini(&set);
    return status;
}
