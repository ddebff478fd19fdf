#include "store/store_tables.h"

#include <stdarg.h>
#include <stdio.h>

void tsw_fault(tsw_faults_t *faults, const char *format, ...)
{
    if (faults->count++ >= faults->show)
        return;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    tsw_buf_printf(faults->out, "%s: %s\n", faults->path, line);
}

/* A row's part [first, first + n) of another table must go on where the last one ended. */
static bool check_part(tsw_faults_t *faults, const char *table, size_t row, const char *part,
                       uint64_t first, uint64_t n, uint64_t *next, uint64_t count)
{
    if (first != *next || n > count - *next) {
        tsw_fault(faults, "/%s[%zu]: its %s are [%llu, +%llu), expected from %llu on, within %llu",
                  table, row, part, (unsigned long long)first, (unsigned long long)n,
                  (unsigned long long)*next, (unsigned long long)count);
        return false;
    }
    *next += n;
    return true;
}

static void check_id(tsw_faults_t *faults, const char *table, size_t row, const char *column,
                     uint64_t id, uint64_t count)
{
    if (id >= count)
        tsw_fault(faults, "/%s[%zu]: %s %llu is out of range (%llu rows)", table, row, column,
                  (unsigned long long)id, (unsigned long long)count);
}

static void check_key(tsw_faults_t *faults, const char *table, size_t row, const char *column,
                      const char *text)
{
    tsw_key_t key;
    if (!tsw_key_parse(text, &key))
        tsw_fault(faults, "/%s[%zu]: %s \"%s\" is no key", table, row, column, text);
}

static void check_end(tsw_faults_t *faults, const char *part, uint64_t next, uint64_t count)
{
    if (next != count)
        tsw_fault(faults, "/%s: %llu rows, but only %llu belong to something", part,
                  (unsigned long long)count, (unsigned long long)next);
}

static void check_cell(const tsw_tables_t *tables, size_t index, tsw_faults_t *faults)
{
    const tsw_cell_row_t *cell = tsw_rows_at(&tables->cells, index);
    check_key(faults, "cells", index, "key", cell->key);
    check_id(faults, "cells", index, "kernel", cell->kernel, tables->kernels.count);
    check_id(faults, "cells", index, "shape", cell->shape, tables->shapes.count);
    check_id(faults, "cells", index, "gpu", cell->gpu, tables->gpus.count);
    check_id(faults, "cells", index, "node", cell->node, tables->nodes.count);
    if (cell->complete > 1)
        tsw_fault(faults, "/cells[%zu]: complete is %u", index, cell->complete);
    if (cell->coverage.built_configs > cell->coverage.space_configs)
        tsw_fault(faults, "/cells[%zu]: %u configs built of %u", index,
                  cell->coverage.built_configs, cell->coverage.space_configs);
    if (cell->pick < -1 || (cell->pick > 0 && (uint32_t)cell->pick >= cell->n_records))
        tsw_fault(faults, "/cells[%zu]: pick is %d of %llu configs", index, cell->pick,
                  (unsigned long long)cell->n_records);
}

static void check_owner(tsw_faults_t *faults, const char *table, size_t row, uint32_t cell,
                        size_t owner)
{
    if (cell != owner)
        tsw_fault(faults, "/%s[%zu]: cell is %u, but it is listed by cell %zu", table, row, cell,
                  owner);
}

static void check_cells(const tsw_tables_t *tables, tsw_faults_t *faults)
{
    uint64_t next_record = 0;
    uint64_t next_round = 0;
    for (size_t i = 0; i < tables->cells.count; i++) {
        const tsw_cell_row_t *cell = tsw_rows_at(&tables->cells, i);
        check_cell(tables, i, faults);
        if (!check_part(faults, "cells", i, "records", cell->first_record, cell->n_records,
                        &next_record, tables->records.count) ||
            !check_part(faults, "cells", i, "rounds", cell->first_round, cell->n_rounds,
                        &next_round, tables->rounds.count))
            return;
        for (uint64_t r = cell->first_record; r < next_record; r++) {
            const tsw_record_row_t *record = tsw_rows_at(&tables->records, r);
            check_owner(faults, "records", r, record->cell, i);
        }
        for (uint64_t r = cell->first_round; r < next_round; r++) {
            const tsw_round_row_t *round = tsw_rows_at(&tables->rounds, r);
            check_owner(faults, "rounds", r, round->cell, i);
        }
    }
    check_end(faults, "records", next_record, tables->records.count);
    check_end(faults, "rounds", next_round, tables->rounds.count);
}

static void check_records(const tsw_tables_t *tables, tsw_faults_t *faults)
{
    uint64_t next_sample = 0;
    for (size_t i = 0; i < tables->records.count; i++) {
        const tsw_record_row_t *record = tsw_rows_at(&tables->records, i);
        check_id(faults, "records", i, "config", record->config, tables->configs.count);
        check_id(faults, "records", i, "outcome", record->outcome, TSW_OUTCOME_COUNT);
        check_id(faults, "records", i, "fate", record->fate, TSW_FATE_COUNT);
        check_key(faults, "records", i, "cubin_key", record->cubin_key);
        if (!check_part(faults, "records", i, "samples", record->first_sample, record->n_samples,
                        &next_sample, tables->sample_count))
            return;
    }
    check_end(faults, "samples", next_sample, tables->sample_count);
}

void tsw_tables_verify(const tsw_tables_t *tables, tsw_faults_t *faults)
{
    for (size_t i = 0; i < tables->kernels.count; i++) {
        const tsw_kernel_row_t *kernel = tsw_rows_at(&tables->kernels, i);
        check_key(faults, "kernels", i, "pack_key", kernel->pack_key);
    }
    for (size_t i = 0; i < tables->configs.count; i++) {
        const tsw_config_row_t *config = tsw_rows_at(&tables->configs, i);
        check_key(faults, "configs", i, "key", config->key);
    }
    check_cells(tables, faults);
    check_records(tables, faults);
}
