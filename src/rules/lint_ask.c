/* What several rules ask of packs, archs and configs. */
#include "lint_internal.h"

#include <stdlib.h>
#include <string.h>

bool tsw_lint_dim_of_output(const tsw_pack_t *pack, size_t dim)
{
    for (size_t i = 0; i < pack->arg_count; i++) {
        const tsw_arg_t *arg = &pack->args[i];
        if ((arg->role == TSW_ROLE_OUT || arg->role == TSW_ROLE_INOUT) &&
            tsw_expr_uses(&arg->size, pack->dims[dim]))
            return true;
    }
    return false;
}

const char *tsw_lint_source(const tsw_pack_t *pack)
{
    const tsw_fileset_item_t *item = tsw_fileset_find(&pack->files, pack->kernel.source);
    return item != NULL ? (const char *)item->bytes : "";
}

int64_t tsw_lint_value_in(const char *config, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = config; (at = strstr(at, name)) != NULL; at += length) {
        if ((at == config || at[-1] == ' ') && at[length] == '=')
            return strtoll(at + length + 1, NULL, 10);
    }
    return 0;
}

bool tsw_lint_arch_has_clusters(tsw_arch_t arch)
{
    const tsw_arch_traits_t *traits = tsw_arch_traits(arch);
    return traits != NULL && traits->max_cluster > 1;
}
