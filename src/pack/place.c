#include "pack/place.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

tsw_status_t tsw_place_err_at(tsw_err_t *err, tsw_status_t code, tsw_place_t place,
                              const char *source_file, int source_line, const char *format, ...)
{
    if (err == NULL)
        return code;
    char text[TSW_ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (place.line == 0)
        return tsw_err_set_at(err, code, 0, source_file, source_line, "%s", text);
    return tsw_err_set_at(err, code, 0, source_file, source_line, "%s:%d:%d: %s",
                          place.file != NULL ? place.file : "?", place.line, place.column, text);
}

char *tsw_name_hint(const char *word, const char *const *names, size_t count, char out[96])
{
    const char *nearest = tsw_text_nearest(word, names, count);
    out[0] = '\0';
    if (nearest != NULL)
        snprintf(out, 96, " (did you mean '%s'?)", nearest);
    return out;
}
