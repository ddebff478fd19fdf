/* Which parts of a job a set of results has, as text: "3/8", "1,3/8"; "" is all of it. */
#ifndef TSW_RECORD_PARTS_H
#define TSW_RECORD_PARTS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts in the making. Zeroed: none yet. */
typedef struct {
    uint32_t count; /* of all parts; 0: nothing was added yet, or results that are no parts */
    bool *has;      /* by number - 1; heap */
} tsw_parts_t;

void tsw_parts_fini(tsw_parts_t *parts);
/* Adds those of a text. Of a part that is there already *twice_p gets the number, else it is 0.
 * TSW_ERR_CORRUPT: no such text; TSW_ERR_ARG: a job that is divided into another number. */
tsw_status_t tsw_parts_add(tsw_parts_t *parts, const char *text, uint32_t *twice_p, tsw_err_t *err);
/* Appends the numbers that are not there, "2, 4"; returns how many. */
size_t tsw_parts_missing(const tsw_parts_t *parts, tsw_buf_t *out);
/* The text of what is there; "" once all are. Heap, or NULL when out of memory. */
char *tsw_parts_text(const tsw_parts_t *parts);

#endif
