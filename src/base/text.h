/* Small text helpers. */
#ifndef TSW_BASE_TEXT_H
#define TSW_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The candidate nearest to word (Damerau-Levenshtein, case folded), or NULL when none is within
 * a third of the longer length (at least 1, at most 4 edits). Borrowed from candidates. */
const char *tsw_text_nearest(const char *word, const char *const *candidates, size_t count);

/* Strict base-10 integer: optional '-', digits, nothing else; false on anything else or overflow.
 */
bool tsw_text_parse_i64(const char *text, int64_t *value_p);
/* Strict finite decimal floating point number. */
bool tsw_text_parse_f64(const char *text, double *value_p);
/* "90", "90s", "15m", "8h" to seconds, at most 1e9 of them; false on anything else. */
bool tsw_text_parse_seconds(const char *text, double *seconds_p);

/* "1.3 us", "12.5 ms": three significant digits; returns out. */
char *tsw_text_format_ns(double ns, char out[32]);
/* "45 s", "12 min", "3.4 h"; "?" for infinity and NaN; returns out. */
char *tsw_text_format_seconds(double seconds, char out[32]);
/* "37.2 KiB": returns out. */
char *tsw_text_format_bytes(double bytes, char out[32]);

bool tsw_text_starts_with(const char *text, const char *prefix);
bool tsw_text_ends_with(const char *text, const char *suffix);

#endif
