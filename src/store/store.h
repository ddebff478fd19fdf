/* HDF5: sealed segments of one rank, the merged sweep, reading both back. docs/file-format.md. */
#ifndef TSW_STORE_STORE_H
#define TSW_STORE_STORE_H

#include "base/buf.h"
#include "record/dataset.h"

#define TSW_STORE_SCHEMA_MAJOR 1
#define TSW_STORE_SCHEMA_MINOR 0

/* A rank's writer: collects results and seals them into parts/aNNNN-rNNNN/NNNNNN.h5. */
typedef struct tsw_segments tsw_segments_t;

tsw_status_t tsw_segments_open(const char *run_dir, uint32_t attempt, int rank,
                               const tsw_run_meta_t *meta, tsw_segments_t **segments_p,
                               tsw_err_t *err);
/* Takes over *result. Seals when due (30 s, or seal_now). */
tsw_status_t tsw_segments_add(tsw_segments_t *segments, tsw_cell_result_t *result, tsw_err_t *err);
/* TSW_ERR_FULL: nothing sealed is harmed and the results stay queued. */
tsw_status_t tsw_segments_seal(tsw_segments_t *segments, tsw_err_t *err);
bool tsw_segments_due(const tsw_segments_t *segments);
/* Seals what is left. */
tsw_status_t tsw_segments_close(tsw_segments_t *segments, tsw_err_t *err);

/* The attempt's number: the first free parts/aNNNN (exclusive mkdir of attempts/NNNN). */
tsw_status_t tsw_store_next_attempt(const char *run_dir, uint32_t *attempt_p, tsw_err_t *err);

/* Write one file atomically. */
tsw_status_t tsw_store_write(const char *path, const tsw_dataset_t *dataset, tsw_err_t *err);

/* Read a sweep file or one segment. TSW_ERR_CORRUPT, TSW_ERR_VERSION. */
tsw_status_t tsw_store_read_file(const char *path, tsw_dataset_t *dataset_p, tsw_err_t *err);
/* Read a run folder (all its segments, torn ones named in *skipped_p, one per line, heap) or a
 * sweep file; canonical. */
tsw_status_t tsw_store_read(const char *path, tsw_dataset_t *dataset_p, char **skipped_p,
                            tsw_err_t *err);

/* Check a file or a run folder for consistency: appends a line per fault to report. TSW_OK even
 * with faults; *faults_p counts them. */
tsw_status_t tsw_store_check(const char *path, size_t *faults_p, tsw_buf_t *report,
                             tsw_err_t *err);

/* Raw little-endian bytes of a numeric dataset (fill: dataset of a pack). */
tsw_status_t tsw_store_read_raw(const char *file, const char *dataset, tsw_buf_t *out,
                                size_t *element_bytes_p, tsw_err_t *err);

#endif
