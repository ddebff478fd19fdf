/* The keys of a table file: one list per object, for the writer and the reader alike. */
#ifndef TSW_TABLE_TABLE_FIELDS_H
#define TSW_TABLE_TABLE_FIELDS_H

#include <stddef.h>

#define TSW_TABLE_FORMAT "tilesweep-table"

typedef enum {
    TSW_FIELD_TEXT,
    TSW_FIELD_TEXT_OR_NULL,
    TSW_FIELD_KEY,  /* 32 hex digits */
    TSW_FIELD_ARCH, /* "sm_90" */
    TSW_FIELD_U32,
    TSW_FIELD_SIZE,
    TSW_FIELD_REAL,
    TSW_FIELD_REAL_OR_NULL, /* null stands for infinity */
    TSW_FIELD_REAL_OR_NONE, /* null stands for NaN: there is none */
} tsw_table_field_kind_t;

typedef struct {
    const char *name;
    tsw_table_field_kind_t kind;
    size_t offset;
} tsw_table_field_t;

typedef struct {
    const tsw_table_field_t *fields;
    size_t count;
    const char *containers[2]; /* keys of arrays, written after the fields */
    size_t container_count;
} tsw_table_object_t;

extern const tsw_table_object_t tsw_table_object_top;  /* tsw_table_t; then "packs" */
extern const tsw_table_object_t tsw_table_object_pack; /* then "configs", "choices" */
extern const tsw_table_object_t tsw_table_object_row;

#endif
