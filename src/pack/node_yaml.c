/* libyaml's events to a tree of nodes. */
#include "pack/node.h"

#include "base/mem.h"

#include <string.h>
#include <yaml.h>

typedef struct {
    const char *file;
    yaml_parser_t parser;
    tsw_node_t *root;
    tsw_node_t *open[TSW_NODE_DEPTH_MAX]; /* lists and maps not yet closed, outermost first */
    tsw_node_t *key[TSW_NODE_DEPTH_MAX];  /* of an open map: a key that waits for its value */
    size_t depth;
} builder_t;

static tsw_place_t start_of(const char *file)
{
    return (tsw_place_t){file, 1, 1};
}

static tsw_place_t place_of(const builder_t *builder, yaml_mark_t mark)
{
    return (tsw_place_t){builder->file, (int)mark.line + 1, (int)mark.column + 1};
}

/* Place of a byte offset; columns count bytes here. */
static tsw_place_t place_of_offset(const builder_t *builder, const char *bytes, size_t size,
                                   size_t offset)
{
    tsw_place_t place = {builder->file, 1, 1};
    for (size_t i = 0; i < offset && i < size; i++) {
        place.column++;
        if (bytes[i] == '\n') {
            place.line++;
            place.column = 1;
        }
    }
    return place;
}

static tsw_status_t syntax_error(const builder_t *builder, const char *bytes, size_t size,
                                 tsw_err_t *err)
{
    const yaml_parser_t *parser = &builder->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return tsw_err_nomem(err);
    const char *problem = parser->problem != NULL ? parser->problem : "no YAML";
    if (parser->error == YAML_READER_ERROR)
        return tsw_place_err(err, TSW_ERR_INPUT,
                             place_of_offset(builder, bytes, size, parser->problem_offset),
                             "no UTF-8 text: %s", problem);
    return tsw_place_err(err, TSW_ERR_INPUT, place_of(builder, parser->problem_mark), "%s%s%s",
                         parser->context != NULL ? parser->context : "",
                         parser->context != NULL ? ": " : "", problem);
}

static bool grow(tsw_node_t *node)
{
    if (node->count < node->capacity)
        return true;
    size_t wanted = node->capacity > 0 ? node->capacity * 2 : 4;
    tsw_node_t **items = tsw_realloc_array(node->items, wanted, sizeof(*items));
    if (items == NULL)
        return false;
    node->items = items;
    if (node->kind == TSW_NODE_MAP) {
        tsw_node_t **keys = tsw_realloc_array(node->keys, wanted, sizeof(*keys));
        if (keys == NULL)
            return false;
        node->keys = keys;
    }
    node->capacity = wanted;
    return true;
}

/* A scalar where a map expects a key. Takes node over. */
static tsw_status_t take_key(builder_t *builder, tsw_node_t *node, tsw_err_t *err)
{
    const tsw_node_t *map = builder->open[builder->depth - 1];
    tsw_status_t status = TSW_OK;
    if (node->kind != TSW_NODE_SCALAR)
        status = tsw_place_err(err, TSW_ERR_INPUT, node->place, "a key must be a word");
    else if (strpbrk(node->text, "()") != NULL)
        status = tsw_place_err(err, TSW_ERR_INPUT, node->place,
                               "'%.60s' is no key: inside { } or [ ] an expression with a comma "
                               "needs quotes",
                               node->text);
    else if (map->count >= TSW_NODE_KEYS_MAX)
        status = tsw_place_err(err, TSW_ERR_INPUT, node->place, "a map has at most %d keys",
                               TSW_NODE_KEYS_MAX);
    else if (tsw_node_find(map, node->text) != NULL)
        status = tsw_place_err(err, TSW_ERR_INPUT, node->place,
                               "key '%.60s' is there twice, first in line %d", node->text,
                               tsw_node_find(map, node->text)->place.line);
    if (status != TSW_OK) {
        tsw_node_free(node);
        return status;
    }
    builder->key[builder->depth - 1] = node;
    return TSW_OK;
}

/* Put a complete or just opened node where it belongs. Takes node over. */
static tsw_status_t place_node(builder_t *builder, tsw_node_t *node, tsw_err_t *err)
{
    if (builder->depth == 0) {
        builder->root = node;
        return TSW_OK;
    }
    tsw_node_t *parent = builder->open[builder->depth - 1];
    tsw_node_t **key = &builder->key[builder->depth - 1];
    if (parent->kind == TSW_NODE_MAP && *key == NULL)
        return take_key(builder, node, err);
    if (!grow(parent)) {
        tsw_node_free(node);
        return tsw_err_nomem(err);
    }
    if (parent->kind == TSW_NODE_MAP)
        parent->keys[parent->count] = *key;
    parent->items[parent->count++] = node;
    *key = NULL;
    return TSW_OK;
}

static tsw_status_t refuse_extras(const builder_t *builder, const yaml_event_t *event,
                                  const unsigned char *anchor, const unsigned char *tag,
                                  tsw_err_t *err)
{
    tsw_place_t place = place_of(builder, event->start_mark);
    if (anchor != NULL)
        return tsw_place_err(err, TSW_ERR_INPUT, place, "anchors (&%.40s) are not supported",
                             (const char *)anchor);
    if (tag != NULL)
        return tsw_place_err(err, TSW_ERR_INPUT, place, "tags (%.40s) are not supported",
                             (const char *)tag);
    return TSW_OK;
}

static tsw_status_t add_scalar(builder_t *builder, const yaml_event_t *event, tsw_err_t *err)
{
    const char *value = (const char *)event->data.scalar.value;
    tsw_place_t place = place_of(builder, event->start_mark);
    tsw_status_t status =
        refuse_extras(builder, event, event->data.scalar.anchor, event->data.scalar.tag, err);
    if (status != TSW_OK)
        return status;
    if (strlen(value) != event->data.scalar.length)
        return tsw_place_err(err, TSW_ERR_INPUT, place, "a text with a zero byte");
    tsw_node_t *node = tsw_calloc(1, sizeof(*node));
    char *text = tsw_strdup(value);
    if (node == NULL || text == NULL) {
        tsw_free(node);
        tsw_free(text);
        return tsw_err_nomem(err);
    }
    node->kind = TSW_NODE_SCALAR;
    node->place = place;
    node->text = text;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return place_node(builder, node, err);
}

static tsw_status_t open_node(builder_t *builder, tsw_node_kind_t kind, const yaml_event_t *event,
                              tsw_err_t *err)
{
    tsw_place_t place = place_of(builder, event->start_mark);
    if (builder->depth == TSW_NODE_DEPTH_MAX)
        return tsw_place_err(err, TSW_ERR_INPUT, place, "nested deeper than %d levels",
                             TSW_NODE_DEPTH_MAX);
    tsw_status_t status = kind == TSW_NODE_LIST
                              ? refuse_extras(builder, event, event->data.sequence_start.anchor,
                                              event->data.sequence_start.tag, err)
                              : refuse_extras(builder, event, event->data.mapping_start.anchor,
                                              event->data.mapping_start.tag, err);
    if (status != TSW_OK)
        return status;
    tsw_node_t *node = tsw_calloc(1, sizeof(*node));
    if (node == NULL)
        return tsw_err_nomem(err);
    node->kind = kind;
    node->place = place;
    bool is_key = builder->depth > 0 && builder->open[builder->depth - 1]->kind == TSW_NODE_MAP &&
                  builder->key[builder->depth - 1] == NULL;
    status = place_node(builder, node, err);
    TSW_ASSERT(status != TSW_OK || !is_key); /* take_key refuses all but scalars */
    if (status == TSW_OK)
        builder->open[builder->depth++] = node;
    return status;
}

static tsw_status_t take_event(builder_t *builder, const yaml_event_t *event, tsw_err_t *err)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (builder->root != NULL)
            return tsw_place_err(err, TSW_ERR_INPUT, place_of(builder, event->start_mark),
                                 "a second document: only one is supported");
        return TSW_OK;
    case YAML_ALIAS_EVENT:
        return tsw_place_err(err, TSW_ERR_INPUT, place_of(builder, event->start_mark),
                             "aliases (*%.40s) are not supported",
                             (const char *)event->data.alias.anchor);
    case YAML_SCALAR_EVENT:
        return add_scalar(builder, event, err);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(builder, TSW_NODE_LIST, event, err);
    case YAML_MAPPING_START_EVENT:
        return open_node(builder, TSW_NODE_MAP, event, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        builder->depth--;
        return TSW_OK;
    default:
        return TSW_OK;
    }
}

static tsw_status_t take_all_events(builder_t *builder, const char *bytes, size_t size,
                                    tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    bool ended = false;
    while (status == TSW_OK && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&builder->parser, &event))
            return syntax_error(builder, bytes, size, err);
        ended = event.type == YAML_STREAM_END_EVENT;
        status = take_event(builder, &event, err);
        yaml_event_delete(&event);
    }
    if (status == TSW_OK && builder->root == NULL)
        return tsw_place_err(err, TSW_ERR_INPUT, start_of(builder->file), "the file is empty");
    return status;
}

tsw_status_t tsw_node_read(const char *file, const void *bytes, size_t size, tsw_node_t **node_p,
                           tsw_err_t *err)
{
    if (size > TSW_NODE_BYTES_MAX)
        return tsw_place_err(err, TSW_ERR_INPUT, start_of(file),
                             "larger than %u bytes (long lists of shapes go to a CSV file)",
                             TSW_NODE_BYTES_MAX);
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf}; /* that editors put before UTF-8 text */
    if (size >= sizeof(mark) && memcmp(bytes, mark, sizeof(mark)) == 0) {
        bytes = (const uint8_t *)bytes + sizeof(mark);
        size -= sizeof(mark);
    }
    builder_t builder = {.file = file};
    if (!yaml_parser_initialize(&builder.parser))
        return tsw_err_nomem(err);
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder.parser, bytes != NULL ? bytes : (const void *)"", size);
    tsw_status_t status = take_all_events(&builder, bytes, size, err);
    for (size_t i = 0; i < TSW_NODE_DEPTH_MAX; i++)
        tsw_node_free(builder.key[i]); /* keys of maps cut short */
    yaml_parser_delete(&builder.parser);
    if (status == TSW_OK)
        *node_p = builder.root;
    else
        tsw_node_free(builder.root);
    return status;
}
