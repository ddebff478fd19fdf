/* Scripted faults of simulated GPUs and of the ranks that have them, so that every outcome and
 * every mishap of a cluster can be rehearsed without one: docs/simulation.md. Text, one rule a
 * line; '#' starts a comment: [gpu=N] FAULT[@WHEN] [VALUE] TARGET rank=N [attempt=N] FAULT[@WHEN]
 * The first rule that fits decides. Pure. */
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
    TSW_FAULT_POWER,
    TSW_FAULT_THROTTLE,
    TSW_FAULT_CANARY,
    TSW_FAULT_CAPACITY,
    TSW_FAULT_PACE,
    TSW_FAULT_KILL, /* from here on of ranks */
    TSW_FAULT_DIE,
    TSW_FAULT_ABORT,
    TSW_FAULT_FULL,
} tsw_fault_t;

typedef struct {
    tsw_fault_t fault;
    char *target;               /* heap; NULL for a rule without one */
    int64_t gpu, rank, attempt; /* -1: not said */
    uint64_t from, to;          /* the numbers after @ */
    double value;
    uint64_t reason; /* throttle: NVML's bit */
    int line;
} tsw_sim_rule_t;

/* Whom a rule may fit: a config, or the reference (text NULL). */
typedef struct {
    const char *text; /* canonical, borrowed */
    tsw_key_t key;
} tsw_sim_subject_t;

typedef struct {
    tsw_sim_rule_t *rules; /* those of this GPU, or rank, only; after parse_all: of all */
    size_t count, capacity;
} tsw_sim_scenario_t;

/* TSW_ERR_INPUT: "scenario:LINE: ..." with the nearest known word; all lines are checked, also
 * those for others. */
tsw_status_t tsw_sim_scenario_parse(const char *text, uint32_t gpu, tsw_sim_scenario_t *scenario_p,
                                    tsw_err_t *err);
tsw_status_t tsw_sim_scenario_parse_rank(const char *text, int rank, tsw_sim_scenario_t *scenario_p,
                                         tsw_err_t *err);
tsw_status_t tsw_sim_scenario_parse_all(const char *text, tsw_sim_scenario_t *scenario_p,
                                        tsw_err_t *err);
void tsw_sim_scenario_fini(tsw_sim_scenario_t *scenario);
bool tsw_sim_rule_fits(const tsw_sim_rule_t *rule, const tsw_sim_subject_t *subject);

/* Who plays in a run. Parts that are empty are not known, and not asked about. */
typedef struct {
    const tsw_sim_subject_t *configs; /* that are measured */
    size_t config_count;
    const uint32_t *gpus; /* numbers of virtual GPUs */
    size_t gpu_count;
    uint32_t attempt; /* 0: not known. Rules of other attempts may be of more ranks or fewer */
    int rank_count;
} tsw_sim_cast_t;

/* A rule for what the run lacks would never happen. TSW_ERR_INPUT: "scenario:LINE: key: ..." with
 * the nearest that it has. */
tsw_status_t tsw_sim_scenario_check(const char *text, const tsw_sim_cast_t *cast, tsw_err_t *err);

/* When a kernel is loaded: LOAD or OOM, else NONE. */
tsw_fault_t tsw_sim_fault_at_load(const tsw_sim_scenario_t *scenario,
                                  const tsw_sim_subject_t *subject);
/* At its launch number `launch`: a fault of a result or a launch, else NONE. */
tsw_fault_t tsw_sim_fault_at_launch(const tsw_sim_scenario_t *scenario,
                                    const tsw_sim_subject_t *subject, uint64_t launch);
double tsw_sim_slowness(const tsw_sim_scenario_t *scenario,
                        const tsw_sim_subject_t *subject); /* 1: none */
double tsw_sim_power(const tsw_sim_scenario_t *scenario,
                     const tsw_sim_subject_t *subject); /* 1: as it is */
/* The rule for the GPU itself, or NULL. */
const tsw_sim_rule_t *tsw_sim_gpu_rule(const tsw_sim_scenario_t *scenario, tsw_fault_t fault);

/* What throttles the GPU in this round of a cell, or NULL. */
const tsw_sim_rule_t *tsw_sim_throttle(const tsw_sim_scenario_t *scenario, uint32_t round);
/* Whether KILL, DIE, ABORT or FULL is due: with the number-th cell (or write) of an attempt. */
bool tsw_sim_rank_event(const tsw_sim_scenario_t *scenario, tsw_fault_t fault, uint32_t attempt,
                        uint64_t number);

#endif
