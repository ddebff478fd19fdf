/* Counter-based random numbers: a value is a pure function of its key and counters, never of the
 * order of calls, the rank or the time (Salmon et al., SC11, "Parallel random numbers: as easy as
 * 1, 2, 3"; the mixer is the 64-bit finaliser of MurmurHash3 / SplitMix64). */
#ifndef TSW_BASE_RNG_H
#define TSW_BASE_RNG_H

#include "base/hash.h"

#include <stddef.h>
#include <stdint.h>

/* 64 random bits for (seed, a, b, c, d). */
uint64_t tsw_rng_u64(uint64_t seed, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
double tsw_rng_uniform(uint64_t bits); /* bits to [0, 1) */
double tsw_rng_normal(uint64_t bits);  /* bits to a standard normal (Box-Muller) */
uint64_t tsw_rng_fold(tsw_key_t key);  /* a counter from a key */

/* Fisher-Yates: order[0..count) becomes a permutation of 0..count-1 drawn for (seed, a, b). */
void tsw_rng_permutation(uint64_t seed, uint64_t a, uint64_t b, uint32_t *order, size_t count);

#endif
