/* Rows and columns, rendered three ways: aligned text, CSV, JSON. */
#ifndef TSW_CLI_GRID_H
#define TSW_CLI_GRID_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum { TSW_FORMAT_TEXT, TSW_FORMAT_CSV, TSW_FORMAT_JSON } tsw_format_t;

extern const char *const tsw_format_names[];     /* NULL-terminated, in the order of tsw_format_t */
tsw_format_t tsw_format_parse(const char *name); /* one of tsw_format_names */

typedef struct {
    const char *name; /* with its unit: "median_ns" in files, "median ns" in text */
    bool is_number;
    int digits;      /* numbers in text: after the point */
    bool files_only; /* CSV and JSON have it, text is narrower */
} tsw_column_t;

typedef struct {
    char *text;    /* heap; NULL: no value, or a number */
    double number; /* NaN: no value */
    bool is_estimate;
} tsw_grid_cell_t;

typedef struct {
    const tsw_column_t *columns; /* borrowed */
    size_t column_count;
    tsw_grid_cell_t *cells; /* row by row */
    size_t cell_count;
    size_t cell_capacity;
    bool failed; /* out of memory: told by tsw_grid_render */
} tsw_grid_t;

tsw_grid_t tsw_grid(const tsw_column_t *columns, size_t column_count);
void tsw_grid_fini(tsw_grid_t *grid);

/* The next cell, left to right, top to bottom. */
void tsw_grid_text(tsw_grid_t *grid, const char *text); /* copied */
void tsw_grid_number(tsw_grid_t *grid, double value);   /* NaN: no value */
/* Likewise; text puts "~" before an estimate. */
void tsw_grid_measure(tsw_grid_t *grid, double value, bool is_estimate);

/* Appends. Text: an indented table under a header row. CSV: RFC 4180 with a header row. JSON: an
 * array of objects; what has no value is null. */
tsw_status_t tsw_grid_render(const tsw_grid_t *grid, tsw_format_t format, tsw_buf_t *out,
                             tsw_err_t *err);

#endif
