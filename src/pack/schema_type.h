/* How the schema is written down. Private to pack; schema.c has the tables. */
#ifndef TSW_PACK_SCHEMA_TYPE_H
#define TSW_PACK_SCHEMA_TYPE_H

#include "pack/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    TSW_TYPE_NAME,    /* a C identifier that means nothing else in expressions */
    TSW_TYPE_TEXT,    /* any scalar */
    TSW_TYPE_WORD,    /* one of words */
    TSW_TYPE_BOOL,    /* true, false */
    TSW_TYPE_INT,     /* min..max */
    TSW_TYPE_REAL,    /* min.. */
    TSW_TYPE_SECONDS, /* min.., with a unit s, m or h */
    TSW_TYPE_EXPR,    /* an expression, unchecked */
    TSW_TYPE_LIST,    /* min..max of item */
    TSW_TYPE_MAP,     /* map */
    TSW_TYPE_CHOICE,  /* the first of choices that is of the node's kind: scalar, list, map */
} tsw_type_kind_t;

typedef struct tsw_type tsw_type_t;
typedef struct tsw_map tsw_map_t;

struct tsw_type {
    tsw_type_kind_t kind;
    const char *label;                /* with article, for messages and docs: "a list of names" */
    bool bounded;                     /* numbers and lengths of lists: min..max holds */
    int64_t min, max;                 /* max 0: none above */
    const char *const *words;         /* ends with NULL */
    const tsw_type_t *item;           /* lists */
    const tsw_map_t *map;             /* maps */
    const tsw_type_t *const *choices; /* ends with NULL */
};

typedef struct {
    const char *key;
    const tsw_type_t *type;
    bool required;
    const char *preset; /* the default as YAML, or words for people; NULL: none */
    const char *meaning;
} tsw_field_t;

struct tsw_map {
    const char *title; /* heading in the docs */
    const tsw_field_t *fields;
    size_t field_count;
    const tsw_field_t *rest;    /* all other keys, its key a placeholder; NULL: there are none */
    const tsw_type_t *rest_key; /* what these keys must be */
    bool exactly_one;           /* of the fields */
};

const tsw_map_t *tsw_schema_root(tsw_schema_id_t id);
const tsw_field_t *tsw_map_field(const tsw_map_t *map, const char *key); /* NULL: none */
/* The map inside a type: its own, its items', one of its choices'; NULL: none. */
const tsw_map_t *tsw_type_map(const tsw_type_t *type);
/* The label with its limits: "a whole number from 1 to 32". */
void tsw_type_describe(const tsw_type_t *type, tsw_buf_t *out);

#endif
