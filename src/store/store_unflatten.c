#include "store/store_tables.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* Keys were verified; a zero key for anything else. */
static tsw_key_t key_of(const char *text)
{
    tsw_key_t key = {0};
    tsw_key_parse(text, &key);
    return key;
}

#define SET_TEXT(_out, _text) snprintf((_out), sizeof(_out), "%s", (_text))

static tsw_status_t take_samples(const tsw_tables_t *tables, const tsw_record_row_t *row,
                                 tsw_record_t *record, tsw_err_t *err)
{
    if (row->n_samples == 0)
        return TSW_OK;
    size_t count = (size_t)row->n_samples;
    record->samples =
        tsw_memdup(tables->samples + row->first_sample, count * sizeof(record->samples[0]));
    if (record->samples == NULL)
        return tsw_err_nomem(err);
    record->sample_count = count;
    record->sample_capacity = count;
    return TSW_OK;
}

static tsw_status_t take_record(const tsw_tables_t *tables, const tsw_record_row_t *row,
                                tsw_key_t cell_key, tsw_record_t *record, char **config_p,
                                tsw_err_t *err)
{
    const tsw_config_row_t *config = tsw_rows_at(&tables->configs, row->config);
    *config_p = tsw_strdup(config->config);
    if (*config_p == NULL)
        return tsw_err_nomem(err);
    record->cell_key = cell_key;
    record->config_key = key_of(config->key);
    record->config_index = row->config_index;
    record->outcome = (tsw_outcome_t)row->outcome;
    SET_TEXT(record->detail, row->detail);
    record->fate = (tsw_fate_t)row->fate;
    record->unstable = row->unstable;
    record->alias_of = row->alias_of;
    memcpy(record->grid, row->grid, sizeof(record->grid));
    memcpy(record->block, row->block, sizeof(record->block));
    record->dynamic_shared_bytes = row->dynamic_shared_bytes;
    record->build = row->build;
    record->build.cubin_key = key_of(row->cubin_key);
    record->verify = row->verify;
    return take_samples(tables, row, record, err);
}

static tsw_status_t take_records(const tsw_tables_t *tables, const tsw_cell_row_t *row,
                                 tsw_cell_result_t *cell, tsw_err_t *err)
{
    size_t count = (size_t)row->n_records;
    if (count == 0)
        return TSW_OK;
    cell->records = tsw_calloc(count, sizeof(cell->records[0]));
    cell->config_texts = tsw_calloc(count, sizeof(cell->config_texts[0]));
    cell->record_count = count;
    tsw_status_t status = TSW_OK;
    if (cell->records == NULL || cell->config_texts == NULL)
        status = tsw_err_nomem(err);
    for (size_t i = 0; status == TSW_OK && i < count; i++)
        status = take_record(tables, tsw_rows_at(&tables->records, row->first_record + i),
                             cell->key, &cell->records[i], &cell->config_texts[i], err);
    return status;
}

static tsw_status_t take_rounds(const tsw_tables_t *tables, const tsw_cell_row_t *row,
                                tsw_cell_result_t *cell, tsw_err_t *err)
{
    size_t count = (size_t)row->n_rounds;
    if (count == 0)
        return TSW_OK;
    cell->rounds = tsw_calloc(count, sizeof(cell->rounds[0]));
    if (cell->rounds == NULL)
        return tsw_err_nomem(err);
    cell->round_count = count;
    cell->round_capacity = count;
    for (size_t i = 0; i < count; i++) {
        const tsw_round_row_t *round = tsw_rows_at(&tables->rounds, row->first_round + i);
        cell->rounds[i] = round->round;
    }
    return TSW_OK;
}

static void take_head(const tsw_tables_t *tables, const tsw_cell_row_t *row,
                      tsw_cell_result_t *cell)
{
    const tsw_kernel_row_t *kernel = tsw_rows_at(&tables->kernels, row->kernel);
    const tsw_shape_row_t *shape = tsw_rows_at(&tables->shapes, row->shape);
    const tsw_node_row_t *node = tsw_rows_at(&tables->nodes, row->node);
    const tsw_gpu_t *gpu = tsw_rows_at(&tables->gpus, row->gpu);
    cell->key = key_of(row->key);
    SET_TEXT(cell->pack, kernel->pack);
    cell->pack_key = key_of(kernel->pack_key);
    SET_TEXT(cell->variant, kernel->variant);
    cell->separate_tables = kernel->separate_tables;
    SET_TEXT(cell->shape, shape->shape);
    cell->weight = row->weight;
    cell->arch = row->arch;
    cell->flops = row->flops;
    cell->bytes = row->bytes;
    cell->cache_mode = row->cache_mode;
    cell->pick = row->pick;
    cell->coverage = row->coverage;
    cell->coverage.untried[sizeof(cell->coverage.untried) - 1] = '\0';
    cell->attempt = row->attempt;
    cell->complete = row->complete;
    cell->rank = row->rank;
    SET_TEXT(cell->node, node->name);
    cell->gpu = *gpu;
    cell->peak_memory_bytes = row->peak_memory_bytes;
    cell->start_wall_ns = row->start_wall_ns;
    cell->wall_ns = row->wall_ns;
    cell->busy_ns = row->busy_ns;
    cell->usage = row->usage;
}

tsw_status_t tsw_tables_unflatten(const tsw_tables_t *tables, tsw_dataset_t *dataset,
                                  tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < tables->cells.count; i++) {
        const tsw_cell_row_t *row = tsw_rows_at(&tables->cells, i);
        tsw_cell_result_t cell = {0};
        take_head(tables, row, &cell);
        status = take_records(tables, row, &cell, err);
        if (status == TSW_OK)
            status = take_rounds(tables, row, &cell, err);
        if (status == TSW_OK)
            status = tsw_dataset_add(dataset, &cell, err);
        tsw_cell_result_fini(&cell);
    }
    return status;
}
