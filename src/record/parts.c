#include "record/parts.h"

#include "base/mem.h"

#include <string.h>

#define PARTS_MAX 1000000u

void tsw_parts_fini(tsw_parts_t *parts)
{
    tsw_free(parts->has);
    *parts = (tsw_parts_t){0};
}

/* A whole number from 1 to max, which ends at one of the characters of stop; *at_p moves there. */
static bool read_number(const char **at_p, const char *stop, uint32_t max, uint32_t *number_p)
{
    uint64_t number = 0;
    const char *at = *at_p;
    for (; *at >= '0' && *at <= '9' && number <= max; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    if (at == *at_p || number < 1 || number > max || strchr(stop, *at) == NULL)
        return false;
    *at_p = at;
    *number_p = (uint32_t)number;
    return true;
}

static tsw_status_t bad_text(const char *text, tsw_err_t *err)
{
    return tsw_err_set(err, TSW_ERR_CORRUPT, "\"%.40s\" names no parts", text);
}

static tsw_status_t set_count(tsw_parts_t *parts, uint32_t count, tsw_err_t *err)
{
    if (parts->count == count)
        return TSW_OK;
    if (parts->count != 0)
        return tsw_err_set(err, TSW_ERR_ARG, "a part of %u cannot be joined with one of %u", count,
                           parts->count);
    parts->has = tsw_calloc(count, sizeof(parts->has[0]));
    if (parts->has == NULL)
        return tsw_err_nomem(err);
    parts->count = count;
    return TSW_OK;
}

tsw_status_t tsw_parts_add(tsw_parts_t *parts, const char *text, uint32_t *twice_p, tsw_err_t *err)
{
    const char *at = strchr(text, '/');
    uint32_t count = 0;
    *twice_p = 0;
    if (at++ == NULL || !read_number(&at, "", PARTS_MAX, &count))
        return bad_text(text, err);
    tsw_status_t status = set_count(parts, count, err);
    for (at = text; status == TSW_OK; at++) {
        uint32_t number = 0;
        if (!read_number(&at, ",/", count, &number))
            return bad_text(text, err);
        if (parts->has[number - 1])
            *twice_p = number;
        parts->has[number - 1] = true;
        if (*at == '/')
            break;
    }
    return status;
}

/* Numbers whose state is wanted, separated. */
static size_t list(const tsw_parts_t *parts, bool wanted, const char *separator, tsw_buf_t *out)
{
    size_t found = 0;
    for (uint32_t i = 0; i < parts->count; i++) {
        if (parts->has[i] == wanted)
            tsw_buf_printf(out, "%s%u", found++ > 0 ? separator : "", i + 1);
    }
    return found;
}

size_t tsw_parts_missing(const tsw_parts_t *parts, tsw_buf_t *out)
{
    return list(parts, false, ", ", out);
}

char *tsw_parts_text(const tsw_parts_t *parts)
{
    tsw_buf_t text = TSW_BUF_INIT;
    size_t found = list(parts, true, ",", &text);
    if (found == parts->count)
        tsw_buf_clear(&text);
    else
        tsw_buf_printf(&text, "/%u", parts->count);
    return tsw_buf_take_text(&text);
}
