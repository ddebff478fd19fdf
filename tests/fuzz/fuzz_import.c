/* A file of another tuner, and which configs of a pack are in it. */
#include "fuzz.h"

#include "base/mem.h"
#include "table/table_match.h"

#include <stdlib.h>

static tsw_pack_t *pack;

static void free_pack(void)
{
    tsw_pack_free(pack);
}

static const tsw_pack_t *matmul(void)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_fileset_t files = TSW_FILESET_INIT;
    if (pack != NULL)
        return pack;
    fuzz_must(tsw_fileset_subset(fuzz_packs(), "packs/matmul/", &files, &err), &err);
    fuzz_must(tsw_pack_read(&files, &pack, &err), &err);
    tsw_fileset_fini(&files);
    atexit(free_pack);
    return pack;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_import_t import;
    char *text = fuzz_text(data, size);
    if (tsw_import_read("file", text, size, &import, &err) == TSW_OK) {
        const tsw_config_t config = tsw_config_baseline(matmul(), 90);
        const tsw_match_t wanted = {.label = "file",
                                    .import = &import,
                                    .names = "TILE_M=block_size_x,TILE_N=tile_size_x",
                                    .pack = matmul(),
                                    .configs = &config,
                                    .config_count = 1};
        uint32_t index = 0;
        size_t found = 0;
        tsw_match_configs(&wanted, &index, &found, &err);
        tsw_import_fini(&import);
    }
    tsw_free(text);
    return 0;
}
