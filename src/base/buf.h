/* A growing byte buffer; also used to build text (always zero-terminated past its end). A failed
 * allocation sticks: later appends do nothing and tsw_buf_ok() says so, checked once at the end. */
#ifndef TSW_BASE_BUF_H
#define TSW_BASE_BUF_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

typedef struct {
    uint8_t *data; /* size bytes and a zero behind them; NULL while nothing was appended */
    size_t size;
    size_t capacity;
    bool failed;
} tsw_buf_t;

#define TSW_BUF_INIT                                                                               \
    {                                                                                              \
        .data = NULL                                                                               \
    }

void tsw_buf_fini(tsw_buf_t *buf);  /* frees; the buffer is empty and usable again */
void tsw_buf_clear(tsw_buf_t *buf); /* size 0, keeps memory, forgets a failure */
bool tsw_buf_ok(const tsw_buf_t *buf);
void tsw_buf_append(tsw_buf_t *buf, const void *bytes, size_t size);
/* Memory for size more bytes, at once; false: out of memory. */
bool tsw_buf_reserve(tsw_buf_t *buf, size_t size);
/* Room for size more bytes at the end, for the caller to fill (borrowed until the next change);
 * NULL when out of memory. */
uint8_t *tsw_buf_extend(tsw_buf_t *buf, size_t size);
void tsw_buf_append_text(tsw_buf_t *buf, const char *text);
/* The same with U+FFFD for each byte that is no UTF-8: names of files and messages of compilers may
 * be anything, and a text that was cut may end amid a character. */
void tsw_buf_append_utf8(tsw_buf_t *buf, const char *text);
void tsw_buf_printf(tsw_buf_t *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Remove the first size bytes. */
void tsw_buf_consume(tsw_buf_t *buf, size_t size);
/* Text view, "" when empty; borrowed until the next change. */
const char *tsw_buf_text(const tsw_buf_t *buf);
/* Transfers the zero-terminated memory to the caller (tsw_free); NULL when failed. */
char *tsw_buf_take_text(tsw_buf_t *buf);

#endif
