#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warn", "info", "debug", "trace"};

/* The one global of the tool: where and how much to log. */
static struct {
    tsw_log_level_t threshold;
    int rank;
    char name[64];
    tsw_log_sink_fn_t sink;
    void *user;
} state = {.threshold = TSW_LOG_WARN, .rank = -1};

static bool parse_level(const char *text, tsw_log_level_t *level_p)
{
    for (int i = 0; i <= TSW_LOG_TRACE; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *level_p = (tsw_log_level_t)i;
            return true;
        }
    }
    return false;
}

void tsw_log_setup(tsw_log_level_t threshold, int rank, const char *name)
{
    state.threshold = threshold;
    const char *forced = getenv("TSW_LOG");
    if (forced != NULL)
        parse_level(forced, &state.threshold);
    state.rank = rank;
    snprintf(state.name, sizeof(state.name), "%s", name != NULL ? name : "");
}

static bool is_wanted(tsw_log_level_t level)
{
    return level <= state.threshold;
}

void tsw_log_set_sink(tsw_log_sink_fn_t sink, void *user)
{
    state.sink = sink;
    state.user = user;
}

__attribute__((format(printf, 2, 0))) static void write_line(tsw_log_level_t level,
                                                             const char *format, va_list args)
{
    char line[4096];
    time_t now = time(NULL);
    struct tm parts;
    size_t n = 0;
    if (gmtime_r(&now, &parts) != NULL)
        n = strftime(line, sizeof(line), "%H:%M:%S ", &parts);
    int more = state.rank >= 0 ? snprintf(line + n, sizeof(line) - n, "[%d%s%s] ", state.rank,
                                          state.name[0] != '\0' ? " " : "", state.name)
               : state.name[0] != '\0' ? snprintf(line + n, sizeof(line) - n, "[%s] ", state.name)
                                       : 0;
    n += (size_t)more;
    n += (size_t)snprintf(line + n, sizeof(line) - n, "%s: ", level_names[level]);
    int text = vsnprintf(line + n, sizeof(line) - n - 1, format, args);
    n += text > 0 ? (size_t)text : 0;
    if (n > sizeof(line) - 2)
        n = sizeof(line) - 2;
    if (state.sink != NULL) {
        line[n] = '\0';
        state.sink(line, state.user);
        return;
    }
    line[n] = '\n';
    ssize_t written = write(STDERR_FILENO, line, n + 1);
    (void)written; /* nowhere left to complain */
}

void tsw_log(tsw_log_level_t level, const char *format, ...)
{
    if (!is_wanted(level))
        return;
    va_list args;
    va_start(args, format);
    write_line(level, format, args);
    va_end(args);
}

void tsw_log_root(tsw_log_level_t level, const char *format, ...)
{
    if (state.rank > 0 || !is_wanted(level))
        return;
    va_list args;
    va_start(args, format);
    write_line(level, format, args);
    va_end(args);
}
