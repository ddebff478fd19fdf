/* The content of one file: flat tables in memory, between a dataset and HDF5. Inside store only. */
#ifndef TSW_STORE_STORE_TABLES_H
#define TSW_STORE_STORE_TABLES_H

#include "record/dataset.h"
#include "store/store_table.h"

typedef struct {
    tsw_rows_t kernels, shapes, configs, gpus, nodes, cells, records, rounds;
    tsw_sample_t *samples;
    size_t sample_count;
} tsw_tables_t;

void tsw_tables_fini(tsw_tables_t *tables);

/* Faults of a file's content: a line each, all counted, the first ones shown. */
typedef struct {
    tsw_buf_t *out;
    const char *path; /* starts each line */
    size_t count;
    size_t show;
} tsw_faults_t;

void tsw_fault(tsw_faults_t *faults, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* dataset -> tables, with derived columns. */
tsw_status_t tsw_tables_flatten(const tsw_dataset_t *dataset, tsw_tables_t *tables_p,
                                tsw_err_t *err);
/* Do ids, ranges, keys and outcomes fit together? What _unflatten relies on. */
void tsw_tables_verify(const tsw_tables_t *tables, tsw_faults_t *faults);
/* tables -> cells of a dataset, without its meta; tables must have verified without a fault. */
tsw_status_t tsw_tables_unflatten(const tsw_tables_t *tables, tsw_dataset_t *dataset,
                                  tsw_err_t *err);

/* The derived columns of a record over its samples; scratch has room for count values. */
void tsw_derive_columns(const tsw_sample_t *samples, size_t count, double *scratch,
                        tsw_record_row_t *row);

/* Parts of a file, each with its own source. */
tsw_status_t tsw_meta_put(hid_t file, const tsw_run_meta_t *meta, tsw_err_t *err);
/* TSW_ERR_VERSION for another major version. meta is filled in part on failure. */
tsw_status_t tsw_meta_get(hid_t file, tsw_run_meta_t *meta, tsw_err_t *err);
tsw_status_t tsw_samples_put(hid_t file, const tsw_tables_t *tables, tsw_err_t *err);
/* tables is filled in part on failure. */
tsw_status_t tsw_samples_get(hid_t file, tsw_tables_t *tables, tsw_err_t *err);

/* A whole file: read it without looking at its content. The error names the path. */
tsw_status_t tsw_tables_read(const char *path, tsw_run_meta_t *meta_p, tsw_tables_t *tables_p,
                             tsw_err_t *err);

/* tables and meta <-> the bytes of an HDF5 file with its seal. */
tsw_status_t tsw_image_make(const tsw_run_meta_t *meta, const tsw_tables_t *tables, tsw_buf_t *out,
                            tsw_err_t *err);
tsw_status_t tsw_image_parse(tsw_buf_t *image, tsw_run_meta_t *meta_p, tsw_tables_t *tables_p,
                             tsw_err_t *err);

#endif
