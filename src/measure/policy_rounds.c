/* Protocols rounds and fixed: they decide by counts alone. */
#include "base/mem.h"
#include "base/rng.h"
#include "measure/policy_state.h"

#include <string.h>

/* A budget leaves at least so many rounds: fewer say nothing. */
static const uint32_t least_rounds = 3;

/* A single launch carries up to 0.6 us that depend on its place in the queue: enough to matter
 * below 100 us. Intervals of graphs are long enough for that to be nothing. */
static const uint64_t long_ns = 250000, short_ns = 100000;

typedef struct {
    tsw_policy_state_t base;
    bool is_fixed;
    uint32_t *live;
    size_t live_count;
    uint32_t *wave;  /* wave_max entries */
    uint32_t *order; /* scratch, one entry per live config */
    size_t wave_max;
    uint32_t warmups_done;
    uint32_t next_round; /* of the timed ones */
    uint32_t timed;      /* timed rounds that were reported to this state */
} rounds_t;

static void rounds_free(tsw_policy_state_t *base)
{
    rounds_t *state = (rounds_t *)base;
    tsw_free(state->live);
    tsw_free(state->order);
    tsw_free(state->wave);
    tsw_free(state);
}

static size_t rounds_wave_max(const tsw_policy_state_t *base)
{
    return ((const rounds_t *)base)->wave_max;
}

static bool has_all(const rounds_t *state)
{
    return state->is_fixed ? state->next_round > 0 : state->next_round >= state->base.policy.rounds;
}

static bool is_over(const rounds_t *state)
{
    bool spent = !state->is_fixed && tsw_policy_is_spent(&state->base);
    return state->live_count == 0 || has_all(state) || (spent && state->timed >= least_rounds);
}

static size_t fixed_wave(rounds_t *state)
{
    size_t at = 0;
    for (size_t i = 0; i < state->live_count; i++)
        for (uint32_t k = 0; k < state->base.policy.rounds; k++)
            state->wave[at++] = state->live[i];
    return at;
}

static size_t shuffled_wave(rounds_t *state, tsw_stage_t stage, uint32_t round)
{
    uint64_t counter = ((uint64_t)stage << 32) + round;
    tsw_rng_permutation(state->base.policy.seed, state->base.cell, counter, state->order,
                        state->live_count);
    for (size_t i = 0; i < state->live_count; i++)
        state->wave[i] = state->live[state->order[i]];
    return state->live_count;
}

static bool is_in_warmup(const rounds_t *state)
{
    return !state->is_fixed && state->warmups_done < state->base.policy.warmup_rounds;
}

static void rounds_next(tsw_policy_state_t *base, tsw_wave_t *wave_p)
{
    rounds_t *state = (rounds_t *)base;
    bool warmup = is_in_warmup(state);
    tsw_wave_t wave = {
        .stage = warmup ? TSW_STAGE_WARMUP : TSW_STAGE_ROUND,
        .kind = TSW_WAVE_KIND_CELL,
        .rounds = 1,
        .interval_ns = long_ns,
        .graph_below_ns = short_ns,
        .round = warmup ? state->warmups_done : state->next_round,
        .configs = state->wave,
    };
    if (state->is_fixed)
        wave.stage = TSW_STAGE_FIXED;
    if (!is_over(state))
        wave.count =
            state->is_fixed ? fixed_wave(state) : shuffled_wave(state, wave.stage, wave.round);
    wave.launches = wave.stage == TSW_STAGE_ROUND ? 0 : 1;
    *wave_p = wave;
}

static void rounds_report(tsw_policy_state_t *base, const uint64_t *interval_ns,
                          const uint32_t *launches)
{
    rounds_t *state = (rounds_t *)base;
    (void)interval_ns;
    (void)launches;
    if (is_in_warmup(state)) {
        state->warmups_done++;
        return;
    }
    state->next_round++;
    state->timed++;
}

static void rounds_drop(tsw_policy_state_t *base, uint32_t config)
{
    rounds_t *state = (rounds_t *)base;
    for (size_t i = 0; i < state->live_count; i++) {
        if (state->live[i] != config)
            continue;
        state->live_count--;
        memmove(&state->live[i], &state->live[i + 1],
                (state->live_count - i) * sizeof(*state->live));
        return;
    }
}

static tsw_fate_t rounds_fate(const tsw_policy_state_t *base, uint32_t config)
{
    const rounds_t *state = (const rounds_t *)base;
    for (size_t i = 0; i < state->live_count; i++)
        if (state->live[i] == config)
            return has_all(state) ? TSW_FATE_MEASURED : TSW_FATE_BUDGET;
    return TSW_FATE_NONE;
}

static int32_t rounds_pick(const tsw_policy_state_t *base)
{
    (void)base;
    return -1;
}

static const tsw_policy_ops_t rounds_ops = {
    .free = rounds_free,
    .wave_max = rounds_wave_max,
    .next = rounds_next,
    .report = rounds_report,
    .drop = rounds_drop,
    .fate = rounds_fate,
    .pick = rounds_pick,
};

tsw_status_t tsw_policy_rounds_new(const tsw_policy_setup_t *setup, tsw_policy_state_t **state_p,
                                   tsw_err_t *err)
{
    rounds_t *state = tsw_calloc(1, sizeof(*state));
    if (state == NULL)
        return tsw_err_nomem(err);
    state->base.ops = &rounds_ops;
    state->is_fixed = setup->policy->protocol == TSW_PROTOCOL_FIXED;
    state->next_round = setup->first_round;
    state->live_count = setup->count;
    state->wave_max = state->is_fixed ? setup->count * setup->policy->rounds : setup->count;
    state->live = tsw_memdup(setup->live, setup->count * sizeof(*setup->live));
    state->order = tsw_calloc(setup->count, sizeof(*state->order));
    state->wave = tsw_calloc(state->wave_max, sizeof(*state->wave));
    if (state->live == NULL || state->order == NULL || state->wave == NULL) {
        rounds_free(&state->base);
        return tsw_err_nomem(err);
    }
    *state_p = &state->base;
    return TSW_OK;
}
