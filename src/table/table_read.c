#include "table/table.h"

#include "base/mem.h"
#include "base/text.h"
#include "table/table_fields.h"
#include "table/table_place.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEYS_MAX = 16 };

typedef struct {
    const char *text;
    size_t size;
    tsw_table_path_t path; /* of what is being read */
    tsw_err_t *err;
} reader_t;

static void push_key(reader_t *r, const char *key)
{
    r->path.steps[r->path.count].key = key;
    r->path.count++;
}

static void push_index(reader_t *r, size_t index)
{
    r->path.steps[r->path.count].key = NULL;
    r->path.steps[r->path.count].index = index;
    r->path.count++;
}

static void pop(reader_t *r)
{
    r->path.count--;
}

/* TSW_ERR_INPUT with the place of the current path. */
static tsw_status_t refuse(reader_t *r, const char *what, const char *word)
{
    int line = 0;
    int column = 0;
    tsw_table_place_find(r->text, r->size, &r->path, &line, &column);
    return tsw_err_set(r->err, TSW_ERR_INPUT, "%d:%d: %s%s%s%s", line, column, what,
                       word != NULL ? " \"" : "", word != NULL ? word : "",
                       word != NULL ? "\"" : "");
}

static tsw_status_t refuse_unknown(reader_t *r, const char *key, const char *const *known,
                                   size_t count)
{
    const char *nearest = tsw_text_nearest(key, known, count);
    push_key(r, key);
    tsw_status_t status = refuse(r, "unknown key", key);
    pop(r);
    if (nearest != NULL && r->err != NULL) {
        size_t used = strlen(r->err->text);
        snprintf(r->err->text + used, sizeof(r->err->text) - used, "; did you mean \"%s\"?",
                 nearest);
    }
    return status;
}

static bool is_known(const char *key, const char *const *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(key, known[i]) == 0)
            return true;
    }
    return false;
}

/* The object has exactly the keys of its shape, plus extra ones; each is there. */
static tsw_status_t check_keys(reader_t *r, json_t *object, const tsw_table_object_t *shape,
                               const char *const *extra, size_t extra_count)
{
    const char *known[KEYS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < extra_count; i++)
        known[count++] = extra[i];
    for (size_t i = 0; i < shape->count; i++)
        known[count++] = shape->fields[i].name;
    for (size_t i = 0; i < shape->container_count; i++)
        known[count++] = shape->containers[i];
    if (!json_is_object(object))
        return refuse(r, "an object is wanted here", NULL);
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(object, key, value)
    {
        if (!is_known(key, known, count))
            return refuse_unknown(r, key, known, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (json_object_get(object, known[i]) == NULL)
            return refuse(r, "this object lacks the key", known[i]);
    }
    return TSW_OK;
}

static tsw_status_t read_text(reader_t *r, const json_t *value, char **text_p)
{
    if (!json_is_string(value))
        return refuse(r, "a string is wanted here", NULL);
    *text_p = tsw_strdup(json_string_value(value));
    return *text_p != NULL ? TSW_OK : tsw_err_nomem(r->err);
}

static tsw_status_t read_integer(reader_t *r, const json_t *value, uint64_t limit,
                                 uint64_t *value_p)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > limit)
        return refuse(r, "a whole number, 0 or more, is wanted here", NULL);
    *value_p = (uint64_t)json_integer_value(value);
    return TSW_OK;
}

static tsw_status_t read_arch(reader_t *r, const json_t *value, uint32_t *arch_p)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    int64_t number = 0;
    if (!tsw_text_starts_with(text, "sm_") || !tsw_text_parse_i64(text + 3, &number) ||
        number <= 0 || number > 9999)
        return refuse(r, "an arch such as \"sm_90\" is wanted here", NULL);
    *arch_p = (uint32_t)number;
    return TSW_OK;
}

static tsw_status_t read_value(reader_t *r, const json_t *value, tsw_table_field_kind_t kind,
                               void *at)
{
    tsw_status_t status = TSW_OK;
    uint64_t number = 0;
    switch (kind) {
    case TSW_FIELD_TEXT_OR_NULL:
        return json_is_null(value) ? TSW_OK : read_text(r, value, at);
    case TSW_FIELD_TEXT:
        return read_text(r, value, at);
    case TSW_FIELD_KEY:
        if (!json_is_string(value) || !tsw_key_parse(json_string_value(value), at))
            return refuse(r, "32 hexadecimal digits are wanted here", NULL);
        return TSW_OK;
    case TSW_FIELD_ARCH:
        return read_arch(r, value, at);
    case TSW_FIELD_U32:
        status = read_integer(r, value, UINT32_MAX, &number);
        if (status == TSW_OK)
            *(uint32_t *)at = (uint32_t)number;
        return status;
    case TSW_FIELD_SIZE:
        status = read_integer(r, value, SIZE_MAX, &number);
        if (status == TSW_OK)
            *(size_t *)at = (size_t)number;
        return status;
    case TSW_FIELD_REAL_OR_NULL:
    case TSW_FIELD_REAL_OR_NONE:
    case TSW_FIELD_REAL:
        if (kind != TSW_FIELD_REAL && json_is_null(value))
            *(double *)at = kind == TSW_FIELD_REAL_OR_NULL ? INFINITY : NAN;
        else if (json_is_number(value))
            *(double *)at = json_number_value(value);
        else
            return refuse(r, "a number is wanted here", NULL);
        return TSW_OK;
    }
    return TSW_ERR_BUG;
}

static tsw_status_t read_fields(reader_t *r, json_t *object, const tsw_table_object_t *shape,
                                void *out)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < shape->count; i++) {
        const tsw_table_field_t *field = &shape->fields[i];
        push_key(r, field->name);
        status = read_value(r, json_object_get(object, field->name), field->kind,
                            (char *)out + field->offset);
        pop(r);
    }
    return status;
}

/* Zeroed room for the elements of the array under key, and their number. */
static tsw_status_t make_room(reader_t *r, json_t *object, const char *key, size_t item_size,
                              void **items_p, size_t *count_p)
{
    json_t *array = json_object_get(object, key);
    if (!json_is_array(array)) {
        push_key(r, key);
        tsw_status_t status = refuse(r, "an array is wanted here", NULL);
        pop(r);
        return status;
    }
    *items_p = tsw_calloc(json_array_size(array), item_size);
    if (*items_p == NULL)
        return tsw_err_nomem(r->err);
    *count_p = json_array_size(array);
    return TSW_OK;
}

static tsw_status_t read_configs(reader_t *r, json_t *object, tsw_table_pack_t *pack)
{
    tsw_status_t status = make_room(r, object, "configs", sizeof(*pack->configs),
                                    (void **)&pack->configs, &pack->config_count);
    push_key(r, "configs");
    for (size_t i = 0; status == TSW_OK && i < pack->config_count; i++) {
        push_index(r, i);
        status =
            read_text(r, json_array_get(json_object_get(object, "configs"), i), &pack->configs[i]);
        pop(r);
    }
    pop(r);
    return status;
}

static tsw_status_t read_rows(reader_t *r, json_t *object, tsw_table_pack_t *pack)
{
    tsw_status_t status = make_room(r, object, "choices", sizeof(*pack->rows), (void **)&pack->rows,
                                    &pack->row_count);
    push_key(r, "choices");
    for (size_t i = 0; status == TSW_OK && i < pack->row_count; i++) {
        json_t *row = json_array_get(json_object_get(object, "choices"), i);
        push_index(r, i);
        status = check_keys(r, row, &tsw_table_object_row, NULL, 0);
        if (status == TSW_OK)
            status = read_fields(r, row, &tsw_table_object_row, &pack->rows[i]);
        pop(r);
    }
    pop(r);
    return status;
}

static tsw_status_t read_pack(reader_t *r, json_t *object, tsw_table_pack_t *pack)
{
    tsw_status_t status = check_keys(r, object, &tsw_table_object_pack, NULL, 0);
    if (status == TSW_OK)
        status = read_fields(r, object, &tsw_table_object_pack, pack);
    if (status == TSW_OK)
        status = read_configs(r, object, pack);
    if (status == TSW_OK)
        status = read_rows(r, object, pack);
    return status;
}

/* Format and schema come first: a file of another version has other keys. */
static tsw_status_t check_version(reader_t *r, json_t *top)
{
    const char *format = json_string_value(json_object_get(top, "format"));
    if (!json_is_object(top) || format == NULL || strcmp(format, TSW_TABLE_FORMAT) != 0)
        return refuse(r, "no release table: \"format\" is not", TSW_TABLE_FORMAT);
    const json_t *schema = json_object_get(top, "schema");
    if (!json_is_integer(schema))
        return refuse(r, "this object lacks the whole number", "schema");
    if (json_integer_value(schema) != TSW_TABLE_SCHEMA)
        return tsw_err_set(r->err, TSW_ERR_VERSION,
                           "table schema %lld is not known, this tool reads schema %d; "
                           "'tilesweep reduce' makes a table of a run anew",
                           (long long)json_integer_value(schema), TSW_TABLE_SCHEMA);
    return TSW_OK;
}

static tsw_status_t read_top(reader_t *r, json_t *top, tsw_table_t *table)
{
    static const char *const extra[] = {"format", "schema"};
    tsw_status_t status = check_version(r, top);
    if (status == TSW_OK)
        status = check_keys(r, top, &tsw_table_object_top, extra, 2);
    if (status == TSW_OK)
        status = read_fields(r, top, &tsw_table_object_top, table);
    if (status == TSW_OK)
        status = make_room(r, top, "packs", sizeof(*table->packs), (void **)&table->packs,
                           &table->pack_count);
    table->schema = TSW_TABLE_SCHEMA;
    push_key(r, "packs");
    for (size_t i = 0; status == TSW_OK && i < table->pack_count; i++) {
        push_index(r, i);
        status = read_pack(r, json_array_get(json_object_get(top, "packs"), i), &table->packs[i]);
        pop(r);
    }
    pop(r);
    return status;
}

static tsw_status_t parse_failed(const json_error_t *fault, tsw_err_t *err)
{
    if (json_error_code(fault) == json_error_out_of_memory)
        return tsw_err_nomem(err);
    return tsw_err_set(err, TSW_ERR_INPUT, "%d:%d: not JSON: %s", fault->line, fault->column,
                       fault->text);
}

tsw_status_t tsw_table_read(const void *bytes, size_t size, tsw_table_t *table_p, tsw_err_t *err)
{
    json_set_alloc_funcs(tsw_malloc, tsw_free);
    json_error_t fault = {.line = 0};
    json_t *top = json_loadb(size > 0 ? bytes : "", size, JSON_REJECT_DUPLICATES, &fault);
    if (top == NULL)
        return parse_failed(&fault, err);
    reader_t r = {.text = bytes, .size = size, .err = err};
    tsw_table_t table = {0};
    tsw_status_t status = read_top(&r, top, &table);
    json_decref(top);
    if (status == TSW_OK)
        *table_p = table;
    else
        tsw_table_fini(&table);
    return status;
}
