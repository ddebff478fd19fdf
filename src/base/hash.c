#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct tsw_hash {
    XXH3_state_t state;
};

tsw_hash_t *tsw_hash_new(void)
{
    /* XXH3_state_t wants 64-byte alignment: over-allocate through aligned_alloc is not ours, so
     * use the library's own allocator. */
    XXH3_state_t *state = XXH3_createState();
    if (state != NULL)
        XXH3_128bits_reset(state);
    return (tsw_hash_t *)(void *)state;
}

void tsw_hash_free(tsw_hash_t *hash)
{
    if (hash != NULL)
        XXH3_freeState(&hash->state);
}

void tsw_hash_bytes(tsw_hash_t *hash, const void *bytes, size_t size)
{
    uint64_t length = size;
    XXH3_128bits_update(&hash->state, &length, sizeof(length));
    if (size > 0)
        XXH3_128bits_update(&hash->state, bytes, size);
}

void tsw_hash_text(tsw_hash_t *hash, const char *text)
{
    tsw_hash_bytes(hash, text, strlen(text));
}

void tsw_hash_i64(tsw_hash_t *hash, int64_t value)
{
    tsw_hash_bytes(hash, &value, sizeof(value));
}

void tsw_hash_subkey(tsw_hash_t *hash, tsw_key_t key)
{
    tsw_hash_bytes(hash, &key, sizeof(key));
}

tsw_key_t tsw_hash_key(const tsw_hash_t *hash)
{
    XXH128_hash_t h = XXH3_128bits_digest(&hash->state);
    return (tsw_key_t){.hi = h.high64, .lo = h.low64};
}

tsw_key_t tsw_key_of(const void *bytes, size_t size)
{
    XXH128_hash_t h = XXH3_128bits(bytes, size);
    return (tsw_key_t){.hi = h.high64, .lo = h.low64};
}

tsw_key_t tsw_key_of_text(const char *text)
{
    return tsw_key_of(text, strlen(text));
}

bool tsw_key_equal(tsw_key_t a, tsw_key_t b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

int tsw_key_compare(tsw_key_t a, tsw_key_t b)
{
    if (a.hi != b.hi)
        return a.hi < b.hi ? -1 : 1;
    if (a.lo != b.lo)
        return a.lo < b.lo ? -1 : 1;
    return 0;
}

char *tsw_key_format(tsw_key_t key, char out[TSW_KEY_TEXT_SIZE])
{
    snprintf(out, TSW_KEY_TEXT_SIZE, "%016llx%016llx", (unsigned long long)key.hi,
             (unsigned long long)key.lo);
    return out;
}

static bool parse_hex(const char *text, uint64_t *value_p)
{
    uint64_t value = 0;
    for (int i = 0; i < 16; i++) {
        char c = text[i];
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else
            return false;
        value = value << 4 | digit;
    }
    *value_p = value;
    return true;
}

bool tsw_key_parse(const char *text, tsw_key_t *key_p)
{
    tsw_key_t key = {0};
    if (strlen(text) != 32 || !parse_hex(text, &key.hi) || !parse_hex(text + 16, &key.lo))
        return false;
    *key_p = key;
    return true;
}
