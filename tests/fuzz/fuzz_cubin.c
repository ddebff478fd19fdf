/* What a cubin says about itself, and a cache entry whose checksum is right. */
#include "fuzz.h"

#include "build/cache_entry.h"
#include "wire/wire.h"

static void read_entry(const uint8_t *data, size_t size)
{
    tsw_buf_t entry = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_artifact_t artifact;
    tsw_put_u32(&entry, 0x43575354u);
    tsw_put_u32(&entry, 2);
    tsw_put_key(&entry, tsw_key_of(data, size));
    tsw_buf_append(&entry, data, size);
    if (tsw_cache_entry_get(entry.data, entry.size, (tsw_key_t){0}, &artifact, &err) == TSW_OK)
        tsw_buf_fini(&artifact.cubin);
    tsw_buf_fini(&entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_build_facts_t facts;
    tsw_arch_t arch;
    tsw_cubin_read(data, size, "rmsnorm", &facts, &err);
    tsw_cubin_arch(data, size, &arch, &err);
    read_entry(data, size);
    return 0;
}
