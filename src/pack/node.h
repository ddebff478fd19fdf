/* YAML as a tree in which every node knows its place. A strict subset of YAML 1.2: one document, no
 * anchors, aliases or tags, keys are scalars and unique, nesting and sizes are bounded. Private to
 * pack. */
#ifndef TSW_PACK_NODE_H
#define TSW_PACK_NODE_H

#include "pack/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSW_NODE_DEPTH_MAX 16
#define TSW_NODE_KEYS_MAX  1024                 /* of one map */
#define TSW_NODE_BYTES_MAX (4u * 1024u * 1024u) /* of a document */

typedef enum { TSW_NODE_SCALAR, TSW_NODE_LIST, TSW_NODE_MAP } tsw_node_kind_t;

typedef struct tsw_node tsw_node_t;
struct tsw_node {
    tsw_node_kind_t kind;
    tsw_place_t place;
    char *text;         /* scalars */
    bool quoted;        /* scalars: always text, never a number or a truth value */
    tsw_node_t **keys;  /* maps: scalars */
    tsw_node_t **items; /* maps: values; lists: items */
    size_t count;
    size_t capacity;
};

/* Read a document; file is borrowed by all places. TSW_ERR_INPUT with the place. */
tsw_status_t tsw_node_read(const char *file, const void *bytes, size_t size, tsw_node_t **node_p,
                           tsw_err_t *err);
void tsw_node_free(tsw_node_t *node);

/* The value of a key of a map, or NULL. */
const tsw_node_t *tsw_node_find(const tsw_node_t *map, const char *key);

/* A plain scalar as a value; false when it is none. Whole numbers are decimal without leading
 * zeros, truth values are true and false, a missing value (empty, ~, null) is neither. */
bool tsw_node_i64(const tsw_node_t *node, int64_t *value_p);
bool tsw_node_f64(const tsw_node_t *node, double *value_p);
bool tsw_node_bool(const tsw_node_t *node, bool *value_p);
bool tsw_node_seconds(const tsw_node_t *node, double *value_p);
bool tsw_node_is_null(const tsw_node_t *node);

/* "a list", "a map", or the start of a scalar in quotes; returns out. */
char *tsw_node_describe(const tsw_node_t *node, char out[64]);

#endif
