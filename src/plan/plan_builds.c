#include "plan/plan_internal.h"

#include "base/mem.h"

static tsw_status_t key_build(tsw_plan_maker_t *m, tsw_build_t *build)
{
    static const char *const kinds[] = {"tool", "reference", "config"};
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL)
        return tsw_err_nomem(m->err);
    tsw_hash_text(hash, kinds[build->kind]);
    if (build->kind != TSW_BUILD_TOOL)
        tsw_hash_subkey(hash, m->plan->variants[build->variant].key);
    if (build->kind == TSW_BUILD_CONFIG)
        tsw_hash_subkey(hash, m->plan->variants[build->variant].configs[build->config].key);
    build->key = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return TSW_OK;
}

/* The id of a build, made when it is new. Variants that differ only in their lists share builds. */
static tsw_status_t get_build(tsw_plan_maker_t *m, tsw_build_kind_t kind, uint32_t variant,
                              uint32_t config, uint32_t *id_p)
{
    tsw_plan_t *plan = m->plan;
    tsw_build_t build = {
        .id = (uint32_t)plan->build_count, .kind = kind, .variant = variant, .config = config};
    tsw_status_t status = key_build(m, &build);
    if (status != TSW_OK || tsw_plan_index_find(&m->build_index, build.key, id_p))
        return status;
    if (!TSW_GROW(plan->builds, m->build_capacity, plan->build_count))
        return tsw_err_nomem(m->err);
    status = tsw_plan_index_add(&m->build_index, build.key, build.id, m->err);
    if (status != TSW_OK)
        return status;
    plan->builds[plan->build_count++] = build;
    *id_p = build.id;
    return TSW_OK;
}

static tsw_status_t need_configs(tsw_plan_maker_t *m, const tsw_cell_t *cell)
{
    tsw_plan_variant_t *variant = &m->plan->variants[cell->variant];
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < cell->config_count; i++) {
        uint32_t config = cell->configs[cell->order[i]];
        uint32_t *id = &variant->config_builds[config];
        if (*id == UINT32_MAX)
            status = get_build(m, TSW_BUILD_CONFIG, cell->variant, config, id);
        if (status == TSW_OK)
            m->plan->builds[*id].arch_mask |= 1U << cell->arch_index;
    }
    return status;
}

static tsw_status_t need_all(tsw_plan_maker_t *m, const tsw_cell_t *cell)
{
    tsw_plan_variant_t *variant = &m->plan->variants[cell->variant];
    tsw_status_t status = TSW_OK;
    if (variant->reference_build == UINT32_MAX)
        status = get_build(m, TSW_BUILD_REFERENCE, cell->variant, 0, &variant->reference_build);
    if (status == TSW_OK && !cell->compile_only) {
        m->plan->builds[0].arch_mask |= 1U << cell->arch_index;
        m->plan->builds[variant->reference_build].arch_mask |= 1U << cell->arch_index;
    }
    return status == TSW_OK ? need_configs(m, cell) : status;
}

/* The first cell of each arch, the second of each, ...: no arch waits for another one's builds. */
tsw_status_t tsw_plan_builds_make(tsw_plan_maker_t *m)
{
    const tsw_plan_t *plan = m->plan;
    size_t next[TSW_PLAN_ARCH_MAX] = {0};
    uint32_t tool = 0;
    tsw_status_t status = get_build(m, TSW_BUILD_TOOL, 0, 0, &tool);
    for (size_t i = plan->cell_count; i-- > 0;)
        next[plan->cells[i].arch_index] = i;
    size_t left = plan->cell_count;
    while (status == TSW_OK && left > 0) {
        for (uint32_t a = 0; status == TSW_OK && a < m->job->arch_count; a++) {
            if (next[a] >= plan->cell_count || plan->cells[next[a]].arch_index != a)
                continue;
            const tsw_cell_t *cell = &plan->cells[next[a]++];
            left--;
            if (cell->skip_reason == NULL)
                status = need_all(m, cell);
        }
    }
    return status;
}

void tsw_plan_cell_builds(const tsw_plan_t *plan, const tsw_cell_t *cell,
                          void (*fn)(void *user, uint32_t build), void *user)
{
    const tsw_plan_variant_t *variant = &plan->variants[cell->variant];
    if (cell->skip_reason != NULL)
        return;
    if (!cell->compile_only) {
        fn(user, 0);
        fn(user, variant->reference_build);
    }
    for (size_t i = 0; i < cell->config_count; i++)
        fn(user, variant->config_builds[cell->configs[cell->order[i]]]);
}
