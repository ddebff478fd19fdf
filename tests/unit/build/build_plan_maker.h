/* A small plan by hand: one pack of two sizes of tile, one tool, one reference and two config
 * builds on sm_90 and sm_80. */
#ifndef TSW_TEST_BUILD_PLAN_MAKER_H
#define TSW_TEST_BUILD_PLAN_MAKER_H

#include "plan/plan.h"

typedef struct {
    tsw_arch_t archs[2];
    tsw_job_t job;
    tsw_pack_t pack;
    char *options[1];
    tsw_config_t configs[2];
    tsw_plan_variant_t variant;
    tsw_build_t builds[4]; /* tool, reference, config 0, config 1 */
    tsw_plan_t plan;
} plan_maker_t;

/* Points into itself: do not move it. source: of the kernel "work" in work.cu. */
void plan_maker_init(plan_maker_t *maker, const char *source);
void plan_maker_fini(plan_maker_t *maker);

#endif
