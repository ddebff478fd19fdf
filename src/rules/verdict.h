/* When to stop: what the measured gain of a space says, and what is to be done (docs/rules.md). */
#ifndef TSW_RULES_VERDICT_H
#define TSW_RULES_VERDICT_H

#include "rules/lint.h"
#include "space/kind.h"

/* In this band a space has no effect. */
#define TSW_VERDICT_LOW  0.98
#define TSW_VERDICT_HIGH 1.02

typedef enum {
    TSW_VERDICT_NONE,         /* no cell has both the baseline and another config */
    TSW_VERDICT_DONE,         /* faster than the baseline: nothing more is timed */
    TSW_VERDICT_UNDECIDED,    /* above the band, but the interval reaches 1 */
    TSW_VERDICT_NO_EFFECT,    /* in the band, and a main dimension is not covered: widen */
    TSW_VERDICT_STOP_COVERED, /* in the band, covered, and not below 1 or nothing left to probe */
    TSW_VERDICT_PROBE_NEEDED, /* below the band, or in it below 1, covered and not all tried */
    TSW_VERDICT_COUNT
} tsw_verdict_t;

/* What is known of a space besides its gain. */
typedef struct {
    bool is_covered;
    bool is_spent; /* once covered, its kind has nothing else that a probe could vary */
} tsw_verdict_space_t;

/* kind NULL: not known. A kernel of which only the occupancy is searched has no other values than
 * those that its coverage asks for. */
tsw_verdict_space_t tsw_verdict_space(const tsw_kind_t *kind, bool is_covered);

/* ratio: baseline / best other config, 0 for none; low: the end of its interval, NaN for none. */
tsw_verdict_t tsw_verdict_of(double ratio, double low, tsw_verdict_space_t space);
const char *tsw_verdict_name(tsw_verdict_t verdict); /* "probe-needed" */
/* The verdict that lets a probe be run. */
#define TSW_VERDICT_FOR_PROBE "probe-needed"

/* What is missing on an arch: the open findings of coverage of the pack's lint, and what the shapes
 * ask for. Findings are moved to *missing_p, a lint of its own; tsw_lint_fini. *broken_p: how many
 * others the lint has there. */
tsw_status_t tsw_verdict_coverage(const tsw_pack_t *pack, tsw_arch_t arch,
                                  const char *const *shapes, size_t shape_count,
                                  tsw_lint_t *missing_p, size_t *broken_p, tsw_err_t *err);

#endif
