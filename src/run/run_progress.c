/* How far the run is: status.json, and a bar or a line per minute on standard error. */
#include "base/clock.h"
#include "base/log.h"
#include "run/run_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_EVERY_NS 2000000000u
#define BAR_EVERY_NS    200000000u
#define LINE_EVERY_NS   60000000000u
#define BAR_WIDTH       30

typedef struct {
    tsw_coord_progress_t coord;
    size_t cells_todo;        /* that are not skipped */
    double share;             /* of the expected cost, 0..1 */
    double elapsed_s, left_s; /* left: NAN when unknown */
} view_t;

static view_t look(const tsw_run_t *run)
{
    view_t view = {.coord = tsw_coord_progress(run->coord)};
    view.cells_todo = view.coord.cells_total - view.coord.cells_skipped;
    view.elapsed_s = (double)(tsw_clock_now_ns() - run->progress.start_ns) * 1e-9;
    if (view.coord.cost_total_ns > 0)
        view.share = view.coord.cost_done_ns / view.coord.cost_total_ns;
    else if (view.cells_todo > 0)
        view.share = (double)view.coord.cells_done / (double)view.cells_todo;
    view.left_s = view.share > 0 ? view.elapsed_s * (1 - view.share) / view.share : NAN;
    return view;
}

/* An unknown number is null. */
static void write_status(tsw_run_t *run, const view_t *view, const char *state)
{
    tsw_buf_t json = TSW_BUF_INIT;
    char left[32] = "null";
    char now[32];
    if (isfinite(view->left_s))
        snprintf(left, sizeof(left), "%.1f", view->left_s);
    tsw_buf_printf(&json, "{\n  \"state\": \"%s\",\n  \"attempt\": %u,\n  \"ranks\": %d,\n", state,
                   run->attempt, run->size);
    tsw_buf_printf(&json, "  \"mode\": \"%s\",\n", run->meta.mode);
    tsw_buf_printf(&json,
                   "  \"cells\": {\"total\": %zu, \"done\": %zu, \"failed\": %zu, "
                   "\"skipped\": %zu, \"leased\": %zu, \"unreachable\": %zu},\n",
                   view->coord.cells_total, view->coord.cells_done, view->coord.cells_failed,
                   view->coord.cells_skipped, view->coord.cells_leased,
                   tsw_coord_unreachable(run->coord));
    tsw_buf_printf(&json, "  \"builds\": {\"total\": %zu, \"done\": %zu},\n",
                   view->coord.builds_total, view->coord.builds_done);
    tsw_buf_append_text(&json, "  \"retired\": ");
    tsw_run_put_retired(run, &json);
    tsw_buf_append_text(&json, ",\n");
    tsw_buf_printf(&json,
                   "  \"done_ratio\": %.4f,\n  \"elapsed_s\": %.1f,\n  \"left_s\": %s,\n"
                   "  \"gpu_busy_ratio\": %.4f,\n  \"updated\": \"%s\"\n}\n",
                   view->share, view->elapsed_s, left, tsw_run_busy_ratio(run),
                   tsw_clock_format_utc(tsw_clock_wall_ns(), now));
    char *path = tsw_path_join(run->options->run_dir, "status.json");
    tsw_err_t err = TSW_ERR_INIT;
    /* Of use to people only: its loss must not stop the run. */
    if (path == NULL || !tsw_buf_ok(&json))
        tsw_log(TSW_LOG_WARN, "status.json: out of memory");
    else if (tsw_file_write_atomic(path, json.data, json.size, &err) != TSW_OK)
        tsw_log(TSW_LOG_WARN, "status.json: %s", err.text);
    tsw_free(path);
    tsw_buf_fini(&json);
}

static void format_left(double left_s, char *out, size_t size)
{
    if (!isfinite(left_s))
        snprintf(out, size, "?");
    else if (left_s < 100)
        snprintf(out, size, "%.0f s", left_s);
    else if (left_s < 6000)
        snprintf(out, size, "%.0f min", left_s / 60);
    else
        snprintf(out, size, "%.1f h", left_s / 3600);
}

static void format_line(const view_t *view, char *out, size_t size)
{
    char left[32];
    format_left(view->left_s, left, sizeof(left));
    double per_minute =
        view->elapsed_s > 0 ? (double)view->coord.cells_done * 60 / view->elapsed_s : 0;
    snprintf(out, size, "cells %zu/%zu, %zu failed, builds %zu/%zu, %.1f cells/min, left %s",
             view->coord.cells_done, view->cells_todo, view->coord.cells_failed,
             view->coord.builds_done, view->coord.builds_total, per_minute, left);
}

static void draw_bar(const view_t *view)
{
    char bar[BAR_WIDTH + 1];
    char line[160];
    int full = (int)(view->share * BAR_WIDTH);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    format_line(view, line, sizeof(line));
    fprintf(stderr, "\r[%s] %s\033[K", bar, line);
}

/* A log line must not be written into the bar: it goes to the start of a fresh line. */
static void line_over_bar(const char *line, void *user)
{
    (void)user;
    fprintf(stderr, "\r\033[K%s\n", line);
}

/* A bar needs a terminal that can go back in its line. */
static bool can_draw(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

void tsw_run_progress_start(tsw_run_t *run)
{
    tsw_run_progress_t *progress = &run->progress;
    uint64_t now = tsw_clock_now_ns();
    progress->start_ns = now;
    progress->next_status_ns = now;
    progress->bar = run->options->progress && can_draw();
    progress->next_line_ns = now + (progress->bar ? BAR_EVERY_NS : LINE_EVERY_NS);
    if (progress->bar)
        tsw_log_set_sink(line_over_bar, NULL);
}

bool tsw_run_progress_tick(tsw_run_t *run)
{
    tsw_run_progress_t *progress = &run->progress;
    uint64_t now = tsw_clock_now_ns();
    bool status_due = now >= progress->next_status_ns;
    bool line_due = run->options->progress && now >= progress->next_line_ns;
    if (!status_due && !line_due)
        return false;
    view_t view = look(run);
    if (line_due && progress->bar) {
        draw_bar(&view);
        progress->next_line_ns = now + BAR_EVERY_NS;
    } else if (line_due) {
        char line[160];
        format_line(&view, line, sizeof(line));
        tsw_log_root(TSW_LOG_INFO, "%s", line);
        progress->next_line_ns = now + LINE_EVERY_NS;
    }
    if (status_due) {
        write_status(run, &view, run->draining ? "draining" : "running");
        progress->next_status_ns = now + STATUS_EVERY_NS;
    }
    return status_due;
}

void tsw_run_progress_end(tsw_run_t *run, const char *state)
{
    if (run->progress.bar) {
        fprintf(stderr, "\r\033[K");
        tsw_log_set_sink(NULL, NULL);
        run->progress.bar = false;
    }
    if (run->coord == NULL || state == NULL)
        return;
    view_t view = look(run);
    view.left_s = strcmp(state, "done") == 0 ? 0 : view.left_s;
    write_status(run, &view, state);
}
