/* Places in input files, and errors that name them. */
#ifndef TSW_PACK_PLACE_H
#define TSW_PACK_PLACE_H

#include "base/err.h"

#include <stddef.h>

/* A place in an input file, for messages "file:line:column: ...". */
typedef struct {
    const char *file; /* borrowed from the document that was read */
    int line;         /* from 1; 0: no place */
    int column;
} tsw_place_t;

/* Fill err (may be NULL) with "file:line:column: text" and return code. */
#define tsw_place_err(_err, _code, _place, ...)                                                    \
    tsw_place_err_at((_err), (_code), (_place), __FILE__, __LINE__, __VA_ARGS__)

tsw_status_t tsw_place_err_at(tsw_err_t *err, tsw_status_t code, tsw_place_t place,
                              const char *source_file, int source_line, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* " (did you mean 'x'?)" for the nearest of names, or ""; returns out. */
char *tsw_name_hint(const char *word, const char *const *names, size_t count, char out[96]);

#endif
