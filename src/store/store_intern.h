/* Equal bytes get equal small ids, in order of first appearance. Inside store only. */
#ifndef TSW_STORE_STORE_INTERN_H
#define TSW_STORE_STORE_INTERN_H

#include "base/err.h"
#include "base/hash.h"
#include "store/store_table.h"

typedef struct {
    tsw_key_t key;
    uint32_t id_plus_one; /* 0: free */
} tsw_intern_slot_t;

typedef struct {
    tsw_intern_slot_t *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
} tsw_intern_t;

void tsw_intern_fini(tsw_intern_t *intern);
/* The id of row, which is added to rows when it is new. Rows must hold no stray bytes. */
tsw_status_t tsw_intern_row(tsw_intern_t *intern, tsw_rows_t *rows, const void *row, uint32_t *id_p,
                            tsw_err_t *err);

#endif
