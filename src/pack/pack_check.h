/* The two steps of reading a pack behind the schema. Private to pack. */
#ifndef TSW_PACK_PACK_CHECK_H
#define TSW_PACK_PACK_CHECK_H

#include "pack/pack.h"
#include "pack/view.h"

#define TSW_PACK_FILE "kernel.yaml"

/* Copy all values into a zeroed pack; names must be unique. What was copied before an error is
 * released by tsw_pack_free. */
tsw_status_t tsw_pack_fill(tsw_pack_t *pack, tsw_view_t view, tsw_err_t *err);

/* What needs the pack as a whole: expressions, files, tolerances, arguments. */
tsw_status_t tsw_pack_check(tsw_pack_t *pack, tsw_err_t *err);

#endif
