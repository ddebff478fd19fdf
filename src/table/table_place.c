#include "table/table_place.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
    const char *at;
    const char *end;
} cursor_t;

static bool more(const cursor_t *c)
{
    return c->at < c->end;
}

static bool take(cursor_t *c, char wanted)
{
    if (!more(c) || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static void skip_blank(cursor_t *c)
{
    while (more(c) && strchr(" \t\r\n", *c->at) != NULL && *c->at != '\0')
        c->at++;
}

static void skip_string(cursor_t *c)
{
    if (!take(c, '"'))
        return;
    while (more(c) && *c->at != '"')
        c->at += *c->at == '\\' && c->at + 1 < c->end ? 2 : 1;
    take(c, '"');
}

/* A value of any kind; brackets are counted, so that no recursion is needed. */
static void skip_value(cursor_t *c)
{
    size_t depth = 0;
    do {
        skip_blank(c);
        if (!more(c))
            return;
        if (*c->at == '"') {
            skip_string(c);
        } else if (*c->at == '{' || *c->at == '[') {
            depth++;
            c->at++;
        } else if (*c->at == '}' || *c->at == ']') {
            depth--;
            c->at++;
        } else if (*c->at == ',' || *c->at == ':') {
            c->at++;
        } else {
            while (more(c) && strchr(",:]} \t\r\n", *c->at) == NULL)
                c->at++;
        }
    } while (depth > 0);
}

/* Moves to the wanted key (its quote) of the object at c. */
static bool enter_key(cursor_t *c, const char *key)
{
    if (!take(c, '{'))
        return false;
    size_t length = strlen(key);
    while (more(c)) {
        skip_blank(c);
        cursor_t name = *c;
        skip_string(c);
        if ((size_t)(c->at - name.at) == length + 2 && memcmp(name.at + 1, key, length) == 0) {
            *c = name;
            return true;
        }
        skip_blank(c);
        if (!take(c, ':'))
            return false;
        skip_value(c);
        skip_blank(c);
        if (!take(c, ','))
            return false;
    }
    return false;
}

static bool enter_index(cursor_t *c, size_t index)
{
    if (!take(c, '['))
        return false;
    for (size_t i = 0; i < index; i++) {
        skip_value(c);
        skip_blank(c);
        if (!take(c, ','))
            return false;
    }
    skip_blank(c);
    return more(c);
}

/* From a key to its value. */
static void enter_value(cursor_t *c)
{
    skip_string(c);
    skip_blank(c);
    take(c, ':');
    skip_blank(c);
}

void tsw_table_place_find(const char *text, size_t size, const tsw_table_path_t *path, int *line_p,
                          int *column_p)
{
    cursor_t c = {.at = text, .end = text + size};
    skip_blank(&c);
    const char *found = c.at;
    for (size_t i = 0; i < path->count; i++) {
        const char *key = path->steps[i].key;
        if (!(key != NULL ? enter_key(&c, key) : enter_index(&c, path->steps[i].index)))
            break;
        found = c.at;
        if (key != NULL)
            enter_value(&c);
    }
    int line = 1;
    int column = 1;
    for (const char *p = text; p < found; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    *line_p = line;
    *column_p = column;
}
