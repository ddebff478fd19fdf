#include "measure/policy_state.h"

bool tsw_policy_is_spent(const tsw_policy_state_t *state)
{
    double budget_s = state->policy.cell_budget_s;
    return budget_s > 0 && (double)state->spent_ns >= budget_s * 1e9;
}
