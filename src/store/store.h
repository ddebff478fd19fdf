/* HDF5: sealed segments of one rank, the merged sweep, reading both back. docs/file-format.md.
 *
 * HDF5 makes and parses files in memory only; reading and writing them is base/file. So a full
 * disk, a missing lock service or a torn file never meets HDF5. All calls are local. */
#ifndef TSW_STORE_STORE_H
#define TSW_STORE_STORE_H

#include "base/buf.h"
#include "record/dataset.h"

#define TSW_STORE_START        "tilesweep 1 " /* of every file */
#define TSW_STORE_SCHEMA_MAJOR 1
#define TSW_STORE_SCHEMA_MINOR 2

/* A rank's writer: collects results and seals them into parts/aNNNN-rNNNN/NNNNNN.h5. */
typedef struct tsw_segments tsw_segments_t;

/* Makes the folder; meta is copied. TSW_ERR_IO, TSW_ERR_FULL, TSW_ERR_NOMEM. */
tsw_status_t tsw_segments_open(const char *run_dir, uint32_t attempt, int rank,
                               const tsw_run_meta_t *meta, tsw_segments_t **segments_p,
                               tsw_err_t *err);
/* Takes over *result (not on TSW_ERR_NOMEM). Seals when due: 30 s after the last seal; when that
 * fails, its status is returned and the result stays queued. */
tsw_status_t tsw_segments_add(tsw_segments_t *segments, tsw_cell_result_t *result, tsw_err_t *err);
/* Seals what is queued, now. TSW_ERR_FULL: nothing sealed is harmed and the results stay queued.
 * After 64 segments they are merged into one. */
tsw_status_t tsw_segments_seal(tsw_segments_t *segments, tsw_err_t *err);
/* Another time between seals than 30 s. */
void tsw_segments_set_interval(tsw_segments_t *segments, double seconds);
/* From now on segments stay apart, as somebody else takes them away. */
void tsw_segments_keep_apart(tsw_segments_t *segments);
/* Number of the last one that was sealed; 0: none. */
uint32_t tsw_segments_sealed(const tsw_segments_t *segments);
/* For rehearsals: the write-th segment and all after it find a full disk. */
void tsw_segments_set_full(tsw_segments_t *segments, uint64_t write);
bool tsw_segments_due(const tsw_segments_t *segments);
/* Seals what is left and frees the writer, whether that worked or not. NULL is fine. */
tsw_status_t tsw_segments_close(tsw_segments_t *segments, tsw_err_t *err);

/* The attempt's number, from 1 on: an exclusive mkdir of attempts/NNNN in the run folder.
 * TSW_ERR_IO, TSW_ERR_FULL, TSW_ERR_NOMEM. */
tsw_status_t tsw_store_next_attempt(const char *run_dir, uint32_t *attempt_p, tsw_err_t *err);
/* Takes number 1. TSW_ERR_EXISTS: another has it, and goes on. */
tsw_status_t tsw_store_first_attempt(const char *run_dir, tsw_err_t *err);

/* Write one file atomically. Equal datasets give equal bytes. TSW_ERR_FULL. */
tsw_status_t tsw_store_write(const char *path, const tsw_dataset_t *dataset, tsw_err_t *err);

/* Read a sweep file or one segment. TSW_ERR_CORRUPT, TSW_ERR_VERSION. */
tsw_status_t tsw_store_read_file(const char *path, tsw_dataset_t *dataset_p, tsw_err_t *err);
/* Read a run folder or a sweep file; canonical. Of a folder all segments of its newest edition are
 * read, or sweep.h5 when there are none; segments that are torn are left out and named in
 * *skipped_p, one a line (heap, "" when none; may be NULL). TSW_ERR_ARG: segments that must not be
 * mixed. TSW_ERR_NOT_FOUND. */
tsw_status_t tsw_store_read(const char *path, tsw_dataset_t *dataset_p, char **skipped_p,
                            tsw_err_t *err);

/* Check a file or a run folder for consistency: appends a line per fault to report. TSW_OK even
 * with faults; *faults_p counts them. TSW_ERR_NOT_FOUND, TSW_ERR_IO, TSW_ERR_NOMEM. */
tsw_status_t tsw_store_check(const char *path, size_t *faults_p, tsw_buf_t *report, tsw_err_t *err);

/* "HDF5 1.10.8": the library in use; returns out. */
char *tsw_store_library(char out[32]);

/* Append the numbers of a dataset in any HDF5 file, whose bytes are here, to out as raw
 * little-endian bytes (`fill: dataset` of a pack). name: the file in messages. bytes: untouched
 * afterwards. TSW_ERR_NOT_FOUND; TSW_ERR_INPUT: not numbers, or more than 2 GiB of them, or in
 * another file; TSW_ERR_CORRUPT. */
tsw_status_t tsw_store_read_raw_image(void *bytes, size_t size, const char *name,
                                      const char *dataset, tsw_buf_t *out, size_t *element_bytes_p,
                                      tsw_err_t *err);

#endif
