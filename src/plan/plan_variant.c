#include "plan/plan_internal.h"

#include "base/mem.h"

#include <string.h>

/* Pack bytes, dtype, flags, static dims: the values of flags by their text, so that another order
 * in kernel.yaml is another key only through the pack's own. */
static void hash_identity(tsw_hash_t *hash, const tsw_variant_t *id)
{
    const tsw_pack_t *pack = id->pack;
    tsw_hash_subkey(hash, pack->key);
    tsw_hash_text(hash, tsw_dtype_name(id->dtype));
    for (size_t i = 0; i < pack->flag_count; i++)
        tsw_hash_i64(hash, id->flags[i]);
    for (size_t i = 0; i < pack->dim_count; i++)
        tsw_hash_i64(hash, id->static_dims[i]);
}

static tsw_status_t identity_key(const tsw_variant_t *id, tsw_key_t *key_p, tsw_err_t *err)
{
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL)
        return tsw_err_nomem(err);
    hash_identity(hash, id);
    *key_p = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return TSW_OK;
}

/* Identity and the config lists of all archs: entries that agree in these share a variant. */
static tsw_status_t shared_key(const tsw_plan_variant_t *variant, size_t arch_count,
                               tsw_key_t *key_p, tsw_err_t *err)
{
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL)
        return tsw_err_nomem(err);
    tsw_hash_subkey(hash, variant->key);
    for (size_t a = 0; a < arch_count; a++) {
        tsw_hash_i64(hash, (int64_t)variant->spaces[a].count);
        for (size_t i = 0; i < variant->spaces[a].count; i++)
            tsw_hash_subkey(hash, variant->spaces[a].configs[i].key);
    }
    *key_p = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return TSW_OK;
}

static tsw_status_t asked_key(size_t entry, const tsw_variant_t *id, tsw_key_t *key_p,
                              tsw_err_t *err)
{
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL)
        return tsw_err_nomem(err);
    tsw_hash_i64(hash, (int64_t)entry);
    hash_identity(hash, id);
    *key_p = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return TSW_OK;
}

void tsw_plan_map_fini(tsw_plan_map_t *map)
{
    for (size_t a = 0; a < TSW_PLAN_ARCH_MAX; a++)
        tsw_free(map->of_space[a]);
    *map = (tsw_plan_map_t){{NULL}};
}

static void variant_fini(tsw_plan_variant_t *variant)
{
    for (size_t a = 0; a < TSW_PLAN_ARCH_MAX; a++)
        tsw_space_fini(&variant->spaces[a]);
    tsw_free(variant->configs);
    tsw_free(variant->config_builds);
}

/* The union of the spaces' configs in order of appearance, so with the first arch's baseline first.
 */
static tsw_status_t unite(tsw_plan_variant_t *variant, tsw_plan_map_t *map, size_t arch_count,
                          tsw_err_t *err)
{
    tsw_plan_index_t seen = {.slots = NULL};
    size_t capacity = 0;
    tsw_status_t status = TSW_OK;
    for (size_t a = 0; status == TSW_OK && a < arch_count; a++) {
        const tsw_space_t *space = &variant->spaces[a];
        map->of_space[a] = tsw_calloc(space->count, sizeof(*map->of_space[a]));
        if (map->of_space[a] == NULL)
            status = tsw_err_nomem(err);
        for (size_t i = 0; status == TSW_OK && i < space->count; i++) {
            const tsw_config_t *config = &space->configs[i];
            uint32_t at = (uint32_t)variant->config_count;
            if (!tsw_plan_index_find(&seen, config->key, &at)) {
                if (!TSW_GROW(variant->configs, capacity, variant->config_count))
                    status = tsw_err_nomem(err);
                else
                    variant->configs[variant->config_count++] = *config;
                if (status == TSW_OK)
                    status = tsw_plan_index_add(&seen, config->key, at, err);
            }
            map->of_space[a][i] = at;
        }
    }
    tsw_plan_index_fini(&seen);
    if (status != TSW_OK)
        return status;
    variant->config_builds = tsw_calloc(variant->config_count, sizeof(*variant->config_builds));
    if (variant->config_builds == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < variant->config_count; i++)
        variant->config_builds[i] = UINT32_MAX;
    return TSW_OK;
}

static tsw_status_t make_spaces(tsw_plan_maker_t *m, tsw_plan_variant_t *variant)
{
    tsw_status_t status = TSW_OK;
    for (size_t a = 0; status == TSW_OK && a < m->job->arch_count; a++)
        status =
            tsw_space_make(&variant->id, m->job->archs[a], m->job->purpose,
                           &m->job->entries[variant->entry], m->eval, &variant->spaces[a], m->err);
    return status;
}

static tsw_status_t keep_variant(tsw_plan_maker_t *m, tsw_plan_variant_t *variant,
                                 tsw_plan_map_t *map, tsw_key_t shared)
{
    tsw_plan_t *plan = m->plan;
    if (!TSW_GROW(plan->variants, m->variant_capacity, plan->variant_count) ||
        !TSW_GROW(m->maps, m->map_capacity, plan->variant_count))
        return tsw_err_nomem(m->err);
    tsw_status_t status =
        tsw_plan_index_add(&m->variant_index, shared, (uint32_t)plan->variant_count, m->err);
    if (status != TSW_OK)
        return status;
    plan->variants[plan->variant_count] = *variant;
    m->maps[plan->variant_count] = *map;
    plan->variant_count++;
    *variant = (tsw_plan_variant_t){.entry = 0};
    *map = (tsw_plan_map_t){{NULL}};
    return TSW_OK;
}

static tsw_status_t make_variant(tsw_plan_maker_t *m, size_t entry, const tsw_variant_t *id,
                                 uint32_t *variant_p)
{
    tsw_plan_map_t map = {{NULL}};
    tsw_plan_variant_t variant = {.id = *id, .entry = entry, .reference_build = UINT32_MAX};
    tsw_key_t shared = {0, 0};
    tsw_status_t status = identity_key(id, &variant.key, m->err);
    if (status == TSW_OK)
        status = make_spaces(m, &variant);
    if (status == TSW_OK)
        status = shared_key(&variant, m->job->arch_count, &shared, m->err);
    if (status == TSW_OK && !tsw_plan_index_find(&m->variant_index, shared, variant_p)) {
        status = unite(&variant, &map, m->job->arch_count, m->err);
        *variant_p = (uint32_t)m->plan->variant_count;
        if (status == TSW_OK)
            status = keep_variant(m, &variant, &map, shared);
    }
    variant_fini(&variant);
    tsw_plan_map_fini(&map);
    return status;
}

tsw_status_t tsw_plan_variant_get(tsw_plan_maker_t *m, size_t entry, tsw_dtype_t dtype,
                                  const uint32_t *flags, const int64_t *dims, uint32_t *variant_p)
{
    const tsw_pack_t *pack = m->job->entries[entry].pack;
    tsw_variant_t id = {.pack = pack, .dtype = dtype};
    memcpy(id.flags, flags, sizeof(id.flags));
    for (size_t i = 0; i < pack->dim_count; i++)
        id.static_dims[i] = pack->dim_is_static[i] ? dims[i] : 0;
    tsw_key_t asked = {0, 0};
    tsw_status_t status = asked_key(entry, &id, &asked, m->err);
    if (status != TSW_OK || tsw_plan_index_find(&m->asked_index, asked, variant_p))
        return status;
    status = make_variant(m, entry, &id, variant_p);
    if (status == TSW_OK)
        status = tsw_plan_index_add(&m->asked_index, asked, *variant_p, m->err);
    return status;
}
