/* Tunables and hints of kernel.yaml. */
#include "pack/pack_fill.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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
        return tsw_pack_too_many(name, "tunables and hints", TSW_KNOB_MAX, err);
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
        status = tsw_pack_check_new_name(pack, name, err);
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

tsw_status_t tsw_pack_fill_knobs(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err)
{
    tsw_view_t tunables = tsw_view_map(view, "tunables");
    const tsw_node_t *name = NULL;
    const tsw_node_t *value = NULL;
    tsw_status_t status = TSW_OK;
    for (size_t cursor = 0; status == TSW_OK && tsw_view_next(tunables, &cursor, &name, &value);)
        status = fill_tunable(pack, name, tsw_view_rest_map(tunables, value), err);
    const tsw_node_t *hints = tsw_view_node(view, "hints");
    if (status == TSW_OK && hints != NULL)
        status = tsw_pack_check_distinct(hints, err);
    for (size_t i = 0; status == TSW_OK && hints != NULL && i < hints->count; i++)
        status = fill_hint(pack, hints->items[i], err);
    return status;
}
