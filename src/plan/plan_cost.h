/* What things are expected to cost: for the order of cells and for people. Private to plan. */
#ifndef TSW_PLAN_PLAN_COST_H
#define TSW_PLAN_PLAN_COST_H

#include "plan/plan.h"

/* Device time of a cell, ns: nominal peaks of the arch's largest common device. */
double tsw_plan_cost_cell_ns(tsw_arch_t arch, tsw_dtype_t dtype, const tsw_policy_t *policy,
                             double flops, double bytes, size_t config_count);
/* How long a config compiles, against others of its pack: the product of its tiles. */
double tsw_plan_cost_config(const tsw_pack_t *pack, const tsw_config_t *config);
/* CPU time of a build for so many archs, ns. */
double tsw_plan_cost_build_ns(const tsw_build_t *build);

#endif
