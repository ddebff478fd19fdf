#include "plan/plan_index.h"

#include "base/mem.h"

enum { FIRST_CAPACITY = 64 };

void tsw_plan_index_fini(tsw_plan_index_t *index)
{
    tsw_free(index->slots);
    *index = (tsw_plan_index_t){.slots = NULL};
}

/* The slot of a key, or the free one where it belongs. */
static size_t slot_of(const tsw_plan_index_t *index, tsw_key_t key)
{
    size_t mask = index->capacity - 1;
    size_t at = (size_t)key.lo & mask;
    while (index->slots[at].used && !tsw_key_equal(index->slots[at].key, key))
        at = (at + 1) & mask;
    return at;
}

bool tsw_plan_index_find(const tsw_plan_index_t *index, tsw_key_t key, uint32_t *value_p)
{
    if (index->capacity == 0)
        return false;
    size_t at = slot_of(index, key);
    if (!index->slots[at].used)
        return false;
    *value_p = index->slots[at].value;
    return true;
}

static void put(tsw_plan_index_t *index, tsw_key_t key, uint32_t value)
{
    size_t at = slot_of(index, key);
    index->slots[at].key = key;
    index->slots[at].value = value;
    index->slots[at].used = true;
    index->count++;
}

tsw_status_t tsw_plan_index_add(tsw_plan_index_t *index, tsw_key_t key, uint32_t value,
                                tsw_err_t *err)
{
    if (2 * (index->count + 1) > index->capacity) {
        tsw_plan_index_t bigger = {.capacity =
                                       index->capacity > 0 ? 2 * index->capacity : FIRST_CAPACITY};
        bigger.slots = tsw_calloc(bigger.capacity, sizeof(*bigger.slots));
        if (bigger.slots == NULL)
            return tsw_err_nomem(err);
        for (size_t i = 0; i < index->capacity; i++) {
            if (index->slots[i].used)
                put(&bigger, index->slots[i].key, index->slots[i].value);
        }
        tsw_free(index->slots);
        *index = bigger;
    }
    put(index, key, value);
    return TSW_OK;
}
