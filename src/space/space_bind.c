#include "pack/place.h"
#include "space/space.h"

enum { BLOCK_THREADS_MAX = 1024 };

/* Source: the vendor's data sheets. */
int64_t tsw_space_nominal_sms(tsw_arch_t arch)
{
    static const struct {
        tsw_arch_t arch;
        int64_t sms;
    } rows[] = {{80, 108},  {86, 84},   {87, 16},  {88, 16},   {89, 142}, {90, 132},
                {100, 148}, {103, 148}, {110, 20}, {120, 170}, {121, 48}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].arch == arch)
            return rows[i].sms;
    }
    return 148;
}

static tsw_status_t bind_dims(const tsw_variant_t *variant, const int64_t *dims, tsw_eval_t *eval,
                              tsw_err_t *err)
{
    const tsw_pack_t *pack = variant->pack;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < pack->dim_count; i++) {
        if (dims != NULL)
            status = tsw_eval_set(eval, pack->dims[i], dims[i], err);
        else if (pack->dim_is_static[i])
            status = tsw_eval_set(eval, pack->dims[i], variant->static_dims[i], err);
    }
    return status;
}

tsw_status_t tsw_variant_bind(const tsw_variant_t *variant, const int64_t dims[TSW_DIM_MAX],
                              const tsw_config_t *config, int64_t num_sm, tsw_eval_t *eval,
                              tsw_err_t *err)
{
    const tsw_pack_t *pack = variant->pack;
    tsw_eval_unset_all(eval);
    tsw_status_t status = bind_dims(variant, dims, eval, err);
    for (size_t i = 0; status == TSW_OK && i < pack->flag_count; i++)
        status = tsw_eval_set(eval, pack->flags[i].name, variant->flags[i], err);
    for (size_t i = 0; status == TSW_OK && config != NULL && i < pack->knob_count; i++)
        status = tsw_eval_set(eval, pack->knobs[i].name, config->values[i], err);
    if (status == TSW_OK)
        status = tsw_eval_set(eval, "ELEM_BYTES", (int64_t)tsw_dtype_bytes(variant->dtype), err);
    if (status == TSW_OK)
        status = tsw_eval_set(eval, "NUM_SM", num_sm, err);
    return status;
}

static tsw_status_t evaluate(const tsw_expr_t *expr, const char *what, int64_t absent, int64_t low,
                             int64_t high, tsw_eval_t *eval, uint32_t *value_p, tsw_err_t *err)
{
    int64_t value = absent;
    if (expr->text != NULL) {
        tsw_status_t status = tsw_eval_i64(eval, expr, &value, err);
        if (status != TSW_OK)
            return status;
    }
    if (value < low || value > high)
        return tsw_place_err(err, TSW_ERR_OVERFLOW, expr->place,
                             "%s is %lld, a launch takes %lld to %lld", what, (long long)value,
                             (long long)low, (long long)high);
    *value_p = (uint32_t)value;
    return TSW_OK;
}

tsw_status_t tsw_geometry_of(const tsw_launch_spec_t *spec, tsw_eval_t *eval,
                             tsw_geometry_t *geometry_p, tsw_err_t *err)
{
    static const char *const grid_names[] = {"grid x", "grid y", "grid z"};
    static const char *const block_names[] = {"block x", "block y", "block z"};
    static const int64_t grid_max[] = {INT32_MAX, 65535, 65535};
    static const int64_t block_max[] = {BLOCK_THREADS_MAX, BLOCK_THREADS_MAX, 64};
    tsw_geometry_t g = {{0}, {0}, 0};
    tsw_status_t status = TSW_OK;
    for (int i = 0; status == TSW_OK && i < 3; i++)
        status = evaluate(&spec->grid[i], grid_names[i], 1, 1, grid_max[i], eval, &g.grid[i], err);
    for (int i = 0; status == TSW_OK && i < 3; i++)
        status =
            evaluate(&spec->block[i], block_names[i], 1, 1, block_max[i], eval, &g.block[i], err);
    if (status == TSW_OK)
        status = evaluate(&spec->shared_bytes, "dynamic shared memory", 0, 0, INT32_MAX, eval,
                          &g.shared_bytes, err);
    if (status != TSW_OK)
        return status;
    uint64_t threads = (uint64_t)g.block[0] * g.block[1] * g.block[2];
    if (threads > BLOCK_THREADS_MAX)
        return tsw_place_err(err, TSW_ERR_OVERFLOW, spec->block[0].place,
                             "a block of %llu threads, a launch takes at most %d",
                             (unsigned long long)threads, BLOCK_THREADS_MAX);
    *geometry_p = g;
    return TSW_OK;
}
