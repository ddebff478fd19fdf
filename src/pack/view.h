/* A checked map of a file through the eyes of its schema: values by key, defaults where a key is
 * absent. Asking for a key that the schema lacks is a bug. Private to pack. */
#ifndef TSW_PACK_VIEW_H
#define TSW_PACK_VIEW_H

#include "pack/expr.h"
#include "pack/node.h"
#include "pack/schema.h"

typedef struct {
    const tsw_node_t *node; /* borrowed; NULL: the map is absent, all values are defaults */
    const struct tsw_map *map;
} tsw_view_t;

/* Check a document against the schema: unknown, missing and doubled keys, types, limits. The view
 * borrows the document. TSW_ERR_INPUT with the place and the nearest known word. */
tsw_status_t tsw_view_open(tsw_schema_id_t id, const tsw_node_t *document, tsw_view_t *view_p,
                           tsw_err_t *err);

bool tsw_view_has(tsw_view_t view, const char *key);
tsw_place_t tsw_view_place(tsw_view_t view, const char *key); /* of the value, else of the map */
const tsw_node_t *tsw_view_node(tsw_view_t view, const char *key); /* NULL: absent */
size_t tsw_view_count(tsw_view_t view, const char *key);           /* of a list; 0: absent */

/* Values; the default where the key is absent. */
int64_t tsw_view_i64(tsw_view_t view, const char *key);
double tsw_view_real(tsw_view_t view, const char *key);
double tsw_view_seconds(tsw_view_t view, const char *key);
bool tsw_view_bool(tsw_view_t view, const char *key);
int tsw_view_word(tsw_view_t view, const char *key);         /* index in the schema's words */
const char *tsw_view_text(tsw_view_t view, const char *key); /* borrowed; NULL: absent */
tsw_status_t tsw_view_copy(tsw_view_t view, const char *key, char **text_p, tsw_err_t *err);
tsw_status_t tsw_view_expr(tsw_view_t view, const char *key, tsw_expr_t *expr_p, tsw_err_t *err);
tsw_status_t tsw_node_expr(const tsw_node_t *node, tsw_expr_t *expr_p, tsw_err_t *err);

tsw_view_t tsw_view_map(tsw_view_t view, const char *key);
tsw_view_t tsw_view_item(tsw_view_t view, const char *key, size_t index); /* of a list of maps */

/* Keys that are not fields: sets *key_p and *value_p and returns true while there are more. Start
 * with *cursor 0. */
bool tsw_view_next(tsw_view_t view, size_t *cursor, const tsw_node_t **key_p,
                   const tsw_node_t **value_p);
/* The view of such a value, where it is a map. */
tsw_view_t tsw_view_rest_map(tsw_view_t view, const tsw_node_t *value);

#endif
