/* Which configs run in the next wave, and when to stop. One interface for all protocols. Pure. */
#ifndef TSW_MEASURE_POLICY_H
#define TSW_MEASURE_POLICY_H

#include "measure/policy_wave.h"

/* Protocol rounds: the warm-up rounds, always, then rounds first_round.. in fresh random orders; a
 * budget ends them, yet not before 3 of them. Protocol fixed: one wave, in which each config is
 * launched `rounds` times in a row; a first_round above 0 means that it was done. All others start
 * again after a death, with the configs that are left. TSW_ERR_NOMEM. */
tsw_status_t tsw_policy_new(const tsw_policy_setup_t *setup, tsw_policy_state_t **state_p,
                            tsw_err_t *err);
void tsw_policy_free(tsw_policy_state_t *state);
/* Longest wave that can come: for buffers made in advance. */
size_t tsw_policy_wave_max(const tsw_policy_state_t *state);
/* Until a wave is reported it comes again, without the configs that were dropped. */
void tsw_policy_next(tsw_policy_state_t *state, tsw_wave_t *wave_p);
/* What came back of the last wave, in its order: intervals, and the launches in each. elapsed_ns:
 * of the whole wave. */
void tsw_policy_report(tsw_policy_state_t *state, const uint64_t *interval_ns,
                       const uint32_t *launches, uint64_t elapsed_ns);
/* A config ended (failed) and takes no further part. */
void tsw_policy_drop(tsw_policy_state_t *state, uint32_t config);
/* Once no wave comes any more: why a config was left, and the config that the protocol would hand
 * out; -1: it leaves that to the reduction, or nothing was measured. */
tsw_fate_t tsw_policy_fate(const tsw_policy_state_t *state, uint32_t config);
int32_t tsw_policy_pick(const tsw_policy_state_t *state);

#endif
