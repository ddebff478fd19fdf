/* Dataset fills: rank 0 reads the numbers once, since workers know no HDF5; they travel with the
 * snapshot. */
#include "base/mem.h"
#include "run/run_state.h"

/* dtypes: of the job's entry, for an argument that follows the cell's. */
static tsw_status_t check_width(const tsw_arg_t *arg, const bool *dtypes, size_t width,
                                tsw_err_t *err)
{
    for (int i = 0; i < TSW_DTYPE_COUNT; i++) {
        bool used = arg->dtype == TSW_DTYPE_OF_CELL ? dtypes[i] : arg->dtype == (tsw_dtype_t)i;
        if (used && tsw_dtype_bytes((tsw_dtype_t)i) != width)
            return tsw_place_err(err, TSW_ERR_INPUT, arg->place,
                                 "argument %s: %s:%s has numbers of %zu bytes, %s has %zu",
                                 arg->name, arg->fill.file, arg->fill.dataset, width,
                                 tsw_dtype_name((tsw_dtype_t)i),
                                 (size_t)tsw_dtype_bytes((tsw_dtype_t)i));
    }
    return TSW_OK;
}

static const tsw_fileset_item_t *find_file(const tsw_fileset_t *snapshot, const char *pack_name,
                                           const char *file)
{
    tsw_buf_t name = TSW_BUF_INIT;
    tsw_buf_printf(&name, "packs/%s/%s", pack_name, file);
    const tsw_fileset_item_t *item =
        tsw_buf_ok(&name) ? tsw_fileset_find(snapshot, tsw_buf_text(&name)) : NULL;
    tsw_buf_fini(&name);
    return item;
}

static tsw_status_t read_fill(tsw_fileset_t *snapshot, const tsw_job_entry_t *entry,
                              const tsw_arg_t *arg, tsw_err_t *err)
{
    tsw_buf_t numbers = TSW_BUF_INIT;
    size_t width = 0;
    char *name = tsw_job_data_name(entry->pack, &arg->fill);
    const tsw_fileset_item_t *file = find_file(snapshot, entry->pack_name, arg->fill.file);
    if (name == NULL || file == NULL) { /* reading the pack made sure of the file */
        tsw_free(name);
        return tsw_err_nomem(err);
    }
    tsw_status_t status = tsw_store_read_raw_image(file->bytes, file->size, arg->fill.file,
                                                   arg->fill.dataset, &numbers, &width, err);
    if (status != TSW_OK && status != TSW_ERR_NOMEM) {
        tsw_err_t was = *err;
        status =
            tsw_place_err(err, TSW_ERR_INPUT, arg->place, "argument %s: %s", arg->name, was.text);
    }
    if (status == TSW_OK)
        status = check_width(arg, entry->dtypes, width, err);
    if (status == TSW_OK && tsw_fileset_find(snapshot, name) == NULL)
        status = tsw_fileset_add(snapshot, name, numbers.data, numbers.size, err);
    tsw_buf_fini(&numbers);
    tsw_free(name);
    return status;
}

tsw_status_t tsw_run_read_fills(tsw_run_t *run, tsw_err_t *err)
{
    if (run->rank != 0)
        return TSW_OK;
    tsw_job_t *job = NULL;
    tsw_status_t status = tsw_job_read(run->snapshot, &job, err);
    for (size_t i = 0; status == TSW_OK && i < job->entry_count; i++) {
        const tsw_pack_t *pack = job->entries[i].pack;
        for (size_t k = 0; status == TSW_OK && k < pack->arg_count; k++) {
            if (pack->args[k].fill.kind != TSW_FILL_DATASET)
                continue;
            status = read_fill(&job->snapshot, &job->entries[i], &pack->args[k], err);
            if (status != TSW_OK)
                tsw_err_wrap(err, "pack %s", pack->name);
        }
    }
    if (status == TSW_OK)
        status = tsw_run_read_seeds(run, &job->search, &job->snapshot, err);
    if (job != NULL) { /* it borrowed the snapshot to be understood */
        *run->snapshot = job->snapshot;
        job->snapshot = (tsw_fileset_t)TSW_FILESET_INIT;
    }
    tsw_job_free(job);
    return status;
}
