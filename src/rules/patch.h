/* Changes of one arch's list in the text of kernel.yaml; all else stays as it is, byte by byte. */
#ifndef TSW_RULES_PATCH_H
#define TSW_RULES_PATCH_H

#include "base/buf.h"
#include "pack/pack.h"

#define TSW_PATCH_START "--- a/" /* of a unified diff */

/* Appends the text of kernel.yaml with this list in place of the arch's own, or before the list
 * that served the arch. source: free text; rows: "{TILE_M: 64, occupancy: 1}".
 * TSW_ERR_UNSUPPORTED: the lists are not written in block style. */
tsw_status_t tsw_patch_replace(const tsw_pack_t *pack, tsw_arch_t arch, const char *source,
                               const char *const *rows, size_t row_count, tsw_buf_t *out,
                               tsw_err_t *err);

/* Appends the text with one more row for the arch. An arch that a default list serves gets a list
 * of its own: the default's rows, without num_ctas that it cannot have, and this one. why: a
 * comment behind the row. */
tsw_status_t tsw_patch_add(const tsw_pack_t *pack, tsw_arch_t arch, const char *row,
                           const char *why, tsw_buf_t *out, tsw_err_t *err);

/* Appends a unified diff; nothing when the texts are equal. name: of the file, behind a/ and b/. */
tsw_status_t tsw_patch_diff(const char *before, const char *after, const char *name, tsw_buf_t *out,
                            tsw_err_t *err);

#endif
