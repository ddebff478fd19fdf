/* One pack, one shape, one config: a job made in memory, run in a temporary folder. */
#ifndef TSW_CLI_CELL_H
#define TSW_CLI_CELL_H

#include "record/dataset.h"
#include "record/timer_check.h"

typedef struct {
    const char *const *words; /* PACK, then NAME=VALUE for every dim, dtype and flags */
    size_t word_count;
    const char *config; /* "TILE_M=64 occupancy=2": knobs left out are the baseline's; NULL: it */
    const char *device; /* "auto", "cuda", "sim:NAME" */
    const char *toolchain, *cache_dir, *kernels; /* may be NULL */
    const char *protocol;                        /* "rounds" or "fixed" */
    uint32_t rounds, warmup;
    uint32_t locked_mhz; /* SM clock; 0: free */
    bool check_timer;    /* against CUPTI's */
    bool hot;            /* leave the L2 cache as it is */
} tsw_one_cell_t;

typedef struct {
    tsw_dataset_t dataset;        /* exactly one cell */
    const tsw_record_t *record;   /* of the config asked for; an alias is followed; borrowed */
    const tsw_record_t *baseline; /* borrowed */
    tsw_timer_checks_t timer;     /* when asked for */
    const char *config;           /* canonical text of what was asked for; borrowed */
} tsw_one_result_t;

/* Blocks until measured. TSW_ERR_ARG names a word that the pack does not know, TSW_ERR_ENV says
 * what is missing here. */
tsw_status_t tsw_one_cell_run(const tsw_one_cell_t *cell, const char *invocation,
                              tsw_one_result_t *result_p, tsw_err_t *err);
void tsw_one_result_fini(tsw_one_result_t *result);

#endif
