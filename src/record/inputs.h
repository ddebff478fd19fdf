/* What a run was made from, as text: a line "NAME: VALUE" each, so that people can be told what
 * differs between two runs. Names hold no ": ". */
#ifndef TSW_RECORD_INPUTS_H
#define TSW_RECORD_INPUTS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends "  NAME: OLD -> NEW\n" for every line that is not the same in both, in their order; a
 * side without that line has "none". Returns how many. NULL is a text without lines. */
size_t tsw_inputs_compare(const char *before, const char *now, tsw_buf_t *out);
/* One such line, unless old and new are equal. Returns 1 when there was a difference. */
size_t tsw_inputs_compare_value(const char *name, const char *before, const char *now,
                                tsw_buf_t *out);
/* Whether all lines whose names start with prefix are the same in both. */
bool tsw_inputs_same(const char *before, const char *now, const char *prefix);

#endif
