/* magic u32, version u32, checksum key; then, covered by the checksum: key, outcome, detail, facts,
 * bytes of the cubin. Little-endian as all that tilesweep sends. */
#include "build/cache_entry.h"

#include "wire/wire.h"

#define MAGIC       0x43575354u /* "TSWC" */
#define VERSION     2u
#define HEADER_SIZE 24

void tsw_cache_entry_put(tsw_buf_t *out, tsw_key_t key, const tsw_artifact_t *artifact)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_key(&body, key);
    tsw_put_u32(&body, (uint32_t)artifact->outcome);
    tsw_put_text(&body, artifact->detail);
    tsw_put_build_facts(&body, &artifact->facts);
    tsw_put_bytes(&body, artifact->cubin.data, artifact->cubin.size);
    tsw_put_u32(out, MAGIC);
    tsw_put_u32(out, VERSION);
    tsw_put_key(out, tsw_key_of(body.data, body.size));
    tsw_buf_append(out, body.data, body.size);
    out->failed = out->failed || !tsw_buf_ok(&body);
    tsw_buf_fini(&body);
}

static bool header_is_right(const uint8_t *bytes, size_t size)
{
    tsw_reader_t in = tsw_reader(bytes, size);
    bool known = tsw_get_u32(&in) == MAGIC && tsw_get_u32(&in) == VERSION;
    tsw_key_t sum = tsw_get_key(&in);
    return known && !in.failed &&
           tsw_key_equal(sum, tsw_key_of(bytes + HEADER_SIZE, size - HEADER_SIZE));
}

tsw_status_t tsw_cache_entry_get(const void *bytes, size_t size, tsw_key_t key,
                                 tsw_artifact_t *artifact_p, tsw_err_t *err)
{
    if (size <= HEADER_SIZE || !header_is_right(bytes, size))
        return tsw_err_set(err, TSW_ERR_CORRUPT, "not a whole cache entry");
    tsw_artifact_t artifact = {.cubin = TSW_BUF_INIT};
    tsw_reader_t in = tsw_reader((const uint8_t *)bytes + HEADER_SIZE, size - HEADER_SIZE);
    tsw_key_t own = tsw_get_key(&in);
    uint32_t outcome = tsw_get_u32(&in);
    tsw_get_text_into(&in, artifact.detail, sizeof(artifact.detail));
    tsw_get_build_facts(&in, &artifact.facts);
    size_t cubin_size = 0;
    const void *cubin = tsw_get_bytes(&in, &cubin_size);
    bool ok = tsw_reader_done(&in) && tsw_key_equal(own, key) &&
              (outcome == TSW_OUTCOME_OK || outcome == TSW_OUTCOME_COMPILE_FAILED);
    if (!ok)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "a cache entry of something else");
    artifact.outcome = (tsw_outcome_t)outcome;
    if (cubin_size > 0)
        tsw_buf_append(&artifact.cubin, cubin, cubin_size);
    if (!tsw_buf_ok(&artifact.cubin)) {
        tsw_buf_fini(&artifact.cubin);
        return tsw_err_nomem(err);
    }
    *artifact_p = artifact;
    return TSW_OK;
}
