/* CSV files of shapes. */
#include "pack/job_shapes.h"

#include "base/file.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

enum { FIELD_TEXT_MAX = 63, COLUMN_MAX = TSW_DIM_MAX + 1, WEIGHT = -1 };

typedef struct {
    const tsw_pack_t *pack;
    const char *end;   /* of the text */
    const char *next;  /* the line to read next */
    tsw_place_t place; /* of the line that was read; column of the field in question */
    char fields[COLUMN_MAX][FIELD_TEXT_MAX + 1];
    int columns[COLUMN_MAX]; /* of the line's fields */
    size_t field_count;
    int meaning[COLUMN_MAX]; /* of each column: index of a dim, or WEIGHT */
    size_t column_count;
} csv_t;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static tsw_status_t take_field(csv_t *csv, const char *line, const char *start, const char *end,
                               tsw_err_t *err)
{
    while (start < end && is_blank(*start))
        start++;
    while (end > start && is_blank(end[-1]))
        end--;
    csv->place.column = (int)(start - line) + 1;
    if (csv->field_count == COLUMN_MAX)
        return tsw_place_err(err, TSW_ERR_INPUT, csv->place, "more than %d columns", COLUMN_MAX);
    if (end - start > FIELD_TEXT_MAX)
        return tsw_place_err(err, TSW_ERR_INPUT, csv->place, "longer than %d characters",
                             FIELD_TEXT_MAX);
    if (memchr(start, '\0', (size_t)(end - start)) != NULL)
        return tsw_place_err(err, TSW_ERR_INPUT, csv->place, "a byte of zero: this is no text");
    memcpy(csv->fields[csv->field_count], start, (size_t)(end - start));
    csv->fields[csv->field_count][end - start] = '\0';
    csv->columns[csv->field_count++] = csv->place.column;
    return TSW_OK;
}

/* Read the next line that is neither blank nor a comment; field_count 0: there is none. */
static tsw_status_t next_line(csv_t *csv, tsw_err_t *err)
{
    csv->field_count = 0;
    while (csv->field_count == 0 && csv->next < csv->end) {
        const char *line = csv->next;
        const char *end = memchr(line, '\n', (size_t)(csv->end - line));
        end = end != NULL ? end : csv->end;
        csv->next = end < csv->end ? end + 1 : end;
        csv->place.line++;
        const char *start = line;
        while (start < end && is_blank(*start))
            start++;
        if (start == end || *start == '#')
            continue;
        for (const char *field = line; field <= end;) {
            const char *comma = memchr(field, ',', (size_t)(end - field));
            comma = comma != NULL ? comma : end;
            tsw_status_t status = take_field(csv, line, field, comma, err);
            if (status != TSW_OK)
                return status;
            field = comma + 1;
        }
    }
    return TSW_OK;
}

static tsw_place_t place_of(const csv_t *csv, size_t field)
{
    tsw_place_t place = csv->place;
    place.column = csv->columns[field];
    return place;
}

static tsw_status_t check_header(const csv_t *csv, tsw_err_t *err)
{
    bool seen[TSW_DIM_MAX] = {false};
    tsw_place_t start = csv->place;
    start.column = 1;
    for (size_t i = 0; i < csv->column_count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (csv->meaning[i] == csv->meaning[j])
                return tsw_place_err(err, TSW_ERR_INPUT, place_of(csv, i), "'%s' is there twice",
                                     csv->fields[i]);
        }
        if (csv->meaning[i] != WEIGHT)
            seen[csv->meaning[i]] = true;
    }
    for (size_t d = 0; d < csv->pack->dim_count; d++) {
        if (!seen[d])
            return tsw_place_err(err, TSW_ERR_INPUT, start, "the header lacks '%s' of pack %s",
                                 csv->pack->dims[d], csv->pack->name);
    }
    return TSW_OK;
}

static tsw_status_t read_header(csv_t *csv, tsw_err_t *err)
{
    tsw_status_t status = next_line(csv, err);
    if (status != TSW_OK)
        return status;
    const char *names[TSW_DIM_MAX + 1];
    for (size_t d = 0; d < csv->pack->dim_count; d++)
        names[d] = csv->pack->dims[d];
    names[csv->pack->dim_count] = "weight";
    csv->column_count = csv->field_count;
    for (size_t i = 0; i < csv->field_count; i++) {
        char hint[96];
        int dim = tsw_pack_dim_index(csv->pack, csv->fields[i]);
        if (dim < 0 && strcmp(csv->fields[i], "weight") != 0)
            return tsw_place_err(
                err, TSW_ERR_INPUT, place_of(csv, i), "pack %s has no dim '%s'%s", csv->pack->name,
                csv->fields[i],
                tsw_name_hint(csv->fields[i], names, csv->pack->dim_count + 1, hint));
        csv->meaning[i] = dim >= 0 ? dim : WEIGHT;
    }
    if (csv->place.line == 0)
        csv->place.line = 1;
    return check_header(csv, err);
}

static tsw_status_t read_shape(const csv_t *csv, tsw_shape_t *shape, tsw_err_t *err)
{
    if (csv->field_count != csv->column_count)
        return tsw_place_err(err, TSW_ERR_INPUT, place_of(csv, csv->field_count - 1),
                             "the line has %zu fields, the header %zu", csv->field_count,
                             csv->column_count);
    for (size_t i = 0; i < csv->field_count; i++) {
        const char *text = csv->fields[i];
        if (csv->meaning[i] == WEIGHT) {
            if (!tsw_text_parse_f64(text, &shape->weight) || !tsw_weight_is_good(shape->weight))
                return tsw_place_err(err, TSW_ERR_INPUT, place_of(csv, i),
                                     "weight is '%s', wanted " TSW_WEIGHT_RANGE, text);
            continue;
        }
        int64_t *dim = &shape->dims[csv->meaning[i]];
        if (!tsw_text_parse_i64(text, dim) || *dim < 0)
            return tsw_place_err(err, TSW_ERR_INPUT, place_of(csv, i),
                                 "'%s' is '%s', wanted a whole number from 0 to %" PRId64,
                                 csv->pack->dims[csv->meaning[i]], text, INT64_MAX);
    }
    return TSW_OK;
}

tsw_status_t tsw_shapes_read_csv(const tsw_pack_t *pack, const char *name, const char *text,
                                 size_t size, double weight, tsw_shape_set_t *set, tsw_err_t *err)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    csv_t csv = {.pack = pack, .next = text, .end = text + size, .place = {name, 0, 1}};
    if (size >= 3 && memcmp(text, byte_order_mark, 3) == 0)
        csv.next += 3;
    size_t lines = 0;
    tsw_status_t status = read_header(&csv, err);
    for (; status == TSW_OK; lines++) {
        tsw_shape_t shape = {.weight = weight};
        status = next_line(&csv, err);
        if (status != TSW_OK || csv.field_count == 0)
            break;
        status = read_shape(&csv, &shape, err);
        if (status == TSW_OK && set->count == TSW_JOB_SHAPES_MAX)
            status = tsw_place_err(err, TSW_ERR_INPUT, csv.place, "more than %d shapes",
                                   TSW_JOB_SHAPES_MAX);
        if (status == TSW_OK)
            status = tsw_shape_set_add(set, &shape, err);
    }
    if (status == TSW_OK && lines == 0)
        status = tsw_place_err(err, TSW_ERR_INPUT, csv.place, "no shapes below the header");
    return status;
}

char *tsw_shapes_csv_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return tsw_path_join("csv", slash != NULL ? slash + 1 : path);
}
