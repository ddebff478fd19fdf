#include "space/space_probe.h"

#include "base/text.h"
#include "pack/place.h"
#include "space/kind.h"

#include <string.h>

typedef enum { ROLE_NONE, ROLE_FIXED, ROLE_VARIED } role_t;

static bool is_in_grid(const tsw_pack_t *pack, const char *name)
{
    bool is_in = false;
    for (int i = 0; i < 3; i++)
        is_in = is_in ||
                (pack->kernel.grid[i].text != NULL && tsw_expr_uses(&pack->kernel.grid[i], name));
    return is_in;
}

tsw_probe_role_t tsw_space_probe_role(const tsw_pack_t *pack, size_t knob)
{
    const tsw_knob_t *k = &pack->knobs[knob];
    bool is_num_ctas = strcmp(k->name, "num_ctas") == 0;
    switch (pack->template_id) {
    case TSW_TEMPLATE_T9_DUAL:
        return k->is_hint ? TSW_PROBE_VARIED : TSW_PROBE_FIXED;
    case TSW_TEMPLATE_T5_FMHA:
    case TSW_TEMPLATE_T8_VARLEN:
        if (k->is_hint)
            return is_num_ctas ? TSW_PROBE_VARIED : TSW_PROBE_FREE;
        return is_in_grid(pack, k->name) ? TSW_PROBE_VARIED : TSW_PROBE_FIXED;
    default:
        return TSW_PROBE_FREE;
    }
}

static tsw_status_t check_kind(const tsw_pack_t *pack, size_t knob, role_t role,
                               const tsw_job_entry_t *entry, tsw_err_t *err)
{
    tsw_probe_role_t wanted = tsw_space_probe_role(pack, knob);
    if (wanted == TSW_PROBE_FREE || (wanted == TSW_PROBE_FIXED) == (role == ROLE_FIXED))
        return TSW_OK;
    return tsw_place_err(err, TSW_ERR_INPUT, entry->place,
                         "probe: a probe of template %s has %s %s",
                         tsw_template_name(pack->template_id), pack->knobs[knob].name,
                         wanted == TSW_PROBE_FIXED ? "fixed" : "varied");
}

static tsw_status_t name_roles(const tsw_pack_t *pack, const tsw_job_entry_t *entry,
                               char *const *names, size_t count, role_t role, role_t *roles,
                               tsw_err_t *err)
{
    const char *known[TSW_KNOB_MAX];
    for (size_t i = 0; i < pack->knob_count; i++)
        known[i] = pack->knobs[i].name;
    for (size_t i = 0; i < count; i++) {
        int knob = tsw_pack_knob_index(pack, names[i]);
        if (knob < 0) {
            const char *nearest = tsw_text_nearest(names[i], known, pack->knob_count);
            return tsw_place_err(err, TSW_ERR_INPUT, entry->place,
                                 "probe: pack %s has no \"%s\"%s%s%s", pack->name, names[i],
                                 nearest != NULL ? "; did you mean \"" : "",
                                 nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
        }
        if (roles[knob] != ROLE_NONE)
            return tsw_place_err(err, TSW_ERR_INPUT, entry->place,
                                 "probe: %s is named twice as fixed or varied", names[i]);
        roles[knob] = role;
    }
    return TSW_OK;
}

/* How many values a knob has over the rows: 0, 1, or 2 for more. The baseline counts only where the
 * rows have it themselves. */
static int value_count(const tsw_space_t *space, size_t knob)
{
    size_t first = space->baseline_listed ? 0 : 1;
    if (first >= space->count)
        return 0;
    for (size_t i = first + 1; i < space->count; i++) {
        if (space->configs[i].values[knob] != space->configs[first].values[knob])
            return 2;
    }
    return 1;
}

static tsw_status_t check_knob(const tsw_space_t *space, const tsw_pack_t *pack, size_t knob,
                               role_t role, const tsw_job_entry_t *entry, tsw_err_t *err)
{
    const char *name = pack->knobs[knob].name;
    if (role == ROLE_NONE)
        return tsw_place_err(err, TSW_ERR_INPUT, entry->place,
                             "probe: say whether %s is fixed or varied", name);
    tsw_status_t status = check_kind(pack, knob, role, entry, err);
    if (status != TSW_OK)
        return status;
    int values = value_count(space, knob);
    if (role == ROLE_FIXED && values > 1)
        return tsw_place_err(err, TSW_ERR_INPUT, entry->place,
                             "probe: %s is fixed, but the rows give it several values", name);
    if (role == ROLE_VARIED && values == 1)
        return tsw_place_err(err, TSW_ERR_INPUT, entry->place,
                             "probe: %s is varied, but after the filters it has one value", name);
    return TSW_OK;
}

/* ---- how many ---- */

/* What a knob may be in this probe; where no rule says, the values of the rows. */
static void allow_values(const tsw_space_t *space, const tsw_pack_t *pack, size_t knob, role_t role,
                         int64_t values[TSW_SPACE_MAX_PROBE], tsw_config_row_t *row)
{
    const size_t first = space->baseline_listed || space->count == 1 ? 0 : 1;
    size_t count = role == ROLE_VARIED ? tsw_kind_values(pack, knob, values) : 0;
    const bool is_known = count > 0;
    for (size_t i = first; !is_known && i < space->count; i++) {
        size_t same = 0;
        while (same < count && values[same] != space->configs[i].values[knob])
            same++;
        if (same == count)
            values[count++] = space->configs[i].values[knob];
    }
    row->values[knob] = values;
    row->count[knob] = count;
}

/* All that the varied knobs allow, the fixed ones being what they are. */
static tsw_status_t make_all(const tsw_space_t *space, const tsw_variant_t *variant,
                             tsw_arch_t arch, const role_t *roles, tsw_eval_t *eval,
                             tsw_space_t *all_p, tsw_err_t *err)
{
    int64_t values[TSW_KNOB_MAX][TSW_SPACE_MAX_PROBE];
    tsw_config_row_t row = {.place = {.file = NULL}};
    const tsw_job_entry_t entry = {.rows = &row, .row_count = 1};
    for (size_t k = 0; k < variant->pack->knob_count; k++)
        allow_values(space, variant->pack, k, roles[k], values[k], &row);
    return tsw_space_make(variant, arch, TSW_PURPOSE_RESEARCH, &entry, eval, all_p, err);
}

static bool has_config(const tsw_space_t *space, tsw_key_t key)
{
    for (size_t i = 0; i < space->count; i++) {
        if (tsw_key_equal(space->configs[i].key, key))
            return true;
    }
    return false;
}

static tsw_status_t too_few(const tsw_space_t *space, const tsw_space_t *all,
                            const tsw_variant_t *variant, tsw_arch_t arch, size_t lacking,
                            const tsw_config_t *first, const tsw_job_entry_t *entry, tsw_err_t *err)
{
    char name[16];
    tsw_buf_t config = TSW_BUF_INIT;
    tsw_config_format(variant->pack, first, &config);
    tsw_status_t status = tsw_place_err(
        err, TSW_ERR_INPUT, entry->place,
        "probe: %s on %s: %zu config%s, baseline in; a probe has %d to %d%s, and what it varies "
        "allows %zu: it lacks %zu, such as %s",
        variant->pack->name, tsw_arch_format(arch, name), space->count,
        space->count == 1 ? "" : "s", TSW_SPACE_MIN_PROBE, TSW_SPACE_MAX_PROBE,
        all->count < TSW_SPACE_MIN_PROBE ? ", or all that there are" : "", all->count, lacking,
        tsw_buf_text(&config));
    tsw_buf_fini(&config);
    return status;
}

static tsw_status_t check_count(const tsw_space_t *space, const tsw_variant_t *variant,
                                tsw_arch_t arch, const role_t *roles, const tsw_job_entry_t *entry,
                                tsw_eval_t *eval, tsw_err_t *err)
{
    tsw_space_t all = {0};
    if (space->count >= TSW_SPACE_MIN_PROBE)
        return TSW_OK;
    tsw_status_t status = make_all(space, variant, arch, roles, eval, &all, err);
    const tsw_config_t *first = NULL;
    size_t lacking = 0;
    for (size_t i = 0; status == TSW_OK && i < all.count; i++) {
        if (has_config(space, all.configs[i].key))
            continue;
        first = lacking++ == 0 ? &all.configs[i] : first;
    }
    if (first != NULL)
        status = too_few(space, &all, variant, arch, lacking, first, entry, err);
    tsw_space_fini(&all);
    return status;
}

tsw_status_t tsw_space_probe_check(const tsw_space_t *space, const tsw_variant_t *variant,
                                   tsw_arch_t arch, const tsw_job_entry_t *entry, tsw_eval_t *eval,
                                   tsw_err_t *err)
{
    const tsw_pack_t *pack = variant->pack;
    role_t roles[TSW_KNOB_MAX] = {ROLE_NONE};
    tsw_status_t status =
        name_roles(pack, entry, entry->fixed, entry->fixed_count, ROLE_FIXED, roles, err);
    if (status == TSW_OK)
        status =
            name_roles(pack, entry, entry->varied, entry->varied_count, ROLE_VARIED, roles, err);
    for (size_t i = 0; status == TSW_OK && i < pack->knob_count; i++)
        status = check_knob(space, pack, i, roles[i], entry, err);
    return status == TSW_OK ? check_count(space, variant, arch, roles, entry, eval, err) : status;
}
