/* A race between the configs of one cell: which of them run next, and when to stop.
 * Pure: latencies in, decisions out.
 *
 * A round is one sample of each live config, in shuffled order; a wave is one round or several that
 * are queued together. Two early rounds drop what is hopeless against the best so far: beyond 1.20x
 * after the first, of single launches, then 1.10x. A sample may be too long by bias_ns, so it
 * counts less that where a config is dropped. The second of them is a paired one already. Where no
 * more are left than the final takes it begins at once; else the survivors run in blocks of rounds
 * and are compared with the incumbent in pairs, d_i = log(t_i / t_incumbent) per round, so that a
 * drift of the clock common to a round cancels. A config is eliminated when its d (Hodges-Lehmann,
 * stats.h) is above z * se, se = 1.0233
 * * 1.4826 * MAD(d_i) / sqrt(n) (its standard error for normal values; the spread counts as what
 * was measured at least, since a few samples may agree by chance), z = sqrt(2 ln(2 K ln(n + 2) /
 * alpha)): a union bound over K configs and all looks (successive elimination, Even-Dar et al.
 * 2006; the iterated logarithm form after Jamieson & Nowak 2014). The blocks end when no more than
 * the final takes can be better than the incumbent by the indifference (one-sided, 95 %), at a cap,
 * or, by the median and after five paired rounds, when all rounds so far took what 8 launches of
 * each config would take, or 3 with a flush of the L2.
 *
 * In the final the best few run anew, with a hidden second sample of the leader per round as A/A
 * control: until none of them can be better than the leader by the indifference (one-sided, 95 %),
 * then, while the control is off (tsw_stats_is_off), the leader and its control alone. Both as far
 * as the final's time goes: what 8, and 24, launches of each config with a flush of the L2 would
 * take, and 2 ms. Only final samples choose the winner. A control that is off at the end makes the
 * race unsettled.
 *
 * Under another objective than the median the first limits are wider (of a quantile: against
 * the slowest sample of a config). The mean compares means of d_i; a quantile eliminates whose
 * fastest quarter is slower than all of the leader's samples, and its final is of a set length. */
#ifndef TSW_STATS_RACE_H
#define TSW_STATS_RACE_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    TSW_RACE_RUNNING,
    TSW_RACE_HOPELESS,   /* beyond an early limit */
    TSW_RACE_ELIMINATED, /* slower than the incumbent with confidence */
    TSW_RACE_NOT_FINAL,  /* alive, but not among the last few */
    TSW_RACE_TIED,       /* in the final, not told apart from the winner */
    TSW_RACE_BEATEN,     /* in the final, slower than the winner */
    TSW_RACE_WINNER,
    TSW_RACE_DROPPED, /* failed: taken out from outside */
    TSW_RACE_STOPPED, /* tsw_race_stop came first */
    TSW_RACE_BROKEN,  /* a time that cannot be: not positive, or twice below the floor */
} tsw_race_fate_t;

typedef enum {
    TSW_RACE_MEDIAN,
    TSW_RACE_MEAN,
    TSW_RACE_QUANTILE,
} tsw_race_figure_t;

typedef struct {
    tsw_race_figure_t figure;   /* of which the winner has least */
    double quantile;            /* of TSW_RACE_QUANTILE */
    double alpha;               /* chance to lose the true best, over the whole race */
    double indifference;        /* relative difference that does not matter */
    double control_limit;       /* relative; of the A/A control */
    uint32_t max_rounds;        /* paired rounds before the final */
    uint32_t final_size;        /* configs in the final, without the control */
    uint32_t final_least;       /* rounds of it: always */
    uint32_t final_rounds;      /* where its time allows */
    uint32_t final_most;        /* until it is settled */
    uint64_t round_interval_ns; /* length of a sample before the final */
    uint64_t final_interval_ns; /* and in it */
    uint64_t wave_ns;           /* no wave of several rounds takes longer, about */
    double bias_ns;             /* by which a sample may be too long */
    double floor_ns;            /* no launch can be faster; 0: unknown */
    /* Takes part in the first final_rounds rounds of the final even after it was hopeless or
     * eliminated, for an honest comparison, if these take no longer than keep_ns. It decides
     * nothing there and keeps its fate. -1: none. */
    int64_t keep;
    double keep_ns;
} tsw_race_options_t;

#define TSW_RACE_OPTIONS_DEFAULT                                                                   \
    {                                                                                              \
        .alpha = 0.05, .indifference = 0.005, .control_limit = 0.003, .max_rounds = 96,            \
        .final_size = 3, .final_least = 3, .final_rounds = 3, .final_most = 48,                    \
        .round_interval_ns = 30000, .final_interval_ns = 120000, .wave_ns = 20000000,              \
        .bias_ns = 1500.0, .keep = -1, .keep_ns = 10e9                                             \
    }

/* Rounds in one wave at most. */
#define TSW_RACE_BATCH 8

typedef struct tsw_race tsw_race_t;

/* Over configs 0..count-1. cell and seed decide the order within rounds.
 * TSW_ERR_ARG: count is 0, or there is no config to keep; TSW_ERR_NOMEM. */
tsw_status_t tsw_race_new(const tsw_race_options_t *options, uint64_t seed, tsw_key_t cell,
                          size_t count, tsw_race_t **race_p, tsw_err_t *err);
void tsw_race_free(tsw_race_t *race);

typedef struct {
    uint32_t round;  /* number of its first round, from 0 */
    uint32_t rounds; /* how many, one after the other in configs */
    bool is_final;
    uint64_t interval_ns;    /* wanted length of a sample; 0: a single launch */
    const uint32_t *configs; /* in order of launch; borrowed until the next call */
    const bool *is_control;  /* for each: the leader's second sample of its round */
    size_t count;            /* 0: the race is over */
} tsw_race_wave_t;

/* Before the first wave: what a launch outside the race took; 0: not known. A config that took more
 * than 1.3 times as long as the fastest of these, and 100 us, is hopeless without any round: its
 * code and data were as cold as the others', and its launch may have been held up a little. */
void tsw_race_first(tsw_race_t *race, uint32_t config, double time_ns);
void tsw_race_next(tsw_race_t *race, tsw_race_wave_t *wave_p);
/* Nanoseconds per launch for each of the wave's configs, in its order, and the launches behind each
 * (NULL: one). */
void tsw_race_report(tsw_race_t *race, const double *time_ns, const uint32_t *launches);
/* The time is up: the leader so far wins. */
void tsw_race_stop(tsw_race_t *race);
/* A config failed and takes no further part. */
void tsw_race_drop(tsw_race_t *race, uint32_t config);

tsw_race_fate_t tsw_race_fate(const tsw_race_t *race, uint32_t config);
int64_t tsw_race_winner(const tsw_race_t *race); /* -1: none yet, or all failed */
/* Over the final, log(control / leader), Hodges-Lehmann: 0 where nothing biases the race. */
double tsw_race_control(const tsw_race_t *race);
/* It is over, and its control was still off at the cap. */
bool tsw_race_is_unsettled(const tsw_race_t *race);
/* Samples of a config in paired rounds so far: without the early ones and the control. */
size_t tsw_race_samples(const tsw_race_t *race, uint32_t config);

#endif
