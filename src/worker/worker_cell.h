/* A cell as its rank described it, and what a measure worker has of it. */
#ifndef TSW_WORKER_WORKER_CELL_H
#define TSW_WORKER_WORKER_CELL_H

#include "measure/measure.h"
#include "wire/worker_msg.h"

typedef struct {
    tsw_variant_t variant;
    const void **fill_data; /* of the arguments of its pack, borrowed from the job */
    size_t *fill_sizes;
    tsw_eval_t *eval;
    tsw_measure_cell_t about; /* points into all these, and into the message */
    tsw_measure_t *measure;   /* NULL: none, or it could not begin */
} tsw_worker_cell_t;

/* Replaces all but measure by what the message says. TSW_ERR_CORRUPT, TSW_ERR_NOMEM. */
tsw_status_t tsw_worker_cell_describe(tsw_worker_cell_t *cell, const tsw_job_t *job,
                                      const tsw_msg_begin_t *msg, tsw_err_t *err);
void tsw_worker_cell_end(tsw_worker_cell_t *cell);  /* ends measure */
void tsw_worker_cell_fini(tsw_worker_cell_t *cell); /* a zeroed one is fine */

#endif
