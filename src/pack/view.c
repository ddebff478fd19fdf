#include "pack/view.h"

#include "base/mem.h"
#include "pack/schema_type.h"

#include <string.h>

static const tsw_field_t *field_of(tsw_view_t view, const char *key)
{
    const tsw_field_t *field = tsw_map_field(view.map, key);
    TSW_ASSERT(field != NULL);
    return field;
}

const tsw_node_t *tsw_view_node(tsw_view_t view, const char *key)
{
    field_of(view, key);
    return view.node != NULL ? tsw_node_find(view.node, key) : NULL;
}

bool tsw_view_has(tsw_view_t view, const char *key)
{
    return tsw_view_node(view, key) != NULL;
}

tsw_place_t tsw_view_place(tsw_view_t view, const char *key)
{
    const tsw_node_t *node = tsw_view_node(view, key);
    if (node != NULL)
        return node->place;
    return view.node != NULL ? view.node->place : (tsw_place_t){.line = 0};
}

size_t tsw_view_count(tsw_view_t view, const char *key)
{
    const tsw_node_t *node = tsw_view_node(view, key);
    return node != NULL && node->kind == TSW_NODE_LIST ? node->count : 0;
}

const char *tsw_view_text(tsw_view_t view, const char *key)
{
    const tsw_node_t *node = tsw_view_node(view, key);
    return node != NULL ? node->text : field_of(view, key)->preset;
}

/* The value, or the default in the guise of a node. */
static tsw_node_t scalar_of(tsw_view_t view, const char *key, char text[64])
{
    const tsw_node_t *node = tsw_view_node(view, key);
    if (node != NULL)
        return *node;
    const char *preset = field_of(view, key)->preset;
    TSW_ASSERT(preset != NULL && strlen(preset) < 64);
    strcpy(text, preset);
    return (tsw_node_t){.kind = TSW_NODE_SCALAR, .text = text};
}

int64_t tsw_view_i64(tsw_view_t view, const char *key)
{
    char text[64];
    tsw_node_t node = scalar_of(view, key, text);
    int64_t value = 0;
    bool valid = tsw_node_i64(&node, &value);
    TSW_ASSERT(valid);
    return value;
}

double tsw_view_real(tsw_view_t view, const char *key)
{
    char text[64];
    tsw_node_t node = scalar_of(view, key, text);
    double value = 0.0;
    bool valid = tsw_node_f64(&node, &value);
    TSW_ASSERT(valid);
    return value;
}

double tsw_view_seconds(tsw_view_t view, const char *key)
{
    char text[64];
    tsw_node_t node = scalar_of(view, key, text);
    double value = 0.0;
    bool valid = tsw_node_seconds(&node, &value);
    TSW_ASSERT(valid);
    return value;
}

bool tsw_view_bool(tsw_view_t view, const char *key)
{
    char text[64];
    tsw_node_t node = scalar_of(view, key, text);
    bool value = false;
    bool valid = tsw_node_bool(&node, &value);
    TSW_ASSERT(valid);
    return value;
}

int tsw_view_word(tsw_view_t view, const char *key)
{
    const char *const *words = field_of(view, key)->type->words;
    const char *text = tsw_view_text(view, key);
    TSW_ASSERT(words != NULL && text != NULL);
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0)
            return i;
    }
    TSW_ASSERT(false);
    return -1;
}

tsw_status_t tsw_view_copy(tsw_view_t view, const char *key, char **text_p, tsw_err_t *err)
{
    const char *text = tsw_view_text(view, key);
    TSW_ASSERT(text != NULL);
    char *copy = tsw_strdup(text);
    if (copy == NULL)
        return tsw_err_nomem(err);
    *text_p = copy;
    return TSW_OK;
}

tsw_status_t tsw_node_expr(const tsw_node_t *node, tsw_expr_t *expr_p, tsw_err_t *err)
{
    char *text = tsw_strdup(node->text);
    if (text == NULL)
        return tsw_err_nomem(err);
    *expr_p = (tsw_expr_t){.text = text, .place = node->place};
    return TSW_OK;
}

tsw_status_t tsw_view_expr(tsw_view_t view, const char *key, tsw_expr_t *expr_p, tsw_err_t *err)
{
    char text[64];
    tsw_node_t node = scalar_of(view, key, text);
    return tsw_node_expr(&node, expr_p, err);
}

tsw_view_t tsw_view_map(tsw_view_t view, const char *key)
{
    const tsw_map_t *map = tsw_type_map(field_of(view, key)->type);
    TSW_ASSERT(map != NULL);
    return (tsw_view_t){tsw_view_node(view, key), map};
}

tsw_view_t tsw_view_item(tsw_view_t view, const char *key, size_t index)
{
    tsw_view_t list = tsw_view_map(view, key);
    TSW_ASSERT(list.node != NULL && index < list.node->count);
    return (tsw_view_t){list.node->items[index], list.map};
}

bool tsw_view_next(tsw_view_t view, size_t *cursor, const tsw_node_t **key_p,
                   const tsw_node_t **value_p)
{
    while (view.node != NULL && *cursor < view.node->count) {
        size_t i = (*cursor)++;
        if (tsw_map_field(view.map, view.node->keys[i]->text) != NULL)
            continue;
        *key_p = view.node->keys[i];
        *value_p = view.node->items[i];
        return true;
    }
    return false;
}

tsw_view_t tsw_view_rest_map(tsw_view_t view, const tsw_node_t *value)
{
    TSW_ASSERT(view.map->rest != NULL);
    const tsw_map_t *map = tsw_type_map(view.map->rest->type);
    TSW_ASSERT(map != NULL);
    return (tsw_view_t){value, map};
}
