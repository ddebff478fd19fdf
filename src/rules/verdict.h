/* When to stop: what the measured gain of a space says, and what is to be done (docs/rules.md). */
#ifndef TSW_RULES_VERDICT_H
#define TSW_RULES_VERDICT_H

#include "rules/lint.h"

/* In this band a space has no effect. */
#define TSW_VERDICT_LOW  0.98
#define TSW_VERDICT_HIGH 1.02

typedef enum {
    TSW_VERDICT_NONE,         /* no cell has both the baseline and another config */
    TSW_VERDICT_DONE,         /* faster than the baseline: nothing more is timed */
    TSW_VERDICT_UNDECIDED,    /* above the band, but the interval reaches 1 */
    TSW_VERDICT_NO_EFFECT,    /* in the band, and a main dimension is not covered: widen */
    TSW_VERDICT_STOP_COVERED, /* in the band, covered, not below 1: finer tuning has no effect */
    TSW_VERDICT_PROBE_NEEDED, /* below the band, or in it below 1 and covered */
    TSW_VERDICT_COUNT
} tsw_verdict_t;

/* ratio: baseline / best other config, 0 for none; low: the end of its interval, NaN for none. */
tsw_verdict_t tsw_verdict_of(double ratio, double low, bool is_covered);
const char *tsw_verdict_name(tsw_verdict_t verdict); /* "probe-needed" */
/* The verdict that lets a probe be run. */
#define TSW_VERDICT_FOR_PROBE "probe-needed"

/* What is missing on an arch: the open findings of coverage of the pack's lint, and what the shapes
 * ask for. Findings are moved to *missing_p, a lint of its own; tsw_lint_fini. */
tsw_status_t tsw_verdict_coverage(const tsw_pack_t *pack, tsw_arch_t arch,
                                  const char *const *shapes, size_t shape_count,
                                  tsw_lint_t *missing_p, tsw_err_t *err);

#endif
