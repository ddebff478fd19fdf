/* kernel.yaml, checked by the schema, into tsw_pack_t. */
#include "pack/pack_check.h"

#include "base/mem.h"
#include "base/text.h"
#include "pack/rows.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

/* A name shares its space with dims, flags, tunables, hints and the names of the tool. */
static tsw_status_t check_new_name(const tsw_pack_t *pack, const tsw_node_t *name, tsw_err_t *err)
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

static tsw_status_t too_many(const tsw_node_t *node, const char *what, int limit, tsw_err_t *err)
{
    return tsw_place_err(err, TSW_ERR_INPUT, node->place, "a pack has at most %d %s", limit, what);
}

static tsw_status_t copy_text(const tsw_node_t *node, char **text_p, tsw_err_t *err)
{
    *text_p = tsw_strdup(node->text);
    return *text_p != NULL ? TSW_OK : tsw_err_nomem(err);
}

static tsw_status_t fill_dims(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    const tsw_node_t *dims = tsw_view_node(view, "dims");
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < dims->count; i++) {
        status = check_new_name(pack, dims->items[i], err);
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

static tsw_status_t copy_texts(const tsw_node_t *list, char ***texts_p, size_t *count_p,
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

static tsw_status_t check_distinct(const tsw_node_t *list, tsw_err_t *err)
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

static tsw_status_t fill_flags(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    tsw_view_t flags = tsw_view_map(view, "flags");
    const tsw_node_t *name = NULL;
    const tsw_node_t *values = NULL;
    for (size_t cursor = 0; tsw_view_next(flags, &cursor, &name, &values);) {
        if (pack->flag_count == TSW_FLAG_MAX)
            return too_many(name, "flags", TSW_FLAG_MAX, err);
        tsw_status_t status = check_new_name(pack, name, err);
        if (status == TSW_OK)
            status = check_distinct(values, err);
        if (status != TSW_OK)
            return status;
        tsw_flag_t *flag = &pack->flags[pack->flag_count];
        status = copy_text(name, &flag->name, err);
        if (status != TSW_OK)
            return status;
        pack->flag_count++;
        status = copy_texts(values, &flag->values, &flag->value_count, err);
        if (status != TSW_OK)
            return status;
    }
    return TSW_OK;
}

static void fill_dtypes(tsw_pack_t *pack, tsw_view_t view)
{
    const tsw_node_t *dtypes = tsw_view_node(view, "dtypes");
    for (size_t i = 0; i < dtypes->count; i++) {
        tsw_dtype_t dtype = TSW_DTYPE_COUNT;
        bool known = tsw_dtype_parse(dtypes->items[i]->text, &dtype);
        TSW_ASSERT(known);
        pack->dtypes[dtype] = true;
    }
}

/* ---- arguments ---- */

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

static tsw_status_t fill_args(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    size_t count = tsw_view_count(view, "args");
    pack->args = tsw_calloc(count, sizeof(*pack->args));
    if (pack->args == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        tsw_view_t item = tsw_view_item(view, "args", i);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(pack->args[j].name, tsw_view_text(item, "name")) == 0)
                return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(item, "name"),
                                     "argument '%s' is there twice", pack->args[j].name);
        }
        pack->arg_count++;
        tsw_status_t status = fill_arg(item, &pack->args[i], err);
        if (status != TSW_OK)
            return status;
    }
    return TSW_OK;
}

/* ---- launches ---- */

/* Up to three expressions; what is absent is 1. */
static tsw_status_t fill_extent(tsw_view_t view, const char *key, tsw_expr_t out[3], tsw_err_t *err)
{
    char one[] = "1";
    tsw_node_t absent = {.kind = TSW_NODE_SCALAR, .place = tsw_view_place(view, key), .text = one};
    const tsw_node_t *list = tsw_view_node(view, key);
    for (size_t i = 0; i < 3; i++) {
        bool given = list != NULL && i < list->count;
        tsw_status_t status = tsw_node_expr(given ? list->items[i] : &absent, &out[i], err);
        if (status != TSW_OK)
            return status;
    }
    return TSW_OK;
}

static tsw_status_t fill_spec(tsw_view_t view, tsw_launch_spec_t *spec, tsw_err_t *err)
{
    spec->source_place = tsw_view_node(view, "source")->place;
    tsw_status_t status = tsw_view_copy(view, "source", &spec->source, err);
    if (status == TSW_OK)
        status = tsw_view_copy(view, "entry", &spec->entry, err);
    if (status == TSW_OK)
        status = fill_extent(view, "grid", spec->grid, err);
    if (status == TSW_OK)
        status = fill_extent(view, "block", spec->block, err);
    if (status == TSW_OK)
        status = tsw_view_expr(view, "shared", &spec->shared_bytes, err);
    return status;
}

static tsw_status_t check_block(const tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    if (pack->language == TSW_LANGUAGE_CUDA && !tsw_view_has(view, "block"))
        return tsw_place_err(err, TSW_ERR_INPUT, view.node->place,
                             "a pack in language cuda needs a 'block'");
    for (int i = 0; pack->language == TSW_LANGUAGE_TILE && i < 3; i++) {
        if (strcmp(pack->kernel.block[i].text, "1") != 0)
            return tsw_place_err(err, TSW_ERR_INPUT, pack->kernel.block[i].place,
                                 "a pack in language tile has block [1, 1, 1]: the compiler "
                                 "decides the threads");
    }
    return TSW_OK;
}

/* ---- tunables, hints, configs ---- */

static tsw_status_t check_tunable_name(const tsw_node_t *name, tsw_err_t *err)
{
    static const char *const macros[] = {"DTYPE", "OCCUPANCY", "NUM_CTAS"};
    static const char *const prefixes[] = {"DTYPE_", "FLAG_", "DIM_"};
    if (strcasecmp(name->text, "num_warps") == 0 || strcasecmp(name->text, "num_stages") == 0)
        return tsw_place_err(err, TSW_ERR_INPUT, name->place,
                             "the compiler decides num_warps and num_stages: only tile sizes, "
                             "occupancy and num_ctas are tuned");
    if (strcmp(name->text, "occupancy") == 0 || strcmp(name->text, "num_ctas") == 0)
        return tsw_place_err(err, TSW_ERR_INPUT, name->place,
                             "'%s' is a hint, write it under 'hints'", name->text);
    bool taken = false;
    for (size_t i = 0; i < 3; i++)
        taken = taken || strcmp(name->text, macros[i]) == 0 ||
                tsw_text_starts_with(name->text, prefixes[i]);
    if (taken)
        return tsw_place_err(err, TSW_ERR_INPUT, name->place,
                             "'%s' is a macro of the tool, a tunable needs another name",
                             name->text);
    return TSW_OK;
}

static tsw_status_t add_knob(tsw_pack_t *pack, const tsw_node_t *name, tsw_knob_t **knob_p,
                             tsw_err_t *err)
{
    if (pack->knob_count == TSW_KNOB_MAX)
        return too_many(name, "tunables and hints", TSW_KNOB_MAX, err);
    tsw_knob_t *knob = &pack->knobs[pack->knob_count];
    *knob = (tsw_knob_t){.tiles_dim = -1, .place = name->place};
    knob->name = tsw_strdup(name->text);
    knob->macro = tsw_strdup(name->text);
    pack->knob_count++;
    if (knob->name == NULL || knob->macro == NULL)
        return tsw_err_nomem(err);
    *knob_p = knob;
    return TSW_OK;
}

static tsw_status_t fill_tunable(tsw_pack_t *pack, const tsw_node_t *name, tsw_view_t view,
                                 tsw_err_t *err)
{
    tsw_status_t status = check_tunable_name(name, err);
    if (status == TSW_OK)
        status = check_new_name(pack, name, err);
    tsw_knob_t *knob = NULL;
    if (status == TSW_OK)
        status = add_knob(pack, name, &knob, err);
    if (status != TSW_OK)
        return status;
    knob->is_tile = tsw_view_bool(view, "tile");
    if (!tsw_view_has(view, "tiles"))
        return TSW_OK;
    const tsw_node_t *dim = tsw_view_node(view, "tiles");
    char hint[96];
    knob->is_tile = true;
    knob->tiles_dim = tsw_pack_dim_index(pack, dim->text);
    if (knob->tiles_dim < 0)
        return tsw_place_err(
            err, TSW_ERR_INPUT, dim->place, "'%s' is no dim of the pack%s", dim->text,
            tsw_name_hint(dim->text, (const char *const *)pack->dims, pack->dim_count, hint));
    return TSW_OK;
}

static tsw_status_t fill_hint(tsw_pack_t *pack, const tsw_node_t *name, tsw_err_t *err)
{
    static const char *const hints[] = {"occupancy", "num_ctas"};
    bool is_known = strcmp(name->text, hints[0]) == 0 || strcmp(name->text, hints[1]) == 0;
    char text[96];
    tsw_knob_t *knob = NULL;
    tsw_status_t status = is_known ? TSW_OK : check_tunable_name(name, err);
    if (status != TSW_OK)
        return status;
    if (!is_known)
        return tsw_place_err(err, TSW_ERR_INPUT, name->place,
                             "'%s' is no hint, wanted occupancy or num_ctas%s", name->text,
                             tsw_name_hint(name->text, hints, 2, text));
    status = add_knob(pack, name, &knob, err);
    if (status != TSW_OK)
        return status;
    knob->is_hint = true;
    for (char *c = knob->macro; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return TSW_OK;
}

static tsw_status_t fill_knobs(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    tsw_view_t tunables = tsw_view_map(view, "tunables");
    const tsw_node_t *name = NULL;
    const tsw_node_t *value = NULL;
    tsw_status_t status = TSW_OK;
    for (size_t cursor = 0; status == TSW_OK && tsw_view_next(tunables, &cursor, &name, &value);)
        status = fill_tunable(pack, name, tsw_view_rest_map(tunables, value), err);
    const tsw_node_t *hints = tsw_view_node(view, "hints");
    if (status == TSW_OK && hints != NULL)
        status = check_distinct(hints, err);
    for (size_t i = 0; status == TSW_OK && hints != NULL && i < hints->count; i++)
        status = fill_hint(pack, hints->items[i], err);
    return status;
}

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

static tsw_status_t fill_baseline(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    return read_baseline(pack, tsw_view_node(view, "baseline"), pack->baseline, err);
}

static tsw_status_t fill_lists(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
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

static tsw_status_t fill_constraints(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    size_t count = tsw_view_count(view, "constraints");
    pack->constraints = tsw_calloc(count, sizeof(*pack->constraints));
    if (pack->constraints == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        tsw_view_t item = tsw_view_item(view, "constraints", i);
        for (size_t j = 0; j < i; j++) {
            if (strcmp(pack->constraints[j].name, tsw_view_text(item, "name")) == 0)
                return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(item, "name"),
                                     "constraint '%s' is there twice", pack->constraints[j].name);
        }
        tsw_constraint_t *constraint = &pack->constraints[pack->constraint_count++];
        tsw_status_t status = tsw_view_copy(item, "name", &constraint->name, err);
        if (status == TSW_OK)
            status = tsw_view_expr(item, "keep", &constraint->expr, err);
        if (status == TSW_OK)
            status = tsw_view_copy(item, "reason", &constraint->reason, err);
        if (status != TSW_OK)
            return status;
    }
    return TSW_OK;
}

static tsw_status_t fill_tolerances(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    tsw_view_t tolerances = tsw_view_map(view, "tolerances");
    const tsw_node_t *name = NULL;
    const tsw_node_t *value = NULL;
    pack->tolerances = tsw_calloc(TSW_DTYPE_COUNT, sizeof(*pack->tolerances));
    if (pack->tolerances == NULL)
        return tsw_err_nomem(err);
    for (size_t cursor = 0; tsw_view_next(tolerances, &cursor, &name, &value);) {
        tsw_view_t item = tsw_view_rest_map(tolerances, value);
        tsw_tolerance_t *tolerance = &pack->tolerances[pack->tolerance_count++];
        bool known = tsw_dtype_parse(name->text, &tolerance->dtype);
        TSW_ASSERT(known);
        if (!pack->dtypes[tolerance->dtype])
            return tsw_place_err(err, TSW_ERR_INPUT, name->place,
                                 "a tolerance for %s, which is not among 'dtypes'", name->text);
        tolerance->atol = tsw_view_real(item, "atol");
        tolerance->rtol = tsw_view_real(item, "rtol");
    }
    for (int i = 0; i < TSW_DTYPE_COUNT; i++) {
        tsw_dtype_t dtype = (tsw_dtype_t)i;
        if (pack->dtypes[i] && tsw_dtype_is_floating(dtype) &&
            tsw_pack_tolerance(pack, dtype) == NULL)
            return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, "tolerances"),
                                 "'tolerances' lacks the floating dtype %s", tsw_dtype_name(dtype));
    }
    return TSW_OK;
}

static tsw_status_t fill_exceptions(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
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

static tsw_status_t fill_options(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    const tsw_node_t *options = tsw_view_node(view, "options");
    return options != NULL ? copy_texts(options, &pack->options, &pack->option_count, err) : TSW_OK;
}

static tsw_status_t fill_head(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    pack->template_id =
        (tsw_template_t)(TSW_TEMPLATE_T1_ELEMENTWISE + tsw_view_word(view, "template"));
    pack->class_id = (tsw_class_t)tsw_view_word(view, "class");
    pack->template_place = tsw_view_place(view, "template");
    pack->hints_place = tsw_view_place(view, "hints");
    pack->baseline_place = tsw_view_place(view, "baseline");
    pack->language = (tsw_language_t)tsw_view_word(view, "language");
    pack->arch_dependent = tsw_view_bool(view, "arch_dependent");
    pack->separate_tables = tsw_view_bool(view, "separate_tables");
    pack->max_elements = tsw_view_i64(view, "max_elements");
    fill_dtypes(pack, view);
    tsw_status_t status = tsw_view_copy(view, "name", &pack->name, err);
    if (status == TSW_OK)
        status = tsw_view_expr(view, "flops", &pack->flops, err);
    if (status == TSW_OK)
        status = tsw_view_expr(view, "bytes", &pack->bytes, err);
    return status;
}

static tsw_status_t fill_launches(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    tsw_status_t status = fill_spec(view, &pack->kernel, err);
    if (status == TSW_OK)
        status = check_block(pack, view, err);
    if (status == TSW_OK)
        status = fill_spec(tsw_view_map(view, "reference"), &pack->reference, err);
    return status;
}

tsw_status_t tsw_pack_fill(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    /* dims before flags before tunables: each checks its names against those before */
    static tsw_status_t (*const steps[])(tsw_pack_t *, tsw_view_t, tsw_err_t *) = {
        fill_head,        fill_dims,       fill_flags,      fill_args,
        fill_launches,    fill_knobs,      fill_baseline,   fill_lists,
        fill_constraints, fill_tolerances, fill_exceptions, fill_options};
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
        status = steps[i](pack, view, err);
    return status;
}
