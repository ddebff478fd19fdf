/* Log to standard error: one line, one write. Levels by volume: error and warn a few a run, info
 * a few a cell, debug a few a config, trace a few a launch. */
#ifndef TSW_BASE_LOG_H
#define TSW_BASE_LOG_H

typedef enum {
    TSW_LOG_ERROR,
    TSW_LOG_WARN,
    TSW_LOG_INFO,
    TSW_LOG_DEBUG,
    TSW_LOG_TRACE,
} tsw_log_level_t;

/* Set once at start: threshold (TSW_LOG=... overrides it), the rank, or -1 where there is none,
 * and a name for who speaks ("node17", "worker"); name is copied. */
void tsw_log_setup(tsw_log_level_t threshold, int rank, const char *name);

/* All ranks speak. */
void tsw_log(tsw_log_level_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Only rank 0, or a process without a rank, speaks. */
void tsw_log_root(tsw_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Tests and the progress line take over the output; NULL restores standard error. */
typedef void (*tsw_log_sink_fn_t)(const char *line, void *user);
void tsw_log_set_sink(tsw_log_sink_fn_t sink, void *user);

#endif
