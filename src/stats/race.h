/* A race between the configs of one cell: which of them run in the next wave, and when to stop.
 * Pure: latencies in, decisions out.
 *
 * A wave is one sample of each live config, in shuffled order. Early waves drop what is hopeless
 * against the best so far: beyond 3x after wave 0 (the warm-up), then 1.6x, 1.25x, 1.10x. Their
 * samples serve nothing else: later ones may be taken in another way (more launches per sample).
 * After them survivors run in blocks of waves and are compared with the incumbent in pairs, d_i =
 * log(t_i / t_incumbent) per wave, so that a drift of the clock common to a wave cancels. A config
 * is eliminated when median(d_i) > z * se, se = 1.2533 * 1.4826 * MAD(d_i) / sqrt(n) (the
 * standard error of a median of normal values; the spread counts as 0.2 % at least, since a few
 * samples may agree by chance), z = sqrt(2 ln(2 K ln(n + 2) / alpha)): a union
 * bound over K configs and all looks (successive elimination, Even-Dar et al. 2006; the iterated
 * logarithm form after Jamieson & Nowak 2014). It stops when no survivor can be better than the
 * incumbent by more than the indifference, or at a cap. In the final the best few run a set number
 * of waves, with a hidden second sample of the incumbent per wave as A/A control. */
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

typedef struct {
    double alpha;        /* chance to lose the true best, over the whole race */
    double indifference; /* relative difference that does not matter */
    uint32_t max_rounds; /* paired waves before the final */
    uint32_t final_size; /* configs in the final, without the control */
    /* The final ends once the leader has so many waves and launches in it; after the waves alone
     * when all others are told apart from it. */
    uint32_t final_rounds, final_launches;
    double floor_ns; /* no launch can be faster; 0: unknown */
    /* Takes part in the first final_rounds waves of the final even after it was hopeless or
     * eliminated, for an honest comparison, if these take no longer than keep_ns. It decides
     * nothing there and keeps its fate. -1: none. */
    int64_t keep;
    double keep_ns;
} tsw_race_options_t;

#define TSW_RACE_OPTIONS_DEFAULT                                                                   \
    {                                                                                              \
        .alpha = 0.05, .indifference = 0.005, .max_rounds = 96, .final_size = 3,                   \
        .final_rounds = 6, .final_launches = 32, .keep = -1, .keep_ns = 10e9                       \
    }

typedef struct tsw_race tsw_race_t;

/* Over configs 0..count-1. cell and seed decide the order within waves. */
tsw_status_t tsw_race_new(const tsw_race_options_t *options, uint64_t seed, tsw_key_t cell,
                          size_t count, tsw_race_t **race_p, tsw_err_t *err);
void tsw_race_free(tsw_race_t *race);

typedef struct {
    uint32_t round; /* number of the wave, from 0 */
    bool is_warmup; /* decides only the first limit */
    bool is_early;
    bool is_final;
    const uint32_t *configs; /* in order of launch; borrowed until the next call */
    size_t count;            /* 0: the race is over */
    size_t control_slot;     /* in the final: the incumbent's second sample; else count */
} tsw_race_wave_t;

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
/* Median over the final of log(control / incumbent): 0 where nothing biases the race. */
double tsw_race_control(const tsw_race_t *race);
/* Samples of a config in paired waves so far: without the early ones and the control. */
size_t tsw_race_samples(const tsw_race_t *race, uint32_t config);

#endif
