#include "pack/node.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void tsw_node_free(tsw_node_t *node)
{
    if (node == NULL)
        return;
    for (size_t i = 0; i < node->count; i++) {
        if (node->keys != NULL)
            tsw_node_free(node->keys[i]);
        tsw_node_free(node->items[i]);
    }
    tsw_free(node->keys);
    tsw_free(node->items);
    tsw_free(node->text);
    tsw_free(node);
}

const tsw_node_t *tsw_node_find(const tsw_node_t *map, const char *key)
{
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->keys[i]->text, key) == 0)
            return map->items[i];
    }
    return NULL;
}

static bool is_plain(const tsw_node_t *node)
{
    return node->kind == TSW_NODE_SCALAR && !node->quoted;
}

/* 010 is 8 to some and 10 to others: it is no number here. */
static bool has_leading_zero(const char *text)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    return digits[0] == '0' && isdigit((unsigned char)digits[1]);
}

bool tsw_node_i64(const tsw_node_t *node, int64_t *value_p)
{
    return is_plain(node) && !has_leading_zero(node->text) &&
           tsw_text_parse_i64(node->text, value_p);
}

bool tsw_node_f64(const tsw_node_t *node, double *value_p)
{
    return is_plain(node) && !has_leading_zero(node->text) &&
           tsw_text_parse_f64(node->text, value_p);
}

bool tsw_node_bool(const tsw_node_t *node, bool *value_p)
{
    if (!is_plain(node))
        return false;
    bool is_true = strcmp(node->text, "true") == 0;
    if (!is_true && strcmp(node->text, "false") != 0)
        return false;
    *value_p = is_true;
    return true;
}

bool tsw_node_seconds(const tsw_node_t *node, double *value_p)
{
    return node->kind == TSW_NODE_SCALAR && !has_leading_zero(node->text) &&
           tsw_text_parse_seconds(node->text, value_p);
}

bool tsw_node_is_null(const tsw_node_t *node)
{
    return is_plain(node) && (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
                              strcmp(node->text, "null") == 0);
}

char *tsw_node_describe(const tsw_node_t *node, char out[64])
{
    if (node->kind == TSW_NODE_LIST)
        snprintf(out, 64, "a list");
    else if (node->kind == TSW_NODE_MAP)
        snprintf(out, 64, "a map");
    else if (tsw_node_is_null(node))
        snprintf(out, 64, "nothing");
    else
        snprintf(out, 64, strlen(node->text) > 48 ? "'%.48s...'" : "'%.48s'", node->text);
    return out;
}
