/* A set of shapes that keeps their order. */
#include "pack/job_shape_set.h"

#include "base/mem.h"

#include <string.h>

static size_t slot_of(const tsw_shape_set_t *set, const tsw_shape_t *shape)
{
    size_t mask = set->slot_count - 1;
    size_t slot = (size_t)tsw_key_of(shape->dims, sizeof(shape->dims)).lo & mask;
    while (set->slots[slot] != 0 &&
           memcmp(set->shapes[set->slots[slot] - 1].dims, shape->dims, sizeof(shape->dims)) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

static bool grow_slots(tsw_shape_set_t *set)
{
    if (set->count * 2 < set->slot_count)
        return true;
    size_t wanted = set->slot_count > 0 ? set->slot_count * 2 : 64;
    uint32_t *slots = tsw_calloc(wanted, sizeof(*slots));
    if (slots == NULL)
        return false;
    tsw_free(set->slots);
    set->slots = slots;
    set->slot_count = wanted;
    for (size_t i = 0; i < set->count; i++)
        set->slots[slot_of(set, &set->shapes[i])] = (uint32_t)i + 1;
    return true;
}

tsw_status_t tsw_shape_set_add(tsw_shape_set_t *set, const tsw_shape_t *shape, tsw_err_t *err)
{
    if (!grow_slots(set))
        return tsw_err_nomem(err);
    size_t slot = slot_of(set, shape);
    if (set->slots[slot] != 0)
        return TSW_OK;
    if (!TSW_GROW(set->shapes, set->capacity, set->count))
        return tsw_err_nomem(err);
    set->shapes[set->count++] = *shape;
    set->slots[slot] = (uint32_t)set->count;
    return TSW_OK;
}

void tsw_shape_set_fini(tsw_shape_set_t *set)
{
    tsw_free(set->shapes);
    tsw_free(set->slots);
    *set = (tsw_shape_set_t){.shapes = NULL};
}
