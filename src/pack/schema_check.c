/* Checks a document against the schema tables. */
#include "base/text.h"
#include "pack/schema_type.h"
#include "pack/view.h"

#include <stdio.h>
#include <string.h>

enum { WORD_LIST_MAX = 64 };

/* What a node is to its owner, for messages: "'dims'" or "item 2 of 'dims'". */
typedef struct {
    const char *key;
    size_t item; /* from 1; 0: not in a list */
} role_t;

static tsw_status_t check_value(const tsw_type_t *type, const tsw_node_t *node, role_t role,
                                tsw_err_t *err);

static char *format_role(role_t role, char out[128])
{
    if (role.item > 0)
        snprintf(out, 128, "item %zu of '%.80s'", role.item, role.key);
    else
        snprintf(out, 128, "'%.80s'", role.key);
    return out;
}

static tsw_status_t wrong_value(const tsw_type_t *type, const tsw_node_t *node, role_t role,
                                const char *hint, tsw_err_t *err)
{
    char what[128];
    char found[64];
    tsw_buf_t wanted = TSW_BUF_INIT;
    tsw_type_describe(type, &wanted);
    tsw_status_t status =
        tsw_place_err(err, TSW_ERR_INPUT, node->place, "%s is %s, wanted %s%s",
                      format_role(role, what), tsw_node_describe(node, found),
                      tsw_buf_ok(&wanted) ? tsw_buf_text(&wanted) : "something else", hint);
    tsw_buf_fini(&wanted);
    return status;
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;
    while (words[count] != NULL)
        count++;
    return count;
}

static tsw_status_t check_word(const tsw_type_t *type, const tsw_node_t *node, role_t role,
                               tsw_err_t *err)
{
    size_t count = count_words(type->words);
    for (size_t i = 0; node->kind == TSW_NODE_SCALAR && i < count; i++) {
        if (strcmp(type->words[i], node->text) == 0)
            return TSW_OK;
    }
    char hint[96] = "";
    if (node->kind == TSW_NODE_SCALAR)
        tsw_name_hint(node->text, type->words, count, hint);
    return wrong_value(type, node, role, hint, err);
}

/* Why digits are no number of ours. */
static const char *number_hint(const tsw_node_t *node)
{
    double number = 0.0;
    if (node->kind != TSW_NODE_SCALAR)
        return "";
    if (node->quoted && tsw_text_parse_f64(node->text, &number))
        return " without quotes";
    const char *digits = node->text[0] == '-' ? node->text + 1 : node->text;
    if (digits[0] == '\0' || strspn(digits, "0123456789") != strlen(digits))
        return "";
    return digits[0] == '0' && digits[1] != '\0' ? " without leading zeros" : " of at most 64 bits";
}

static bool is_within(const tsw_type_t *type, double value)
{
    return !type->bounded ||
           (value >= (double)type->min && (type->max == 0 || value <= (double)type->max));
}

static tsw_status_t check_number(const tsw_type_t *type, const tsw_node_t *node, role_t role,
                                 tsw_err_t *err)
{
    int64_t integer = 0;
    double real = 0.0;
    bool valid = false;
    if (type->kind == TSW_TYPE_INT) {
        valid = tsw_node_i64(node, &integer);
        real = (double)integer;
    } else if (type->kind == TSW_TYPE_REAL) {
        valid = tsw_node_f64(node, &real);
    } else {
        valid = tsw_node_seconds(node, &real);
    }
    if (!valid)
        return wrong_value(type, node, role, number_hint(node), err);
    return is_within(type, real) ? TSW_OK : wrong_value(type, node, role, "", err);
}

static tsw_status_t check_scalar(const tsw_type_t *type, const tsw_node_t *node, role_t role,
                                 tsw_err_t *err)
{
    bool truth = false;
    bool has_text = node->kind == TSW_NODE_SCALAR && !tsw_node_is_null(node) &&
                    node->text[strspn(node->text, " \t\r\n")] != '\0';
    switch (type->kind) {
    case TSW_TYPE_WORD:
        return check_word(type, node, role, err);
    case TSW_TYPE_INT:
    case TSW_TYPE_REAL:
    case TSW_TYPE_SECONDS:
        return check_number(type, node, role, err);
    case TSW_TYPE_BOOL:
        return tsw_node_bool(node, &truth) ? TSW_OK : wrong_value(type, node, role, "", err);
    case TSW_TYPE_NAME:
        if (has_text && tsw_expr_is_reserved(node->text))
            return wrong_value(type, node, role, " (this one means something in expressions)", err);
        return has_text && tsw_expr_is_name(node->text) ? TSW_OK
                                                        : wrong_value(type, node, role, "", err);
    default:
        return has_text ? TSW_OK : wrong_value(type, node, role, "", err);
    }
}

static tsw_status_t check_list(const tsw_type_t *type, const tsw_node_t *node, role_t role,
                               tsw_err_t *err)
{
    char what[128];
    if (node->kind != TSW_NODE_LIST)
        return wrong_value(type, node, role, "", err);
    if (!is_within(type, (double)node->count)) {
        tsw_buf_t wanted = TSW_BUF_INIT;
        tsw_type_describe(type, &wanted);
        tsw_status_t status =
            tsw_place_err(err, TSW_ERR_INPUT, node->place, "%s has %zu entries, wanted %s",
                          format_role(role, what), node->count, tsw_buf_text(&wanted));
        tsw_buf_fini(&wanted);
        return status;
    }
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < node->count; i++)
        status = check_value(type->item, node->items[i], (role_t){role.key, i + 1}, err);
    return status;
}

static tsw_status_t unknown_key(const tsw_map_t *map, const tsw_node_t *key, tsw_err_t *err)
{
    const char *known[WORD_LIST_MAX] = {NULL};
    size_t count = 0;
    for (; count < map->field_count && count < WORD_LIST_MAX; count++)
        known[count] = map->fields[count].key;
    const char *nearest = tsw_text_nearest(key->text, known, count);
    if (nearest != NULL)
        return tsw_place_err(err, TSW_ERR_INPUT, key->place,
                             "unknown key '%.60s' (did you mean '%s'?)", key->text, nearest);
    tsw_buf_t list = TSW_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        tsw_buf_printf(&list, "%s%s", i > 0 ? ", " : "", known[i]);
    tsw_status_t status =
        tsw_place_err(err, TSW_ERR_INPUT, key->place, "unknown key '%.60s'; %s has the keys %s",
                      key->text, map->title, tsw_buf_text(&list));
    tsw_buf_fini(&list);
    return status;
}

static tsw_status_t missing_key(const tsw_map_t *map, const tsw_field_t *field,
                                const tsw_node_t *node, tsw_err_t *err)
{
    tsw_buf_t wanted = TSW_BUF_INIT;
    tsw_type_describe(field->type, &wanted);
    tsw_status_t status =
        tsw_place_err(err, TSW_ERR_INPUT, node->place, "%s lacks the key '%s' (%s)", map->title,
                      field->key, tsw_buf_text(&wanted));
    tsw_buf_fini(&wanted);
    return status;
}

static tsw_status_t check_map(const tsw_map_t *map, const tsw_node_t *node, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    size_t given = 0;
    for (size_t i = 0; status == TSW_OK && i < node->count; i++) {
        const tsw_node_t *key = node->keys[i];
        const tsw_field_t *field = tsw_map_field(map, key->text);
        given += field != NULL;
        if (field == NULL && map->rest == NULL)
            return unknown_key(map, key, err);
        if (field == NULL) {
            field = map->rest;
            status = check_scalar(map->rest_key, key, (role_t){"key", 0}, err);
        }
        if (status == TSW_OK)
            status = check_value(field->type, node->items[i], (role_t){key->text, 0}, err);
    }
    for (size_t i = 0; status == TSW_OK && i < map->field_count; i++) {
        const tsw_field_t *field = &map->fields[i];
        if (field->required && tsw_node_find(node, field->key) == NULL)
            status = missing_key(map, field, node, err);
    }
    if (status == TSW_OK && map->exactly_one && given != 1)
        status = tsw_place_err(err, TSW_ERR_INPUT, node->place, "%s has %zu keys, wanted one",
                               map->title, given);
    return status;
}

static bool fits_kind(const tsw_type_t *type, tsw_node_kind_t kind)
{
    if (type->kind == TSW_TYPE_LIST)
        return kind == TSW_NODE_LIST;
    return type->kind == TSW_TYPE_MAP ? kind == TSW_NODE_MAP : kind == TSW_NODE_SCALAR;
}

static tsw_status_t check_choice(const tsw_type_t *type, const tsw_node_t *node, role_t role,
                                 tsw_err_t *err)
{
    bool truth = false;
    for (size_t i = 0; type->choices[i] != NULL; i++) {
        const tsw_type_t *choice = type->choices[i];
        if (choice->kind == TSW_TYPE_BOOL && !tsw_node_bool(node, &truth))
            continue; /* it may as well be the only one of a list, without brackets */
        if (fits_kind(choice, node->kind))
            return check_value(choice, node, role, err);
    }
    return wrong_value(type, node, role, "", err);
}

static tsw_status_t check_value(const tsw_type_t *type, const tsw_node_t *node, role_t role,
                                tsw_err_t *err)
{
    if (type->kind == TSW_TYPE_CHOICE)
        return check_choice(type, node, role, err);
    if (type->kind == TSW_TYPE_LIST)
        return check_list(type, node, role, err);
    if (type->kind != TSW_TYPE_MAP)
        return check_scalar(type, node, role, err);
    if (node->kind != TSW_NODE_MAP)
        return wrong_value(type, node, role, "", err);
    return check_map(type->map, node, err);
}

tsw_status_t tsw_view_open(tsw_schema_id_t id, const tsw_node_t *document, tsw_view_t *view_p,
                           tsw_err_t *err)
{
    const tsw_map_t *root = tsw_schema_root(id);
    if (document->kind != TSW_NODE_MAP) {
        char found[64];
        return tsw_place_err(err, TSW_ERR_INPUT, document->place,
                             "the file is %s, wanted a map of keys",
                             tsw_node_describe(document, found));
    }
    tsw_status_t status = check_map(root, document, err);
    if (status == TSW_OK)
        *view_p = (tsw_view_t){document, root};
    return status;
}
