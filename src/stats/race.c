#include "base/mem.h"
#include "base/rng.h"
#include "stats/race_state.h"
#include "stats/stats.h"

#include <math.h>

enum { LONGER = 2 }; /* rounds by which the final goes on */

/* ---- new and free ---- */

static size_t most_samples(const tsw_race_options_t *options)
{
    size_t rounds = (size_t)options->max_rounds + TSW_RACE_LARGE_BLOCK;
    size_t finals = (size_t)options->final_most + options->final_rounds + TSW_RACE_BATCH;
    return rounds > finals ? rounds : finals;
}

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
    size_t samples = most_samples(options);
    size_t slots = (count + 1) * TSW_RACE_BATCH;
    race->options = *options;
    race->seed = seed;
    race->cell = tsw_rng_fold(cell);
    race->entrant_count = count;
    race->next_look = TSW_RACE_BLOCK;
    race->incumbent = -1;
    race->entrants = tsw_calloc(count, sizeof(*race->entrants));
    race->members = tsw_calloc(count + 1, sizeof(*race->members));
    race->wave = tsw_calloc(slots, sizeof(*race->wave));
    race->is_control = tsw_calloc(slots, sizeof(*race->is_control));
    race->control = tsw_calloc(samples, sizeof(*race->control));
    race->scratch = tsw_calloc(2 * samples, sizeof(*race->scratch));
    race->pairs = tsw_calloc(samples * (samples + 1) / 2, sizeof(*race->pairs));
    bool ok = race->entrants != NULL && race->members != NULL && race->wave != NULL &&
              race->is_control != NULL && race->control != NULL && race->scratch != NULL &&
              race->pairs != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        race->entrants[i].fastest = race->entrants[i].least = INFINITY;
        race->entrants[i].slowest = -INFINITY;
        race->entrants[i].log_ns = tsw_calloc(samples, sizeof(double));
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
    tsw_free(race->is_control);
    tsw_free(race->control);
    tsw_free(race->scratch);
    tsw_free(race->pairs);
    tsw_free(race);
}

/* ---- waves ---- */

static size_t find_members(tsw_race_t *race)
{
    size_t count = 0;
    for (uint32_t i = 0; i < race->entrant_count; i++) {
        if (tsw_race_takes_part(race, i))
            race->members[count++] = i;
    }
    if (race->in_final && !tsw_race_is_running(race, (size_t)race->incumbent))
        race->incumbent = tsw_race_find_extreme(race, 1.0);
    if (race->in_final)
        race->members[count++] = (uint32_t)race->incumbent;
    return count;
}

static uint64_t interval_of(const tsw_race_t *race)
{
    if (race->round == 0)
        return 0;
    return race->in_final ? race->options.final_interval_ns : race->options.round_interval_ns;
}

/* Until something is decided, as far as its time allows. */
static uint32_t count_final_rounds(const tsw_race_t *race, double one_ns)
{
    const tsw_race_options_t *options = &race->options;
    uint32_t least = race->finals < options->final_least ? options->final_least - race->finals : 1;
    uint32_t most = race->finals < options->final_rounds ? options->final_rounds - race->finals
                                                         : (uint32_t)LONGER;
    double left = tsw_race_final_rounds_left(race, one_ns);
    if (left <= least)
        return least;
    return left < most ? (uint32_t)left : most;
}

/* Rounds until something is decided, as far as a wave may hold them. */
static uint32_t count_rounds(const tsw_race_t *race, size_t members)
{
    const tsw_race_options_t *options = &race->options;
    double one_ns = tsw_race_round_ns(race, members, interval_of(race));
    uint32_t wanted = 1;
    if (race->in_final)
        wanted = count_final_rounds(race, one_ns);
    else if (race->round >= TSW_RACE_EARLY)
        wanted = race->next_look - (race->round - TSW_RACE_EARLY);
    double most = (double)options->wave_ns / one_ns;
    wanted = wanted < TSW_RACE_BATCH ? wanted : TSW_RACE_BATCH;
    if (most < wanted)
        wanted = most > 1.0 ? (uint32_t)most : 1;
    return wanted;
}

/* By their launches outside the race, the longest first: the host queues the others meanwhile. Such
 * single launches only tell who is far off, so that no order is unfair. */
static void order_by_first(tsw_race_t *race, size_t members)
{
    for (size_t at = 1; at < members; at++) {
        uint32_t config = race->wave[at];
        size_t to = at;
        for (; to > 0 &&
               race->entrants[race->wave[to - 1]].first_ns < race->entrants[config].first_ns;
             to--)
            race->wave[to] = race->wave[to - 1];
        race->wave[to] = config;
    }
}

/* One round of the wave, in a fresh order. */
static void shuffle(tsw_race_t *race, uint32_t at, size_t members)
{
    uint32_t *wave = race->wave + at * members;
    bool *is_control = race->is_control + at * members;
    tsw_rng_permutation(race->seed, race->cell, race->round + at, wave, members);
    for (size_t slot = 0; slot < members; slot++) {
        is_control[slot] = race->in_final && wave[slot] == members - 1;
        wave[slot] = race->members[wave[slot]];
    }
}

void tsw_race_first(tsw_race_t *race, uint32_t config, double time_ns)
{
    TSW_ASSERT(config < race->entrant_count);
    race->entrants[config].first_ns = time_ns;
}

/* The leader failed when it ran alone with its control. */
static void revive_tied(tsw_race_t *race)
{
    for (size_t i = 0; i < race->entrant_count; i++)
        if (race->entrants[i].fate == TSW_RACE_TIED)
            race->entrants[i].fate = TSW_RACE_RUNNING;
}

void tsw_race_next(tsw_race_t *race, tsw_race_wave_t *wave_p)
{
    if (race->round == 0)
        tsw_race_drop_by_first(race);
    race->wave_count = 0;
    race->wave_rounds = 0;
    if (!race->over && tsw_race_count_running(race) == 0) {
        revive_tied(race);
        tsw_race_finish(race);
    }
    if (!race->over) {
        size_t members = find_members(race);
        race->wave_rounds = count_rounds(race, members);
        for (uint32_t at = 0; at < race->wave_rounds; at++)
            shuffle(race, at, members);
        if (race->round == 0)
            order_by_first(race, members);
        race->wave_count = race->wave_rounds * members;
    }
    *wave_p = (tsw_race_wave_t){
        .round = race->round,
        .rounds = race->wave_rounds,
        .is_final = race->in_final,
        .interval_ns = interval_of(race),
        .configs = race->wave,
        .is_control = race->is_control,
        .count = race->wave_count,
    };
}

static void take_sample(tsw_race_t *race, tsw_race_entrant_t *entrant, uint32_t round,
                        double time_ns, double bias_ns)
{
    double log_ns = log(time_ns);
    if (race->in_final || round >= TSW_RACE_FIRST_PAIRED)
        entrant->log_ns[entrant->count++] = log_ns;
    if (race->in_final || round >= TSW_RACE_EARLY)
        return;
    double least = log(fmax(time_ns - bias_ns, 0.5 * time_ns));
    entrant->least = least < entrant->least ? least : entrant->least;
    entrant->fastest = log_ns < entrant->fastest ? log_ns : entrant->fastest;
    entrant->slowest = log_ns > entrant->slowest ? log_ns : entrant->slowest;
}

static bool is_time(double time_ns)
{
    return time_ns > 0.0 && isfinite(time_ns);
}

/* One odd sample may be the timer's slip; a config that is twice faster than possible is not. */
static bool is_broken(tsw_race_t *race, tsw_race_entrant_t *entrant, double time_ns)
{
    if (is_time(time_ns) && time_ns < race->options.floor_ns)
        entrant->below_floor++;
    return !is_time(time_ns) || entrant->below_floor >= 2;
}

/* Of the round in slots begin..end: the control's time is the leader's a second time. */
static void take_control(tsw_race_t *race, const double *time_ns, size_t begin, size_t end)
{
    double control_ns = 0.0, leader_ns = 0.0;
    for (size_t slot = begin; slot < end; slot++) {
        if (race->is_control[slot])
            control_ns = time_ns[slot];
        else if (race->wave[slot] == race->incumbent)
            leader_ns = time_ns[slot];
    }
    if (is_time(control_ns) && is_time(leader_ns))
        race->control[race->control_count++] = log(control_ns / leader_ns);
}

static void take_round(tsw_race_t *race, uint32_t round, const double *time_ns,
                       const uint32_t *launches, size_t begin, size_t end)
{
    for (size_t slot = begin; slot < end; slot++) {
        tsw_race_entrant_t *entrant = &race->entrants[race->wave[slot]];
        uint32_t behind = launches != NULL ? launches[slot] : 1;
        double took_ns = TSW_RACE_SHOT_NS + behind * time_ns[slot];
        if (race->in_final) {
            race->final_slots++;
            race->behind = behind;
            race->finals_ns += took_ns;
        } else {
            race->rounds_ns += took_ns;
        }
        if (race->is_control[slot] || !tsw_race_takes_part(race, race->wave[slot]))
            continue;
        double bias_ns = race->options.bias_ns / (behind > 0 ? behind : 1);
        if (is_broken(race, entrant, time_ns[slot]))
            entrant->fate = TSW_RACE_BROKEN;
        else
            take_sample(race, entrant, round, time_ns[slot], bias_ns);
    }
    if (race->in_final)
        take_control(race, time_ns, begin, end);
}

void tsw_race_report(tsw_race_t *race, const double *time_ns, const uint32_t *launches)
{
    if (race->wave_count == 0)
        return;
    size_t members = race->wave_count / race->wave_rounds;
    for (uint32_t at = 0; at < race->wave_rounds; at++)
        take_round(race, race->round + at, time_ns, launches, at * members, (at + 1) * members);
    if (tsw_race_count_running(race) > 0)
        tsw_race_decide(race);
    race->round += race->wave_rounds;
    race->wave_count = 0;
    race->wave_rounds = 0;
}

void tsw_race_stop(tsw_race_t *race)
{
    if (race->over)
        return;
    if (race->in_final && race->finals > 0) {
        tsw_race_finish(race);
        return;
    }
    race->over = true;
    race->incumbent = tsw_race_find_extreme(race, 1.0);
    for (size_t i = 0; i < race->entrant_count; i++) {
        if (tsw_race_is_running(race, i))
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
    return tsw_stats_hodges_lehmann(race->control, race->control_count, race->pairs);
}

bool tsw_race_is_unsettled(const tsw_race_t *race)
{
    return race->over && race->unsettled;
}

size_t tsw_race_samples(const tsw_race_t *race, uint32_t config)
{
    TSW_ASSERT(config < race->entrant_count);
    return race->entrants[config].rounds + race->entrants[config].count;
}
