#include "cli/cli_status.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli_grid.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- reading ---- */

typedef struct {
    const char *object; /* NULL: of the file itself */
    const char *name;
    size_t offset;
} field_t;

#define AT(_name)       offsetof(tsw_run_state_t, _name)
#define AT_ROW(_name)   offsetof(tsw_status_row_t, _name)
#define COUNT_OF(_list) (sizeof(_list) / sizeof((_list)[0]))

static const field_t numbers[] = {
    {NULL, "attempt", AT(attempt)},
    {NULL, "ranks", AT(ranks)},
    {NULL, "status", AT(status)},
    {NULL, "updated_s", AT(updated_s)},
    {"cells", "total", AT(cells_total)},
    {"cells", "done", AT(cells_done)},
    {"cells", "failed", AT(cells_failed)},
    {"cells", "skipped", AT(cells_skipped)},
    {"cells", "leased", AT(cells_leased)},
    {"cells", "unreachable", AT(cells_unreachable)},
    {"configs", "total", AT(configs_total)},
    {"configs", "done", AT(configs_done)},
    {"configs", "failed", AT(configs_failed)},
    {"builds", "total", AT(builds_total)},
    {"builds", "done", AT(builds_done)},
};

static const field_t row_numbers[] = {
    {NULL, "ranks", AT_ROW(ranks)},
    {NULL, "gpus", AT_ROW(gpus)},
    {NULL, "cells", AT_ROW(cells)},
    {NULL, "done", AT_ROW(done)},
    {NULL, "failed", AT_ROW(failed)},
    {NULL, "configs", AT_ROW(configs)},
    {NULL, "configs_failed", AT_ROW(configs_failed)},
};

static const field_t reals[] = {
    {NULL, "done_ratio", AT(done_ratio)},
    {NULL, "elapsed_s", AT(elapsed_s)},
    {NULL, "left_s", AT(left_s)},
    {NULL, "cells_per_min", AT(cells_per_min)},
    {NULL, "gpu_busy_ratio", AT(gpu_busy_ratio)},
};

static const json_t *find(const json_t *object, const field_t *field)
{
    if (field->object != NULL)
        object = json_object_get(object, field->object);
    return json_object_get(object, field->name);
}

static void take_numbers(const json_t *object, const field_t *fields, size_t count, void *into)
{
    for (size_t i = 0; i < count; i++)
        *(int64_t *)(void *)((char *)into + fields[i].offset) =
            json_integer_value(find(object, &fields[i]));
}

static void take_reals(const json_t *object, tsw_run_state_t *state)
{
    for (size_t i = 0; i < COUNT_OF(reals); i++) {
        const json_t *value = find(object, &reals[i]);
        *(double *)(void *)((char *)state + reals[i].offset) =
            json_is_number(value) ? json_number_value(value) : NAN;
    }
}

/* A copy; "" for what is no text. */
static char *take_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return tsw_strdup(text != NULL ? text : "");
}

static bool take_rows(const json_t *list, const char *name, tsw_status_row_t **rows_p,
                      size_t *count_p)
{
    const size_t count = json_array_size(list);
    tsw_status_row_t *rows = tsw_calloc(count + 1, sizeof(*rows));
    bool ok = rows != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const json_t *row = json_array_get(list, i);
        take_numbers(row, row_numbers, COUNT_OF(row_numbers), &rows[i]);
        rows[i].node = take_text(row, name);
        ok = rows[i].node != NULL;
    }
    *rows_p = rows;
    *count_p = rows != NULL ? count : 0;
    return ok;
}

static bool take_retired(const json_t *list, tsw_run_state_t *state)
{
    const size_t count = json_array_size(list);
    state->retired = tsw_calloc(count + 1, sizeof(*state->retired));
    state->retired_count = state->retired != NULL ? count : 0;
    bool ok = state->retired != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const json_t *row = json_array_get(list, i);
        tsw_status_retired_t *retired = &state->retired[i];
        retired->rank = json_integer_value(json_object_get(row, "rank"));
        retired->node = take_text(row, "node");
        retired->gpu = take_text(row, "gpu");
        retired->reason = take_text(row, "reason");
        ok = retired->node != NULL && retired->gpu != NULL && retired->reason != NULL;
    }
    return ok;
}

static bool take_all(const json_t *root, tsw_run_state_t *state)
{
    take_numbers(root, numbers, COUNT_OF(numbers), state);
    take_reals(root, state);
    state->state = take_text(root, "state");
    state->mode = take_text(root, "mode");
    state->updated = take_text(root, "updated");
    const bool has_error = json_object_get(root, "error") != NULL;
    if (has_error)
        state->error = take_text(root, "error");
    return state->state != NULL && state->mode != NULL && state->updated != NULL &&
           (!has_error || state->error != NULL) &&
           take_rows(json_object_get(root, "archs"), "arch", &state->archs, &state->arch_count) &&
           take_rows(json_object_get(root, "nodes"), "node", &state->nodes, &state->node_count) &&
           take_retired(json_object_get(root, "retired"), state);
}

static tsw_status_t parse(const char *path, const tsw_buf_t *text, tsw_run_state_t *state,
                          tsw_err_t *err)
{
    json_error_t where;
    json_set_alloc_funcs(tsw_malloc, tsw_free);
    json_t *root = json_loadb(tsw_buf_text(text), text->size, 0, &where);
    tsw_status_t status = TSW_OK;
    if (root == NULL)
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "%s:%d: torn, or no status of a run: %s", path,
                             where.line, where.text);
    else if (!json_is_string(json_object_get(root, "state")) ||
             !json_is_integer(json_object_get(root, "attempt")))
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "%s: no status of a run", path);
    else if (!take_all(root, state))
        status = tsw_err_nomem(err);
    json_decref(root);
    return status;
}

tsw_status_t tsw_cli_status_read(const char *run_dir, tsw_run_state_t *state_p, tsw_err_t *err)
{
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_run_state_t state = {0};
    char *path = tsw_path_join(run_dir, "status.json");
    if (path == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_path_is_plain(path)
                              ? tsw_file_read(path, &text, err)
                              : tsw_err_set(err, TSW_ERR_CORRUPT, "%s: not a file", path);
    if (status == TSW_ERR_NOT_FOUND && !tsw_path_is_dir(run_dir))
        status = tsw_err_set(err, status, "there is no run folder %s", run_dir);
    else if (status == TSW_ERR_NOT_FOUND)
        status = tsw_err_set(err, status,
                             "%s has no status.json: no work has begun there, or it is no run "
                             "folder",
                             run_dir);
    if (status == TSW_OK)
        status = parse(path, &text, &state, err);
    if (status == TSW_OK)
        *state_p = state;
    else
        tsw_cli_status_fini(&state);
    tsw_buf_fini(&text);
    tsw_free(path);
    return status;
}

static void free_rows(tsw_status_row_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tsw_free(rows[i].node);
    tsw_free(rows);
}

void tsw_cli_status_fini(tsw_run_state_t *state)
{
    tsw_free(state->state);
    tsw_free(state->mode);
    tsw_free(state->updated);
    tsw_free(state->error);
    free_rows(state->archs, state->arch_count);
    free_rows(state->nodes, state->node_count);
    for (size_t i = 0; i < state->retired_count; i++) {
        tsw_free(state->retired[i].node);
        tsw_free(state->retired[i].gpu);
        tsw_free(state->retired[i].reason);
    }
    tsw_free(state->retired);
    *state = (tsw_run_state_t){0};
}

/* ---- its end ---- */

static bool is(const tsw_run_state_t *state, const char *word)
{
    return strcmp(state->state, word) == 0;
}

bool tsw_cli_status_is_over(const tsw_run_state_t *state)
{
    return is(state, "done") || is(state, "stopped") || is(state, "failed");
}

tsw_exit_t tsw_cli_status_exit(const tsw_run_state_t *state)
{
    if (state->error != NULL)
        return tsw_exit_of_status((tsw_status_t)state->status);
    if (!is(state, "done"))
        return TSW_EXIT_STOPPED;
    return state->cells_failed > 0 ? TSW_EXIT_UNUSABLE : TSW_EXIT_DONE;
}

/* ---- showing ---- */

static int64_t cells_left(const tsw_run_state_t *state)
{
    return state->cells_total - state->cells_skipped - state->cells_done;
}

void tsw_cli_status_line(const tsw_run_state_t *state, const char *run_dir, double age_s,
                         tsw_buf_t *out)
{
    char text[32];
    tsw_buf_printf(out, "%s: %s, attempt %" PRId64 ": %" PRId64 " of %" PRId64 " cells done, ",
                   run_dir, state->state, state->attempt, state->cells_done,
                   state->cells_total - state->cells_skipped);
    tsw_buf_printf(out, "%" PRId64 " failed, %" PRId64 " left", state->cells_failed,
                   cells_left(state));
    if (tsw_cli_status_is_over(state))
        tsw_buf_printf(out, "; ended %s\n", state->updated);
    else if (isfinite(age_s))
        tsw_buf_printf(out, "; no update for %s: killed, or its file system is slow\n",
                       tsw_text_format_seconds(age_s, text));
    else
        tsw_buf_printf(out, "; about %s more\n", tsw_text_format_seconds(state->left_s, text));
}

static void print_rows(const tsw_status_row_t *rows, size_t count, bool by_arch, tsw_buf_t *out)
{
    static const tsw_column_t arch_columns[] = {
        {.name = "arch"},
        {.name = "GPUs", .is_number = true},
        {.name = "done", .is_number = true},
        {.name = "failed", .is_number = true},
        {.name = "left", .is_number = true},
        {.name = "configs", .is_number = true},
        {.name = "configs failed", .is_number = true},
    };
    static const tsw_column_t node_columns[] = {
        {.name = "node"},
        {.name = "ranks", .is_number = true},
        {.name = "GPUs", .is_number = true},
        {.name = "done", .is_number = true},
        {.name = "failed", .is_number = true},
        {.name = "configs", .is_number = true},
        {.name = "configs failed", .is_number = true},
    };
    tsw_grid_t grid = by_arch ? tsw_grid(arch_columns, COUNT_OF(arch_columns))
                              : tsw_grid(node_columns, COUNT_OF(node_columns));
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < count; i++) {
        const tsw_status_row_t *row = &rows[i];
        tsw_grid_text(&grid, row->node);
        if (!by_arch)
            tsw_grid_number(&grid, (double)row->ranks);
        tsw_grid_number(&grid, (double)row->gpus);
        tsw_grid_number(&grid, (double)row->done);
        tsw_grid_number(&grid, (double)row->failed);
        if (by_arch)
            tsw_grid_number(&grid, (double)(row->cells - row->done));
        tsw_grid_number(&grid, (double)row->configs);
        tsw_grid_number(&grid, (double)row->configs_failed);
    }
    if (count > 0 && tsw_grid_render(&grid, TSW_FORMAT_TEXT, out, &err) != TSW_OK)
        tsw_buf_printf(out, "  %s\n", err.text);
    tsw_grid_fini(&grid);
}

static void print_totals(const tsw_run_state_t *state, tsw_buf_t *out)
{
    char elapsed[32];
    tsw_buf_printf(out,
                   "  cells    %.0f %% of the expected time done; %" PRId64 " in hand, %" PRId64
                   " skipped, %" PRId64 " out of reach\n",
                   100 * state->done_ratio, state->cells_leased, state->cells_skipped,
                   state->cells_unreachable);
    tsw_buf_printf(out, "  configs  %" PRId64 " of %" PRId64 " done, %" PRId64 " failed\n",
                   state->configs_done, state->configs_total, state->configs_failed);
    tsw_buf_printf(out, "  builds   %" PRId64 " of %" PRId64 "\n", state->builds_done,
                   state->builds_total);
    tsw_buf_printf(out, "  ranks    %" PRId64 ", for %s, %.1f cells/min", state->ranks,
                   tsw_text_format_seconds(state->elapsed_s, elapsed), state->cells_per_min);
    if (strcmp(state->mode, "cuda") == 0)
        tsw_buf_printf(out, ", GPUs busy %.0f %%\n", 100 * state->gpu_busy_ratio);
    else
        tsw_buf_printf(out, ", devices: %s\n", state->mode);
}

void tsw_cli_status_print(const tsw_run_state_t *state, const char *run_dir, double age_s,
                          tsw_buf_t *out)
{
    tsw_cli_status_line(state, run_dir, age_s, out);
    print_totals(state, out);
    print_rows(state->archs, state->arch_count, true, out);
    print_rows(state->nodes, state->node_count, false, out);
    for (size_t i = 0; i < state->retired_count; i++) {
        const tsw_status_retired_t *retired = &state->retired[i];
        tsw_buf_printf(out, "  retired: rank %" PRId64 " on %s, %s: %s\n", retired->rank,
                       retired->node, retired->gpu, retired->reason);
    }
    if (state->error != NULL)
        tsw_buf_printf(out, "  error: %s\n", state->error);
}
