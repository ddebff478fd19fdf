#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static long fail_countdown; /* see tsw_mem_fail_at */

static bool must_fail(void)
{
    return fail_countdown > 0 && --fail_countdown == 0;
}

void tsw_mem_fail_at(long n)
{
    fail_countdown = n;
}

void *tsw_malloc(size_t size)
{
    return must_fail() ? NULL : malloc(size > 0 ? size : 1);
}

void *tsw_calloc(size_t count, size_t size)
{
    if (must_fail() || (size > 0 && count > SIZE_MAX / size))
        return NULL;
    return count > 0 && size > 0 ? calloc(count, size) : calloc(1, 1);
}

void *tsw_realloc_array(void *old, size_t count, size_t size)
{
    if (must_fail() || (size > 0 && count > SIZE_MAX / size))
        return NULL;
    size_t bytes = count * size;
    return realloc(old, bytes > 0 ? bytes : 1);
}

char *tsw_strdup(const char *text)
{
    return tsw_memdup(text, strlen(text) + 1);
}

void *tsw_memdup(const void *bytes, size_t size)
{
    void *copy = tsw_malloc(size);
    if (copy != NULL && size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

void tsw_free(void *memory)
{
    free(memory);
}

bool tsw_grow(void **items, size_t *capacity, size_t count, size_t item_size)
{
    if (count < *capacity)
        return true;
    if (*capacity > SIZE_MAX / 2)
        return false;
    size_t wanted = *capacity > 0 ? *capacity * 2 : 8;
    void *bigger = tsw_realloc_array(*items, wanted, item_size);
    if (bigger == NULL)
        return false;
    *items = bigger;
    *capacity = wanted;
    return true;
}
