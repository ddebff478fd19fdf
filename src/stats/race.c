#include "stats/race.h"

#include "base/mem.h"
#include "base/rng.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

/* Early limits against the best, after wave 0 (the warm-up), 1, 2 and 3. */
static const double early_limits[] = {3.0, 1.6, 1.25, 1.10};
enum { EARLY_WAVES = 4, SMALL_BLOCK = 4, LARGE_BLOCK = 8, LARGE_FROM = 16 };

/* Spread of one sample's log time that is taken for granted. */
static const double least_sigma = 0.002;

typedef struct {
    tsw_race_fate_t fate;
    double early[EARLY_WAVES]; /* logs, of waves 1 .. EARLY_WAVES - 1 */
    size_t early_count;
    double fastest; /* log of its fastest early sample, the warm-up among them */
    double *log_ns; /* per paired wave; a running config has all of them */
    size_t count;
    uint32_t below_floor; /* samples */
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
    uint32_t round;          /* of the wave that is out, or the next one */
    uint32_t next_look;      /* paired waves at the end of this block */
    uint32_t finals;         /* waves of the final so far */
    uint64_t final_launches; /* of the leader in it */
    bool in_final;
    bool over;
    int64_t incumbent;
    double *control; /* log(control / incumbent) per final wave */
    size_t control_count;
    double *scratch; /* room for two runs of samples */
};

tsw_status_t tsw_race_new(const tsw_race_options_t *options, uint64_t seed, tsw_key_t cell,
                          size_t count, tsw_race_t **race_p, tsw_err_t *err)
{
    if (count == 0)
        return tsw_err_set(err, TSW_ERR_ARG, "a race needs at least one config");
    if (options->keep >= (int64_t)count)
        return tsw_err_set(err, TSW_ERR_ARG, "the race has no config %lld to keep",
                           (long long)options->keep);
    tsw_race_t *race = tsw_calloc(1, sizeof(*race));
    if (race == NULL)
        return tsw_err_nomem(err);
    size_t waves =
        (size_t)options->max_rounds + LARGE_BLOCK + options->final_rounds + options->final_launches;
    race->options = *options;
    race->seed = seed;
    race->cell = tsw_rng_fold(cell);
    race->entrant_count = count;
    race->next_look = SMALL_BLOCK;
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

static double entrant_median(const tsw_race_t *race, const entrant_t *entrant)
{
    bool paired = entrant->count > 0;
    size_t count = paired ? entrant->count : entrant->early_count;
    if (count == 0)
        return entrant->fastest;
    memcpy(race->scratch, paired ? entrant->log_ns : entrant->early, count * sizeof(double));
    return tsw_stats_median(race->scratch, count);
}

/* Median of the paired differences a - b over n waves, and its standard error. */
static double paired_median(const tsw_race_t *race, const double *a, const double *b, size_t n,
                            double *se_p)
{
    double *d = race->scratch;
    double *deviation = race->scratch + n;
    for (size_t i = 0; i < n; i++)
        d[i] = a[i] - b[i];
    double median = tsw_stats_median(d, n);
    for (size_t i = 0; i < n; i++)
        deviation[i] = fabs(d[i] - median);
    double sigma = 1.4826 * tsw_stats_median(deviation, n);
    *se_p = 1.2533 * (sigma > least_sigma ? sigma : least_sigma) / sqrt((double)n);
    return median;
}

static bool is_running(const tsw_race_t *race, size_t i)
{
    return race->entrants[i].fate == TSW_RACE_RUNNING;
}

static bool is_out_by_time(tsw_race_fate_t fate)
{
    return fate == TSW_RACE_HOPELESS || fate == TSW_RACE_ELIMINATED || fate == TSW_RACE_NOT_FINAL;
}

/* Whether the config that is to be kept takes part without being in the race any more. */
static bool is_kept(const tsw_race_t *race, size_t i)
{
    const tsw_race_options_t *options = &race->options;
    const entrant_t *entrant = &race->entrants[i];
    return race->in_final && (int64_t)i == options->keep && is_out_by_time(entrant->fate) &&
           race->finals < options->final_rounds &&
           exp(entrant->fastest) * options->final_rounds <= options->keep_ns;
}

static bool takes_part(const tsw_race_t *race, size_t i)
{
    return is_running(race, i) || is_kept(race, i);
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

/* Every finalist is slower than the leader, with confidence and by more than the indifference. */
static bool are_separated(const tsw_race_t *race)
{
    int64_t leader = find_extreme(race, 1.0);
    const entrant_t *first = &race->entrants[leader];
    for (size_t i = 0; i < race->entrant_count; i++) {
        if (!is_running(race, i) || (int64_t)i == leader)
            continue;
        double se = 0.0;
        double d = paired_median(race, race->entrants[i].log_ns, first->log_ns, first->count, &se);
        if (d - 1.96 * se <= race->options.indifference)
            return false;
    }
    return true;
}

static void decide_final(tsw_race_t *race)
{
    const tsw_race_options_t *options = &race->options;
    race->finals++;
    bool enough = race->final_launches >= options->final_launches ||
                  race->finals >= options->final_rounds + options->final_launches;
    if (race->finals >= options->final_rounds && (enough || are_separated(race)))
        finish(race);
}

/* What follows from a whole wave: race->round is its number. */
static void decide(tsw_race_t *race)
{
    if (race->in_final) {
        decide_final(race);
        return;
    }
    if (race->round < EARLY_WAVES) {
        drop_hopeless(race, early_limits[race->round]);
        if (count_running(race) == 1)
            begin_final(race);
        return;
    }
    uint32_t paired = race->round - EARLY_WAVES + 1;
    if (paired < race->next_look && paired < race->options.max_rounds)
        return;
    race->next_look += paired < LARGE_FROM ? SMALL_BLOCK : LARGE_BLOCK;
    if (eliminate(race) || count_running(race) == 1 || paired >= race->options.max_rounds)
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
            if (takes_part(race, i))
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
        .is_early = race->round > 0 && race->round < EARLY_WAVES && !race->in_final,
        .is_final = race->in_final,
        .configs = race->wave,
        .count = race->wave_count,
        .control_slot = race->control_slot,
    };
}

static void take_sample(tsw_race_t *race, entrant_t *entrant, double log_ns)
{
    if (race->in_final || race->round >= EARLY_WAVES) {
        entrant->log_ns[entrant->count++] = log_ns;
        return;
    }
    entrant->fastest = log_ns < entrant->fastest ? log_ns : entrant->fastest;
    if (race->round > 0)
        entrant->early[entrant->early_count++] = log_ns;
}

static bool is_time(double time_ns)
{
    return time_ns > 0.0 && isfinite(time_ns);
}

/* One odd sample may be the timer's slip; a config that is twice faster than possible is not. */
static bool is_broken(tsw_race_t *race, entrant_t *entrant, double time_ns)
{
    if (is_time(time_ns) && time_ns < race->options.floor_ns)
        entrant->below_floor++;
    return !is_time(time_ns) || entrant->below_floor >= 2;
}

/* The control's slot holds the leader a second time. */
static void take_control(tsw_race_t *race, const double *time_ns, const uint32_t *launches)
{
    for (size_t slot = 0; slot < race->wave_count; slot++) {
        if (race->wave[slot] != race->incumbent || slot == race->control_slot)
            continue;
        race->final_launches += launches != NULL ? launches[slot] : 1;
        double control_ns = time_ns[race->control_slot];
        if (is_time(control_ns) && is_time(time_ns[slot]))
            race->control[race->control_count++] = log(control_ns / time_ns[slot]);
    }
}

void tsw_race_report(tsw_race_t *race, const double *time_ns, const uint32_t *launches)
{
    if (race->wave_count == 0)
        return;
    for (size_t slot = 0; slot < race->wave_count; slot++) {
        entrant_t *entrant = &race->entrants[race->wave[slot]];
        if (slot == race->control_slot || !takes_part(race, race->wave[slot]))
            continue;
        if (is_broken(race, entrant, time_ns[slot]))
            entrant->fate = TSW_RACE_BROKEN;
        else
            take_sample(race, entrant, log(time_ns[slot]));
    }
    if (race->in_final)
        take_control(race, time_ns, launches);
    if (count_running(race) > 0)
        decide(race);
    race->round++;
    race->wave_count = 0;
}

void tsw_race_stop(tsw_race_t *race)
{
    if (race->over)
        return;
    if (race->in_final && race->finals > 0) {
        finish(race);
        return;
    }
    race->over = true;
    race->incumbent = find_extreme(race, 1.0);
    for (size_t i = 0; i < race->entrant_count; i++) {
        if (is_running(race, i))
            race->entrants[i].fate =
                (int64_t)i == race->incumbent ? TSW_RACE_WINNER : TSW_RACE_STOPPED;
    }
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
    if (race->control_count == 0)
        return 0.0;
    memcpy(race->scratch, race->control, race->control_count * sizeof(double));
    return tsw_stats_median(race->scratch, race->control_count);
}

size_t tsw_race_samples(const tsw_race_t *race, uint32_t config)
{
    TSW_ASSERT(config < race->entrant_count);
    return race->entrants[config].count;
}
