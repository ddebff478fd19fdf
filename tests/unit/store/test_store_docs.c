/* docs/file-format.md against the schema: every column is there, with its unit, under its table,
 * and no row of the page is about nothing. */
#include "store/store_schema.h"

#include "base/buf.h"
#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const tsw_schema_t *const schemas[] = {
    &tsw_schema_kernels, &tsw_schema_shapes, &tsw_schema_configs, &tsw_schema_gpus,
    &tsw_schema_nodes,   &tsw_schema_cells,  &tsw_schema_records, &tsw_schema_rounds,
};
#define SCHEMA_COUNT (sizeof(schemas) / sizeof(schemas[0]))

/* The section of a table, zero-terminated in out. */
static void take_section(const char *page, const char *table, tsw_buf_t *out)
{
    char title[64];
    snprintf(title, sizeof(title), "\n## /%s\n", table);
    const char *start = strstr(page, title);
    if (start == NULL)
        fail_msg("no section %s", title);
    start += strlen(title);
    const char *end = strstr(start, "\n## ");
    tsw_buf_append(out, start, end != NULL ? (size_t)(end - start) : strlen(start));
}

static const char *type_word(const tsw_column_t *column)
{
    static const char *const words[] = {"u8", "u16", "u32", "i32", "u64", "f32", "f64"};
    if (column->type < TSW_COLUMN_TEXT)
        return words[column->type];
    return column->type == TSW_COLUMN_TEXT && column->size == TSW_KEY_TEXT_SIZE ? "key" : "text";
}

static void check_column(const char *section, const char *table, const tsw_column_t *column)
{
    char name[96];
    char cells[96];
    snprintf(name, sizeof(name), "`%s`", column->name);
    snprintf(cells, sizeof(cells), "| %s | %s%s| ", type_word(column),
             column->unit != NULL ? column->unit : "", column->unit != NULL ? " " : "");
    const char *at = strstr(section, name);
    if (at == NULL)
        fail_msg("/%s: column %s is not described", table, column->name);
    const char *line_end = strchr(at, '\n');
    const char *found = strstr(at, cells);
    if (found == NULL || line_end == NULL || found > line_end)
        fail_msg("/%s: the line of column %s lacks \"%s\"", table, column->name, cells);
}

/* Names in the first cell of the section's lines. */
static size_t count_names(const char *section)
{
    size_t count = 0;
    for (const char *line = strstr(section, "\n| `"); line != NULL;
         line = strstr(line + 1, "\n| `")) {
        const char *end = strstr(line + 2, " | ");
        for (const char *at = line; at < end; at++)
            count += *at == '`';
    }
    return count / 2;
}

static void test_every_column_is_described(void **state)
{
    (void)state;
    tsw_buf_t page = TSW_BUF_INIT;
    assert_int_equal(tsw_file_read(TSW_SOURCE_DIR "/docs/file-format.md", &page, NULL), TSW_OK);
    for (size_t s = 0; s < SCHEMA_COUNT; s++) {
        tsw_buf_t section = TSW_BUF_INIT;
        take_section(tsw_buf_text(&page), schemas[s]->name, &section);
        for (size_t c = 0; c < schemas[s]->column_count; c++)
            check_column(tsw_buf_text(&section), schemas[s]->name, &schemas[s]->columns[c]);
        assert_int_equal(count_names(tsw_buf_text(&section)), schemas[s]->column_count);
        tsw_buf_fini(&section);
    }
    tsw_buf_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_column_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
