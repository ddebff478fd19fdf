/* Rows of one table, and their way into and out of a compound dataset. Inside store only. */
#ifndef TSW_STORE_STORE_TABLE_H
#define TSW_STORE_STORE_TABLE_H

#include "store/store_h5.h"
#include "store/store_schema.h"

typedef struct {
    uint8_t *bytes; /* count rows of row_size */
    size_t count;
    size_t capacity;
    size_t row_size;
    size_t tail_size; /* bytes of the TAIL column, with its zero; 0: the table has none */
} tsw_rows_t;

/* tail_size: 0 for tables without a TAIL column. */
void tsw_rows_init(tsw_rows_t *rows, const tsw_schema_t *schema, size_t tail_size);
void tsw_rows_fini(tsw_rows_t *rows);
/* Copies one row of rows->row_size bytes. */
tsw_status_t tsw_rows_add(tsw_rows_t *rows, const void *row, tsw_err_t *err);
void *tsw_rows_at(const tsw_rows_t *rows, size_t index); /* borrowed */

/* Write with units as attributes "unit_<column>". */
tsw_status_t tsw_table_put(hid_t file, const tsw_schema_t *schema, const tsw_rows_t *rows,
                           tsw_err_t *err);
/* Read all columns of the schema; other columns of the file are ignored. TSW_ERR_CORRUPT. */
tsw_status_t tsw_table_get(hid_t file, const tsw_schema_t *schema, tsw_rows_t *rows_p,
                           tsw_err_t *err);

#endif
