#include "sample_dataset.h"

#include "base/mem.h"

#include <stdio.h>

tsw_dataset_t sample_dataset_new(void)
{
    tsw_dataset_t dataset = {0};
    static char name[] = "job";
    static char mode[] = "sim";
    static char purpose[] = "release";
    tsw_run_meta_t meta = {.job_name = name, .mode = mode, .purpose = purpose, .seed = 1};
    TSW_ASSERT(tsw_run_meta_copy(&meta, &dataset.meta, NULL) == TSW_OK);
    return dataset;
}

tsw_cell_result_t *sample_dataset_cell(tsw_dataset_t *dataset, const char *pack,
                                       const char *variant, const char *shape, uint32_t arch)
{
    tsw_cell_result_t cell = {
        .weight = 1.0, .arch = arch, .flops = 1e9, .bytes = 1e6, .attempt = 1, .complete = 1};
    char identity[1024];
    snprintf(cell.pack, sizeof(cell.pack), "%s", pack);
    snprintf(cell.variant, sizeof(cell.variant), "%s", variant);
    snprintf(cell.shape, sizeof(cell.shape), "%s", shape);
    snprintf(identity, sizeof(identity), "%s %s %s sm_%u", pack, variant, shape, arch);
    cell.key = tsw_key_of_text(identity);
    cell.pack_key = tsw_key_of_text(pack);
    cell.gpu.arch = arch;
    TSW_ASSERT(tsw_dataset_add(dataset, &cell, NULL) == TSW_OK);
    return &dataset->cells[dataset->cell_count - 1];
}

tsw_record_t *sample_dataset_record(tsw_cell_result_t *cell, const char *config,
                                    tsw_outcome_t outcome)
{
    size_t n = cell->record_count;
    tsw_record_t *records = tsw_realloc_array(cell->records, n + 1, sizeof(*records));
    char **texts = tsw_realloc_array(cell->config_texts, n + 1, sizeof(*texts));
    TSW_ASSERT(records != NULL && texts != NULL);
    cell->records = records;
    cell->config_texts = texts;
    texts[n] = tsw_strdup(config);
    TSW_ASSERT(texts[n] != NULL);
    records[n] = (tsw_record_t){.cell_key = cell->key,
                                .config_key = tsw_key_of_text(config),
                                .config_index = (uint32_t)n,
                                .outcome = outcome};
    cell->record_count = n + 1;
    return &records[n];
}

void sample_dataset_sample(tsw_record_t *record, tsw_stage_t stage, uint32_t round,
                           uint64_t interval_ns)
{
    tsw_sample_t sample = {
        .interval_ns = interval_ns, .round = round, .launches = 1, .stage = (uint16_t)stage};
    TSW_ASSERT(tsw_record_add_sample(record, &sample, NULL) == TSW_OK);
}

tsw_record_t *sample_dataset_timed(tsw_cell_result_t *cell, const char *config, uint64_t time_ns)
{
    tsw_record_t *record = sample_dataset_record(cell, config, TSW_OUTCOME_OK);
    for (uint32_t round = 0; round < 10; round++)
        sample_dataset_sample(record, TSW_STAGE_ROUND, round,
                              time_ns + time_ns * (round % 3) / 10000);
    return record;
}
