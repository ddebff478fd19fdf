/* kernel.yaml, checked by the schema, into tsw_pack_t. */
#include "pack/pack_fill.h"

#include "base/mem.h"
#include "pack/pack_check.h"

#include <string.h>

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

static tsw_status_t fill_options(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    const tsw_node_t *options = tsw_view_node(view, "options");
    return options != NULL ? tsw_pack_copy_texts(options, &pack->options, &pack->option_count, err)
                           : TSW_OK;
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
    static tsw_status_t (*const steps[])(tsw_pack_t *, tsw_view_t,
                                         tsw_err_t *) = {fill_head,
                                                         tsw_pack_fill_dims,
                                                         tsw_pack_fill_flags,
                                                         tsw_pack_fill_args,
                                                         fill_launches,
                                                         tsw_pack_fill_knobs,
                                                         tsw_pack_fill_baseline,
                                                         tsw_pack_fill_lists,
                                                         tsw_pack_fill_constraints,
                                                         fill_tolerances,
                                                         tsw_pack_fill_exceptions,
                                                         fill_options};
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
        status = steps[i](pack, view, err);
    return status;
}
