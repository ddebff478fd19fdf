#include "stats/race.h"

#include "base/mem.h"
#include "base/rng.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

enum { EARLY_ROUNDS = 2, FIRST_PAIRED = 1, SMALL_BLOCK = 2, LARGE_BLOCK = 8, LARGE_FROM = 16 };
enum { LONGER = 2 }; /* rounds by which the final goes on */

/* Limits against the best: by launches outside the race, and after the early rounds. What is not
 * typical counts under other objectives than the median, so these are wider. */
typedef struct {
    double first, early[EARLY_ROUNDS];
} limits_t;
static const limits_t typical_limits = {1.3, {1.20, 1.10}};
static const limits_t careful_limits = {3.0, {1.6, 1.6}};

/* First launches of 1600 configs on an H200 took up to 12 % and 25 us more than the next ones, most
 * of them 1 to 5 us, and one 63 us. */
static const double first_slack_ns = 100000.0, first_bias_ns = 3000.0;

/* The final takes no longer than so many launches of each config, each behind a flush of the L2;
 * and until its control is quiet. */
static const double final_launches = 8.0, control_launches = 24.0, flush_ns = 40000.0;
static const double least_final_ns = 2e6; /* though a cell of a few short kernels may take less */
static const double shot_ns = 30000.0;    /* what a sample takes besides its interval */

/* Spread of paired log times that is taken for granted, since a few may agree by chance: on an H200
 * that of samples of 30 to 60 us, or one launch, is 1 to 4 %, of those of a final 0.5 to 1.5 %. */
static const double early_sigma = 0.02, final_sigma = 0.006;

/* Of samples of so few launches as much as this. */
static const double few_sigma = 0.012;
static const uint32_t few_launches = 3;

/* Quantiles of normal values: two-sided and one-sided 95 %. */
static const double two_sided = 1.96, one_sided = 1.645;

typedef struct {
    tsw_race_fate_t fate;
    double fastest;  /* log of its fastest early sample */
    double least;    /* log of what it takes at least by these */
    double slowest;  /* log of the slowest one */
    double first_ns; /* a launch outside the race; 0: not known */
    double *log_ns;  /* per paired round, or of the final; a running config has all of them */
    size_t count;
    size_t rounds;        /* samples before the final */
    uint32_t below_floor; /* samples */
} entrant_t;

struct tsw_race {
    tsw_race_options_t options;
    uint64_t seed;
    uint64_t cell;
    entrant_t *entrants;
    size_t entrant_count;
    uint32_t *members; /* who takes part in a round, the control last */
    uint32_t *wave;    /* the wave that is out, in order of launch */
    bool *is_control;  /* for each of it */
    size_t wave_count;
    uint32_t wave_rounds; /* of the wave that is out */
    uint32_t round;       /* first of the wave that is out, or the next one */
    uint32_t next_look;   /* paired rounds at the end of this block */
    uint32_t finals;      /* rounds of the final so far */
    uint32_t final_slots; /* samples of it */
    double finals_ns;     /* what these took, about */
    uint32_t behind;      /* launches behind the last of them */
    bool is_paired;       /* configs are compared in pairs, from now on */
    bool in_final;
    bool over;
    bool unsettled;
    int64_t incumbent;
    double *control; /* log(control / incumbent) per final round */
    size_t control_count;
    double *scratch; /* room for two runs of samples */
    double *pairs;   /* and for the means of all pairs of one */
};

/* ---- new and free ---- */

static size_t most_samples(const tsw_race_options_t *options)
{
    size_t rounds = (size_t)options->max_rounds + LARGE_BLOCK;
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
    race->next_look = SMALL_BLOCK;
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

/* ---- figures ---- */

/* Log of the mean of the times whose logs these are. */
static double log_mean(const double *logs, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += exp(logs[i] - logs[0]);
    return logs[0] + log(sum / (double)n);
}

/* Log of what the winner has least of, by the best samples that there are. */
static double figure_of(const tsw_race_t *race, const entrant_t *entrant)
{
    size_t count = race->is_paired ? entrant->count : 0;
    if (count == 0)
        return race->options.figure == TSW_RACE_QUANTILE ? entrant->slowest : entrant->fastest;
    memcpy(race->scratch, entrant->log_ns, count * sizeof(double));
    if (race->options.figure == TSW_RACE_MEAN)
        return log_mean(race->scratch, count);
    tsw_stats_sort(race->scratch, count);
    double p = race->options.figure == TSW_RACE_QUANTILE ? race->options.quantile : 0.5;
    return tsw_stats_quantile(race->scratch, count, p);
}

/* The mean of n values, of a few of which some may be rare, and its standard error. */
static double mean_of(const double *d, size_t n, double least, double *se_p)
{
    double mean = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++)
        mean += d[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (d[i] - mean) * (d[i] - mean);
    double sigma = sqrt(square / (double)(n > 1 ? n - 1 : 1));
    *se_p = fmax(sigma, least) / sqrt((double)n);
    return mean;
}

/* The difference of the figures by the pairs a - b of all rounds, and its standard error. */
static double paired(const tsw_race_t *race, const entrant_t *a, const entrant_t *b, double *se_p)
{
    size_t n = b->count;
    double *d = race->scratch, least = early_sigma;
    if (race->in_final)
        least = race->behind <= few_launches ? few_sigma : final_sigma;
    for (size_t i = 0; i < n; i++)
        d[i] = a->log_ns[i] - b->log_ns[i];
    if (race->options.figure == TSW_RACE_MEAN)
        return mean_of(d, n, least, se_p);
    return tsw_stats_middle(d, n, least, d + n, race->pairs, se_p);
}

/* ---- who takes part ---- */

static bool is_running(const tsw_race_t *race, size_t i)
{
    return race->entrants[i].fate == TSW_RACE_RUNNING;
}

static bool is_out_by_time(tsw_race_fate_t fate)
{
    return fate == TSW_RACE_HOPELESS || fate == TSW_RACE_ELIMINATED || fate == TSW_RACE_NOT_FINAL ||
           fate == TSW_RACE_BEATEN;
}

/* Whether the config that is to be kept takes part without being in the race any more. */
static bool is_kept(const tsw_race_t *race, size_t i)
{
    const entrant_t *entrant = &race->entrants[i];
    return race->in_final && (int64_t)i == race->options.keep && is_out_by_time(entrant->fate) &&
           race->finals < race->options.final_rounds &&
           exp(entrant->fastest) * race->options.final_rounds <= race->options.keep_ns;
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

/* The running config of the lowest (sign 1) or highest (sign -1) figure; -1: none runs. */
static int64_t find_extreme(const tsw_race_t *race, double sign)
{
    int64_t found = -1;
    double extreme = INFINITY;
    for (size_t i = 0; i < race->entrant_count; i++) {
        if (!is_running(race, i))
            continue;
        double figure = sign * figure_of(race, &race->entrants[i]);
        if (found < 0 || figure < extreme) {
            found = (int64_t)i;
            extreme = figure;
        }
    }
    return found;
}

/* ---- decisions ---- */

static const limits_t *limits_of(const tsw_race_t *race)
{
    return race->options.figure == TSW_RACE_MEDIAN ? &typical_limits : &careful_limits;
}

/* A slow outlier must not cost a good config its place, so its fastest sample is judged; after the
 * first round there is but one, and the launch outside the race stands beside it. */
static void drop_hopeless(tsw_race_t *race, uint32_t round)
{
    double bound = figure_of(race, &race->entrants[find_extreme(race, 1.0)]);
    bound += log(limits_of(race)->early[round]);
    for (size_t i = 0; i < race->entrant_count; i++) {
        entrant_t *entrant = &race->entrants[i];
        bool was_fast = round == 0 && entrant->first_ns > 0.0 &&
                        log(fmax(entrant->first_ns - first_bias_ns, 1.0)) <= bound;
        if (is_running(race, i) && entrant->least > bound && !was_fast)
            entrant->fate = TSW_RACE_HOPELESS;
    }
}

static void drop_by_first(tsw_race_t *race)
{
    double best = INFINITY;
    for (size_t i = 0; i < race->entrant_count; i++)
        if (is_running(race, i) && race->entrants[i].first_ns > 0.0)
            best = fmin(best, race->entrants[i].first_ns);
    for (size_t i = 0; i < race->entrant_count; i++) {
        entrant_t *entrant = &race->entrants[i];
        if (!is_running(race, i) ||
            !(entrant->first_ns > limits_of(race)->first * best + first_slack_ns))
            continue;
        entrant->fate = TSW_RACE_HOPELESS;
        entrant->fastest = log(entrant->first_ns);
    }
}

/* Of a quantile: its fastest quarter is slower than all of the leader's samples. */
static bool is_surely_worse(const tsw_race_t *race, const entrant_t *entrant, const entrant_t *best)
{
    double slowest = -INFINITY;
    for (size_t i = 0; i < best->count; i++)
        slowest = best->log_ns[i] > slowest ? best->log_ns[i] : slowest;
    memcpy(race->scratch, entrant->log_ns, entrant->count * sizeof(double));
    tsw_stats_sort(race->scratch, entrant->count);
    return tsw_stats_quantile(race->scratch, entrant->count, 0.25) > slowest;
}

/* Compare the survivors with the incumbent; true: no more than the final takes can be better than
 * it by the indifference. */
static bool eliminate(tsw_race_t *race)
{
    race->incumbent = find_extreme(race, 1.0);
    const entrant_t *incumbent = &race->entrants[race->incumbent];
    double looks = 2.0 * (double)race->entrant_count * log((double)incumbent->count + 2.0);
    double z = sqrt(2.0 * log(looks / race->options.alpha));
    bool is_quantile = race->options.figure == TSW_RACE_QUANTILE;
    size_t open = 1; /* the incumbent */
    for (size_t i = 0; i < race->entrant_count; i++) {
        entrant_t *entrant = &race->entrants[i];
        if (!is_running(race, i) || entrant == incumbent)
            continue;
        double se = 0.0, d = is_quantile ? 0.0 : paired(race, entrant, incumbent, &se);
        bool worse =
            is_quantile ? is_surely_worse(race, entrant, incumbent) : d > 0.0 && d > z * se;
        if (worse)
            entrant->fate = TSW_RACE_ELIMINATED;
        else
            open += is_quantile || d - one_sided * se < -race->options.indifference;
    }
    return open <= race->options.final_size;
}

static void begin_final(tsw_race_t *race)
{
    while (count_running(race) > race->options.final_size)
        race->entrants[find_extreme(race, -1.0)].fate = TSW_RACE_NOT_FINAL;
    race->incumbent = find_extreme(race, 1.0);
    race->is_paired = race->in_final = true;
    for (size_t i = 0; i < race->entrant_count; i++) { /* its samples are of another length */
        race->entrants[i].rounds = race->entrants[i].count;
        race->entrants[i].count = 0;
    }
}

/* Who else is still in the final: tied with the leader, or slower. */
static void settle(tsw_race_t *race)
{
    race->incumbent = find_extreme(race, 1.0);
    if (race->incumbent < 0)
        return;
    const entrant_t *leader = &race->entrants[race->incumbent];
    bool is_quantile = race->options.figure == TSW_RACE_QUANTILE;
    for (size_t i = 0; i < race->entrant_count; i++) {
        entrant_t *entrant = &race->entrants[i];
        if (!is_running(race, i) || entrant == leader)
            continue;
        double se = 0.0, d = figure_of(race, entrant) - figure_of(race, leader);
        if (!is_quantile)
            d = paired(race, entrant, leader, &se);
        bool tied = d <= race->options.indifference || d <= two_sided * se;
        entrant->fate = tied ? TSW_RACE_TIED : TSW_RACE_BEATEN;
    }
}

static void finish(tsw_race_t *race)
{
    race->over = true;
    settle(race);
    if (race->incumbent >= 0)
        race->entrants[race->incumbent].fate = TSW_RACE_WINNER;
}

/* Nobody in the final can be better than its leader by the indifference. Who is slower than that,
 * with confidence, leaves. */
static bool is_decided(tsw_race_t *race)
{
    const entrant_t *leader = &race->entrants[find_extreme(race, 1.0)];
    double z = sqrt(2.0 * log(2.0 * race->options.final_size / race->options.alpha));
    bool decided = true;
    for (size_t i = 0; i < race->entrant_count; i++) {
        entrant_t *entrant = &race->entrants[i];
        if (!is_running(race, i) || entrant == leader)
            continue;
        double se = 0.0, d = paired(race, entrant, leader, &se);
        if (d - z * se > race->options.indifference)
            entrant->fate = TSW_RACE_BEATEN;
        else if (d - one_sided * se < -race->options.indifference)
            decided = false;
    }
    return decided;
}

static bool is_control_off(const tsw_race_t *race)
{
    return tsw_stats_is_off(race->control, race->control_count, race->options.control_limit,
                            race->scratch, race->pairs);
}

/* Of one round with so many members. */
static double round_ns(const tsw_race_t *race, size_t members, uint64_t interval_ns)
{
    double ns = 0.0;
    for (size_t i = 0; i < members; i++) {
        double launch_ns = exp(race->entrants[race->members[i]].fastest);
        ns += fmax(launch_ns, (double)interval_ns) + (race->in_final ? shot_ns : 0.0);
    }
    return ns;
}

/* How many rounds more its time allows, when one takes so much. */
static double final_rounds_left(const tsw_race_t *race, double one_ns)
{
    double best_ns = exp(race->entrants[race->incumbent].fastest);
    double launches = count_running(race) > 1 ? final_launches : control_launches;
    double most_ns = launches * (double)race->entrant_count * (best_ns + flush_ns);
    most_ns = fmax(most_ns, least_final_ns);
    return floor((most_ns - race->finals_ns) / one_ns);
}

/* When nobody can be better any more but the control reads off, it goes on alone with the leader.
 */
static void decide_final(tsw_race_t *race)
{
    const tsw_race_options_t *options = &race->options;
    race->finals += race->wave_rounds;
    if (race->finals < options->final_least)
        return;
    double left = final_rounds_left(race, race->finals_ns / race->finals);
    bool has_time = race->finals < options->final_most && left >= 1.0;
    if (has_time && race->finals < options->final_rounds)
        return;
    bool decided = options->figure == TSW_RACE_QUANTILE || is_decided(race);
    if (has_time && !decided)
        return;
    settle(race);
    left = final_rounds_left(race, 2.0 * race->finals_ns / race->final_slots);
    has_time = race->finals < options->final_most && left >= 1.0;
    race->unsettled = is_control_off(race);
    if (!has_time || !race->unsettled)
        finish(race);
}

static void decide_early(tsw_race_t *race, uint32_t round)
{
    drop_hopeless(race, round);
    race->is_paired = round + 1 == EARLY_ROUNDS;
    if (count_running(race) <= race->options.final_size)
        begin_final(race);
}

/* What follows from a whole wave: race->round is the number of its first round. */
static void decide(tsw_race_t *race)
{
    uint32_t last = race->round + race->wave_rounds - 1;
    if (race->in_final) {
        decide_final(race);
        return;
    }
    if (last < EARLY_ROUNDS) {
        decide_early(race, last);
        return;
    }
    uint32_t done = last - EARLY_ROUNDS + 1;
    if (done < race->next_look && done < race->options.max_rounds)
        return;
    race->next_look += done < LARGE_FROM ? SMALL_BLOCK : LARGE_BLOCK;
    if (eliminate(race) || count_running(race) == 1 || done >= race->options.max_rounds)
        begin_final(race);
}

/* ---- waves ---- */

static size_t find_members(tsw_race_t *race)
{
    size_t count = 0;
    for (uint32_t i = 0; i < race->entrant_count; i++) {
        if (takes_part(race, i))
            race->members[count++] = i;
    }
    if (race->in_final && !is_running(race, (size_t)race->incumbent))
        race->incumbent = find_extreme(race, 1.0);
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
    double left = final_rounds_left(race, one_ns);
    if (left <= least)
        return least;
    return left < most ? (uint32_t)left : most;
}

/* Rounds until something is decided, as far as a wave may hold them. */
static uint32_t count_rounds(const tsw_race_t *race, size_t members)
{
    const tsw_race_options_t *options = &race->options;
    double one_ns = round_ns(race, members, interval_of(race));
    uint32_t wanted = 1;
    if (race->in_final)
        wanted = count_final_rounds(race, one_ns);
    else if (race->round >= EARLY_ROUNDS)
        wanted = race->next_look - (race->round - EARLY_ROUNDS);
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
        drop_by_first(race);
    race->wave_count = 0;
    race->wave_rounds = 0;
    if (!race->over && count_running(race) == 0) {
        revive_tied(race);
        finish(race);
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

static void take_sample(tsw_race_t *race, entrant_t *entrant, uint32_t round, double time_ns,
                        double bias_ns)
{
    double log_ns = log(time_ns);
    if (race->in_final || round >= FIRST_PAIRED)
        entrant->log_ns[entrant->count++] = log_ns;
    if (race->in_final || round >= EARLY_ROUNDS)
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
static bool is_broken(tsw_race_t *race, entrant_t *entrant, double time_ns)
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
        entrant_t *entrant = &race->entrants[race->wave[slot]];
        uint32_t behind = launches != NULL ? launches[slot] : 1;
        if (race->in_final) {
            race->final_slots++;
            race->behind = behind;
            race->finals_ns += shot_ns + behind * time_ns[slot];
        }
        if (race->is_control[slot] || !takes_part(race, race->wave[slot]))
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
    if (count_running(race) > 0)
        decide(race);
    race->round += race->wave_rounds;
    race->wave_count = 0;
    race->wave_rounds = 0;
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
