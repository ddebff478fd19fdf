/* What identifies a launch: equal ones in a cell are timed once. */
#include "run/run_state.h"

#include <string.h>

static tsw_status_t hash_scalars(tsw_hash_t *hash, const tsw_pack_t *pack, tsw_eval_t *eval,
                                 tsw_err_t *err)
{
    for (size_t i = 0; i < pack->arg_count; i++) {
        double value = 0;
        if (pack->args[i].role != TSW_ROLE_SCALAR)
            continue;
        tsw_status_t status = tsw_eval_f64(eval, &pack->args[i].value, &value, err);
        if (status != TSW_OK)
            return status;
        tsw_hash_bytes(hash, &value, sizeof(value));
    }
    return TSW_OK;
}

static tsw_status_t launch_key(tsw_run_t *run, const tsw_pack_t *pack, tsw_key_t config_key,
                               tsw_lane_built_t *built, tsw_err_t *err)
{
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL)
        return tsw_err_nomem(err);
    /* Without a cubin (replay of an old file) nothing is known to be equal. */
    tsw_key_t none = {0};
    bool known = !tsw_key_equal(built->facts.cubin_key, none);
    tsw_key_t identity = known ? built->facts.cubin_key : config_key;
    tsw_hash_bytes(hash, &identity, sizeof(identity));
    for (int i = 0; i < 3; i++) {
        tsw_hash_i64(hash, built->grid[i]);
        tsw_hash_i64(hash, built->block[i]);
    }
    tsw_hash_i64(hash, built->dynamic_shared_bytes);
    tsw_hash_i64(hash, built->facts.cluster);
    tsw_status_t status = hash_scalars(hash, pack, run->eval, err);
    if (status == TSW_OK)
        built->launch_key = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return status;
}

tsw_status_t tsw_run_launch_describe(tsw_run_t *run, const tsw_cell_t *cell, uint32_t config_index,
                                     uint32_t num_sm, tsw_lane_built_t *built, tsw_err_t *err)
{
    const tsw_plan_variant_t *variant = &run->plan->variants[cell->variant];
    const tsw_config_t *config = &variant->configs[cell->configs[config_index]];
    const tsw_pack_t *pack = variant->id.pack;
    tsw_geometry_t geometry;
    tsw_status_t status =
        tsw_variant_bind(&variant->id, cell->dims, config, num_sm, run->eval, err);
    if (status == TSW_OK)
        status = tsw_geometry_of(&pack->kernel, run->eval, &geometry, err);
    if (status != TSW_OK)
        return status;
    memcpy(built->grid, geometry.grid, sizeof(built->grid));
    memcpy(built->block, geometry.block, sizeof(built->block));
    built->dynamic_shared_bytes = geometry.shared_bytes;
    return launch_key(run, pack, config->key, built, err);
}

int64_t tsw_run_max_tile(const tsw_run_t *run, const tsw_cell_t *cell)
{
    const tsw_plan_variant_t *variant = &run->plan->variants[cell->variant];
    const tsw_pack_t *pack = variant->id.pack;
    int64_t largest = 1;
    for (size_t i = 0; i < cell->config_count; i++) {
        const tsw_config_t *config = &variant->configs[cell->configs[i]];
        for (size_t k = 0; k < pack->knob_count; k++) {
            if (pack->knobs[k].is_tile && config->values[k] > largest)
                largest = config->values[k];
        }
    }
    return largest;
}
