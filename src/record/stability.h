/* Whether the times of a cell can be trusted to stand still: told beside them, never a verdict.
 * Pure. */
#ifndef TSW_RECORD_STABILITY_H
#define TSW_RECORD_STABILITY_H

#include "record/record.h"

/* Bits of tsw_record_t.unstable. Values are stored: append only. */
typedef enum {
    TSW_UNSTABLE_CLOCK = 1, /* a deciding round of it ran at another clock, with no redo left */
    /* In the final, and its A/A control was off by more than 0.3 %, with confidence. */
    TSW_UNSTABLE_CONTROL = 2,
    TSW_UNSTABLE_DRIFT = 4,  /* it moved against the other configs of its rounds */
    TSW_UNSTABLE_SHARED = 8, /* as CLOCK, but others were on the GPU */
} tsw_unstable_t;

/* "clock+drift"; "" for none. */
#define TSW_UNSTABLE_TEXT_SIZE 32
const char *tsw_unstable_format(uint8_t mask, char text[TSW_UNSTABLE_TEXT_SIZE]);

/* Fills `unstable` of all records, from the rounds, samples and fates of the cell.
 * Drift: of each config's log times less their median, less the median of that over the configs of
 * the round, a trend over the rounds (Mann 1945, Kendall 1975) with a chance of 0.1 % by accident,
 * whose slope (Theil-Sen) makes more than 0.5 % from the first round to the last; from 8 rounds on
 * and among 3 configs at least, since of two nobody knows which one moves.
 * TSW_ERR_NOMEM. */
tsw_status_t tsw_stability_judge(tsw_cell_result_t *cell, tsw_err_t *err);

#endif
