#include "store/store_intern.h"

#include "base/mem.h"

void tsw_intern_fini(tsw_intern_t *intern)
{
    tsw_free(intern->slots);
    *intern = (tsw_intern_t){0};
}

/* The slot of key, or the free one where it belongs. Half of the slots are free, so it ends. */
static tsw_intern_slot_t *find_slot(tsw_intern_slot_t *slots, size_t capacity, tsw_key_t key)
{
    size_t at = (size_t)key.lo & (capacity - 1);
    while (slots[at].id_plus_one != 0 && !tsw_key_equal(slots[at].key, key))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool make_room(tsw_intern_t *intern)
{
    if (2 * (intern->count + 1) <= intern->capacity)
        return true;
    size_t capacity = intern->capacity > 0 ? 2 * intern->capacity : 64;
    tsw_intern_slot_t *slots = tsw_calloc(capacity, sizeof(slots[0]));
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < intern->capacity; i++) {
        if (intern->slots[i].id_plus_one != 0)
            *find_slot(slots, capacity, intern->slots[i].key) = intern->slots[i];
    }
    tsw_free(intern->slots);
    intern->slots = slots;
    intern->capacity = capacity;
    return true;
}

tsw_status_t tsw_intern_row(tsw_intern_t *intern, tsw_rows_t *rows, const void *row, uint32_t *id_p,
                            tsw_err_t *err)
{
    if (!make_room(intern))
        return tsw_err_nomem(err);
    tsw_key_t key = tsw_key_of(row, rows->row_size);
    tsw_intern_slot_t *slot = find_slot(intern->slots, intern->capacity, key);
    if (slot->id_plus_one == 0) {
        tsw_status_t status = tsw_rows_add(rows, row, err);
        if (status != TSW_OK)
            return status;
        *slot = (tsw_intern_slot_t){.key = key, .id_plus_one = (uint32_t)rows->count};
        intern->count++;
    }
    *id_p = slot->id_plus_one - 1;
    return TSW_OK;
}
