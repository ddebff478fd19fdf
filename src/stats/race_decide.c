/* What becomes of whom, and when enough is known. */
#include "stats/race_state.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

/* Limits against the best: by launches outside the race, and after the early rounds. What is not
 * typical counts under other objectives than the median, so these are wider. */
typedef struct {
    double first, early[TSW_RACE_EARLY];
} limits_t;
static const limits_t typical_limits = {1.3, {1.20, 1.10}};
static const limits_t careful_limits = {3.0, {1.6, 1.6}};

/* First launches of 1600 configs on an H200 took up to 12 % and 25 us more than the next ones, most
 * of them 1 to 5 us, and one 63 us. */
static const double first_slack_ns = 100000.0, first_bias_ns = 3000.0;

/* The rounds before the final take about as long as so many launches of each config, or so many
 * behind a flush of the L2, whichever is longer. */
static const double round_launches = 8.0, round_flushes = 3.0;

/* The final takes no longer than so many launches of each config, each behind a flush of the L2;
 * and until its control is quiet. */
static const double final_launches = 8.0, control_launches = 24.0, flush_ns = 40000.0;
static const double least_final_ns = 2e6; /* though a cell of a few short kernels may take less */

/* Spread of paired log times that is taken for granted, since a few may agree by chance: on an H200
 * that of samples of 30 to 60 us, or one launch, is 1 to 4 %, of those of a final 0.5 to 1.5 %. */
static const double early_sigma = 0.02, final_sigma = 0.006;

/* Of samples of so few launches as much as this. */
static const double few_sigma = 0.012;
static const uint32_t few_launches = 3;

/* Quantiles of normal values: two-sided and one-sided 95 %. */
static const double two_sided = 1.96, one_sided = 1.645;

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
static double figure_of(const tsw_race_t *race, const tsw_race_entrant_t *entrant)
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
static double paired(const tsw_race_t *race, const tsw_race_entrant_t *a,
                     const tsw_race_entrant_t *b, double *se_p)
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

bool tsw_race_is_running(const tsw_race_t *race, size_t i)
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
    const tsw_race_entrant_t *entrant = &race->entrants[i];
    return race->in_final && (int64_t)i == race->options.keep && is_out_by_time(entrant->fate) &&
           race->finals < race->options.final_rounds &&
           exp(entrant->fastest) * race->options.final_rounds <= race->options.keep_ns;
}

bool tsw_race_takes_part(const tsw_race_t *race, size_t i)
{
    return tsw_race_is_running(race, i) || is_kept(race, i);
}

size_t tsw_race_count_running(const tsw_race_t *race)
{
    size_t count = 0;
    for (size_t i = 0; i < race->entrant_count; i++)
        count += tsw_race_is_running(race, i);
    return count;
}

int64_t tsw_race_find_extreme(const tsw_race_t *race, double sign)
{
    int64_t found = -1;
    double extreme = INFINITY;
    for (size_t i = 0; i < race->entrant_count; i++) {
        if (!tsw_race_is_running(race, i))
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
    double bound = figure_of(race, &race->entrants[tsw_race_find_extreme(race, 1.0)]);
    bound += log(limits_of(race)->early[round]);
    for (size_t i = 0; i < race->entrant_count; i++) {
        tsw_race_entrant_t *entrant = &race->entrants[i];
        bool was_fast = round == 0 && entrant->first_ns > 0.0 &&
                        log(fmax(entrant->first_ns - first_bias_ns, 1.0)) <= bound;
        if (tsw_race_is_running(race, i) && entrant->least > bound && !was_fast)
            entrant->fate = TSW_RACE_HOPELESS;
    }
}

void tsw_race_drop_by_first(tsw_race_t *race)
{
    double best = INFINITY;
    for (size_t i = 0; i < race->entrant_count; i++)
        if (tsw_race_is_running(race, i) && race->entrants[i].first_ns > 0.0)
            best = fmin(best, race->entrants[i].first_ns);
    for (size_t i = 0; i < race->entrant_count; i++) {
        tsw_race_entrant_t *entrant = &race->entrants[i];
        if (!tsw_race_is_running(race, i) ||
            !(entrant->first_ns > limits_of(race)->first * best + first_slack_ns))
            continue;
        entrant->fate = TSW_RACE_HOPELESS;
        entrant->fastest = log(entrant->first_ns);
    }
}

/* Of a quantile: its fastest quarter is slower than all of the leader's samples. */
static bool is_surely_worse(const tsw_race_t *race, const tsw_race_entrant_t *entrant,
                            const tsw_race_entrant_t *best)
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
    race->incumbent = tsw_race_find_extreme(race, 1.0);
    const tsw_race_entrant_t *incumbent = &race->entrants[race->incumbent];
    double looks = 2.0 * (double)race->entrant_count * log((double)incumbent->count + 2.0);
    double z = sqrt(2.0 * log(looks / race->options.alpha));
    bool is_quantile = race->options.figure == TSW_RACE_QUANTILE;
    size_t open = 1; /* the incumbent */
    for (size_t i = 0; i < race->entrant_count; i++) {
        tsw_race_entrant_t *entrant = &race->entrants[i];
        if (!tsw_race_is_running(race, i) || entrant == incumbent)
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
    while (tsw_race_count_running(race) > race->options.final_size)
        race->entrants[tsw_race_find_extreme(race, -1.0)].fate = TSW_RACE_NOT_FINAL;
    race->incumbent = tsw_race_find_extreme(race, 1.0);
    race->is_paired = race->in_final = true;
    for (size_t i = 0; i < race->entrant_count; i++) { /* its samples are of another length */
        race->entrants[i].rounds = race->entrants[i].count;
        race->entrants[i].count = 0;
    }
}

/* Who else is still in the final: tied with the leader, or slower. */
static void settle(tsw_race_t *race)
{
    race->incumbent = tsw_race_find_extreme(race, 1.0);
    if (race->incumbent < 0)
        return;
    const tsw_race_entrant_t *leader = &race->entrants[race->incumbent];
    bool is_quantile = race->options.figure == TSW_RACE_QUANTILE;
    for (size_t i = 0; i < race->entrant_count; i++) {
        tsw_race_entrant_t *entrant = &race->entrants[i];
        if (!tsw_race_is_running(race, i) || entrant == leader)
            continue;
        double se = 0.0, d = figure_of(race, entrant) - figure_of(race, leader);
        if (!is_quantile)
            d = paired(race, entrant, leader, &se);
        bool tied = d <= race->options.indifference || d <= two_sided * se;
        entrant->fate = tied ? TSW_RACE_TIED : TSW_RACE_BEATEN;
    }
}

void tsw_race_finish(tsw_race_t *race)
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
    const tsw_race_entrant_t *leader = &race->entrants[tsw_race_find_extreme(race, 1.0)];
    double z = sqrt(2.0 * log(2.0 * race->options.final_size / race->options.alpha));
    bool decided = true;
    for (size_t i = 0; i < race->entrant_count; i++) {
        tsw_race_entrant_t *entrant = &race->entrants[i];
        if (!tsw_race_is_running(race, i) || entrant == leader)
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

double tsw_race_round_ns(const tsw_race_t *race, size_t members, uint64_t interval_ns)
{
    double ns = 0.0;
    for (size_t i = 0; i < members; i++) {
        double launch_ns = exp(race->entrants[race->members[i]].fastest);
        ns += fmax(launch_ns, (double)interval_ns) + (race->in_final ? TSW_RACE_SHOT_NS : 0.0);
    }
    return ns;
}

static double best_ns_of(const tsw_race_t *race)
{
    return exp(race->entrants[race->incumbent].fastest);
}

/* What so many launches of each config take, each behind a flush. */
static double flushed_ns(const tsw_race_t *race, double launches)
{
    return launches * (double)race->entrant_count * (best_ns_of(race) + flush_ns);
}

double tsw_race_final_rounds_left(const tsw_race_t *race, double one_ns)
{
    double launches = tsw_race_count_running(race) > 1 ? final_launches : control_launches;
    double most_ns = fmax(flushed_ns(race, launches), least_final_ns);
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
    double left = tsw_race_final_rounds_left(race, race->finals_ns / race->finals);
    bool has_time = race->finals < options->final_most && left >= 1.0;
    if (has_time && race->finals < options->final_rounds)
        return;
    bool decided = options->figure == TSW_RACE_QUANTILE || is_decided(race);
    if (has_time && !decided)
        return;
    settle(race);
    left = tsw_race_final_rounds_left(race, 2.0 * race->finals_ns / race->final_slots);
    has_time = race->finals < options->final_most && left >= 1.0;
    race->unsettled = is_control_off(race);
    if (!has_time || !race->unsettled)
        tsw_race_finish(race);
}

static void decide_early(tsw_race_t *race, uint32_t round)
{
    drop_hopeless(race, round);
    race->is_paired = round + 1 == TSW_RACE_EARLY;
    if (tsw_race_count_running(race) <= race->options.final_size)
        begin_final(race);
}

/* Whom more rounds would tell apart are nearly alike. Seldom slow launches, which figures other
 * than the median go by, take all rounds to be seen. */
static bool is_out_of_time(const tsw_race_t *race, uint32_t done)
{
    double bare_ns = round_launches * (double)race->entrant_count * best_ns_of(race);
    double most_ns = fmax(bare_ns, flushed_ns(race, round_flushes));
    bool has_typical = race->options.figure == TSW_RACE_MEDIAN && done > TSW_RACE_BLOCK;
    return done >= race->options.max_rounds || (has_typical && race->rounds_ns >= most_ns);
}

void tsw_race_decide(tsw_race_t *race)
{
    uint32_t last = race->round + race->wave_rounds - 1;
    if (race->in_final) {
        decide_final(race);
        return;
    }
    if (last < TSW_RACE_EARLY) {
        decide_early(race, last);
        return;
    }
    uint32_t done = last - TSW_RACE_EARLY + 1;
    if (done < race->next_look && done < race->options.max_rounds)
        return;
    race->next_look += done < TSW_RACE_LARGE_FROM ? TSW_RACE_BLOCK : TSW_RACE_LARGE_BLOCK;
    if (eliminate(race) || tsw_race_count_running(race) == 1 || is_out_of_time(race, done))
        begin_final(race);
}
