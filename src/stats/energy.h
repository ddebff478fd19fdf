/* The choice by energy: who is tried, and who wins. Pure.
 *
 * A launch that takes longer takes more energy at the same power, so only configs within 1.6x of
 * the fastest are tried: a board's power does not differ by more between kernels that do the same
 * work. Of them the finalists of the time come first, then the fastest, and the baseline always
 * does. All run in blocks, one after the other, for three rounds in shuffled orders; the one with
 * the least median of joules per launch wins. Within 1 % of it are ties: the counter is coarse. */
#ifndef TSW_STATS_ENERGY_H
#define TSW_STATS_ENERGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSW_ENERGY_MOST         6
#define TSW_ENERGY_ROUNDS       3
#define TSW_ENERGY_INDIFFERENCE 0.01

typedef struct {
    double time_ns;   /* per launch; 0: it cannot be tried */
    bool is_finalist; /* of the time's */
    bool is_baseline;
} tsw_energy_entrant_t;

/* Who is tried, at most TSW_ENERGY_MOST, into chosen. */
size_t tsw_energy_choose(const tsw_energy_entrant_t *entrants, size_t count, uint32_t *chosen);

/* Joules per launch of one config, a value a round; sorts them in place. NaN without any, or where
 * one is not above 0: the counter failed, and nothing is known. */
double tsw_energy_median(double *joules, size_t count);

/* Index of the least; among equals the first. -1: all are NaN. */
int64_t tsw_energy_least(const double *joules, size_t count);
bool tsw_energy_is_tie(double joules, double least);

#endif
