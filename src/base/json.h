/* Writing JSON by hand: the two parts that are easy to get wrong. Reading, and files with a format
 * of their own, are the table module's. */
#ifndef TSW_BASE_JSON_H
#define TSW_BASE_JSON_H

#include "base/buf.h"

/* Append text as a JSON string with its quotes; what is no UTF-8 becomes U+FFFD. */
void tsw_json_append_text(tsw_buf_t *out, const char *text);
/* Append a number with 12 digits; null for what JSON lacks (infinity, NaN). */
void tsw_json_append_real(tsw_buf_t *out, double value);

#endif
