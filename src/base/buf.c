#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tsw_buf_fini(tsw_buf_t *buf)
{
    tsw_free(buf->data);
    *buf = (tsw_buf_t)TSW_BUF_INIT;
}

void tsw_buf_clear(tsw_buf_t *buf)
{
    buf->size = 0;
    buf->failed = false;
    if (buf->data != NULL)
        buf->data[0] = 0;
}

bool tsw_buf_ok(const tsw_buf_t *buf)
{
    return !buf->failed;
}

bool tsw_buf_reserve(tsw_buf_t *buf, size_t size)
{
    if (buf->failed)
        return false;
    if (size >= SIZE_MAX / 2 - buf->size) {
        buf->failed = true;
        return false;
    }
    size_t wanted = buf->size + size + 1;
    if (wanted <= buf->capacity)
        return true;
    size_t capacity = buf->capacity > 0 ? buf->capacity : 64;
    while (capacity < wanted)
        capacity *= 2;
    uint8_t *data = tsw_realloc_array(buf->data, capacity, 1);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->data[buf->size] = 0;
    buf->capacity = capacity;
    return true;
}

uint8_t *tsw_buf_extend(tsw_buf_t *buf, size_t size)
{
    if (!tsw_buf_reserve(buf, size))
        return NULL;
    uint8_t *room = buf->data + buf->size;
    buf->size += size;
    buf->data[buf->size] = 0;
    return room;
}

void tsw_buf_append(tsw_buf_t *buf, const void *bytes, size_t size)
{
    uint8_t *room = tsw_buf_extend(buf, size);
    if (room != NULL && size > 0)
        memcpy(room, bytes, size);
}

void tsw_buf_append_text(tsw_buf_t *buf, const char *text)
{
    tsw_buf_append(buf, text, strlen(text));
}

/* Bytes of the character that text begins with; 0: none of UTF-8. */
static size_t utf8_size(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t size = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    /* Shorter forms of the same, halves of pairs and what is beyond the last character. */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f) || c[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

void tsw_buf_append_utf8(tsw_buf_t *buf, const char *text)
{
    while (*text != '\0') {
        size_t size = utf8_size(text);
        tsw_buf_append(buf, size > 0 ? text : "\xef\xbf\xbd", size > 0 ? size : 3);
        text += size > 0 ? size : 1;
    }
}

void tsw_buf_printf(tsw_buf_t *buf, const char *format, ...)
{
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && tsw_buf_reserve(buf, (size_t)n)) {
        vsnprintf((char *)buf->data + buf->size, (size_t)n + 1, format, again);
        buf->size += (size_t)n;
    } else {
        buf->failed = true;
    }
    va_end(again);
    va_end(args);
}

void tsw_buf_consume(tsw_buf_t *buf, size_t size)
{
    if (size > buf->size)
        size = buf->size;
    if (buf->data == NULL)
        return;
    memmove(buf->data, buf->data + size, buf->size - size + 1);
    buf->size -= size;
}

const char *tsw_buf_text(const tsw_buf_t *buf)
{
    return buf->data != NULL ? (const char *)buf->data : "";
}

char *tsw_buf_take_text(tsw_buf_t *buf)
{
    if (!tsw_buf_reserve(buf, 0)) {
        tsw_buf_fini(buf);
        return NULL;
    }
    buf->data[buf->size] = 0;
    char *text = (char *)buf->data;
    *buf = (tsw_buf_t)TSW_BUF_INIT;
    return text;
}
