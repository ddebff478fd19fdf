#include "wire/wire.h"

#include "base/mem.h"

#include <string.h>

static void put_le(tsw_buf_t *out, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    tsw_buf_append(out, bytes, size);
}

void tsw_put_u8(tsw_buf_t *out, uint8_t value)
{
    put_le(out, value, 1);
}

void tsw_put_u32(tsw_buf_t *out, uint32_t value)
{
    put_le(out, value, 4);
}

void tsw_put_u64(tsw_buf_t *out, uint64_t value)
{
    put_le(out, value, 8);
}

void tsw_put_i64(tsw_buf_t *out, int64_t value)
{
    put_le(out, (uint64_t)value, 8);
}

void tsw_put_f64(tsw_buf_t *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put_le(out, bits, 8);
}

void tsw_put_bytes(tsw_buf_t *out, const void *bytes, size_t size)
{
    tsw_put_u64(out, size);
    tsw_buf_append(out, bytes, size);
}

void tsw_put_text(tsw_buf_t *out, const char *text)
{
    tsw_put_bytes(out, text, strlen(text));
}

void tsw_put_key(tsw_buf_t *out, tsw_key_t key)
{
    tsw_put_u64(out, key.hi);
    tsw_put_u64(out, key.lo);
}

void tsw_put_fileset(tsw_buf_t *out, const tsw_fileset_t *set)
{
    tsw_put_u64(out, set->count);
    for (size_t i = 0; i < set->count; i++) {
        tsw_put_text(out, set->items[i].name);
        tsw_put_bytes(out, set->items[i].bytes, set->items[i].size);
    }
}

tsw_reader_t tsw_reader(const void *bytes, size_t size)
{
    return (tsw_reader_t){.data = bytes, .size = size};
}

static const uint8_t *get_raw(tsw_reader_t *in, uint64_t size)
{
    if (in->failed || size > in->size - in->at) {
        in->failed = true;
        return NULL;
    }
    const uint8_t *bytes = in->data + in->at;
    in->at += (size_t)size;
    return bytes;
}

static uint64_t get_le(tsw_reader_t *in, size_t size)
{
    const uint8_t *bytes = get_raw(in, size);
    uint64_t value = 0;
    for (size_t i = 0; bytes != NULL && i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

uint8_t tsw_get_u8(tsw_reader_t *in)
{
    return (uint8_t)get_le(in, 1);
}

bool tsw_get_bool(tsw_reader_t *in)
{
    return tsw_get_u8(in) != 0;
}

uint32_t tsw_get_u32(tsw_reader_t *in)
{
    return (uint32_t)get_le(in, 4);
}

uint64_t tsw_get_u64(tsw_reader_t *in)
{
    return get_le(in, 8);
}

int64_t tsw_get_i64(tsw_reader_t *in)
{
    return (int64_t)get_le(in, 8);
}

double tsw_get_f64(tsw_reader_t *in)
{
    uint64_t bits = get_le(in, 8);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

const void *tsw_get_bytes(tsw_reader_t *in, size_t *size_p)
{
    uint64_t size = tsw_get_u64(in);
    const void *bytes = get_raw(in, size);
    *size_p = bytes != NULL ? (size_t)size : 0;
    return bytes;
}

/* Borrowed text without its zero; NULL on failure. */
static const char *get_text(tsw_reader_t *in, size_t *size_p)
{
    const char *bytes = tsw_get_bytes(in, size_p);
    if (bytes != NULL && memchr(bytes, 0, *size_p) != NULL) {
        in->failed = true;
        return NULL;
    }
    return bytes;
}

char *tsw_get_text(tsw_reader_t *in)
{
    size_t size = 0;
    const char *bytes = get_text(in, &size);
    if (bytes == NULL)
        return NULL;
    char *text = tsw_malloc(size + 1);
    if (text == NULL) {
        in->failed = true;
        in->nomem = true;
        return NULL;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

void tsw_get_text_into(tsw_reader_t *in, char *out, size_t out_size)
{
    size_t size = 0;
    const char *bytes = get_text(in, &size);
    if (size >= out_size)
        in->failed = true;
    if (bytes == NULL || in->failed)
        size = 0;
    else
        memcpy(out, bytes, size);
    out[size] = '\0';
}

tsw_key_t tsw_get_key(tsw_reader_t *in)
{
    tsw_key_t key;
    key.hi = tsw_get_u64(in);
    key.lo = tsw_get_u64(in);
    return key;
}

size_t tsw_get_count(tsw_reader_t *in, size_t min_bytes)
{
    uint64_t count = tsw_get_u64(in);
    if (!in->failed && count > (in->size - in->at) / (min_bytes > 0 ? min_bytes : 1))
        in->failed = true;
    return in->failed ? 0 : (size_t)count;
}

bool tsw_reader_done(const tsw_reader_t *in)
{
    return !in->failed && in->at == in->size;
}

tsw_status_t tsw_reader_check(const tsw_reader_t *in, const char *what, tsw_err_t *err)
{
    if (in->nomem)
        return tsw_err_nomem(err);
    if (in->failed)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "%s: broken near byte %zu of %zu", what, in->at,
                           in->size);
    return TSW_OK;
}

tsw_status_t tsw_msg_done(const tsw_reader_t *in, const char *what, tsw_err_t *err)
{
    tsw_status_t status = tsw_reader_check(in, what, err);
    if (status == TSW_OK && !tsw_reader_done(in))
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "%s: longer than its fields", what);
    return status;
}

tsw_status_t tsw_get_fileset(tsw_reader_t *in, tsw_fileset_t *out, tsw_err_t *err)
{
    tsw_fileset_t set = TSW_FILESET_INIT;
    tsw_status_t status = TSW_OK;
    size_t count = tsw_get_count(in, 2 * sizeof(uint64_t));
    for (size_t i = 0; status == TSW_OK && i < count; i++) {
        size_t size = 0;
        char *name = tsw_get_text(in);
        const void *bytes = tsw_get_bytes(in, &size);
        status = tsw_reader_check(in, "file set", err);
        if (status == TSW_OK)
            status = tsw_fileset_add(&set, name, bytes, size, err);
        tsw_free(name);
    }
    if (status == TSW_OK)
        status = tsw_reader_check(in, "file set", err);
    if (status == TSW_ERR_EXISTS)
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "file set: a name is there twice");
    if (status == TSW_OK)
        *out = set;
    else
        tsw_fileset_fini(&set);
    return status;
}
