#include "stats/energy.h"

#include "stats/stats.h"

#include <math.h>

static const double slowest_ratio = 1.6;

static int rank_of(const tsw_energy_entrant_t *entrant)
{
    return entrant->is_baseline ? 0 : entrant->is_finalist ? 1 : 2;
}

static bool comes_before(const tsw_energy_entrant_t *a, const tsw_energy_entrant_t *b)
{
    if (rank_of(a) != rank_of(b))
        return rank_of(a) < rank_of(b);
    return a->time_ns < b->time_ns;
}

size_t tsw_energy_choose(const tsw_energy_entrant_t *entrants, size_t count, uint32_t *chosen)
{
    double best = INFINITY;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (entrants[i].time_ns > 0.0)
            best = fmin(best, entrants[i].time_ns);
    for (uint32_t i = 0; i < count; i++) {
        const tsw_energy_entrant_t *entrant = &entrants[i];
        bool is_near = entrant->is_baseline || entrant->time_ns <= slowest_ratio * best;
        if (!(entrant->time_ns > 0.0) || !is_near)
            continue;
        size_t at = n;
        while (at > 0 && comes_before(entrant, &entrants[chosen[at - 1]]))
            at--;
        if (at == TSW_ENERGY_MOST)
            continue;
        n += n < TSW_ENERGY_MOST;
        for (size_t k = n - 1; k > at; k--)
            chosen[k] = chosen[k - 1];
        chosen[at] = i;
    }
    return n;
}

double tsw_energy_median(double *joules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(joules[i] > 0.0))
            return (double)NAN;
    return count > 0 ? tsw_stats_median(joules, count) : (double)NAN;
}

int64_t tsw_energy_least(const double *joules, size_t count)
{
    int64_t least = -1;
    for (size_t i = 0; i < count; i++)
        if (!isnan(joules[i]) && (least < 0 || joules[i] < joules[least]))
            least = (int64_t)i;
    return least;
}

bool tsw_energy_is_tie(double joules, double least)
{
    return joules <= least * (1.0 + TSW_ENERGY_INDIFFERENCE);
}
