#include "table/table.h"

#include "base/mem.h"
#include "table/table_fields.h"

#include <jansson.h>
#include <math.h>

/* Twelve digits are more than any measurement has, and few enough that reading a table and writing
 * it again gives the same bytes. */
#define NUMBER_FLAGS JSON_REAL_PRECISION(12)

typedef struct {
    tsw_buf_t *out;
    tsw_err_t *err;
    tsw_status_t status;
} writer_t;

static void fail(writer_t *w, tsw_status_t status)
{
    if (w->status == TSW_OK)
        w->status = status;
}

/* Appends a new reference; NULL is a lack of memory. */
static void emit(writer_t *w, json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | NUMBER_FLAGS) : NULL;
    if (text == NULL)
        fail(w, tsw_err_nomem(w->err));
    else
        tsw_buf_append_text(w->out, text);
    tsw_free(text);
    json_decref(value);
}

static void emit_text(writer_t *w, const tsw_table_field_t *field, const char *text)
{
    if (text == NULL && field->kind == TSW_FIELD_TEXT_OR_NULL) {
        tsw_buf_append_text(w->out, "null");
        return;
    }
    /* json_string() refuses text that is not UTF-8, and has no other reason but memory. */
    json_t *value = text != NULL ? json_string(text) : NULL;
    if (value == NULL)
        fail(w,
             tsw_err_set(w->err, TSW_ERR_ARG, "table: \"%s\" is absent or not UTF-8", field->name));
    else
        emit(w, value);
}

static void emit_real(writer_t *w, const tsw_table_field_t *field, double value)
{
    if (isfinite(value))
        emit(w, json_real(value));
    else if ((field->kind == TSW_FIELD_REAL_OR_NULL && isinf(value) && value > 0.0) ||
             (field->kind == TSW_FIELD_REAL_OR_NONE && isnan(value)))
        tsw_buf_append_text(w->out, "null");
    else
        fail(w, tsw_err_set(w->err, TSW_ERR_ARG, "table: \"%s\" is not a number that JSON has",
                            field->name));
}

static void emit_field(writer_t *w, const tsw_table_field_t *field, const void *object)
{
    const void *at = (const char *)object + field->offset;
    char key[TSW_KEY_TEXT_SIZE];
    tsw_buf_printf(w->out, "\"%s\": ", field->name);
    switch (field->kind) {
    case TSW_FIELD_TEXT:
    case TSW_FIELD_TEXT_OR_NULL:
        emit_text(w, field, *(char *const *)at);
        break;
    case TSW_FIELD_KEY:
        tsw_buf_printf(w->out, "\"%s\"", tsw_key_format(*(const tsw_key_t *)at, key));
        break;
    case TSW_FIELD_ARCH:
        tsw_buf_printf(w->out, "\"sm_%u\"", *(const uint32_t *)at);
        break;
    case TSW_FIELD_U32:
        tsw_buf_printf(w->out, "%u", *(const uint32_t *)at);
        break;
    case TSW_FIELD_SIZE:
        tsw_buf_printf(w->out, "%zu", *(const size_t *)at);
        break;
    case TSW_FIELD_REAL:
    case TSW_FIELD_REAL_OR_NONE:
    case TSW_FIELD_REAL_OR_NULL:
        emit_real(w, field, *(const double *)at);
        break;
    }
}

/* All fields, each followed by a comma where more comes. */
static void emit_fields(writer_t *w, const tsw_table_object_t *shape, const void *object,
                        const char *between)
{
    for (size_t i = 0; i < shape->count; i++) {
        emit_field(w, &shape->fields[i], object);
        if (i + 1 < shape->count || shape->container_count > 0)
            tsw_buf_printf(w->out, ",%s", between);
    }
}

static void emit_configs(writer_t *w, const tsw_table_pack_t *pack)
{
    static const tsw_table_field_t field = {.name = "configs", .kind = TSW_FIELD_TEXT};
    tsw_buf_append_text(w->out, "\"configs\": [");
    for (size_t i = 0; i < pack->config_count; i++) {
        tsw_buf_append_text(w->out, i > 0 ? ",\n        " : "\n        ");
        emit_text(w, &field, pack->configs[i]);
    }
    tsw_buf_append_text(w->out, pack->config_count > 0 ? "\n      ],\n      " : "],\n      ");
}

/* One row, one line: a diff of two tables then shows shapes. */
static void emit_rows(writer_t *w, const tsw_table_pack_t *pack)
{
    tsw_buf_append_text(w->out, "\"choices\": [");
    for (size_t i = 0; i < pack->row_count; i++) {
        tsw_buf_append_text(w->out, i > 0 ? ",\n        {" : "\n        {");
        emit_fields(w, &tsw_table_object_row, &pack->rows[i], " ");
        tsw_buf_append_text(w->out, "}");
    }
    tsw_buf_append_text(w->out, pack->row_count > 0 ? "\n      ]" : "]");
}

tsw_status_t tsw_table_write(const tsw_table_t *table, tsw_buf_t *out, tsw_err_t *err)
{
    tsw_buf_t text = TSW_BUF_INIT;
    writer_t w = {.out = &text, .err = err, .status = TSW_OK};
    json_set_alloc_funcs(tsw_malloc, tsw_free);
    tsw_buf_printf(&text, "{\n  \"format\": \"%s\",\n  \"schema\": %u,\n  ", TSW_TABLE_FORMAT,
                   table->schema);
    emit_fields(&w, &tsw_table_object_top, table, "\n  ");
    tsw_buf_append_text(&text, "\"packs\": [");
    for (size_t i = 0; i < table->pack_count; i++) {
        tsw_buf_append_text(&text, i > 0 ? ",\n    {\n      " : "\n    {\n      ");
        emit_fields(&w, &tsw_table_object_pack, &table->packs[i], "\n      ");
        emit_configs(&w, &table->packs[i]);
        emit_rows(&w, &table->packs[i]);
        tsw_buf_append_text(&text, "\n    }");
    }
    tsw_buf_append_text(&text, table->pack_count > 0 ? "\n  ]\n}\n" : "]\n}\n");
    if (w.status == TSW_OK && !tsw_buf_ok(&text))
        w.status = tsw_err_nomem(err);
    if (w.status == TSW_OK) {
        tsw_buf_append(out, text.data, text.size);
        if (!tsw_buf_ok(out))
            w.status = tsw_err_nomem(err);
    }
    tsw_buf_fini(&text);
    return w.status;
}
