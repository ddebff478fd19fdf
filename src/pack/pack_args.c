/* Arguments of kernel.yaml. */
#include "pack/pack_fill.h"

#include "base/mem.h"

#include <string.h>

static tsw_status_t fill_exprs(tsw_view_t view, const char *key, tsw_expr_t *first,
                               tsw_expr_t *second, tsw_err_t *err)
{
    const tsw_node_t *pair = tsw_view_node(view, key);
    tsw_status_t status = tsw_node_expr(pair->items[0], first, err);
    return status == TSW_OK ? tsw_node_expr(pair->items[1], second, err) : status;
}

static void fill_reals(tsw_view_t view, const char *key, double *first, double *second)
{
    const tsw_node_t *pair = tsw_view_node(view, key);
    bool valid = tsw_node_f64(pair->items[0], first) && tsw_node_f64(pair->items[1], second);
    TSW_ASSERT(valid);
}

static tsw_status_t fill_distribution(tsw_view_t view, tsw_fill_t *fill, tsw_err_t *err)
{
    bool is_normal = tsw_view_has(view, "normal");
    const char *key = is_normal ? "normal" : "uniform";
    fill->kind = is_normal ? TSW_FILL_NORMAL : TSW_FILL_UNIFORM;
    fill_reals(view, key, &fill->a, &fill->b);
    if (is_normal && fill->b < 0)
        return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, key),
                             "a normal distribution cannot deviate by %g", fill->b);
    if (!is_normal && fill->a > fill->b)
        return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, key),
                             "no number lies between %g and %g", fill->a, fill->b);
    return TSW_OK;
}

static tsw_status_t fill_dataset(tsw_view_t view, tsw_fill_t *fill, tsw_err_t *err)
{
    const char *text = tsw_view_text(view, "dataset");
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text || colon[1] != '/')
        return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, "dataset"),
                             "'%.60s' is no dataset, wanted file.h5:/path", text);
    fill->dataset = tsw_strdup(colon + 1);
    fill->file = tsw_strdup(text);
    if (fill->dataset == NULL || fill->file == NULL)
        return tsw_err_nomem(err);
    fill->file[colon - text] = '\0';
    return TSW_OK;
}

static tsw_status_t fill_fill(tsw_view_t view, tsw_fill_t *fill, tsw_err_t *err)
{
    if (view.node == NULL)
        return TSW_OK;
    if (tsw_view_has(view, "normal") || tsw_view_has(view, "uniform"))
        return fill_distribution(view, fill, err);
    if (tsw_view_has(view, "index") || tsw_view_has(view, "sequence")) {
        bool is_index = tsw_view_has(view, "index");
        fill->kind = is_index ? TSW_FILL_INDEX : TSW_FILL_SEQUENCE;
        return fill_exprs(view, is_index ? "index" : "sequence", &fill->lo, &fill->hi, err);
    }
    if (tsw_view_has(view, "offsets")) {
        fill->kind = TSW_FILL_OFFSETS;
        return tsw_view_expr(view, "offsets", &fill->hi, err);
    }
    fill->kind = TSW_FILL_DATASET;
    return fill_dataset(view, fill, err);
}

/* Which keys an argument needs or must not have depends on its role. */
static tsw_status_t check_arg_keys(tsw_view_t view, const tsw_arg_t *arg, tsw_err_t *err)
{
    bool is_scalar = arg->role == TSW_ROLE_SCALAR;
    bool is_input = arg->role == TSW_ROLE_IN || arg->role == TSW_ROLE_INOUT;
    const struct {
        const char *key;
        bool allowed, required;
    } rules[] = {{"size", !is_scalar, !is_scalar},
                 {"row", !is_scalar, false},
                 {"align", !is_scalar, false},
                 {"fill", is_input, is_input},
                 {"value", is_scalar, is_scalar}};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        bool given = tsw_view_has(view, rules[i].key);
        if (given && !rules[i].allowed)
            return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, rules[i].key),
                                 "argument %s is '%s' and has no '%s'", arg->name,
                                 tsw_view_text(view, "role"), rules[i].key);
        if (!given && rules[i].required)
            return tsw_place_err(err, TSW_ERR_INPUT, arg->place,
                                 "argument %s is '%s' and needs a '%s'", arg->name,
                                 tsw_view_text(view, "role"), rules[i].key);
    }
    bool is_plain =
        arg->dtype == TSW_DTYPE_I32 || arg->dtype == TSW_DTYPE_I64 || arg->dtype == TSW_DTYPE_F32;
    if (is_scalar && !is_plain)
        return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, "type"),
                             "scalar %s is %s, wanted i32, i64 or f32", arg->name,
                             tsw_dtype_name(arg->dtype));
    if (arg->align_bytes & (arg->align_bytes - 1))
        return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, "align"),
                             "the alignment of %s is no power of two", arg->name);
    return TSW_OK;
}

static tsw_status_t fill_arg(tsw_view_t view, tsw_arg_t *arg, tsw_err_t *err)
{
    tsw_status_t status = tsw_view_copy(view, "name", &arg->name, err);
    if (status != TSW_OK)
        return status;
    arg->place = view.node->place;
    arg->role = (tsw_role_t)tsw_view_word(view, "role");
    arg->align_bytes = tsw_view_i64(view, "align");
    arg->dtype = TSW_DTYPE_OF_CELL;
    bool known = tsw_dtype_parse(tsw_view_text(view, "type"), &arg->dtype);
    TSW_ASSERT(known || strcmp(tsw_view_text(view, "type"), "cell") == 0);
    status = check_arg_keys(view, arg, err);
    if (status == TSW_OK && tsw_view_has(view, "size"))
        status = tsw_view_expr(view, "size", &arg->size, err);
    if (status == TSW_OK && tsw_view_has(view, "row"))
        status = tsw_view_expr(view, "row", &arg->row, err);
    if (status == TSW_OK && tsw_view_has(view, "value"))
        status = tsw_view_expr(view, "value", &arg->value, err);
    if (status == TSW_OK)
        status = fill_fill(tsw_view_map(view, "fill"), &arg->fill, err);
    return status;
}

tsw_status_t tsw_pack_fill_args(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    size_t count = tsw_view_count(view, "args");
    pack->args = tsw_calloc(count, sizeof(*pack->args));
    if (pack->args == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        tsw_view_t item = tsw_view_item(view, "args", i);
        pack->arg_count++;
        tsw_status_t status = fill_arg(item, &pack->args[i], err);
        if (status != TSW_OK)
            return status;
    }
    return tsw_pack_check_names(view, "args", "argument", err);
}
