#include "store/store_table.h"

#include "base/mem.h"
#include "store/store_h5.h"

#include <stdio.h>
#include <string.h>

#define CHUNK_ROWS 1024
#define TAIL_MAX   ((size_t)1 << 16)

void tsw_rows_init(tsw_rows_t *rows, const tsw_schema_t *schema, size_t tail_size)
{
    size_t row_size = schema->row_size + tail_size;
    if (tail_size > 0)
        row_size = (row_size + 7) / 8 * 8;
    *rows = (tsw_rows_t){.row_size = row_size, .tail_size = tail_size};
}

void tsw_rows_fini(tsw_rows_t *rows)
{
    tsw_free(rows->bytes);
    *rows = (tsw_rows_t){0};
}

tsw_status_t tsw_rows_add(tsw_rows_t *rows, const void *row, tsw_err_t *err)
{
    if (!tsw_grow((void **)&rows->bytes, &rows->capacity, rows->count, rows->row_size))
        return tsw_err_nomem(err);
    memcpy(rows->bytes + rows->count++ * rows->row_size, row, rows->row_size);
    return TSW_OK;
}

void *tsw_rows_at(const tsw_rows_t *rows, size_t index)
{
    return rows->bytes + index * rows->row_size;
}

static bool is_text(const tsw_column_t *column)
{
    return column->type == TSW_COLUMN_TEXT || column->type == TSW_COLUMN_TAIL;
}

static size_t text_size(const tsw_column_t *column, size_t tail_size)
{
    return column->type == TSW_COLUMN_TAIL ? tail_size : column->size;
}

/* Types of numbers, in memory and in the file. */
static hid_t number_type(tsw_column_type_t type, bool in_file)
{
    switch (type) {
    case TSW_COLUMN_U8:
        return in_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8;
    case TSW_COLUMN_U16:
        return in_file ? H5T_STD_U16LE : H5T_NATIVE_UINT16;
    case TSW_COLUMN_U32:
        return in_file ? H5T_STD_U32LE : H5T_NATIVE_UINT32;
    case TSW_COLUMN_I32:
        return in_file ? H5T_STD_I32LE : H5T_NATIVE_INT32;
    case TSW_COLUMN_U64:
        return in_file ? H5T_STD_U64LE : H5T_NATIVE_UINT64;
    case TSW_COLUMN_F32:
        return in_file ? H5T_IEEE_F32LE : H5T_NATIVE_FLOAT;
    case TSW_COLUMN_F64:
        return in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE;
    case TSW_COLUMN_TEXT:
    case TSW_COLUMN_TAIL:
        break;
    }
    return H5I_INVALID_HID;
}

/* A copy, to be closed. */
static hid_t column_type(const tsw_column_t *column, size_t tail_size, bool in_file)
{
    return is_text(column) ? tsw_h5_text_type(text_size(column, tail_size))
                           : H5Tcopy(number_type(column->type, in_file));
}

static bool insert_column(hid_t row, const tsw_column_t *column, size_t offset, hid_t type)
{
    return type >= 0 && H5Tinsert(row, column->name, offset, type) >= 0;
}

/* Rows as they lie in memory. */
static hid_t memory_row_type(const tsw_schema_t *schema, size_t row_size, size_t tail_size)
{
    hid_t row = H5Tcreate(H5T_COMPOUND, row_size);
    bool ok = row >= 0;
    for (size_t i = 0; ok && i < schema->column_count; i++) {
        const tsw_column_t *column = &schema->columns[i];
        hid_t type = column_type(column, tail_size, false);
        ok = insert_column(row, column, column->offset, type);
        H5Tclose(type);
    }
    if (ok)
        return row;
    H5Tclose(row);
    return H5I_INVALID_HID;
}

/* Rows as they lie in the file: little-endian, packed. */
static hid_t file_row_type(const tsw_schema_t *schema, size_t tail_size)
{
    size_t size = 0;
    hid_t row = H5Tcreate(H5T_COMPOUND, 1);
    bool ok = row >= 0;
    for (size_t i = 0; ok && i < schema->column_count; i++) {
        const tsw_column_t *column = &schema->columns[i];
        hid_t type = column_type(column, tail_size, true);
        size_t width = H5Tget_size(type);
        ok = H5Tset_size(row, size + width) >= 0 && insert_column(row, column, size, type);
        size += width;
        H5Tclose(type);
    }
    if (ok)
        return row;
    H5Tclose(row);
    return H5I_INVALID_HID;
}

static tsw_status_t put_units(hid_t dataset, const tsw_schema_t *schema, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < schema->column_count; i++) {
        const tsw_column_t *column = &schema->columns[i];
        char name[96];
        snprintf(name, sizeof(name), "unit_%s", column->name);
        if (column->unit != NULL)
            status = tsw_h5_put_text_attr(dataset, name, column->unit, err);
    }
    return status;
}

tsw_status_t tsw_table_put(hid_t file, const tsw_schema_t *schema, const tsw_rows_t *rows,
                           tsw_err_t *err)
{
    hid_t dataset = H5I_INVALID_HID;
    hid_t memory = memory_row_type(schema, rows->row_size, rows->tail_size);
    hid_t packed = file_row_type(schema, rows->tail_size);
    tsw_status_t status = tsw_h5_put_array(file, schema->name, packed, memory, rows->count,
                                           CHUNK_ROWS, rows->bytes, &dataset, err);
    if (status == TSW_OK) {
        status = put_units(dataset, schema, err);
        H5Dclose(dataset);
    }
    if (packed >= 0)
        H5Tclose(packed);
    if (memory >= 0)
        H5Tclose(memory);
    return status;
}

/* Is column of the file what the schema expects, so that a conversion loses nothing by design? */
static tsw_status_t check_column(hid_t row, const char *table, const tsw_column_t *column,
                                 size_t *tail_size_p, tsw_err_t *err)
{
    int index = H5Tget_member_index(row, column->name);
    if (index < 0 && column->is_optional)
        return TSW_OK;
    if (index < 0)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "%s: no column %s", table, column->name);
    hid_t type = H5Tget_member_type(row, (unsigned)index);
    H5T_class_t expected = H5T_STRING;
    if (!is_text(column))
        expected = H5Tget_class(number_type(column->type, false));
    bool ok = type >= 0 && H5Tget_class(type) == expected;
    size_t size = H5Tget_size(type);
    if (ok && is_text(column)) {
        ok = H5Tis_variable_str(type) == 0;
        if (column->type == TSW_COLUMN_TAIL && size <= TAIL_MAX)
            *tail_size_p = size;
        else
            ok = ok && size <= column->size;
    }
    H5Tclose(type);
    return ok ? TSW_OK
              : tsw_err_set(err, TSW_ERR_CORRUPT, "%s: column %s has another type", table,
                            column->name);
}

/* True when a row is its columns, one behind the other, as we write it. The library believes any
 * other size and place, and would read beyond what is there. */
static bool is_packed(hid_t row)
{
    size_t size = 0;
    bool packed = true;
    int count = H5Tget_nmembers(row);
    for (int i = 0; i < count; i++) {
        hid_t type = H5Tget_member_type(row, (unsigned)i);
        packed = packed && H5Tget_member_offset(row, (unsigned)i) == size;
        size += type >= 0 ? H5Tget_size(type) : 0;
        if (type >= 0)
            H5Tclose(type);
    }
    return packed && size == H5Tget_size(row);
}

static tsw_status_t check_columns(hid_t row, const tsw_schema_t *schema, size_t *tail_size_p,
                                  tsw_err_t *err)
{
    if (row < 0 || H5Tget_class(row) != H5T_COMPOUND)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "%s: not a table", schema->name);
    tsw_status_t status = TSW_OK;
    if (!is_packed(row))
        return tsw_err_set(err, TSW_ERR_CORRUPT, "%s: its rows are not their columns side by side",
                           schema->name);
    for (size_t i = 0; status == TSW_OK && i < schema->column_count; i++)
        status = check_column(row, schema->name, &schema->columns[i], tail_size_p, err);
    return status;
}

/* Whatever the file holds, text in memory ends. */
static void end_texts(const tsw_schema_t *schema, tsw_rows_t *rows)
{
    for (size_t i = 0; i < schema->column_count; i++) {
        const tsw_column_t *column = &schema->columns[i];
        if (!is_text(column))
            continue;
        size_t last = column->offset + text_size(column, rows->tail_size) - 1;
        for (size_t r = 0; r < rows->count; r++)
            rows->bytes[r * rows->row_size + last] = 0;
    }
}

/* A read leaves columns alone that the file lacks. */
static void fill_newer(const tsw_schema_t *schema, tsw_rows_t *rows)
{
    for (size_t i = 0; i < schema->column_count; i++) {
        const tsw_column_t *column = &schema->columns[i];
        if (!column->is_optional)
            continue;
        size_t size =
            is_text(column) ? column->size : H5Tget_size(number_type(column->type, false));
        for (size_t r = 0; r < rows->count; r++)
            memset(rows->bytes + r * rows->row_size + column->offset, column->fill, size);
    }
}

static tsw_status_t read_rows(hid_t dataset, const tsw_schema_t *schema, tsw_rows_t *rows,
                              tsw_err_t *err)
{
    size_t count = 0;
    tsw_status_t status = tsw_h5_get_length(dataset, schema->name, rows->row_size / 2, &count, err);
    if (status != TSW_OK || count == 0)
        return status;
    rows->bytes = tsw_calloc(count, rows->row_size);
    if (rows->bytes == NULL)
        return tsw_err_nomem(err);
    rows->count = count;
    rows->capacity = count;
    fill_newer(schema, rows);
    hid_t memory = memory_row_type(schema, rows->row_size, rows->tail_size);
    if (memory < 0 || H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows->bytes) < 0)
        status = tsw_h5_fail(err, TSW_ERR_CORRUPT, schema->name);
    if (memory >= 0)
        H5Tclose(memory);
    end_texts(schema, rows);
    return status;
}

tsw_status_t tsw_table_get(hid_t file, const tsw_schema_t *schema, tsw_rows_t *rows_p,
                           tsw_err_t *err)
{
    hid_t dataset = H5Dopen2(file, schema->name, H5P_DEFAULT);
    if (dataset < 0)
        return tsw_h5_fail(err, TSW_ERR_CORRUPT, schema->name);
    hid_t row = H5Dget_type(dataset);
    tsw_rows_t rows = {0};
    size_t tail_size = 0;
    tsw_status_t status = check_columns(row, schema, &tail_size, err);
    if (status == TSW_OK) {
        tsw_rows_init(&rows, schema, tail_size);
        status = read_rows(dataset, schema, &rows, err);
    }
    if (row >= 0)
        H5Tclose(row);
    H5Dclose(dataset);
    if (status == TSW_OK)
        *rows_p = rows;
    else
        tsw_rows_fini(&rows);
    return status;
}
