/* A kernel.yaml beside the sources of a shipped pack; a pack that can be read is linted. */
#include "fuzz.h"

#include "rules/lint.h"
#include "rules/patch.h"

#include <string.h>

static void use(const tsw_pack_t *pack)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_lint_t lint;
    tsw_buf_t text = TSW_BUF_INIT;
    if (tsw_lint_pack(pack, &lint, &err) == TSW_OK)
        tsw_lint_fini(&lint);
    tsw_patch_add(pack, 90, "{TILE_M: 64}", "why", &text, &err);
    tsw_buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_pack_t *pack = NULL;
    const tsw_fileset_t *packs = fuzz_packs();
    fuzz_must(tsw_fileset_add(&files, "kernel.yaml", data, size, &err), &err);
    for (size_t i = 0; i < packs->count; i++) {
        const tsw_fileset_item_t *item = &packs->items[i];
        const char *name = strrchr(item->name, '/') + 1;
        if (strcmp(name, "kernel.yaml") != 0)
            tsw_fileset_add(&files, name, item->bytes, item->size, &err);
    }
    if (tsw_pack_read(&files, &pack, &err) == TSW_OK)
        use(pack);
    tsw_pack_free(pack);
    tsw_fileset_fini(&files);
    return 0;
}
