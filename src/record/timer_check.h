/* What came of holding our timer against CUPTI's, as plain data. */
#ifndef TSW_RECORD_TIMER_CHECK_H
#define TSW_RECORD_TIMER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSW_TIMER_CHECKS 8

typedef struct {
    uint32_t config_index;
    uint32_t launches;       /* in each interval */
    double own_ns, cupti_ns; /* medians of a launch */
    double off_ns;           /* median of our time less CUPTI's, of the same launches */
} tsw_timer_check_t;

typedef struct {
    tsw_timer_check_t items[TSW_TIMER_CHECKS]; /* later ones are dropped */
    size_t count;
} tsw_timer_checks_t;

/* Within 2 % or 0.5 us. */
bool tsw_timer_check_agrees(const tsw_timer_check_t *check);

#endif
