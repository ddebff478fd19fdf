#include "base/rng.h"

#include <math.h>

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x;
}

uint64_t tsw_rng_u64(uint64_t seed, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    uint64_t x = mix(seed + golden);
    x = mix(x ^ (a + golden));
    x = mix(x ^ (b + 2 * golden));
    x = mix(x ^ (c + 3 * golden));
    return mix(x ^ (d + 4 * golden));
}

double tsw_rng_uniform(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

double tsw_rng_normal(uint64_t bits)
{
    const double two_pi = 6.283185307179586;
    double u = 1.0 - tsw_rng_uniform(bits);
    double v = tsw_rng_uniform(mix(bits + 1));
    return sqrt(-2.0 * log(u)) * cos(two_pi * v);
}

uint64_t tsw_rng_fold(tsw_key_t key)
{
    return key.hi ^ mix(key.lo);
}

void tsw_rng_permutation(uint64_t seed, uint64_t a, uint64_t b, uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)(tsw_rng_u64(seed, a, b, 0x5e0ffu, i) % i);
        uint32_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}
