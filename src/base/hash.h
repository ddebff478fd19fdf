/* 128-bit content keys (XXH3). Fields are framed by their length, so that ("ab","c") and
 * ("a","bc") differ. */
#ifndef TSW_BASE_HASH_H
#define TSW_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t hi;
    uint64_t lo;
} tsw_key_t;

#define TSW_KEY_TEXT_SIZE 33 /* 32 hex digits and a zero */

typedef struct tsw_hash tsw_hash_t; /* streaming state, heap */

tsw_hash_t *tsw_hash_new(void); /* NULL when out of memory */
void tsw_hash_free(tsw_hash_t *hash);
void tsw_hash_bytes(tsw_hash_t *hash, const void *bytes, size_t size); /* one field */
void tsw_hash_text(tsw_hash_t *hash, const char *text);                /* one field */
void tsw_hash_i64(tsw_hash_t *hash, int64_t value);                    /* one field */
void tsw_hash_subkey(tsw_hash_t *hash, tsw_key_t key);                 /* one field */
tsw_key_t tsw_hash_key(const tsw_hash_t *hash);

/* Key of one run of bytes. */
tsw_key_t tsw_key_of(const void *bytes, size_t size);
tsw_key_t tsw_key_of_text(const char *text);

bool tsw_key_equal(tsw_key_t a, tsw_key_t b);
int tsw_key_compare(tsw_key_t a, tsw_key_t b); /* <0, 0, >0 */
char *tsw_key_format(tsw_key_t key, char out[TSW_KEY_TEXT_SIZE]);
bool tsw_key_parse(const char *text, tsw_key_t *key_p);

#endif
