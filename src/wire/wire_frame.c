#include "wire/wire.h"

#include "tsw_version.h"

#include <inttypes.h>

/* Raise it with every change of a message. */
#define PROTOCOL_NUMBER 1

#define TEXT_OF(_x)  TEXT_OF_(_x)
#define TEXT_OF_(_x) #_x

/* What both ends must share: a hash of the tool's version and the layout of its messages. */
static uint64_t protocol_of_tool(void)
{
    return tsw_key_of_text(TSW_VERSION " protocol " TEXT_OF(PROTOCOL_NUMBER)).lo;
}

void tsw_frame_put(tsw_buf_t *out, uint32_t type, const tsw_buf_t *body)
{
    if (!tsw_buf_ok(body) || body->size > TSW_FRAME_MAX_BYTES) {
        out->failed = true;
        return;
    }
    tsw_put_u32(out, TSW_FRAME_MAGIC);
    tsw_put_u32(out, type);
    tsw_put_u64(out, protocol_of_tool());
    tsw_put_u64(out, body->size);
    tsw_buf_append(out, body->data, body->size);
}

tsw_status_t tsw_frame_next(const tsw_buf_t *in, uint32_t *type_p, const uint8_t **body_p,
                            size_t *body_size_p, size_t *size_p, tsw_err_t *err)
{
    tsw_reader_t reader = tsw_reader(in->data, in->size);
    uint32_t magic = tsw_get_u32(&reader);
    if (!reader.failed && magic != TSW_FRAME_MAGIC)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "not a frame: it starts with 0x%08" PRIx32, magic);
    uint32_t type = tsw_get_u32(&reader);
    uint64_t protocol = tsw_get_u64(&reader);
    uint64_t length = tsw_get_u64(&reader);
    *size_p = 0;
    if (reader.failed)
        return TSW_OK;
    if (protocol != protocol_of_tool())
        return tsw_err_set(err, TSW_ERR_VERSION,
                           "the other side is another build of tilesweep (this is " TSW_VERSION
                           "): use one build on all nodes");
    if (length > TSW_FRAME_MAX_BYTES)
        return tsw_err_set(err, TSW_ERR_CORRUPT,
                           "frame of type %" PRIu32 " claims %" PRIu64 " bytes", type, length);
    if (length > reader.size - reader.at)
        return TSW_OK;
    *type_p = type;
    *body_p = reader.data + reader.at;
    *body_size_p = (size_t)length;
    *size_p = TSW_FRAME_HEADER_SIZE + (size_t)length;
    return TSW_OK;
}
