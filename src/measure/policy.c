#include "measure/policy.h"

#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

/* A budget leaves at least so many rounds: fewer say nothing. */
static const uint32_t least_rounds = 3;

struct tsw_policy_state {
    tsw_policy_t policy;
    uint64_t cell; /* counter from the cell's key */
    uint32_t *live;
    size_t live_count;
    uint32_t *wave;  /* wave_max entries */
    uint32_t *order; /* scratch, one entry per live config */
    size_t wave_max;
    uint32_t warmups_done;
    uint32_t next_round; /* of the timed ones */
    uint32_t timed;      /* timed rounds that were reported to this state */
    uint64_t timed_ns;
};

static bool is_fixed(const tsw_policy_state_t *state)
{
    return state->policy.protocol == TSW_PROTOCOL_FIXED;
}

tsw_status_t tsw_policy_new(const tsw_policy_t *policy, tsw_key_t cell, const uint32_t *live,
                            size_t count, uint32_t first_round, tsw_policy_state_t **state_p,
                            tsw_err_t *err)
{
    tsw_policy_state_t *state = tsw_calloc(1, sizeof(*state));
    if (state == NULL)
        return tsw_err_nomem(err);
    state->policy = *policy;
    state->cell = tsw_rng_fold(cell);
    state->next_round = first_round;
    state->live_count = count;
    state->wave_max = is_fixed(state) ? count * policy->rounds : count;
    state->live = tsw_memdup(live, count * sizeof(*live));
    state->order = tsw_calloc(count, sizeof(*state->order));
    state->wave = tsw_calloc(state->wave_max, sizeof(*state->wave));
    if (state->live == NULL || state->order == NULL || state->wave == NULL) {
        tsw_policy_free(state);
        return tsw_err_nomem(err);
    }
    *state_p = state;
    return TSW_OK;
}

void tsw_policy_free(tsw_policy_state_t *state)
{
    if (state == NULL)
        return;
    tsw_free(state->live);
    tsw_free(state->order);
    tsw_free(state->wave);
    tsw_free(state);
}

size_t tsw_policy_wave_max(const tsw_policy_state_t *state)
{
    return state->wave_max;
}

static bool is_over(const tsw_policy_state_t *state)
{
    const tsw_policy_t *policy = &state->policy;
    if (state->live_count == 0)
        return true;
    if (is_fixed(state))
        return state->next_round > 0;
    bool spent =
        policy->cell_budget_s > 0 && (double)state->timed_ns >= policy->cell_budget_s * 1e9;
    return state->next_round >= policy->rounds || (spent && state->timed >= least_rounds);
}

static size_t fixed_wave(tsw_policy_state_t *state)
{
    size_t at = 0;
    for (size_t i = 0; i < state->live_count; i++)
        for (uint32_t k = 0; k < state->policy.rounds; k++)
            state->wave[at++] = state->live[i];
    return at;
}

static size_t shuffled_wave(tsw_policy_state_t *state, tsw_stage_t stage, uint32_t round)
{
    uint64_t counter = ((uint64_t)stage << 32) + round;
    tsw_rng_permutation(state->policy.seed, state->cell, counter, state->order, state->live_count);
    for (size_t i = 0; i < state->live_count; i++)
        state->wave[i] = state->live[state->order[i]];
    return state->live_count;
}

void tsw_policy_next(tsw_policy_state_t *state, tsw_wave_t *wave_p)
{
    bool over = is_over(state);
    bool warmup = !is_fixed(state) && state->warmups_done < state->policy.warmup_rounds;
    tsw_wave_t wave = {
        .stage = warmup ? TSW_STAGE_WARMUP : TSW_STAGE_ROUND,
        .kind = TSW_WAVE_KIND_CELL,
        .round = warmup ? state->warmups_done : state->next_round,
        .configs = state->wave,
    };
    if (is_fixed(state))
        wave.stage = TSW_STAGE_FIXED;
    if (!over)
        wave.count =
            is_fixed(state) ? fixed_wave(state) : shuffled_wave(state, wave.stage, wave.round);
    wave.launches = wave.stage == TSW_STAGE_ROUND ? 0 : 1;
    wave.control_slot = wave.count;
    *wave_p = wave;
}

void tsw_policy_report(tsw_policy_state_t *state, const uint64_t *interval_ns,
                       const uint32_t *launches, uint64_t elapsed_ns)
{
    (void)interval_ns; /* rounds decides by counts alone; racing will look */
    (void)launches;
    if (!is_fixed(state) && state->warmups_done < state->policy.warmup_rounds) {
        state->warmups_done++;
        return;
    }
    state->next_round++;
    state->timed++;
    state->timed_ns += elapsed_ns;
}

void tsw_policy_drop(tsw_policy_state_t *state, uint32_t config)
{
    for (size_t i = 0; i < state->live_count; i++) {
        if (state->live[i] != config)
            continue;
        state->live_count--;
        memmove(&state->live[i], &state->live[i + 1],
                (state->live_count - i) * sizeof(*state->live));
        return;
    }
}
