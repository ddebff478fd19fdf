#include "record/inputs.h"

#include <string.h>

typedef struct {
    const char *name, *value;
    size_t name_length, value_length;
} line_t;

/* The next line of *at_p, which moves on; false at the end. What is no line is passed over. */
static bool next_line(const char **at_p, line_t *line)
{
    while (*at_p != NULL && **at_p != '\0') {
        const char *start = *at_p;
        size_t length = strcspn(start, "\n");
        *at_p = start + length + (start[length] == '\n');
        const char *colon = strstr(start, ": ");
        if (colon == NULL || colon >= start + length)
            continue;
        *line = (line_t){.name = start,
                         .value = colon + 2,
                         .name_length = (size_t)(colon - start),
                         .value_length = length - (size_t)(colon + 2 - start)};
        return true;
    }
    return false;
}

static bool same_name(const line_t *a, const line_t *b)
{
    return a->name_length == b->name_length && memcmp(a->name, b->name, a->name_length) == 0;
}

static bool same_value(const line_t *a, const line_t *b)
{
    return a->value_length == b->value_length && memcmp(a->value, b->value, a->value_length) == 0;
}

/* The line of that name; when there are several, the very same one if it is among them. */
static bool find(const char *text, const line_t *wanted, line_t *found)
{
    bool any = false;
    for (line_t line; next_line(&text, &line);) {
        if (!same_name(&line, wanted))
            continue;
        if (!any || same_value(&line, wanted))
            *found = line;
        any = true;
    }
    return any;
}

static void append(tsw_buf_t *out, const line_t *name, const line_t *before, const line_t *now)
{
    tsw_buf_append_text(out, "  ");
    tsw_buf_append(out, name->name, name->name_length);
    tsw_buf_append_text(out, ": ");
    if (before != NULL)
        tsw_buf_append(out, before->value, before->value_length);
    tsw_buf_append_text(out, before != NULL ? " -> " : "none -> ");
    if (now != NULL)
        tsw_buf_append(out, now->value, now->value_length);
    tsw_buf_append_text(out, now != NULL ? "\n" : "none\n");
}

size_t tsw_inputs_compare(const char *before, const char *now, tsw_buf_t *out)
{
    size_t count = 0;
    line_t line, other;
    for (const char *at = before; next_line(&at, &line);) {
        bool there = find(now, &line, &other);
        if (there && same_value(&line, &other))
            continue;
        append(out, &line, &line, there ? &other : NULL);
        count++;
    }
    for (const char *at = now; next_line(&at, &line);) {
        if (find(before, &line, &other))
            continue;
        append(out, &line, NULL, &line);
        count++;
    }
    return count;
}

size_t tsw_inputs_compare_value(const char *name, const char *before, const char *now,
                                tsw_buf_t *out)
{
    if (strcmp(before, now) == 0)
        return 0;
    tsw_buf_printf(out, "  %s: %s -> %s\n", name, before[0] != '\0' ? before : "none",
                   now[0] != '\0' ? now : "none");
    return 1;
}

/* Whether every line of a that starts with the prefix is in b as it is. */
static bool covers(const char *a, const char *b, const char *prefix)
{
    line_t line, other;
    size_t length = strlen(prefix);
    while (next_line(&a, &line)) {
        if (line.name_length < length || memcmp(line.name, prefix, length) != 0)
            continue;
        if (!find(b, &line, &other) || !same_value(&line, &other))
            return false;
    }
    return true;
}

bool tsw_inputs_same(const char *before, const char *now, const char *prefix)
{
    return covers(before, now, prefix) && covers(now, before, prefix);
}
