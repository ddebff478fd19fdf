#include "rules/patch.h"

#include "base/mem.h"

#include <string.h>

static const char *text_of(const tsw_pack_t *pack)
{
    const tsw_fileset_item_t *item = tsw_fileset_find(&pack->files, "kernel.yaml");
    return item != NULL ? (const char *)item->bytes : "";
}

/* Where line `number` (from 1) begins; the end of the text when there are fewer. */
static const char *line_at(const char *text, int number)
{
    for (; number > 1 && *text != '\0'; number--) {
        text += strcspn(text, "\n");
        text += *text == '\n' ? 1 : 0;
    }
    return text;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line == '\n' ? line + 1 : line;
}

static bool is_blank(const char *line)
{
    line += strspn(line, " \r");
    return *line == '\n' || *line == '\0' || *line == '#';
}

/* Behind the last line of the block whose key stands at the line; blank lines and comments behind
 * it belong to what follows. */
static const char *block_end(const char *line, size_t indent)
{
    const char *end = next_line(line);
    for (const char *at = end; *at != '\0'; at = next_line(at)) {
        if (is_blank(at))
            continue;
        if (strspn(at, " ") <= indent)
            break;
        end = next_line(at);
    }
    return end;
}

static tsw_status_t not_block(tsw_place_t place, tsw_err_t *err)
{
    return tsw_place_err(err, TSW_ERR_UNSUPPORTED, place,
                         "the list is not in block style, a line for each key and row: change it "
                         "by hand");
}

/* Alone on its line: "  sm_90:". */
static bool is_block_key(const char *line, const tsw_config_list_t *list)
{
    size_t indent = (size_t)(list->place.column - 1);
    if (indent == 0 || strspn(line, " ") != indent)
        return false;
    const char *colon = strchr(line, ':');
    return colon != NULL && colon < line + strcspn(line, "\n") && is_blank(colon + 1);
}

/* The list that serves the arch: its own, or the default one, or the first. */
static const tsw_config_list_t *serving(const tsw_pack_t *pack, tsw_arch_t arch)
{
    const tsw_config_list_t *list = tsw_pack_list(pack, arch);
    return list != NULL ? list : &pack->lists[0];
}

/* New lines end as the others of the text do. */
static const char *line_end(const char *text)
{
    const char *end = strchr(text, '\n');
    return end != NULL && end > text && end[-1] == '\r' ? "\r\n" : "\n";
}

static void put_indent(tsw_buf_t *out, size_t spaces)
{
    for (size_t i = 0; i < spaces; i++)
        tsw_buf_append_text(out, " ");
}

/* Of a list of the arch, with the fixed config of the one that it replaces or is taken from. */
static void put_head(const tsw_pack_t *pack, const tsw_config_list_t *list, tsw_arch_t arch,
                     const char *source, tsw_buf_t *out)
{
    char name[16];
    const char *end = line_end(text_of(pack));
    size_t indent = (size_t)(list->place.column - 1);
    put_indent(out, indent);
    tsw_buf_printf(out, "%s:%s", tsw_arch_format(arch, name), end);
    put_indent(out, indent + 2);
    tsw_buf_printf(out, "source: \"%s\"%s", source, end);
    put_indent(out, indent + 2);
    if (list->has_baseline) {
        for (size_t k = 0; k < pack->knob_count; k++)
            tsw_buf_printf(out, "%s%s: %lld", k == 0 ? "baseline: {" : ", ", pack->knobs[k].name,
                           (long long)list->baseline[k]);
        tsw_buf_printf(out, "}%s", end);
        put_indent(out, indent + 2);
    }
    tsw_buf_printf(out, "configs:%s", end);
}

static void put_row(tsw_buf_t *out, size_t indent, const char *row, const char *end)
{
    put_indent(out, indent);
    tsw_buf_printf(out, "- %s%s", row, end);
}

static tsw_status_t finish(tsw_buf_t *out, const char *rest, tsw_err_t *err)
{
    tsw_buf_append_text(out, rest);
    return tsw_buf_ok(out) ? TSW_OK : tsw_err_nomem(err);
}

tsw_status_t tsw_patch_replace(const tsw_pack_t *pack, tsw_arch_t arch, const char *source,
                               const char *const *rows, size_t row_count, tsw_buf_t *out,
                               tsw_err_t *err)
{
    const char *text = text_of(pack);
    const tsw_config_list_t *list = serving(pack, arch);
    const char *line = line_at(text, list->place.line);
    size_t indent = (size_t)(list->place.column - 1);
    if (!is_block_key(line, list))
        return not_block(list->place, err);
    tsw_buf_append(out, text, (size_t)(line - text));
    put_head(pack, list, arch, source, out);
    for (size_t i = 0; i < row_count; i++)
        put_row(out, indent + 4, rows[i], line_end(text));
    return finish(out, list->arch == arch ? block_end(line, indent) : line, err);
}

/* The row as it is written, when it is a line of its own, "- {..}": from its brace on. */
static bool row_text(const char *text, const tsw_config_row_t *row, const char **start_p,
                     size_t *size_p)
{
    const char *line = line_at(text, row->place.line);
    const char *start = line + row->place.column - 1;
    size_t size = strcspn(start, "\r\n");
    const char *brace = memchr(start, '}', size);
    const char *dash = line + strspn(line, " ");
    if (*start != '{' || brace == NULL || *dash != '-' || dash + 2 != start)
        return false;
    *start_p = start;
    *size_p = size;
    return true;
}

/* Whether the arch can have the value. */
static bool keeps_value(const tsw_pack_t *pack, size_t knob, int64_t value, tsw_arch_t arch)
{
    const tsw_arch_traits_t *traits = tsw_arch_traits(arch);
    return strcmp(pack->knobs[knob].name, "num_ctas") != 0 || traits == NULL ||
           value <= traits->max_cluster;
}

/* "TILE_M: [64, 128]" without what the arch lacks; false: nothing is left. */
static bool put_values(const tsw_pack_t *pack, const tsw_config_row_t *row, size_t knob,
                       tsw_arch_t arch, tsw_buf_t *out)
{
    size_t kept = 0;
    tsw_buf_t values = TSW_BUF_INIT;
    for (size_t i = 0; i < row->count[knob]; i++) {
        if (keeps_value(pack, knob, row->values[knob][i], arch))
            tsw_buf_printf(&values, "%s%lld", kept++ > 0 ? ", " : "",
                           (long long)row->values[knob][i]);
    }
    tsw_buf_printf(out, kept > 1 ? "%s: [%s]" : "%s: %s", pack->knobs[knob].name,
                   tsw_buf_text(&values));
    tsw_buf_fini(&values);
    return kept > 0;
}

static bool is_whole(const tsw_pack_t *pack, const tsw_config_row_t *row, tsw_arch_t arch)
{
    bool whole = true;
    for (size_t k = 0; k < pack->knob_count; k++) {
        for (size_t i = 0; i < row->count[k]; i++)
            whole = whole && keeps_value(pack, k, row->values[k][i], arch);
    }
    return whole;
}

/* A row of the default list for one arch: as it is written, or without the values of num_ctas that
 * the arch cannot have; nothing when none is left. */
static tsw_status_t copy_row(const tsw_pack_t *pack, const tsw_config_row_t *row, tsw_arch_t arch,
                             size_t indent, tsw_buf_t *out, tsw_err_t *err)
{
    const char *text = text_of(pack);
    const char *start = NULL;
    size_t size = 0;
    tsw_buf_t copy = TSW_BUF_INIT;
    if (!row_text(text, row, &start, &size))
        return not_block(row->place, err);
    bool kept = true;
    if (is_whole(pack, row, arch)) {
        tsw_buf_append(&copy, start, size);
    } else {
        const char *tail = (const char *)memchr(start, '}', size);
        for (size_t k = 0; k < pack->knob_count; k++) {
            tsw_buf_append_text(&copy, k == 0 ? "{" : ", ");
            kept = put_values(pack, row, k, arch, &copy) && kept;
        }
        tsw_buf_append(&copy, tail, size - (size_t)(tail - start));
    }
    if (kept)
        put_row(out, indent, tsw_buf_text(&copy), line_end(text));
    tsw_status_t status = tsw_buf_ok(&copy) ? TSW_OK : tsw_err_nomem(err);
    tsw_buf_fini(&copy);
    return status;
}

tsw_status_t tsw_patch_add(const tsw_pack_t *pack, tsw_arch_t arch, const char *row,
                           const char *why, tsw_buf_t *out, tsw_err_t *err)
{
    const char *text = text_of(pack);
    const tsw_config_list_t *list = serving(pack, arch);
    const char *line = line_at(text, list->place.line);
    size_t indent = (size_t)(list->place.column - 1);
    const char *start = NULL;
    size_t size = 0;
    if (!is_block_key(line, list))
        return not_block(list->place, err);
    if (list->arch == arch) {
        const tsw_config_row_t *last = &list->rows[list->row_count - 1];
        if (!row_text(text, last, &start, &size))
            return not_block(last->place, err);
        const char *end = next_line(start);
        tsw_buf_append(out, text, (size_t)(end - text));
        if (end[-1] != '\n') /* the text ends with the row */
            tsw_buf_append_text(out, line_end(text));
        put_indent(out, (size_t)(last->place.column - 3));
        tsw_buf_printf(out, "- %s # %s%s", row, why, line_end(text));
        return finish(out, end, err);
    }
    tsw_buf_append(out, text, (size_t)(line - text));
    put_head(pack, list, arch, "the default list, and coverage", out);
    for (size_t i = 0; i < list->row_count; i++) {
        tsw_status_t status = copy_row(pack, &list->rows[i], arch, indent + 4, out, err);
        if (status != TSW_OK)
            return status;
    }
    put_indent(out, indent + 4);
    tsw_buf_printf(out, "- %s # %s%s", row, why, line_end(text));
    return finish(out, line, err);
}

/* ---- the diff ---- */

enum { CONTEXT = 3, LINES_MAX = 4000 };

typedef struct {
    const char **lines;
    size_t count;
} lines_t;

static tsw_status_t split(const char *text, lines_t *lines, tsw_err_t *err)
{
    size_t count = 0;
    for (const char *at = text; *at != '\0'; at = next_line(at))
        count++;
    if (count > LINES_MAX)
        return tsw_err_set(err, TSW_ERR_UNSUPPORTED, "more than %d lines", LINES_MAX);
    lines->lines = tsw_calloc(count, sizeof(*lines->lines));
    if (lines->lines == NULL)
        return tsw_err_nomem(err);
    for (const char *at = text; *at != '\0'; at = next_line(at))
        lines->lines[lines->count++] = at;
    return TSW_OK;
}

static bool same_line(const char *a, const char *b)
{
    size_t size = strcspn(a, "\n");
    return size == strcspn(b, "\n") && memcmp(a, b, size) == 0;
}

/* One line of the result: kept, removed or added. */
typedef struct {
    char mark;
    const char *line;
    size_t before, after; /* lines of each text that stand before it */
} edit_t;

/* The longest common subsequence decides what is kept. */
static tsw_status_t compare(const lines_t *a, const lines_t *b, edit_t *edits, size_t *count_p,
                            tsw_err_t *err)
{
    size_t width = b->count + 1;
    uint16_t *common = tsw_calloc((a->count + 1) * width, sizeof(*common));
    if (common == NULL)
        return tsw_err_nomem(err);
    for (size_t i = a->count; i-- > 0;) {
        for (size_t j = b->count; j-- > 0;) {
            uint16_t down = common[(i + 1) * width + j];
            uint16_t right = common[i * width + j + 1];
            common[i * width + j] = same_line(a->lines[i], b->lines[j])
                                        ? (uint16_t)(common[(i + 1) * width + j + 1] + 1)
                                    : down >= right ? down
                                                    : right;
        }
    }
    size_t i = 0, j = 0, count = 0;
    while (i < a->count || j < b->count) {
        edit_t edit = {.before = i, .after = j};
        bool both = i < a->count && j < b->count;
        if (both && same_line(a->lines[i], b->lines[j])) {
            edit.mark = ' ';
            edit.line = a->lines[i];
            i++;
            j++;
        } else if (j == b->count ||
                   (both && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
            edit.mark = '-';
            edit.line = a->lines[i++];
        } else {
            edit.mark = '+';
            edit.line = b->lines[j++];
        }
        edits[count++] = edit;
    }
    tsw_free(common);
    *count_p = count;
    return TSW_OK;
}

static void put_hunk(const edit_t *edits, size_t first, size_t end, tsw_buf_t *out)
{
    size_t before = 0, after = 0;
    for (size_t i = first; i < end; i++) {
        before += edits[i].mark != '+';
        after += edits[i].mark != '-';
    }
    tsw_buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", edits[first].before + (before > 0), before,
                   edits[first].after + (after > 0), after);
    for (size_t i = first; i < end; i++) {
        size_t size = strcspn(edits[i].line, "\n");
        tsw_buf_printf(out, "%c%.*s\n", edits[i].mark, (int)size, edits[i].line);
        if (edits[i].line[size] == '\0')
            tsw_buf_append_text(out, "\\ No newline at end of file\n");
    }
}

/* Changes with at most twice the context between them are one hunk. */
static void put_hunks(const edit_t *edits, size_t count, tsw_buf_t *out)
{
    for (size_t i = 0; i < count; i++) {
        if (edits[i].mark == ' ')
            continue;
        size_t first = i > CONTEXT ? i - CONTEXT : 0;
        size_t last = i;
        for (size_t k = i; k < count && k <= last + 2 * CONTEXT + 1; k++)
            last = edits[k].mark != ' ' ? k : last;
        size_t end = last + CONTEXT + 1 < count ? last + CONTEXT + 1 : count;
        put_hunk(edits, first, end, out);
        i = last;
    }
}

tsw_status_t tsw_patch_diff(const char *before, const char *after, const char *name, tsw_buf_t *out,
                            tsw_err_t *err)
{
    lines_t a = {0}, b = {0};
    edit_t *edits = NULL;
    size_t count = 0;
    if (strcmp(before, after) == 0)
        return TSW_OK;
    tsw_status_t status = split(before, &a, err);
    if (status == TSW_OK)
        status = split(after, &b, err);
    if (status == TSW_OK) {
        edits = tsw_calloc(a.count + b.count, sizeof(*edits));
        status = edits != NULL ? compare(&a, &b, edits, &count, err) : tsw_err_nomem(err);
    }
    if (status == TSW_OK) {
        tsw_buf_printf(out, TSW_PATCH_START "%s\n+++ b/%s\n", name, name);
        put_hunks(edits, count, out);
        if (!tsw_buf_ok(out))
            status = tsw_err_nomem(err);
    }
    tsw_free(edits);
    tsw_free(a.lines);
    tsw_free(b.lines);
    return status;
}
