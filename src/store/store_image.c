#include "store/store_h5.h"
#include "store/store_tables.h"

#include "store/store_seal.h"

#include <string.h>

typedef struct {
    const tsw_schema_t *schema;
    size_t offset; /* of its rows in tsw_tables_t */
} part_t;

static const part_t parts[] = {
    {&tsw_schema_kernels, offsetof(tsw_tables_t, kernels)},
    {&tsw_schema_shapes, offsetof(tsw_tables_t, shapes)},
    {&tsw_schema_configs, offsetof(tsw_tables_t, configs)},
    {&tsw_schema_gpus, offsetof(tsw_tables_t, gpus)},
    {&tsw_schema_nodes, offsetof(tsw_tables_t, nodes)},
    {&tsw_schema_cells, offsetof(tsw_tables_t, cells)},
    {&tsw_schema_records, offsetof(tsw_tables_t, records)},
    {&tsw_schema_rounds, offsetof(tsw_tables_t, rounds)},
};
#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

static tsw_status_t put_tables(hid_t file, const tsw_tables_t *tables, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < PART_COUNT; i++) {
        const tsw_rows_t *rows =
            (const tsw_rows_t *)(const void *)((const char *)tables + parts[i].offset);
        status = tsw_table_put(file, parts[i].schema, rows, err);
    }
    return status;
}

static tsw_status_t get_tables(hid_t file, tsw_tables_t *tables, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < PART_COUNT; i++) {
        tsw_rows_t *rows = (tsw_rows_t *)(void *)((char *)tables + parts[i].offset);
        status = tsw_table_get(file, parts[i].schema, rows, err);
    }
    return status;
}

static tsw_status_t put_words(hid_t file, const char *dataset_name, const char *attr,
                              const char *const *words, size_t count, tsw_err_t *err)
{
    hid_t dataset = H5Dopen2(file, dataset_name, H5P_DEFAULT);
    if (dataset < 0)
        return tsw_h5_fail(err, TSW_ERR_IO, dataset_name);
    tsw_status_t status = tsw_h5_put_words_attr(dataset, attr, words, count, err);
    H5Dclose(dataset);
    return status;
}

static tsw_status_t put_all_words(hid_t file, tsw_err_t *err)
{
    const char *stages[TSW_STAGE_COUNT];
    const char *states[TSW_CACHE_STATE_COUNT];
    const char *fates[TSW_FATE_COUNT];
    const char *outcomes[TSW_OUTCOME_COUNT];
    for (int i = 0; i < TSW_OUTCOME_COUNT; i++)
        outcomes[i] = tsw_outcome_name((tsw_outcome_t)i);
    for (int i = 0; i < TSW_STAGE_COUNT; i++)
        stages[i] = tsw_stage_name((tsw_stage_t)i);
    for (int i = 0; i < TSW_CACHE_STATE_COUNT; i++)
        states[i] = tsw_cache_state_name((tsw_cache_state_t)i);
    for (int i = 0; i < TSW_FATE_COUNT; i++)
        fates[i] = tsw_fate_name((tsw_fate_t)i);
    tsw_status_t status =
        put_words(file, "records", "outcome_names", outcomes, TSW_OUTCOME_COUNT, err);
    if (status == TSW_OK)
        status = put_words(file, "records", "fate_names", fates, TSW_FATE_COUNT, err);
    if (status == TSW_OK)
        status = put_words(file, "cells", "cache_mode_names", states, TSW_CACHE_STATE_COUNT, err);
    if (status == TSW_OK)
        status = put_words(file, "rounds", "cache_state_names", states, TSW_CACHE_STATE_COUNT, err);
    if (status == TSW_OK)
        status = put_words(file, "rounds", "stage_names", stages, TSW_STAGE_COUNT, err);
    if (status == TSW_OK)
        status = put_words(file, "samples/stage", "stage_names", stages, TSW_STAGE_COUNT, err);
    return status;
}

static tsw_status_t put_everything(hid_t file, const tsw_run_meta_t *meta,
                                   const tsw_tables_t *tables, tsw_err_t *err)
{
    tsw_status_t status = tsw_meta_put(file, meta, err);
    if (status == TSW_OK)
        status = put_tables(file, tables, err);
    if (status == TSW_OK)
        status = tsw_samples_put(file, tables, err);
    if (status == TSW_OK)
        status = put_all_words(file, err);
    return status;
}

tsw_status_t tsw_image_make(const tsw_run_meta_t *meta, const tsw_tables_t *tables, tsw_buf_t *out,
                            tsw_err_t *err)
{
    char block[TSW_SEAL_SIZE] = {0};
    hid_t file = H5I_INVALID_HID;
    tsw_buf_clear(out);
    tsw_buf_append(out, block, sizeof(block));
    tsw_status_t status = tsw_h5_create_image(&file, err);
    if (status == TSW_OK)
        status = put_everything(file, meta, tables, err);
    if (status == TSW_OK)
        status = tsw_h5_take_image(file, out, err);
    tsw_h5_close_file(file);
    if (status != TSW_OK)
        return status;
    tsw_seal_format(out->data + TSW_SEAL_SIZE, out->size - TSW_SEAL_SIZE, block);
    memcpy(out->data, block, sizeof(block));
    return TSW_OK;
}

tsw_status_t tsw_image_parse(tsw_buf_t *image, tsw_run_meta_t *meta_p, tsw_tables_t *tables_p,
                             tsw_err_t *err)
{
    tsw_run_meta_t meta = {0};
    tsw_tables_t tables = {0};
    hid_t file = H5I_INVALID_HID;
    tsw_status_t status = tsw_seal_check(image->data, image->size, err);
    if (status == TSW_OK)
        status = tsw_h5_open_image(image->data, image->size, &file, err);
    if (status == TSW_OK)
        status = tsw_meta_get(file, &meta, err);
    if (status == TSW_OK)
        status = get_tables(file, &tables, err);
    if (status == TSW_OK)
        status = tsw_samples_get(file, &tables, err);
    tsw_h5_close_file(file);
    if (status == TSW_OK) {
        *meta_p = meta;
        *tables_p = tables;
    } else {
        tsw_run_meta_fini(&meta);
        tsw_tables_fini(&tables);
    }
    return status;
}
