/* Protocol race: waves over the configs that may still win. stats/race decides; this maps its
 * configs and waves to those of the cell. */
#include "base/mem.h"
#include "measure/policy_state.h"
#include "stats/race.h"

#include <math.h>

/* Longer ones are launched one by one in the final: their graphs are not worth making. */
static const uint64_t graph_below_ns = 25000;

/* What a dropped baseline may take of the cell's budget in the final. */
static const double kept_share = 0.1;

typedef struct {
    tsw_policy_state_t base;
    tsw_race_t *race;
    uint32_t *live; /* config index of each entrant */
    size_t count;
    uint32_t *wave;
    double *time_ns;
    size_t wave_count;
} race_state_t;

static void race_free(tsw_policy_state_t *base)
{
    race_state_t *state = (race_state_t *)base;
    tsw_race_free(state->race);
    tsw_free(state->live);
    tsw_free(state->wave);
    tsw_free(state->time_ns);
    tsw_free(state);
}

static size_t wave_max(size_t count)
{
    return (count + 1) * TSW_RACE_BATCH; /* with the control */
}

static size_t race_wave_max(const tsw_policy_state_t *base)
{
    return wave_max(((const race_state_t *)base)->count);
}

static void race_next(tsw_policy_state_t *base, tsw_wave_t *wave_p)
{
    race_state_t *state = (race_state_t *)base;
    tsw_race_wave_t wave = {.count = 0};
    if (state->race != NULL)
        tsw_race_next(state->race, &wave);
    for (size_t slot = 0; slot < wave.count; slot++)
        state->wave[slot] = state->live[wave.configs[slot]];
    state->wave_count = wave.count;
    *wave_p = (tsw_wave_t){
        .stage = wave.is_final ? TSW_STAGE_FINAL : TSW_STAGE_EARLY,
        .kind = TSW_WAVE_KIND_CELL,
        .round = base->first_round + wave.round,
        .rounds = wave.rounds,
        .launches = wave.interval_ns > 0 ? 0 : 1,
        .interval_ns = wave.interval_ns,
        .graph_below_ns = wave.is_final ? graph_below_ns : 0,
        .configs = state->wave,
        .is_control = wave.is_control,
        .count = wave.count,
    };
}

static void race_report(tsw_policy_state_t *base, const uint64_t *interval_ns,
                        const uint32_t *launches)
{
    race_state_t *state = (race_state_t *)base;
    for (size_t slot = 0; slot < state->wave_count; slot++)
        state->time_ns[slot] =
            launches[slot] > 0 ? (double)interval_ns[slot] / launches[slot] : 0.0;
    tsw_race_report(state->race, state->time_ns, launches);
    if (tsw_policy_is_spent(base))
        tsw_race_stop(state->race);
}

static int64_t entrant_of(const race_state_t *state, uint32_t config)
{
    for (size_t i = 0; i < state->count; i++)
        if (state->live[i] == config)
            return (int64_t)i;
    return -1;
}

static void race_drop(tsw_policy_state_t *base, uint32_t config)
{
    race_state_t *state = (race_state_t *)base;
    int64_t entrant = entrant_of(state, config);
    if (entrant >= 0)
        tsw_race_drop(state->race, (uint32_t)entrant);
}

static tsw_fate_t race_fate(const tsw_policy_state_t *base, uint32_t config)
{
    static const tsw_fate_t fates[] = {
        [TSW_RACE_RUNNING] = TSW_FATE_NONE,
        [TSW_RACE_HOPELESS] = TSW_FATE_HOPELESS,
        [TSW_RACE_ELIMINATED] = TSW_FATE_ELIMINATED,
        [TSW_RACE_NOT_FINAL] = TSW_FATE_NOT_FINAL,
        [TSW_RACE_TIED] = TSW_FATE_TIED,
        [TSW_RACE_BEATEN] = TSW_FATE_BEATEN,
        [TSW_RACE_WINNER] = TSW_FATE_WINNER,
        [TSW_RACE_DROPPED] = TSW_FATE_NONE,
        [TSW_RACE_STOPPED] = TSW_FATE_BUDGET,
        [TSW_RACE_BROKEN] = TSW_FATE_SUSPECT,
    };
    const race_state_t *state = (const race_state_t *)base;
    int64_t entrant = entrant_of(state, config);
    return entrant >= 0 ? fates[tsw_race_fate(state->race, (uint32_t)entrant)] : TSW_FATE_NONE;
}

static int32_t race_pick(const tsw_policy_state_t *base)
{
    const race_state_t *state = (const race_state_t *)base;
    int64_t winner = state->race != NULL ? tsw_race_winner(state->race) : -1;
    return winner >= 0 ? (int32_t)state->live[winner] : -1;
}

/* Single launches, and enough of them in the final. Before it a few rounds throw out what is surely
 * worse. */
static void race_for_quantile(double quantile, uint32_t final_rounds, tsw_race_options_t *options)
{
    const uint32_t most_rounds = 20;
    options->figure = TSW_RACE_QUANTILE;
    options->quantile = quantile;
    options->max_rounds = options->max_rounds < most_rounds ? options->max_rounds : most_rounds;
    options->final_least = options->final_rounds = options->final_most = final_rounds;
    options->round_interval_ns = options->final_interval_ns = 0;
}

static tsw_race_options_t options_of(const tsw_policy_t *policy)
{
    const uint32_t most_rounds = 1000; /* of which it compares all pairs, at each look */
    tsw_race_options_t options = TSW_RACE_OPTIONS_DEFAULT;
    options.max_rounds = policy->rounds < most_rounds ? policy->rounds : most_rounds;
    if (policy->objective == TSW_OBJECTIVE_MEAN) { /* slow launches are seldom, and must be seen */
        options.figure = TSW_RACE_MEAN;
        options.final_least = options.final_rounds = 30;
    } else if (policy->objective == TSW_OBJECTIVE_P90)
        race_for_quantile(0.9, 60, &options);
    else if (policy->objective == TSW_OBJECTIVE_P99)
        race_for_quantile(0.99, 200, &options);
    if (policy->cell_budget_s > 0)
        options.keep_ns = fmin(options.keep_ns, 1e9 * kept_share * policy->cell_budget_s);
    return options;
}

static const tsw_policy_ops_t race_ops = {
    .free = race_free,
    .wave_max = race_wave_max,
    .next = race_next,
    .report = race_report,
    .drop = race_drop,
    .fate = race_fate,
    .pick = race_pick,
};

tsw_status_t tsw_policy_race_new(const tsw_policy_setup_t *setup, tsw_policy_state_t **state_p,
                                 tsw_err_t *err)
{
    race_state_t *state = tsw_calloc(1, sizeof(*state));
    if (state == NULL)
        return tsw_err_nomem(err);
    state->base.ops = &race_ops;
    state->count = setup->count;
    state->live = tsw_memdup(setup->live, setup->count * sizeof(*setup->live));
    state->wave = tsw_calloc(wave_max(setup->count), sizeof(*state->wave));
    state->time_ns = tsw_calloc(wave_max(setup->count), sizeof(*state->time_ns));
    tsw_status_t status = TSW_OK;
    if (state->live == NULL || state->wave == NULL || state->time_ns == NULL)
        status = tsw_err_nomem(err);
    tsw_race_options_t options = options_of(setup->policy);
    options.floor_ns = setup->floor_ns;
    if (status == TSW_OK)
        options.keep = entrant_of(state, 0); /* the baseline */
    if (status == TSW_OK && setup->count > 0)
        status = tsw_race_new(&options, setup->policy->seed, setup->cell, setup->count,
                              &state->race, err);
    for (uint32_t i = 0; status == TSW_OK && setup->first_ns != NULL && i < setup->count; i++)
        tsw_race_first(state->race, i, (double)setup->first_ns[i]);
    if (status == TSW_OK)
        *state_p = &state->base;
    else
        race_free(&state->base);
    return status;
}
