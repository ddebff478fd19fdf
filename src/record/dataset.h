/* A whole run in memory: what store reads and writes, what reduce reduces. */
#ifndef TSW_RECORD_DATASET_H
#define TSW_RECORD_DATASET_H

#include "base/buf.h"
#include "record/record.h"

/* What is true for all records of a run. All text is heap, UTF-8, never NULL once filled. */
typedef struct {
    char *job_name;
    char *job_text; /* job.yaml as read */
    tsw_key_t job_key;
    tsw_key_t plan_key;
    char *purpose;    /* "release", "probe", "research", "fixed" */
    char *toolchain;  /* "nvrtc 13.5 tileiras 13.5.37 <hash>" */
    char *tool;       /* "tilesweep 0.1.0" */
    char *mode;       /* "cuda", "sim", "replay" */
    char *clocks;     /* "free" or "locked:MHZ" */
    char *protocol;   /* "race", "rounds", ... */
    char *objective;  /* "median", "p90", "p99", "mean", "energy": what a winner has least of */
    char *invocation; /* the command line */
    char *retired;    /* GPUs not used to the end and why, a line each; only in a merged file */
    char *inputs;     /* what plan_key stands for, as lines: record/inputs.h */
    char *parts;      /* "1,3/8": which parts of the job are in here; "": all of it */
    uint64_t cells;   /* that there are to do, in these parts; 0: not known */
    uint64_t edition; /* grows with each resume that accepts differences: of a run folder only the
                         highest counts, what is older is superseded */
    uint64_t seed;
    uint64_t start_wall_ns;
} tsw_run_meta_t;

void tsw_run_meta_fini(tsw_run_meta_t *meta);
/* Deep copy; missing text becomes "". TSW_ERR_NOMEM. */
tsw_status_t tsw_run_meta_copy(const tsw_run_meta_t *from, tsw_run_meta_t *meta_p, tsw_err_t *err);
/* Appends a line per difference that forbids records of both in one file: plan, mode, toolchain,
 * clocks. Returns how many. */
size_t tsw_run_meta_compare(const tsw_run_meta_t *before, const tsw_run_meta_t *now,
                            tsw_buf_t *out);
/* TSW_OK when there is no such difference; else TSW_ERR_ARG with the list of them. */
tsw_status_t tsw_run_meta_compatible(const tsw_run_meta_t *a, const tsw_run_meta_t *b,
                                     tsw_err_t *err);

typedef struct {
    tsw_run_meta_t meta;
    tsw_cell_result_t *cells;
    size_t cell_count;
    size_t cell_capacity;
} tsw_dataset_t;

void tsw_dataset_fini(tsw_dataset_t *dataset);
/* Takes over *cell (emptied on success). TSW_ERR_NOMEM. */
tsw_status_t tsw_dataset_add(tsw_dataset_t *dataset, tsw_cell_result_t *cell, tsw_err_t *err);
/* Canonical form, a pure function of the set of results: drops incomplete attempts of cells that
 * have a complete one, keeps the lowest complete attempt (ties: lowest rank; one without outcomes
 * to be tried again before one with such, or a resume could never better them), sorts by key,
 * records by config index. Cells without a complete attempt keep their newest partial one,
 * complete == 0. */
void tsw_dataset_canonicalise(tsw_dataset_t *dataset);
/* A cell of a canonical dataset by its key; borrowed. NULL: it is not there. */
const tsw_cell_result_t *tsw_dataset_find(const tsw_dataset_t *dataset, tsw_key_t key);
/* Digest over everything that a reduction reads; never host, rank, GPU serial or time of day. The
 * dataset must be canonical. TSW_ERR_NOMEM. */
tsw_status_t tsw_dataset_digest(const tsw_dataset_t *dataset, tsw_key_t *key_p, tsw_err_t *err);

#endif
