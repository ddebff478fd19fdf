#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Marks a text that was cut; what was quoted from a file does not command a terminal. */
static void finish(char *text, int wanted)
{
    if (wanted >= TSW_ERR_TEXT_MAX)
        memcpy(text + TSW_ERR_TEXT_MAX - 4, "...", 4);
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text == 0x7f)
            *text = '?';
}

tsw_status_t tsw_err_set_at(tsw_err_t *err, tsw_status_t code, long vendor, const char *file,
                            int line, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        int n = vsnprintf(err->text, sizeof(err->text), format, args);
        va_end(args);
        finish(err->text, n);
        err->code = code;
        err->vendor = vendor;
        err->origin_file = file;
        err->origin_line = line;
    }
    return code;
}

tsw_status_t tsw_err_wrap(tsw_err_t *err, const char *format, ...)
{
    if (err == NULL)
        return TSW_ERR_BUG;
    char old[TSW_ERR_TEXT_MAX];
    memcpy(old, err->text, sizeof(old));
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    if (n >= 0 && n < TSW_ERR_TEXT_MAX) {
        size_t used = (size_t)n;
        n += snprintf(err->text + used, sizeof(err->text) - used, ": %s", old);
    }
    finish(err->text, n);
    return err->code;
}

tsw_status_t tsw_err_turn(tsw_err_t *err, tsw_status_t code)
{
    if (err != NULL)
        err->code = code;
    return code;
}

void tsw_err_clear(tsw_err_t *err)
{
    if (err != NULL)
        *err = (tsw_err_t)TSW_ERR_INIT;
}

tsw_status_t tsw_err_from_errno(int errno_value)
{
    switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: /* a file size limit is a full disk to its user */
        return TSW_ERR_FULL;
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
        return TSW_ERR_NOT_FOUND;
    case EEXIST:
        return TSW_ERR_EXISTS;
    case ENOMEM:
        return TSW_ERR_NOMEM;
    default:
        return TSW_ERR_IO;
    }
}

_Noreturn void tsw_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "tilesweep: internal error: %s:%d: %s\n", file, line, cond);
    fflush(stderr);
    _exit(70);
}
