#include "store/store.h"

#include "base/file.h"
#include "store/store_seal.h"
#include "store/store_tables.h"

/* The status that a callee gave, with the path in front of its text. */
static tsw_status_t name_file(tsw_status_t status, const char *path, tsw_err_t *err)
{
    if (status != TSW_OK)
        tsw_err_wrap(err, "%s", path);
    return status;
}

tsw_status_t tsw_store_write(const char *path, const tsw_dataset_t *dataset, tsw_err_t *err)
{
    tsw_tables_t tables = {0};
    tsw_buf_t image = TSW_BUF_INIT;
    tsw_status_t status = tsw_tables_flatten(dataset, &tables, err);
    if (status == TSW_OK)
        status = tsw_image_make(&dataset->meta, &tables, &image, err);
    name_file(status, path, err);
    if (status == TSW_OK)
        status = tsw_file_write_atomic(path, image.data, image.size, err);
    tsw_buf_fini(&image);
    tsw_tables_fini(&tables);
    return status;
}

/* A file as large as a disk is known by its first bytes; a pipe has but what comes. */
static tsw_status_t check_size(const char *path, tsw_err_t *err)
{
    uint64_t size = 0;
    tsw_buf_t start = TSW_BUF_INIT;
    if (!tsw_path_is_file(path) || !tsw_file_size(path, &size))
        return TSW_OK;
    tsw_status_t status = tsw_file_read_start(path, TSW_SEAL_SIZE, &start, err);
    if (status == TSW_OK)
        status = name_file(tsw_seal_check_size(start.data, start.size, size, err), path, err);
    tsw_buf_fini(&start);
    return status;
}

tsw_status_t tsw_tables_read(const char *path, tsw_run_meta_t *meta_p, tsw_tables_t *tables_p,
                             tsw_err_t *err)
{
    tsw_buf_t image = TSW_BUF_INIT;
    tsw_status_t status = check_size(path, err);
    if (status == TSW_OK)
        status = tsw_file_read(path, &image, err);
    if (status == TSW_OK)
        status = name_file(tsw_image_parse(&image, meta_p, tables_p, err), path, err);
    tsw_buf_fini(&image);
    return status;
}

/* The first fault of the tables as an error. */
static tsw_status_t refuse_faults(const tsw_tables_t *tables, const char *path, tsw_err_t *err)
{
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_faults_t faults = {.out = &text, .path = path, .show = 1};
    tsw_status_t status = TSW_OK;
    tsw_tables_verify(tables, &faults);
    if (faults.count > 0) {
        const char *line = tsw_buf_text(&text);
        int length = text.size > 0 ? (int)text.size - 1 : 0; /* without its line end */
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "%.*s", length, line);
    }
    tsw_buf_fini(&text);
    return status;
}

tsw_status_t tsw_store_read_file(const char *path, tsw_dataset_t *dataset_p, tsw_err_t *err)
{
    tsw_dataset_t dataset = {0};
    tsw_tables_t tables = {0};
    tsw_status_t status = tsw_tables_read(path, &dataset.meta, &tables, err);
    if (status == TSW_OK)
        status = refuse_faults(&tables, path, err);
    if (status == TSW_OK)
        status = tsw_tables_unflatten(&tables, &dataset, err);
    tsw_tables_fini(&tables);
    if (status == TSW_OK)
        *dataset_p = dataset;
    else
        tsw_dataset_fini(&dataset);
    return status;
}
