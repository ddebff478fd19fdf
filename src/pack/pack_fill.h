/* The parts of kernel.yaml, checked by the schema, each into its part of a zeroed pack. What was
 * copied before an error is released by tsw_pack_free. TSW_ERR_INPUT with the place, TSW_ERR_NOMEM.
 * Private to pack. */
#ifndef TSW_PACK_PACK_FILL_H
#define TSW_PACK_PACK_FILL_H

#include "pack/pack.h"
#include "pack/view.h"

/* ---- pack_names.c ---- */

tsw_status_t tsw_pack_fill_dims(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err);
tsw_status_t tsw_pack_fill_flags(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err);

/* A name shares its space with dims, flags, tunables and hints, as far as they are filled, and with
 * the names of the tool. */
tsw_status_t tsw_pack_check_new_name(const tsw_pack_t *pack, const tsw_node_t *name,
                                     tsw_err_t *err);
/* No text is there twice in a list. */
tsw_status_t tsw_pack_check_distinct(const tsw_node_t *list, tsw_err_t *err);
/* Nor a `name` among the items of a key; what: an item, in the message. */
tsw_status_t tsw_pack_check_names(tsw_view_t view, const char *key, const char *what,
                                  tsw_err_t *err);
/* The error for more than `limit` of them. */
tsw_status_t tsw_pack_too_many(const tsw_node_t *node, const char *what, int limit, tsw_err_t *err);

/* *count_p: of those that were copied, also on failure. */
tsw_status_t tsw_pack_copy_texts(const tsw_node_t *list, char ***texts_p, size_t *count_p,
                                 tsw_err_t *err);

/* ---- pack_args.c ---- */

tsw_status_t tsw_pack_fill_args(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err);

/* ---- pack_knobs.c: tunables and hints ---- */

tsw_status_t tsw_pack_fill_knobs(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err);

/* ---- pack_configs.c: they need the knobs ---- */

tsw_status_t tsw_pack_fill_baseline(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err);
tsw_status_t tsw_pack_fill_lists(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err);
tsw_status_t tsw_pack_fill_constraints(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err);
tsw_status_t tsw_pack_fill_exceptions(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err);

#endif
