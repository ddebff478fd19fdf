#include "store/store_tables.h"

#include "base/mem.h"
#include "store/store_intern.h"

#include <string.h>

typedef struct {
    tsw_tables_t tables;
    tsw_intern_t kernels, shapes, configs, gpus, nodes;
    double *scratch; /* room for the samples of one record */
    tsw_config_row_t *config_row;
} flatten_t;

/* Text with zeros behind it, so that equal rows have equal bytes. */
static void set_text(char *out, size_t size, const char *text)
{
    size_t n = strlen(text);
    if (n >= size)
        n = size - 1;
    memcpy(out, text, n);
    memset(out + n, 0, size - n);
}

static tsw_status_t intern_kernel(flatten_t *flat, const tsw_cell_result_t *cell, uint32_t *id_p,
                                  tsw_err_t *err)
{
    tsw_kernel_row_t row = {0};
    set_text(row.pack, sizeof(row.pack), cell->pack);
    tsw_key_format(cell->pack_key, row.pack_key);
    set_text(row.variant, sizeof(row.variant), cell->variant);
    row.separate_tables = cell->separate_tables;
    return tsw_intern_row(&flat->kernels, &flat->tables.kernels, &row, id_p, err);
}

static tsw_status_t intern_shape(flatten_t *flat, const tsw_cell_result_t *cell, uint32_t *id_p,
                                 tsw_err_t *err)
{
    tsw_shape_row_t row = {0};
    set_text(row.shape, sizeof(row.shape), cell->shape);
    return tsw_intern_row(&flat->shapes, &flat->tables.shapes, &row, id_p, err);
}

static tsw_status_t intern_node(flatten_t *flat, const tsw_cell_result_t *cell, uint32_t *id_p,
                                tsw_err_t *err)
{
    tsw_node_row_t row = {0};
    set_text(row.name, sizeof(row.name), cell->node);
    return tsw_intern_row(&flat->nodes, &flat->tables.nodes, &row, id_p, err);
}

static tsw_status_t intern_gpu(flatten_t *flat, const tsw_gpu_t *gpu, uint32_t *id_p,
                               tsw_err_t *err)
{
    tsw_gpu_t row;
    memset(&row, 0, sizeof(row)); /* padding too */
    set_text(row.uuid, sizeof(row.uuid), gpu->uuid);
    set_text(row.name, sizeof(row.name), gpu->name);
    row.arch = gpu->arch;
    row.sm_count = gpu->sm_count;
    row.memory_bytes = gpu->memory_bytes;
    row.l2_bytes = gpu->l2_bytes;
    row.driver_version = gpu->driver_version;
    set_text(row.driver_text, sizeof(row.driver_text), gpu->driver_text);
    set_text(row.mode, sizeof(row.mode), gpu->mode);
    set_text(row.mig_profile, sizeof(row.mig_profile), gpu->mig_profile);
    row.locked_mhz = gpu->locked_mhz;
    set_text(row.unreadable, sizeof(row.unreadable), gpu->unreadable);
    return tsw_intern_row(&flat->gpus, &flat->tables.gpus, &row, id_p, err);
}

static tsw_status_t intern_config(flatten_t *flat, tsw_key_t key, const char *text, uint32_t *id_p,
                                  tsw_err_t *err)
{
    tsw_rows_t *rows = &flat->tables.configs;
    memset(flat->config_row, 0, rows->row_size);
    tsw_key_format(key, flat->config_row->key);
    set_text(flat->config_row->config, rows->tail_size, text);
    return tsw_intern_row(&flat->configs, rows, flat->config_row, id_p, err);
}

static void add_samples(flatten_t *flat, const tsw_record_t *record, tsw_record_row_t *row)
{
    tsw_tables_t *tables = &flat->tables;
    row->first_sample = tables->sample_count;
    row->n_samples = record->sample_count;
    if (record->sample_count > 0)
        memcpy(tables->samples + tables->sample_count, record->samples,
               record->sample_count * sizeof(record->samples[0]));
    tables->sample_count += record->sample_count;
    tsw_derive_columns(record->samples, record->sample_count, flat->scratch, row);
}

static tsw_status_t add_record(flatten_t *flat, uint32_t cell, const tsw_record_t *record,
                               const char *config, tsw_err_t *err)
{
    tsw_record_row_t row;
    memset(&row, 0, sizeof(row));
    row.cell = cell;
    tsw_status_t status = intern_config(flat, record->config_key, config, &row.config, err);
    if (status != TSW_OK)
        return status;
    row.config_index = record->config_index;
    row.outcome = (uint8_t)record->outcome;
    row.fate = (uint8_t)record->fate;
    row.unstable = record->unstable;
    row.alias_of = record->alias_of;
    memcpy(row.grid, record->grid, sizeof(row.grid));
    memcpy(row.block, record->block, sizeof(row.block));
    row.dynamic_shared_bytes = record->dynamic_shared_bytes;
    row.build = record->build;
    tsw_key_format(record->build.cubin_key, row.cubin_key);
    row.verify = record->verify;
    set_text(row.detail, sizeof(row.detail), record->detail);
    add_samples(flat, record, &row);
    return tsw_rows_add(&flat->tables.records, &row, err);
}

static tsw_status_t add_rounds(flatten_t *flat, uint32_t cell, const tsw_cell_result_t *result,
                               tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < result->round_count; i++) {
        tsw_round_row_t row = {.cell = cell, .round = result->rounds[i]};
        status = tsw_rows_add(&flat->tables.rounds, &row, err);
    }
    return status;
}

static tsw_status_t intern_cell(flatten_t *flat, const tsw_cell_result_t *cell, tsw_cell_row_t *row,
                                tsw_err_t *err)
{
    tsw_status_t status = intern_kernel(flat, cell, &row->kernel, err);
    if (status == TSW_OK)
        status = intern_shape(flat, cell, &row->shape, err);
    if (status == TSW_OK)
        status = intern_gpu(flat, &cell->gpu, &row->gpu, err);
    if (status == TSW_OK)
        status = intern_node(flat, cell, &row->node, err);
    return status;
}

static tsw_status_t add_cell(flatten_t *flat, const tsw_cell_result_t *cell, tsw_err_t *err)
{
    uint32_t id = (uint32_t)flat->tables.cells.count;
    tsw_cell_row_t row = {
        .rank = cell->rank,
        .arch = cell->arch,
        .attempt = cell->attempt,
        .complete = cell->complete != 0,
        .cache_mode = cell->cache_mode,
        .pick = cell->pick,
        .coverage = cell->coverage,
        .weight = cell->weight,
        .flops = cell->flops,
        .bytes = cell->bytes,
        .peak_memory_bytes = cell->peak_memory_bytes,
        .start_wall_ns = cell->start_wall_ns,
        .wall_ns = cell->wall_ns,
        .busy_ns = cell->busy_ns,
        .usage = cell->usage,
        .first_record = flat->tables.records.count,
        .n_records = cell->record_count,
        .first_round = flat->tables.rounds.count,
        .n_rounds = cell->round_count,
    };
    tsw_key_format(cell->key, row.key);
    tsw_status_t status = intern_cell(flat, cell, &row, err);
    for (size_t i = 0; status == TSW_OK && i < cell->record_count; i++)
        status = add_record(flat, id, &cell->records[i], cell->config_texts[i], err);
    if (status == TSW_OK)
        status = add_rounds(flat, id, cell, err);
    if (status == TSW_OK)
        status = tsw_rows_add(&flat->tables.cells, &row, err);
    return status;
}

typedef struct {
    size_t samples, record_samples, config_size;
} sizes_t;

static sizes_t measure_dataset(const tsw_dataset_t *dataset)
{
    sizes_t sizes = {.config_size = 1};
    for (size_t c = 0; c < dataset->cell_count; c++) {
        const tsw_cell_result_t *cell = &dataset->cells[c];
        for (size_t i = 0; i < cell->record_count; i++) {
            size_t count = cell->records[i].sample_count;
            size_t config_size = strlen(cell->config_texts[i]) + 1;
            sizes.samples += count;
            if (count > sizes.record_samples)
                sizes.record_samples = count;
            if (config_size > sizes.config_size)
                sizes.config_size = config_size;
        }
    }
    return sizes;
}

static tsw_status_t begin(flatten_t *flat, const tsw_dataset_t *dataset, tsw_err_t *err)
{
    sizes_t sizes = measure_dataset(dataset);
    tsw_tables_t *tables = &flat->tables;
    tsw_rows_init(&tables->kernels, &tsw_schema_kernels, 0);
    tsw_rows_init(&tables->shapes, &tsw_schema_shapes, 0);
    tsw_rows_init(&tables->configs, &tsw_schema_configs, sizes.config_size);
    tsw_rows_init(&tables->gpus, &tsw_schema_gpus, 0);
    tsw_rows_init(&tables->nodes, &tsw_schema_nodes, 0);
    tsw_rows_init(&tables->cells, &tsw_schema_cells, 0);
    tsw_rows_init(&tables->records, &tsw_schema_records, 0);
    tsw_rows_init(&tables->rounds, &tsw_schema_rounds, 0);
    tables->samples = tsw_calloc(sizes.samples, sizeof(tables->samples[0]));
    flat->scratch = tsw_calloc(sizes.record_samples, sizeof(flat->scratch[0]));
    flat->config_row = tsw_malloc(tables->configs.row_size);
    if (tables->samples == NULL || flat->scratch == NULL || flat->config_row == NULL)
        return tsw_err_nomem(err);
    return TSW_OK;
}

void tsw_tables_fini(tsw_tables_t *tables)
{
    tsw_rows_fini(&tables->kernels);
    tsw_rows_fini(&tables->shapes);
    tsw_rows_fini(&tables->configs);
    tsw_rows_fini(&tables->gpus);
    tsw_rows_fini(&tables->nodes);
    tsw_rows_fini(&tables->cells);
    tsw_rows_fini(&tables->records);
    tsw_rows_fini(&tables->rounds);
    tsw_free(tables->samples);
    *tables = (tsw_tables_t){0};
}

tsw_status_t tsw_tables_flatten(const tsw_dataset_t *dataset, tsw_tables_t *tables_p,
                                tsw_err_t *err)
{
    flatten_t flat = {0};
    tsw_status_t status = begin(&flat, dataset, err);
    for (size_t i = 0; status == TSW_OK && i < dataset->cell_count; i++)
        status = add_cell(&flat, &dataset->cells[i], err);
    tsw_intern_fini(&flat.kernels);
    tsw_intern_fini(&flat.shapes);
    tsw_intern_fini(&flat.configs);
    tsw_intern_fini(&flat.gpus);
    tsw_intern_fini(&flat.nodes);
    tsw_free(flat.scratch);
    tsw_free(flat.config_row);
    if (status == TSW_OK)
        *tables_p = flat.tables;
    else
        tsw_tables_fini(&flat.tables);
    return status;
}
