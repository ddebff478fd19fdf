/* Checks of a pack as a whole. */
#include "pack/pack_check.h"

#include "base/text.h"

#include <string.h>

enum { NAME_MAX_COUNT = TSW_DIM_MAX + TSW_FLAG_MAX + TSW_KNOB_MAX + 2 };

/* Names that an expression may use. */
typedef struct {
    const char *names[NAME_MAX_COUNT];
    size_t count;
} names_t;

static void add_name(names_t *names, const char *name)
{
    TSW_ASSERT(names->count < NAME_MAX_COUNT);
    names->names[names->count++] = name;
}

/* Dims, flags, ELEM_BYTES. */
static names_t shape_names(const tsw_pack_t *pack)
{
    names_t names = {.count = 0};
    for (size_t i = 0; i < pack->dim_count; i++)
        add_name(&names, pack->dims[i]);
    for (size_t i = 0; i < pack->flag_count; i++)
        add_name(&names, pack->flags[i].name);
    add_name(&names, "ELEM_BYTES");
    return names;
}

static names_t config_names(const tsw_pack_t *pack)
{
    names_t names = shape_names(pack);
    for (size_t i = 0; i < pack->knob_count; i++)
        add_name(&names, pack->knobs[i].name);
    return names;
}

static tsw_status_t check_optional(const tsw_expr_t *expr, const names_t *names, tsw_err_t *err)
{
    return expr->text != NULL ? tsw_expr_check(expr, names->names, names->count, err) : TSW_OK;
}

static tsw_status_t check_spec(const tsw_launch_spec_t *spec, const names_t *names, tsw_err_t *err)
{
    tsw_status_t status = check_optional(&spec->shared_bytes, names, err);
    for (int i = 0; status == TSW_OK && i < 3; i++) {
        status = check_optional(&spec->grid[i], names, err);
        if (status == TSW_OK)
            status = check_optional(&spec->block[i], names, err);
    }
    return status;
}

static tsw_status_t check_arg(const tsw_arg_t *arg, const names_t *names, tsw_err_t *err)
{
    const tsw_expr_t *const exprs[] = {&arg->size, &arg->row, &arg->value, &arg->fill.lo,
                                       &arg->fill.hi};
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < sizeof(exprs) / sizeof(exprs[0]); i++)
        status = check_optional(exprs[i], names, err);
    return status;
}

static tsw_status_t check_expressions(const tsw_pack_t *pack, tsw_err_t *err)
{
    names_t shape = shape_names(pack);
    names_t config = config_names(pack);
    names_t launch = config;
    add_name(&launch, "NUM_SM");
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < pack->arg_count; i++)
        status = check_arg(&pack->args[i], &shape, err);
    if (status == TSW_OK)
        status = check_optional(&pack->flops, &shape, err);
    if (status == TSW_OK)
        status = check_optional(&pack->bytes, &shape, err);
    if (status == TSW_OK)
        status = check_spec(&pack->kernel, &launch, err);
    if (status == TSW_OK)
        status = check_spec(&pack->reference, &shape, err);
    for (size_t i = 0; status == TSW_OK && i < pack->constraint_count; i++)
        status = check_optional(&pack->constraints[i].expr, &config, err);
    return status;
}

static void derive_uses_shape(tsw_pack_t *pack)
{
    for (size_t i = 0; i < pack->constraint_count; i++) {
        tsw_constraint_t *constraint = &pack->constraints[i];
        for (size_t d = 0; d < pack->dim_count; d++)
            constraint->uses_shape =
                constraint->uses_shape ||
                (!pack->dim_is_static[d] && tsw_expr_uses(&constraint->expr, pack->dims[d]));
    }
}

static tsw_status_t check_outputs(const tsw_pack_t *pack, tsw_err_t *err)
{
    bool has_output = false;
    bool has_inout = false;
    for (size_t i = 0; i < pack->arg_count; i++) {
        has_inout = has_inout || pack->args[i].role == TSW_ROLE_INOUT;
        has_output = has_output || has_inout || pack->args[i].role == TSW_ROLE_OUT;
    }
    if (!has_output)
        return tsw_place_err(err, TSW_ERR_INPUT, pack->args[0].place,
                             "no argument has role out or inout: nothing could be verified");
    if (pack->template_id == TSW_TEMPLATE_T2_IN_PLACE && !has_inout)
        return tsw_place_err(err, TSW_ERR_INPUT, pack->args[0].place,
                             "template T2 works in place: an argument needs role inout");
    return TSW_OK;
}

static tsw_status_t check_file(const tsw_pack_t *pack, const char *name, tsw_place_t place,
                               const char *what, tsw_err_t *err)
{
    if (tsw_fileset_find(&pack->files, name) != NULL)
        return TSW_OK;
    return tsw_place_err(err, TSW_ERR_INPUT, place, "the pack folder has no file '%.100s' (%s)",
                         name, what);
}

static tsw_status_t check_files(const tsw_pack_t *pack, tsw_err_t *err)
{
    tsw_status_t status =
        check_file(pack, pack->kernel.source, pack->kernel.source_place, "source", err);
    if (status == TSW_OK)
        status = check_file(pack, pack->reference.source, pack->reference.source_place,
                            "source of the reference", err);
    for (size_t i = 0; status == TSW_OK && i < pack->arg_count; i++) {
        if (pack->args[i].fill.kind == TSW_FILL_DATASET)
            status = check_file(pack, pack->args[i].fill.file, pack->args[i].place,
                                "dataset of an argument", err);
    }
    return status;
}

static bool is_source(const char *name)
{
    static const char *const ends[] = {".cu", ".cuh", ".h", ".hpp"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (tsw_text_ends_with(name, ends[i]))
            return true;
    }
    return false;
}

/* Tile IR is made once for all archs, so the source must not ask for the arch. */
static tsw_status_t check_arch_macro(const tsw_pack_t *pack, tsw_err_t *err)
{
    if (pack->language != TSW_LANGUAGE_TILE || pack->arch_dependent)
        return TSW_OK;
    for (size_t i = 0; i < pack->files.count; i++) {
        const tsw_fileset_item_t *item = &pack->files.items[i];
        bool concerns = is_source(item->name) && strcmp(item->name, pack->reference.source) != 0;
        if (concerns && strstr((const char *)item->bytes, "__CUDA_ARCH__") != NULL)
            return tsw_err_set(err, TSW_ERR_INPUT,
                               "%s names __CUDA_ARCH__, but one Tile IR serves all archs: say "
                               "'arch_dependent: true' in %s",
                               item->name, TSW_PACK_FILE);
    }
    return TSW_OK;
}

tsw_status_t tsw_pack_check(tsw_pack_t *pack, tsw_err_t *err)
{
    tsw_status_t status = check_expressions(pack, err);
    if (status == TSW_OK)
        status = check_outputs(pack, err);
    if (status == TSW_OK)
        status = check_files(pack, err);
    if (status == TSW_OK)
        status = check_arch_macro(pack, err);
    if (status == TSW_OK)
        derive_uses_shape(pack);
    return status;
}
