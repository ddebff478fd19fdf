/* Rows of configs, as packs and jobs write them. Private to pack. */
#ifndef TSW_PACK_ROWS_H
#define TSW_PACK_ROWS_H

#include "pack/node.h"
#include "pack/pack.h"

/* Read a list of maps that the schema has checked: every knob of the pack, and nothing else, with
 * legal values of hints. *rows_p is heap; free with tsw_rows_free. TSW_ERR_INPUT with the place. */
tsw_status_t tsw_rows_read(const tsw_pack_t *pack, const tsw_node_t *list,
                           tsw_config_row_t **rows_p, size_t *count_p, tsw_err_t *err);
void tsw_rows_free(tsw_config_row_t *rows, size_t count);

/* The index of a knob that a key names; an error with the nearest one. */
tsw_status_t tsw_knob_find(const tsw_pack_t *pack, const tsw_node_t *name, size_t *index_p,
                           tsw_err_t *err);
/* Whether a hint may have this value; all other knobs may have any. */
tsw_status_t tsw_knob_check(const tsw_knob_t *knob, int64_t value, tsw_place_t place,
                            tsw_err_t *err);

#endif
