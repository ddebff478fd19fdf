/* Which configs run in the next wave, and when to stop. One interface for all protocols. Pure. */
#ifndef TSW_MEASURE_POLICY_H
#define TSW_MEASURE_POLICY_H

#include "pack/job.h"
#include "record/record.h"

typedef struct tsw_policy_state tsw_policy_state_t;

typedef struct {
    tsw_stage_t stage;
    uint32_t round;
    uint32_t *configs; /* indices in order of launch; borrowed until the next call */
    size_t count;      /* 0: stop */
} tsw_wave_t;

/* live: config indices that take part. cell: seeds the order. */
tsw_status_t tsw_policy_new(const tsw_policy_t *policy, tsw_key_t cell, const uint32_t *live,
                            size_t count, uint32_t first_round, tsw_policy_state_t **state_p,
                            tsw_err_t *err);
void tsw_policy_free(tsw_policy_state_t *state);
tsw_status_t tsw_policy_next(tsw_policy_state_t *state, tsw_wave_t *wave_p, tsw_err_t *err);
/* What came back: interval per launch for the wave's configs, in its order. */
void tsw_policy_report(tsw_policy_state_t *state, const uint64_t *interval_ns, uint32_t launches,
                       uint64_t elapsed_ns);
/* A config ended (failed) and takes no further part. */
void tsw_policy_drop(tsw_policy_state_t *state, uint32_t config);

#endif
