/* Which rules look at what: a pack over archs and variants, a table. */
#include "lint_internal.h"

#include <string.h>

enum { STATIC_DIM = 128 }; /* what a dim that is part of the build stands at */

/* What tables are made for. */
static const tsw_arch_t release_archs[] = {80, 86, 89, 90, 100, 103, 120};

#define COUNT_OF(_a) (sizeof(_a) / sizeof((_a)[0]))

static void lint_variant(tsw_lint_ctx_t *c, const tsw_variant_t *variant)
{
    tsw_space_t space = {0};
    c->variant = variant;
    if (c->list != NULL && !tsw_lint_ok(c, tsw_space_make(variant, c->arch, TSW_PURPOSE_RESEARCH,
                                                          NULL, c->eval, &space, c->err)))
        return;
    c->space = &space;
    tsw_lint_apply(c, TSW_LINT_OF_LISTS);
    tsw_space_fini(&space);
    c->space = NULL;
}

/* The next combination of flags; false after the last. */
static bool next_flags(const tsw_pack_t *pack, uint32_t flags[TSW_FLAG_MAX])
{
    for (size_t i = pack->flag_count; i-- > 0;) {
        if (++flags[i] < pack->flags[i].value_count)
            return true;
        flags[i] = 0;
    }
    return false;
}

static void lint_arch(tsw_lint_ctx_t *c, tsw_arch_t arch)
{
    const tsw_pack_t *pack = c->pack;
    tsw_variant_t variant = {.pack = pack};
    c->arch = arch;
    c->list = tsw_pack_list(pack, arch);
    for (size_t i = 0; i < pack->dim_count; i++)
        variant.static_dims[i] = pack->dim_is_static[i] ? STATIC_DIM : 0;
    for (int d = 0; d < TSW_DTYPE_COUNT; d++) {
        variant.dtype = (tsw_dtype_t)d;
        if (!pack->dtypes[d] || tsw_pack_lacking(pack, variant.dtype, arch) != TSW_DTYPE_OF_CELL)
            continue;
        do
            lint_variant(c, &variant);
        while (c->status == TSW_OK && next_flags(pack, variant.flags));
    }
    c->arch = 0;
    c->list = NULL;
}

static bool has_own_list(const tsw_pack_t *pack, tsw_arch_t arch)
{
    const tsw_config_list_t *list = tsw_pack_list(pack, arch);
    return list != NULL && list->arch == arch;
}

static bool is_linted(const tsw_pack_t *pack, tsw_arch_t arch)
{
    for (size_t i = 0; i < COUNT_OF(release_archs); i++) {
        if (release_archs[i] == arch)
            return true;
    }
    return has_own_list(pack, arch);
}

tsw_status_t tsw_lint_pack(const tsw_pack_t *pack, tsw_lint_t *lint_p, tsw_err_t *err)
{
    tsw_lint_t lint = {0};
    tsw_lint_ctx_t c = {.pack = pack, .kind = tsw_kind_of(pack), .lint = &lint, .err = err};
    size_t arch_count = 0;
    const tsw_arch_traits_t *archs = tsw_arch_all(&arch_count);
    tsw_lint_ok(&c, tsw_eval_new(&c.eval, err));
    tsw_lint_apply(&c, TSW_LINT_OF_PACKS);
    for (size_t i = 0; c.status == TSW_OK && i < arch_count; i++) {
        if (is_linted(pack, archs[i].arch))
            lint_arch(&c, archs[i].arch);
    }
    tsw_lint_apply(&c, TSW_LINT_OF_EXCEPTIONS);
    tsw_eval_free(c.eval);
    return tsw_lint_end(&c, lint_p);
}

static const tsw_pack_t *find_pack(const char *name, const tsw_pack_t *const *packs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (packs[i] != NULL && strcmp(packs[i]->name, name) == 0)
            return packs[i];
    }
    return NULL;
}

tsw_status_t tsw_lint_table(const tsw_table_t *table, const tsw_pack_t *const *packs,
                            size_t pack_count, tsw_lint_t *lint_p, tsw_err_t *err)
{
    tsw_lint_t lint = {0};
    tsw_lint_ctx_t c = {.table = table, .arch = table->arch, .lint = &lint, .err = err};
    for (size_t i = 0; c.status == TSW_OK && i < table->pack_count; i++) {
        c.entry = &table->packs[i];
        c.pack = find_pack(c.entry->name, packs, pack_count);
        c.kind = c.pack != NULL ? tsw_kind_of(c.pack) : NULL;
        tsw_lint_apply(&c, TSW_LINT_OF_TABLES);
    }
    return tsw_lint_end(&c, lint_p);
}
