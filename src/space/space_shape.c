#include "space/space.h"

static int64_t smallest_value(const tsw_space_t *space, size_t knob)
{
    int64_t smallest = space->configs[0].values[knob];
    for (size_t i = 1; i < space->count; i++) {
        if (space->configs[i].values[knob] < smallest)
            smallest = space->configs[i].values[knob];
    }
    return smallest;
}

/* Clears keep[] of the configs whose tile of one knob is beyond the dim; how many it cleared. */
static size_t guard_knob(const tsw_space_t *space, size_t knob, int64_t size, bool *keep)
{
    size_t removed = 0;
    int64_t smallest = smallest_value(space, knob);
    for (size_t i = 1; i < space->count; i++) {
        int64_t tile = space->configs[i].values[knob];
        if (keep[i] && tile > size && tile > smallest) {
            keep[i] = false;
            removed++;
        }
    }
    return removed;
}

static tsw_status_t bind_knobs(const tsw_pack_t *pack, const tsw_config_t *config, tsw_eval_t *eval,
                               tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < pack->knob_count; i++)
        status = tsw_eval_set(eval, pack->knobs[i].name, config->values[i], err);
    return status;
}

/* eval has everything but the knobs. */
static tsw_status_t apply_constraint(const tsw_space_t *space, const tsw_pack_t *pack,
                                     const tsw_constraint_t *constraint, tsw_eval_t *eval,
                                     bool *keep, size_t *removed_p, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 1; status == TSW_OK && i < space->count; i++) {
        if (!keep[i])
            continue;
        status = bind_knobs(pack, &space->configs[i], eval, err);
        if (status == TSW_OK)
            status = tsw_eval_bool(eval, &constraint->expr, &keep[i], err);
        if (status == TSW_OK && !keep[i])
            (*removed_p)++;
    }
    if (status != TSW_OK)
        tsw_err_wrap(err, "pack %s", pack->name);
    return status;
}

tsw_status_t tsw_space_filter_shape(const tsw_space_t *space, const tsw_variant_t *variant,
                                    tsw_arch_t arch, const int64_t dims[TSW_DIM_MAX],
                                    tsw_eval_t *eval, bool *keep, tsw_filter_report_t *report,
                                    tsw_err_t *err)
{
    const tsw_pack_t *pack = variant->pack;
    size_t left = space->count;
    for (size_t i = 0; i < space->count; i++)
        keep[i] = true;
    size_t removed = 0;
    for (size_t i = 0; i < pack->knob_count && left > 1; i++) {
        if (pack->knobs[i].tiles_dim >= 0)
            removed += guard_knob(space, i, dims[pack->knobs[i].tiles_dim], keep);
    }
    tsw_status_t status = TSW_OK;
    if (removed > 0)
        status = tsw_filter_report_add(report, "size_guard", "a tile is beyond the dim", left,
                                       removed, err);
    left -= removed;
    bool bound = false;
    for (size_t i = 0; status == TSW_OK && i < pack->constraint_count; i++) {
        const tsw_constraint_t *constraint = &pack->constraints[i];
        if (!constraint->uses_shape)
            continue;
        if (!bound)
            status = tsw_variant_bind(variant, dims, NULL, tsw_space_nominal_sms(arch), eval, err);
        bound = true;
        removed = 0;
        if (status == TSW_OK)
            status = apply_constraint(space, pack, constraint, eval, keep, &removed, err);
        if (status == TSW_OK && removed > 0)
            status = tsw_filter_report_add(report, constraint->name, constraint->reason, left,
                                           removed, err);
        left -= removed;
    }
    return status;
}

/* Whether the grid of a config is a multiple of its num_ctas. eval has everything but the knobs. */
static tsw_status_t divides(const tsw_pack_t *pack, const tsw_config_t *config, int knob,
                            tsw_eval_t *eval, bool *divides_p, tsw_err_t *err)
{
    *divides_p = true;
    if (config->values[knob] <= 1)
        return TSW_OK;
    tsw_status_t status = bind_knobs(pack, config, eval, err);
    if (status != TSW_OK)
        return status;
    int64_t blocks = 0;
    tsw_err_t why = TSW_ERR_INIT;
    status = tsw_eval_i64(eval, &pack->kernel.grid[0], &blocks, &why);
    if (status == TSW_ERR_NOMEM)
        return tsw_err_nomem(err);
    *divides_p = status == TSW_OK && blocks % config->values[knob] == 0;
    return TSW_OK;
}

tsw_status_t tsw_space_order_shape(const tsw_space_t *space, const tsw_variant_t *variant,
                                   tsw_arch_t arch, const int64_t dims[TSW_DIM_MAX],
                                   tsw_eval_t *eval, const bool *keep, uint32_t *order,
                                   size_t *count_p, tsw_err_t *err)
{
    const tsw_pack_t *pack = variant->pack;
    int knob = tsw_pack_knob_index(pack, "num_ctas");
    bool bound = false;
    size_t head = 0;
    size_t kept = 0;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < space->count; i++)
        kept += keep[i];
    size_t tail = kept; /* the others are put in from the end, then turned round */
    for (size_t i = 0; status == TSW_OK && i < space->count; i++) {
        if (!keep[i])
            continue;
        bool first = true;
        if (i > 0 && knob >= 0 && space->configs[i].values[knob] > 1) {
            if (!bound)
                status =
                    tsw_variant_bind(variant, dims, NULL, tsw_space_nominal_sms(arch), eval, err);
            bound = true;
            if (status == TSW_OK)
                status = divides(pack, &space->configs[i], knob, eval, &first, err);
        }
        order[first ? head++ : --tail] = (uint32_t)i;
    }
    for (size_t a = tail, b = kept; a + 1 < b; a++, b--) {
        uint32_t swap = order[a];
        order[a] = order[b - 1];
        order[b - 1] = swap;
    }
    if (status == TSW_OK)
        *count_p = kept;
    return status;
}
