/* Scripted faults of a simulated GPU, so that every outcome can be had without a GPU. Text, one
 * rule a line; '#' starts a comment:
 *     [gpu=N] FAULT[@LAUNCH] [VALUE] TARGET
 * gpu=N     only on the virtual GPU with that id
 * @LAUNCH   from the kernel's launch number LAUNCH on (the first is 1, the default), counted since
 *           it was loaded
 * TARGET    "*": every config, not the reference; "reference"; knobs: every config that has all of
 *           them ("TILE_M=128 occupancy=2"); or the key of a config in 32 hex digits
 * Faults of results:  wrong, nan, unwritten (half of the output), overrun (a fence is damaged),
 *                     input (an input is changed), inplace (wrong when read and written in place)
 * Faults of launches: launch (refused), hang (time-out), lost (sticky error), crash (abort)
 * Faults of loading:  load (refused), oom (out of device memory)
 * Of time:            slow FACTOR TARGET
 * Of the GPU:         canary (its canary fails), capacity BYTES (of its memory), pace FACTOR (waits
 *                     so long for each second of virtual time); no target
 * The first rule that fits decides. Pure. Private to device. */
#ifndef TSW_DEVICE_SIM_SCENARIO_H
#define TSW_DEVICE_SIM_SCENARIO_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    TSW_FAULT_NONE,
    TSW_FAULT_WRONG,
    TSW_FAULT_NAN,
    TSW_FAULT_UNWRITTEN,
    TSW_FAULT_OVERRUN,
    TSW_FAULT_INPUT,
    TSW_FAULT_INPLACE,
    TSW_FAULT_LAUNCH,
    TSW_FAULT_HANG,
    TSW_FAULT_LOST,
    TSW_FAULT_CRASH,
    TSW_FAULT_LOAD,
    TSW_FAULT_OOM,
    TSW_FAULT_SLOW,
    TSW_FAULT_CANARY,
    TSW_FAULT_CAPACITY,
    TSW_FAULT_PACE,
} tsw_fault_t;

typedef struct {
    tsw_fault_t fault;
    char *target; /* heap; NULL for a rule of the GPU */
    uint64_t from_launch;
    double value;
} tsw_sim_rule_t;

/* Whom a rule may fit: a config, or the reference (text NULL). */
typedef struct {
    const char *text; /* canonical, borrowed */
    tsw_key_t key;
} tsw_sim_subject_t;

typedef struct {
    tsw_sim_rule_t *rules; /* those of this GPU only */
    size_t count, capacity;
} tsw_sim_scenario_t;

/* TSW_ERR_INPUT: "scenario:LINE: ..." with the nearest known fault. */
tsw_status_t tsw_sim_scenario_parse(const char *text, uint32_t gpu, tsw_sim_scenario_t *scenario_p,
                                    tsw_err_t *err);
void tsw_sim_scenario_fini(tsw_sim_scenario_t *scenario);

/* When a kernel is loaded: LOAD or OOM, else NONE. */
tsw_fault_t tsw_sim_fault_at_load(const tsw_sim_scenario_t *scenario,
                                  const tsw_sim_subject_t *subject);
/* At its launch number `launch`: a fault of a result or a launch, else NONE. */
tsw_fault_t tsw_sim_fault_at_launch(const tsw_sim_scenario_t *scenario,
                                    const tsw_sim_subject_t *subject, uint64_t launch);
double tsw_sim_slowness(const tsw_sim_scenario_t *scenario,
                        const tsw_sim_subject_t *subject); /* 1: none */
/* The rule for the GPU itself, or NULL. */
const tsw_sim_rule_t *tsw_sim_gpu_rule(const tsw_sim_scenario_t *scenario, tsw_fault_t fault);

#endif
