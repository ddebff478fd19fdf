/* The work on one cell, shared by the files that do it. Private to reduce. */
#ifndef TSW_REDUCE_REDUCE_WORK_H
#define TSW_REDUCE_REDUCE_WORK_H

#include "reduce/reduce.h"

/* Samples that may be compared with each other. */
typedef enum {
    TSW_CLASS_DECISIVE,
    TSW_CLASS_EARLY,  /* single launches of a race's first waves */
    TSW_CLASS_WARMUP, /* of configs that were hopeless at once, and of those beside them */
    TSW_CLASS_VERIFY, /* the same, by the launch that was verified */
    TSW_CLASS_COUNT,  /* of time */
    TSW_CLASS_ENERGY = TSW_CLASS_COUNT,
    TSW_CLASS_NONE,
} tsw_reduce_class_t;

/* Samples of one config and class, per launch. */
typedef struct {
    tsw_round_value_t *values; /* a round at most once, ascending */
    size_t count;
    tsw_summary_t summary;
} tsw_reduce_series_t;

typedef struct {
    tsw_reduce_series_t of[TSW_CLASS_NONE];
    tsw_reduce_class_t basis; /* what its time comes from */
    bool is_hopeless;
} tsw_reduce_times_t;

/* What a winner has least of. */
typedef struct {
    const char *name;
    size_t offset; /* in tsw_summary_t; none where it is by energy */
} tsw_reduce_objective_t;

typedef struct {
    const tsw_cell_result_t *cell;
    const tsw_reduce_options_t *options;
    tsw_cell_summary_t *summary;
    tsw_reduce_times_t *times; /* per record */
    const tsw_reduce_objective_t *objective;
    bool by_energy;          /* the winner comes of another stage than times do */
    int32_t fastest;         /* that times are told from; the winner, unless that is by energy */
    tsw_round_value_t *pool; /* memory of all series */
    tsw_round_value_t *room; /* what is left of it */
    double floor_ns;         /* no launch can be faster; 0: unknown */
    double *scratch;         /* room for the samples of the longest record */
} tsw_reduce_work_t;

/* ---- reduce_times.c ---- */

/* Index of the record with a config_index; -1: none. */
int32_t tsw_reduce_find_record(const tsw_cell_result_t *cell, uint32_t config_index);
/* Fills times, and of the summary what each config has by itself. TSW_ERR_NOMEM. */
tsw_status_t tsw_reduce_time_all(tsw_reduce_work_t *w, tsw_err_t *err);

/* ---- reduce_pair.c ---- */

/* Over the rounds of the best class that has common ones. Without an interval (NaN) where these do
 * not decide, or where there is only one. */
tsw_paired_t tsw_reduce_pair(const tsw_reduce_work_t *w, size_t a, int32_t b);
/* The paired log ratio, or that of the medians of a common class where no round is common. */
double tsw_reduce_log_ratio(const tsw_reduce_work_t *w, size_t a, int32_t b,
                            const tsw_paired_t *paired);
/* A config without samples of the fastest one's kind gets its time from the ratio to it. */
void tsw_reduce_estimate(tsw_reduce_work_t *w, size_t index);
/* What decides between configs that are equal: the baseline goes first, then the text. */
bool tsw_reduce_goes_first(const tsw_reduce_work_t *w, int32_t a, int32_t b);

/* ---- reduce_energy.c ---- */

/* Winner, ties, regrets and the gain over the baseline. */
void tsw_reduce_judge_energy(tsw_reduce_work_t *w);

#endif
