#include "record/record.h"

#include "base/mem.h"

void tsw_record_fini(tsw_record_t *record)
{
    tsw_free(record->samples);
    record->samples = NULL;
    record->sample_count = 0;
    record->sample_capacity = 0;
}

tsw_status_t tsw_record_add_sample(tsw_record_t *record, const tsw_sample_t *sample, tsw_err_t *err)
{
    if (!TSW_GROW(record->samples, record->sample_capacity, record->sample_count))
        return tsw_err_nomem(err);
    record->samples[record->sample_count++] = *sample;
    return TSW_OK;
}

void tsw_cell_result_fini(tsw_cell_result_t *result)
{
    for (size_t i = 0; i < result->record_count; i++) {
        if (result->config_texts != NULL)
            tsw_free(result->config_texts[i]);
        if (result->records != NULL)
            tsw_record_fini(&result->records[i]);
    }
    tsw_free(result->config_texts);
    tsw_free(result->records);
    tsw_free(result->rounds);
    *result = (tsw_cell_result_t){0};
}
