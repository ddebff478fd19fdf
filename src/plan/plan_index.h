/* Keys to numbers: a hash table with open addressing. Private to plan. */
#ifndef TSW_PLAN_PLAN_INDEX_H
#define TSW_PLAN_PLAN_INDEX_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    struct {
        tsw_key_t key;
        uint32_t value;
        bool used;
    } * slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
} tsw_plan_index_t;

void tsw_plan_index_fini(tsw_plan_index_t *index);
bool tsw_plan_index_find(const tsw_plan_index_t *index, tsw_key_t key, uint32_t *value_p);
/* The key must not be there yet. */
tsw_status_t tsw_plan_index_add(tsw_plan_index_t *index, tsw_key_t key, uint32_t value,
                                tsw_err_t *err);

#endif
