#include "worker/worker_cell.h"

#include "base/mem.h"

#include <string.h>

/* The numbers of dataset fills, as the snapshot has them. */
static tsw_status_t find_fills(tsw_worker_cell_t *cell, const tsw_job_t *job, tsw_err_t *err)
{
    const tsw_pack_t *pack = cell->variant.pack;
    tsw_free(cell->fill_data);
    tsw_free(cell->fill_sizes);
    cell->fill_data = tsw_calloc(pack->arg_count, sizeof(*cell->fill_data));
    cell->fill_sizes = tsw_calloc(pack->arg_count, sizeof(*cell->fill_sizes));
    if (cell->fill_data == NULL || cell->fill_sizes == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < pack->arg_count; i++) {
        if (pack->args[i].fill.kind != TSW_FILL_DATASET)
            continue;
        char *name = tsw_job_data_name(pack, &pack->args[i].fill);
        if (name == NULL)
            return tsw_err_nomem(err);
        const tsw_fileset_item_t *item = tsw_fileset_find(&job->snapshot, name);
        tsw_free(name);
        if (item == NULL)
            continue;
        cell->fill_data[i] = item->bytes;
        cell->fill_sizes[i] = item->size;
    }
    return TSW_OK;
}

tsw_status_t tsw_worker_cell_describe(tsw_worker_cell_t *cell, const tsw_job_t *job,
                                      const tsw_msg_begin_t *msg, tsw_err_t *err)
{
    if (msg->pack >= job->pack_count || msg->dtype >= TSW_DTYPE_COUNT)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "begin: no pack %u or dtype %u", msg->pack,
                           msg->dtype);
    cell->variant =
        (tsw_variant_t){.pack = job->packs[msg->pack], .dtype = (tsw_dtype_t)msg->dtype};
    memcpy(cell->variant.flags, msg->flags, sizeof(msg->flags));
    memcpy(cell->variant.static_dims, msg->static_dims, sizeof(msg->static_dims));
    tsw_status_t status = find_fills(cell, job, err);
    if (status == TSW_OK && cell->eval == NULL)
        status = tsw_eval_new(&cell->eval, err);
    if (status != TSW_OK)
        return status;
    cell->about = (tsw_measure_cell_t){.variant = &cell->variant,
                                       .arch = (tsw_arch_t)msg->arch,
                                       .cell_key = msg->cell_key,
                                       .policy = job->policy,
                                       .flops = msg->flops,
                                       .bytes = msg->bytes,
                                       .max_tile = msg->max_tile,
                                       .reference_cubin = msg->reference,
                                       .reference_size = msg->reference_size,
                                       .fill_data = cell->fill_data,
                                       .fill_sizes = cell->fill_sizes,
                                       .eval = cell->eval};
    memcpy(cell->about.dims, msg->dims, sizeof(msg->dims));
    return TSW_OK;
}

void tsw_worker_cell_end(tsw_worker_cell_t *cell)
{
    tsw_measure_end(cell->measure);
    cell->measure = NULL;
}

void tsw_worker_cell_fini(tsw_worker_cell_t *cell)
{
    tsw_worker_cell_end(cell);
    tsw_free(cell->fill_data);
    tsw_free(cell->fill_sizes);
    tsw_eval_free(cell->eval);
    *cell = (tsw_worker_cell_t){.measure = NULL};
}
