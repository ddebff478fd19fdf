#include "cli/cli_grid.h"

#include "base/mem.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMN_MAX = 48, NUMBER_MAX = 64 };

const char *const tsw_format_names[] = {"text", "csv", "json", NULL};

tsw_format_t tsw_format_parse(const char *name)
{
    for (int i = 0; tsw_format_names[i] != NULL; i++)
        if (strcmp(name, tsw_format_names[i]) == 0)
            return (tsw_format_t)i;
    return TSW_FORMAT_TEXT;
}

tsw_grid_t tsw_grid(const tsw_column_t *columns, size_t column_count)
{
    TSW_ASSERT(column_count <= COLUMN_MAX);
    return (tsw_grid_t){.columns = columns, .column_count = column_count};
}

void tsw_grid_fini(tsw_grid_t *grid)
{
    for (size_t i = 0; i < grid->cell_count; i++)
        tsw_free(grid->cells[i].text);
    tsw_free(grid->cells);
    *grid = (tsw_grid_t){0};
}

static void add_cell(tsw_grid_t *grid, tsw_grid_cell_t cell)
{
    if (grid->failed || !TSW_GROW(grid->cells, grid->cell_capacity, grid->cell_count)) {
        grid->failed = true;
        tsw_free(cell.text);
        return;
    }
    grid->cells[grid->cell_count++] = cell;
}

void tsw_grid_text(tsw_grid_t *grid, const char *text)
{
    char *copy = tsw_strdup(text);
    grid->failed = grid->failed || copy == NULL;
    add_cell(grid, (tsw_grid_cell_t){.text = copy, .number = NAN});
}

void tsw_grid_number(tsw_grid_t *grid, double value)
{
    tsw_grid_measure(grid, value, false);
}

void tsw_grid_measure(tsw_grid_t *grid, double value, bool is_estimate)
{
    add_cell(grid, (tsw_grid_cell_t){.number = isfinite(value) ? value : (double)NAN,
                                     .is_estimate = is_estimate});
}

static bool is_whole(double value)
{
    return fabs(value) < 9007199254740992.0 && floor(value) == value;
}

/* What text shows of a cell; scratch holds numbers. */
static const char *text_of(const tsw_grid_cell_t *cell, int digits, char scratch[NUMBER_MAX])
{
    if (cell->text != NULL)
        return cell->text;
    if (isnan(cell->number))
        return "-";
    snprintf(scratch, NUMBER_MAX, "%s%.*f", cell->is_estimate ? "~" : "", digits, cell->number);
    return scratch;
}

static void trim_end(tsw_buf_t *out)
{
    while (out->size > 0 && out->data[out->size - 1] == ' ')
        out->data[--out->size] = 0;
}

static void render_line(const tsw_grid_t *grid, const tsw_grid_cell_t *row, const size_t *widths,
                        tsw_buf_t *out)
{
    char scratch[NUMBER_MAX];
    for (size_t c = 0; c < grid->column_count; c++) {
        const tsw_column_t *column = &grid->columns[c];
        const char *text = row != NULL ? text_of(&row[c], column->digits, scratch) : column->name;
        if (!column->files_only)
            tsw_buf_printf(out, column->is_number ? "  %*s" : "  %-*s", (int)widths[c], text);
    }
    trim_end(out);
    tsw_buf_append_text(out, "\n");
}

static void render_text(const tsw_grid_t *grid, tsw_buf_t *out)
{
    size_t widths[COLUMN_MAX];
    char scratch[NUMBER_MAX];
    for (size_t c = 0; c < grid->column_count; c++)
        widths[c] = strlen(grid->columns[c].name);
    for (size_t i = 0; i < grid->cell_count; i++) {
        const size_t c = i % grid->column_count;
        const size_t length = strlen(text_of(&grid->cells[i], grid->columns[c].digits, scratch));
        widths[c] = length > widths[c] ? length : widths[c];
    }
    render_line(grid, NULL, widths, out);
    for (size_t i = 0; i < grid->cell_count; i += grid->column_count)
        render_line(grid, &grid->cells[i], widths, out);
}

static void csv_field(const char *text, tsw_buf_t *out)
{
    if (strpbrk(text, ",\"\n\r") == NULL) {
        tsw_buf_append_text(out, text);
        return;
    }
    tsw_buf_append_text(out, "\"");
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"')
            tsw_buf_append_text(out, "\"");
        tsw_buf_append(out, c, 1);
    }
    tsw_buf_append_text(out, "\"");
}

static void csv_cell(const tsw_grid_cell_t *cell, tsw_buf_t *out)
{
    if (cell->text != NULL)
        csv_field(cell->text, out);
    else if (!isnan(cell->number))
        tsw_buf_printf(out, is_whole(cell->number) ? "%.0f" : "%.9g", cell->number);
}

static void render_csv(const tsw_grid_t *grid, tsw_buf_t *out)
{
    for (size_t c = 0; c < grid->column_count; c++) {
        tsw_buf_append_text(out, c > 0 ? "," : "");
        csv_field(grid->columns[c].name, out);
    }
    tsw_buf_append_text(out, "\r\n");
    for (size_t i = 0; i < grid->cell_count; i++) {
        const bool is_last = (i + 1) % grid->column_count == 0;
        csv_cell(&grid->cells[i], out);
        tsw_buf_append_text(out, is_last ? "\r\n" : ",");
    }
}

static json_t *json_of(const tsw_grid_cell_t *cell)
{
    if (cell->text != NULL) {
        tsw_buf_t utf8 = TSW_BUF_INIT;
        tsw_buf_append_utf8(&utf8, cell->text);
        json_t *text = tsw_buf_ok(&utf8) ? json_string(tsw_buf_text(&utf8)) : NULL;
        tsw_buf_fini(&utf8);
        return text;
    }
    if (isnan(cell->number))
        return json_null();
    return is_whole(cell->number) ? json_integer((json_int_t)cell->number)
                                  : json_real(cell->number);
}

static int append_json(const char *bytes, size_t size, void *user)
{
    tsw_buf_append(user, bytes, size);
    return 0;
}

static bool render_json(const tsw_grid_t *grid, tsw_buf_t *out)
{
    json_t *rows = json_array();
    bool ok = rows != NULL;
    for (size_t i = 0; ok && i < grid->cell_count; i += grid->column_count) {
        json_t *row = json_object();
        ok = json_array_append_new(rows, row) == 0;
        for (size_t c = 0; ok && c < grid->column_count; c++)
            ok = json_object_set_new(row, grid->columns[c].name, json_of(&grid->cells[i + c])) == 0;
    }
    ok = ok &&
         json_dump_callback(rows, append_json, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
    tsw_buf_append_text(out, "\n");
    json_decref(rows);
    return ok;
}

tsw_status_t tsw_grid_render(const tsw_grid_t *grid, tsw_format_t format, tsw_buf_t *out,
                             tsw_err_t *err)
{
    bool ok = !grid->failed;
    if (ok && format == TSW_FORMAT_CSV)
        render_csv(grid, out);
    else if (ok && format == TSW_FORMAT_JSON)
        ok = render_json(grid, out);
    else if (ok)
        render_text(grid, out);
    return ok && tsw_buf_ok(out) ? TSW_OK : tsw_err_nomem(err);
}
