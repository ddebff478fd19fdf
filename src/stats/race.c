#include "stats/race.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Early limits against the best, after wave 0 (the warm-up), 1, 2 and 3. */
static const double early_limits[] = {3.0, 1.6, 1.25, 1.10};
enum { EARLY_WAVES = 4, SMALL_BLOCK = 4, LARGE_BLOCK = 8, LARGE_FROM = 16 };

typedef struct {
    tsw_race_fate_t fate;
    double *log_ns; /* per counted wave; a running config has all of them */
    size_t count;
    double fastest; /* log of its fastest sample, the warm-up among them */
} entrant_t;

struct tsw_race {
    tsw_race_options_t options;
    uint64_t seed;
    uint64_t cell;
    entrant_t *entrants;
    size_t entrant_count;
    uint32_t *members; /* who takes part in the wave, the control last */
    uint32_t *wave;    /* the wave that is out, in order of launch */
    size_t wave_count;
    size_t control_slot;
    uint32_t round;     /* of the wave that is out, or the next one */
    uint32_t next_look; /* counted waves at the end of this block */
    uint32_t finals;    /* waves of the final so far */
    bool in_final;
    bool over;
    int64_t incumbent;
    double *control; /* log(control / incumbent) per final wave */
    double *scratch; /* room for two runs of samples */
};

const char *tsw_race_fate_name(tsw_race_fate_t fate)
{
    static const char *const names[] = {"running", "hopeless", "eliminated", "not_final",
                                        "tied",    "beaten",   "winner",     "dropped"};
    return (size_t)fate < sizeof(names) / sizeof(names[0]) ? names[fate] : "?";
}

tsw_status_t tsw_race_new(const tsw_race_options_t *options, uint64_t seed, tsw_key_t cell,
                          size_t count, tsw_race_t **race_p, tsw_err_t *err)
{
    if (count == 0)
        return tsw_err_set(err, TSW_ERR_ARG, "a race needs at least one config");
    tsw_race_t *race = tsw_calloc(1, sizeof(*race));
    if (race == NULL)
        return tsw_err_nomem(err);
    size_t waves = (size_t)options->max_rounds + LARGE_BLOCK + EARLY_WAVES + options->final_rounds;
    race->options = *options;
    race->seed = seed;
    race->cell = tsw_rng_fold(cell);
    race->entrant_count = count;
    race->next_look = EARLY_WAVES - 1;
    race->incumbent = -1;
    race->entrants = tsw_calloc(count, sizeof(*race->entrants));
    race->members = tsw_calloc(count + 1, sizeof(*race->members));
    race->wave = tsw_calloc(count + 1, sizeof(*race->wave));
    race->control = tsw_calloc(waves, sizeof(*race->control));
    race->scratch = tsw_calloc(2 * waves, sizeof(*race->scratch));
    bool ok = race->entrants != NULL && race->members != NULL && race->wave != NULL &&
              race->control != NULL && race->scratch != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        race->entrants[i].fastest = INFINITY;
        race->entrants[i].log_ns = tsw_calloc(waves, sizeof(double));
        ok = race->entrants[i].log_ns != NULL;
    }
    if (!ok) {
        tsw_race_free(race);
        return tsw_err_nomem(err);
    }
    *race_p = race;
    return TSW_OK;
}

void tsw_race_free(tsw_race_t *race)
{
    if (race == NULL)
        return;
    for (size_t i = 0; race->entrants != NULL && i < race->entrant_count; i++)
        tsw_free(race->entrants[i].log_ns);
    tsw_free(race->entrants);
    tsw_free(race->members);
    tsw_free(race->wave);
    tsw_free(race->control);
    tsw_free(race->scratch);
    tsw_free(race);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sort_and_take_median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare_doubles);
    return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

static double entrant_median(const tsw_race_t *race, const entrant_t *entrant)
{
    if (entrant->count == 0)
        return entrant->fastest;
    memcpy(race->scratch, entrant->log_ns, entrant->count * sizeof(double));
    return sort_and_take_median(race->scratch, entrant->count);
}

/* Median of the paired differences a - b over n waves, and its standard error. */
static double paired_median(const tsw_race_t *race, const double *a, const double *b, size_t n,
                            double *se_p)
{
    double *d = race->scratch;
    double *deviation = race->scratch + n;
    for (size_t i = 0; i < n; i++)
        d[i] = a[i] - b[i];
    double median = sort_and_take_median(d, n);
    for (size_t i = 0; i < n; i++)
        deviation[i] = fabs(d[i] - median);
    *se_p = 1.2533 * 1.4826 * sort_and_take_median(deviation, n) / sqrt((double)n);
    return median;
}

static bool is_running(const tsw_race_t *race, size_t i)
{
    return race->entrants[i].fate == TSW_RACE_RUNNING;
}

static size_t count_running(const tsw_race_t *race)
{
    size_t count = 0;
    for (size_t i = 0; i < race->entrant_count; i++)
        count += is_running(race, i);
    return count;
}

/* The running config of the lowest (sign 1) or highest (sign -1) median; -1: none runs. */
static int64_t find_extreme(const tsw_race_t *race, double sign)
{
    int64_t found = -1;
    double extreme = INFINITY;
    for (size_t i = 0; i < race->entrant_count; i++) {
        if (!is_running(race, i))
            continue;
        double median = sign * entrant_median(race, &race->entrants[i]);
        if (found < 0 || median < extreme) {
            found = (int64_t)i;
            extreme = median;
        }
    }
    return found;
}

/* A slow outlier must not cost a good config its place, so its fastest sample is judged. */
static void drop_hopeless(tsw_race_t *race, double limit)
{
    int64_t best = find_extreme(race, 1.0);
    double bound = entrant_median(race, &race->entrants[best]) + log(limit);
    for (size_t i = 0; i < race->entrant_count; i++) {
        if (is_running(race, i) && race->entrants[i].fastest > bound)
            race->entrants[i].fate = TSW_RACE_HOPELESS;
    }
}

/* Compare the survivors with the incumbent; true: nobody can be better by more than the
 * indifference. */
static bool eliminate(tsw_race_t *race)
{
    race->incumbent = find_extreme(race, 1.0);
    const entrant_t *incumbent = &race->entrants[race->incumbent];
    size_t n = incumbent->count;
    double looks = 2.0 * (double)race->entrant_count * log((double)n + 2.0);
    double z = sqrt(2.0 * log(looks / race->options.alpha));
    bool settled = true;
    for (size_t i = 0; i < race->entrant_count; i++) {
        if (!is_running(race, i) || (int64_t)i == race->incumbent)
            continue;
        double se = 0.0;
        double d = paired_median(race, race->entrants[i].log_ns, incumbent->log_ns, n, &se);
        if (d > 0.0 && d > z * se)
            race->entrants[i].fate = TSW_RACE_ELIMINATED;
        else if (d - z * se < -race->options.indifference)
            settled = false;
    }
    return settled;
}

static void begin_final(tsw_race_t *race)
{
    while (count_running(race) > race->options.final_size)
        race->entrants[find_extreme(race, -1.0)].fate = TSW_RACE_NOT_FINAL;
    race->incumbent = find_extreme(race, 1.0);
    race->in_final = true;
}

static void finish(tsw_race_t *race)
{
    race->over = true;
    race->incumbent = find_extreme(race, 1.0);
    if (race->incumbent < 0)
        return;
    entrant_t *winner = &race->entrants[race->incumbent];
    for (size_t i = 0; i < race->entrant_count; i++) {
        entrant_t *entrant = &race->entrants[i];
        if (!is_running(race, i) || entrant == winner)
            continue;
        double se = 0.0;
        double d = paired_median(race, entrant->log_ns, winner->log_ns, winner->count, &se);
        bool tied = d <= race->options.indifference || d <= 1.96 * se;
        entrant->fate = tied ? TSW_RACE_TIED : TSW_RACE_BEATEN;
    }
    winner->fate = TSW_RACE_WINNER;
}

/* What follows from a whole wave: race->round is its number. */
static void decide(tsw_race_t *race)
{
    if (race->in_final) {
        if (++race->finals >= race->options.final_rounds)
            finish(race);
        return;
    }
    if (race->round < EARLY_WAVES)
        drop_hopeless(race, early_limits[race->round]);
    uint32_t counted = race->round; /* wave 0 is the warm-up */
    if (counted < race->next_look)
        return;
    race->next_look += counted < LARGE_FROM ? SMALL_BLOCK : LARGE_BLOCK;
    if (eliminate(race) || count_running(race) == 1 || counted >= race->options.max_rounds)
        begin_final(race);
}

void tsw_race_next(tsw_race_t *race, tsw_race_wave_t *wave_p)
{
    race->wave_count = 0;
    if (!race->over && count_running(race) == 0) {
        race->over = true;
        race->incumbent = -1;
    }
    if (!race->over) {
        size_t count = 0;
        for (uint32_t i = 0; i < race->entrant_count; i++) {
            if (is_running(race, i))
                race->members[count++] = i;
        }
        if (race->in_final && !is_running(race, (size_t)race->incumbent))
            race->incumbent = find_extreme(race, 1.0);
        if (race->in_final)
            race->members[count++] = (uint32_t)race->incumbent;
        tsw_rng_permutation(race->seed, race->cell, race->round, race->wave, count);
        race->control_slot = count;
        for (size_t slot = 0; slot < count; slot++) {
            if (race->in_final && race->wave[slot] == count - 1)
                race->control_slot = slot;
            race->wave[slot] = race->members[race->wave[slot]];
        }
        race->wave_count = count;
    }
    *wave_p = (tsw_race_wave_t){
        .round = race->round,
        .is_warmup = race->round == 0,
        .is_final = race->in_final,
        .configs = race->wave,
        .count = race->wave_count,
        .control_slot = race->control_slot,
    };
}

static void take_sample(tsw_race_t *race, entrant_t *entrant, double log_ns)
{
    entrant->fastest = log_ns < entrant->fastest ? log_ns : entrant->fastest;
    if (race->round > 0)
        entrant->log_ns[entrant->count++] = log_ns;
}

tsw_status_t tsw_race_report(tsw_race_t *race, const double *time_ns, tsw_err_t *err)
{
    for (size_t slot = 0; slot < race->wave_count; slot++) {
        if (!(time_ns[slot] > 0.0) || !isfinite(time_ns[slot]))
            return tsw_err_set(err, TSW_ERR_ARG, "round %u: a time of %g ns cannot be", race->round,
                               time_ns[slot]);
    }
    if (race->wave_count == 0)
        return TSW_OK;
    double control = 0.0;
    for (size_t slot = 0; slot < race->wave_count; slot++) {
        entrant_t *entrant = &race->entrants[race->wave[slot]];
        if (slot == race->control_slot)
            control += log(time_ns[slot]);
        else if (entrant->fate == TSW_RACE_RUNNING)
            take_sample(race, entrant, log(time_ns[slot]));
        if (slot != race->control_slot && race->wave[slot] == race->incumbent)
            control -= log(time_ns[slot]);
    }
    if (race->in_final)
        race->control[race->finals] = control;
    if (count_running(race) > 0)
        decide(race);
    race->round++;
    return TSW_OK;
}

void tsw_race_drop(tsw_race_t *race, uint32_t config)
{
    TSW_ASSERT(config < race->entrant_count);
    race->entrants[config].fate = TSW_RACE_DROPPED;
}

tsw_race_fate_t tsw_race_fate(const tsw_race_t *race, uint32_t config)
{
    TSW_ASSERT(config < race->entrant_count);
    return race->entrants[config].fate;
}

int64_t tsw_race_winner(const tsw_race_t *race)
{
    return race->over ? race->incumbent : -1;
}

double tsw_race_control(const tsw_race_t *race)
{
    if (race->finals == 0)
        return 0.0;
    memcpy(race->scratch, race->control, race->finals * sizeof(double));
    return sort_and_take_median(race->scratch, race->finals);
}

size_t tsw_race_samples(const tsw_race_t *race, uint32_t config)
{
    TSW_ASSERT(config < race->entrant_count);
    return race->entrants[config].count;
}
