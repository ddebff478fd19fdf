/* How far the run is: status.json, and a bar or a line per minute on standard error. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
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
    tsw_run_tally_t tally;    /* of all attempts */
    double cells_per_min;     /* in this attempt */
    double share;             /* of the expected cost, 0..1 */
    double elapsed_s, left_s; /* left: NAN when unknown */
} view_t;

static view_t look(const tsw_run_t *run)
{
    view_t view = {.coord = tsw_run_total_progress(run)};
    view.cells_todo = view.coord.cells_total - view.coord.cells_skipped;
    view.elapsed_s = (double)(tsw_clock_now_ns() - run->progress.start_ns) * 1e-9;
    view.tally = tsw_run_tally_all(run);
    view.cells_per_min = tsw_run_cells_per_min(run, view.elapsed_s);
    if (view.coord.cost_total_ns > 0)
        view.share = view.coord.cost_done_ns / view.coord.cost_total_ns;
    else if (view.cells_todo > 0)
        view.share = (double)view.coord.cells_done / (double)view.cells_todo;
    double gained = view.share - run->progress.share_before;
    view.left_s = gained > 0 ? view.elapsed_s * (1 - view.share) / gained : NAN;
    return view;
}

static void write_status(const tsw_run_t *run, const view_t *view, const char *state,
                         const tsw_err_t *err)
{
    tsw_run_status_t status = {.state = state,
                               .err = err,
                               .done_ratio = view->share,
                               .elapsed_s = view->elapsed_s,
                               .left_s = view->left_s};
    tsw_run_status_write(run, &status);
}

static void format_line(const view_t *view, char *out, size_t size)
{
    char left[32];
    tsw_text_format_seconds(view->left_s, left);
    snprintf(out, size, "cells %zu/%zu, %zu failed, builds %zu/%zu, %.1f cells/min, left %s",
             view->coord.cells_done, view->cells_todo, view->tally.cells_failed,
             view->coord.builds_done, view->coord.builds_total, view->cells_per_min, left);
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
    if (progress->start_ns == 0) /* else: of an earlier generation */
        progress->start_ns = now;
    progress->next_status_ns = now;
    progress->share_before = look(run).share;
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
        write_status(run, &view, run->draining ? "draining" : "running", NULL);
        progress->next_status_ns = now + STATUS_EVERY_NS;
    }
    return status_due;
}

void tsw_run_progress_end(tsw_run_t *run, const char *state, const tsw_err_t *err)
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
    write_status(run, &view, state, err);
}
