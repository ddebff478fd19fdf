/* The only allocator of the tool. Every call can be made to fail for tests. */
#ifndef TSW_BASE_MEM_H
#define TSW_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* All return NULL when out of memory or when count * size overflows; never for size 0. */
void *tsw_malloc(size_t size);
void *tsw_calloc(size_t count, size_t size);
void *tsw_realloc_array(void *old, size_t count, size_t size); /* old stays valid on failure */
char *tsw_strdup(const char *text);
void *tsw_memdup(const void *bytes, size_t size);
void tsw_free(void *memory); /* NULL is fine */

/* Make room for one more element of a growing array: *items holds count elements of item_size and
 * *capacity slots. Returns false when out of memory (array unchanged). Use through TSW_GROW. */
bool tsw_grow(void **items, size_t *capacity, size_t count, size_t item_size);
#define TSW_GROW(_items, _capacity, _count)                                                        \
    tsw_grow((void **)&(_items), &(_capacity), (_count), sizeof(*(_items)))

/* Test hook: the n-th allocation from now fails (1 = the next), once; 0 switches it off. */
void tsw_mem_fail_at(long n);

#endif
