#include "base/json.h"

#include <math.h>

void tsw_json_append_text(tsw_buf_t *out, const char *text)
{
    tsw_buf_t utf8 = TSW_BUF_INIT;
    tsw_buf_append_utf8(&utf8, text);
    out->failed = out->failed || !tsw_buf_ok(&utf8);
    tsw_buf_append(out, "\"", 1);
    for (const char *p = tsw_buf_text(&utf8); *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20)
            tsw_buf_printf(out, "\\u%04x", (unsigned)*p);
        else if (*p == '"' || *p == '\\')
            tsw_buf_printf(out, "\\%c", *p);
        else
            tsw_buf_append(out, p, 1);
    }
    tsw_buf_append(out, "\"", 1);
    tsw_buf_fini(&utf8);
}

void tsw_json_append_real(tsw_buf_t *out, double value)
{
    if (isfinite(value))
        tsw_buf_printf(out, "%.12g", value);
    else
        tsw_buf_append_text(out, "null");
}
