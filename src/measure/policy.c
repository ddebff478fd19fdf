#include "measure/policy.h"

#include "base/rng.h"
#include "measure/policy_state.h"

static tsw_status_t make(const tsw_policy_setup_t *setup, tsw_policy_state_t **state_p,
                         tsw_err_t *err)
{
    switch (setup->policy->protocol) {
    case TSW_PROTOCOL_ROUNDS:
    case TSW_PROTOCOL_FIXED:
        return tsw_policy_rounds_new(setup, state_p, err);
    case TSW_PROTOCOL_RACE:
        return tsw_policy_race_new(setup, state_p, err);
    default:
        return tsw_policy_peers_new(setup, state_p, err);
    }
}

tsw_status_t tsw_policy_new(const tsw_policy_setup_t *setup, tsw_policy_state_t **state_p,
                            tsw_err_t *err)
{
    tsw_policy_state_t *state = NULL;
    tsw_status_t status = make(setup, &state, err);
    if (status != TSW_OK)
        return status;
    state->policy = *setup->policy;
    state->cell = tsw_rng_fold(setup->cell);
    state->first_round = setup->first_round;
    *state_p = state;
    return TSW_OK;
}

void tsw_policy_free(tsw_policy_state_t *state)
{
    if (state != NULL)
        state->ops->free(state);
}

size_t tsw_policy_wave_max(const tsw_policy_state_t *state)
{
    return state->ops->wave_max(state);
}

void tsw_policy_next(tsw_policy_state_t *state, tsw_wave_t *wave_p)
{
    state->ops->next(state, wave_p);
    state->in_warmup = wave_p->stage == TSW_STAGE_WARMUP;
}

void tsw_policy_report(tsw_policy_state_t *state, const uint64_t *interval_ns,
                       const uint32_t *launches, uint64_t elapsed_ns)
{
    if (!state->in_warmup)
        state->spent_ns += elapsed_ns;
    state->ops->report(state, interval_ns, launches);
}

void tsw_policy_drop(tsw_policy_state_t *state, uint32_t config)
{
    state->ops->drop(state, config);
}

tsw_fate_t tsw_policy_fate(const tsw_policy_state_t *state, uint32_t config)
{
    return state->ops->fate(state, config);
}

int32_t tsw_policy_pick(const tsw_policy_state_t *state)
{
    return state->ops->pick(state);
}
