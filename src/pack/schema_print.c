/* The schema as Markdown, and the small helpers of its types. */
#include "pack/schema_type.h"

#include "base/err.h"

#include <inttypes.h>
#include <string.h>

enum { MAP_MAX = 32 };

const tsw_field_t *tsw_map_field(const tsw_map_t *map, const char *key)
{
    for (size_t i = 0; i < map->field_count; i++) {
        if (strcmp(map->fields[i].key, key) == 0)
            return &map->fields[i];
    }
    return NULL;
}

const tsw_map_t *tsw_type_map(const tsw_type_t *type)
{
    if (type->kind == TSW_TYPE_MAP)
        return type->map;
    if (type->kind == TSW_TYPE_LIST)
        return tsw_type_map(type->item);
    for (size_t i = 0; type->kind == TSW_TYPE_CHOICE && type->choices[i] != NULL; i++) {
        const tsw_map_t *map = tsw_type_map(type->choices[i]);
        if (map != NULL)
            return map;
    }
    return NULL;
}

void tsw_type_describe(const tsw_type_t *type, tsw_buf_t *out)
{
    tsw_buf_append_text(out, type->label);
    for (size_t i = 0; type->kind == TSW_TYPE_WORD && type->words[i] != NULL; i++)
        tsw_buf_printf(out, "%s%s", i > 0 ? ", " : " ", type->words[i]);
    if (!type->bounded)
        return;
    bool is_list = type->kind == TSW_TYPE_LIST;
    tsw_buf_printf(out, is_list ? " (%" PRId64 : " from %" PRId64, type->min);
    if (type->max > type->min)
        tsw_buf_printf(out, " to %" PRId64, type->max);
    else if (type->max == 0 && is_list)
        tsw_buf_append_text(out, " or more");
    tsw_buf_append_text(out, is_list ? ")" : "");
}

/* The maps below a map, each once, in the order in which they are named. */
static void collect(const tsw_map_t *map, const tsw_map_t **maps, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        if (maps[i] == map)
            return;
    }
    TSW_ASSERT(*count < MAP_MAX);
    maps[(*count)++] = map;
    for (size_t i = 0; i < map->field_count; i++) {
        const tsw_map_t *below = tsw_type_map(map->fields[i].type);
        if (below != NULL)
            collect(below, maps, count);
    }
    const tsw_map_t *below = map->rest != NULL ? tsw_type_map(map->rest->type) : NULL;
    if (below != NULL)
        collect(below, maps, count);
}

static void print_field(const tsw_field_t *field, bool is_rest, tsw_buf_t *out)
{
    const tsw_map_t *below = tsw_type_map(field->type);
    tsw_buf_printf(out, is_rest ? "| *%s* | " : "| `%s` | ", field->key);
    tsw_type_describe(field->type, out);
    if (below != NULL)
        tsw_buf_printf(out, ": see *%s*", below->title);
    const char *preset = is_rest                 ? ""
                         : field->required       ? "required"
                         : field->preset != NULL ? field->preset
                                                 : "";
    tsw_buf_printf(out, " | %s | %s |\n", preset, field->meaning);
}

static void print_map(const tsw_map_t *map, tsw_buf_t *out)
{
    tsw_buf_printf(out, "### %s\n\n", map->title);
    if (map->exactly_one)
        tsw_buf_append_text(out, "Exactly one of these keys.\n\n");
    tsw_buf_append_text(out, "| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < map->field_count; i++)
        print_field(&map->fields[i], false, out);
    if (map->rest != NULL)
        print_field(map->rest, true, out);
}

void tsw_schema_print(tsw_schema_id_t id, tsw_buf_t *out)
{
    const tsw_map_t *maps[MAP_MAX] = {NULL};
    size_t count = 0;
    collect(tsw_schema_root(id), maps, &count);
    for (size_t i = 0; i < count; i++) {
        tsw_buf_append_text(out, i > 0 ? "\n" : "");
        print_map(maps[i], out);
    }
}
