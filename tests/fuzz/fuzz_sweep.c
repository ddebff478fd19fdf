/* The content of a sweep whose tables were changed: each 12 bytes of the input set one column of
 * one row. What verifies without a fault must be fit for use. */
#include "fuzz.h"

#include "dataset_maker.h"
#include "reduce/reduce.h"
#include "store/store_tables.h"

#include <string.h>

enum { PARTS = 8, CHANGE_BYTES = 12 };

static size_t column_size(const tsw_column_t *column, const tsw_rows_t *rows)
{
    static const size_t sizes[] = {
        [TSW_COLUMN_U8] = 1,  [TSW_COLUMN_U16] = 2, [TSW_COLUMN_U32] = 4, [TSW_COLUMN_I32] = 4,
        [TSW_COLUMN_U64] = 8, [TSW_COLUMN_F32] = 4, [TSW_COLUMN_F64] = 8};
    if (column->type == TSW_COLUMN_TAIL)
        return rows->tail_size;
    return column->type == TSW_COLUMN_TEXT ? column->size : sizes[column->type];
}

/* Text stays text: readers of a file end it. */
static void set_column(const tsw_schema_t *schema, tsw_rows_t *rows, const uint8_t *change)
{
    if (rows->count == 0)
        return;
    const tsw_column_t *column = &schema->columns[change[1] % schema->column_count];
    const size_t size = column_size(column, rows);
    uint8_t *at = (uint8_t *)tsw_rows_at(rows, change[2] % rows->count) + column->offset;
    memcpy(at, change + 4, size < 8 ? size : 8);
    if (column->type == TSW_COLUMN_TEXT || column->type == TSW_COLUMN_TAIL)
        at[size - 1] = '\0';
}

static void change_one(tsw_tables_t *tables, const uint8_t *change)
{
    const tsw_schema_t *const schemas[PARTS] = {
        &tsw_schema_kernels, &tsw_schema_shapes, &tsw_schema_configs, &tsw_schema_gpus,
        &tsw_schema_nodes,   &tsw_schema_cells,  &tsw_schema_records, &tsw_schema_rounds};
    tsw_rows_t *const rows[PARTS] = {&tables->kernels, &tables->shapes, &tables->configs,
                                     &tables->gpus,    &tables->nodes,  &tables->cells,
                                     &tables->records, &tables->rounds};
    const size_t part = change[0] % (PARTS + 1);
    if (part < PARTS)
        set_column(schemas[part], rows[part], change);
    else if (tables->sample_count > 0)
        memcpy((uint8_t *)&tables->samples[change[2] % tables->sample_count] + change[1] % 16,
               change + 4, 8);
}

static void use(const tsw_tables_t *tables)
{
    const tsw_reduce_options_t options = tsw_reduce_options(2);
    tsw_err_t err = TSW_ERR_INIT;
    tsw_dataset_t dataset = {0};
    tsw_reduction_t *reduction = NULL;
    tsw_key_t digest;
    fuzz_must(tsw_tables_unflatten(tables, &dataset, &err), &err);
    tsw_dataset_canonicalise(&dataset);
    fuzz_must(tsw_dataset_digest(&dataset, &digest, &err), &err);
    if (tsw_reduce(&dataset, &options, &reduction, &err) == TSW_OK)
        tsw_reduction_free(reduction);
    tsw_dataset_fini(&dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tsw_make_t make = {
        .seed = 13, .cells = 3, .configs = 4, .rounds = 3, .nodes = 2, .attempt = 1};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_tables_t tables = {0};
    tsw_buf_t report = TSW_BUF_INIT;
    tsw_faults_t faults = {.out = &report, .path = "file", .show = 3};
    tsw_dataset_t dataset = tsw_make_dataset(&make);
    tsw_dataset_canonicalise(&dataset);
    fuzz_must(tsw_tables_flatten(&dataset, &tables, &err), &err);
    for (size_t at = 0; at + CHANGE_BYTES <= size; at += CHANGE_BYTES)
        change_one(&tables, data + at);
    tsw_tables_verify(&tables, &faults);
    if (faults.count == 0)
        use(&tables);
    tsw_tables_fini(&tables);
    tsw_dataset_fini(&dataset);
    tsw_buf_fini(&report);
    return 0;
}
