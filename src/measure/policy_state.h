/* What a protocol is made of. Private to the policies. */
#ifndef TSW_MEASURE_POLICY_STATE_H
#define TSW_MEASURE_POLICY_STATE_H

#include "measure/policy_wave.h"

typedef struct {
    void (*free)(tsw_policy_state_t *state);
    size_t (*wave_max)(const tsw_policy_state_t *state);
    void (*next)(tsw_policy_state_t *state, tsw_wave_t *wave_p);
    void (*report)(tsw_policy_state_t *state, const uint64_t *interval_ns,
                   const uint32_t *launches);
    void (*drop)(tsw_policy_state_t *state, uint32_t config);
    tsw_fate_t (*fate)(const tsw_policy_state_t *state, uint32_t config);
    int32_t (*pick)(const tsw_policy_state_t *state);
} tsw_policy_ops_t;

/* First member of every protocol's state. */
struct tsw_policy_state {
    const tsw_policy_ops_t *ops;
    tsw_policy_t policy;
    uint64_t cell; /* counter from the cell's key */
    uint32_t first_round;
    uint64_t spent_ns; /* of the waves so far, the warm-up aside */
    bool in_warmup;    /* the wave that is out */
};

bool tsw_policy_is_spent(const tsw_policy_state_t *state); /* the cell's budget */

/* Each yields a state whose base is not filled yet. */
tsw_status_t tsw_policy_rounds_new(const tsw_policy_setup_t *setup, tsw_policy_state_t **state_p,
                                   tsw_err_t *err);
tsw_status_t tsw_policy_race_new(const tsw_policy_setup_t *setup, tsw_policy_state_t **state_p,
                                 tsw_err_t *err);
tsw_status_t tsw_policy_peers_new(const tsw_policy_setup_t *setup, tsw_policy_state_t **state_p,
                                  tsw_err_t *err);

#endif
