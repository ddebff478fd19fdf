#include "record/record.h"

#include "base/mem.h"

static const char *const stage_names[] = {
    "warmup", "round", "fixed", "early", "final", "control", "verify", "energy",
};
_Static_assert(sizeof(stage_names) / sizeof(stage_names[0]) == TSW_STAGE_COUNT, "a name each");

static const char *const fate_names[] = {
    "none", "measured", "hopeless", "eliminated", "not_final",
    "tied", "beaten",   "winner",   "budget",     "suspect",
};
_Static_assert(sizeof(fate_names) / sizeof(fate_names[0]) == TSW_FATE_COUNT, "a name each");

const char *tsw_fate_name(tsw_fate_t fate)
{
    return (size_t)fate < TSW_FATE_COUNT ? fate_names[fate] : "?";
}

bool tsw_stage_decides(tsw_stage_t stage)
{
    return stage == TSW_STAGE_ROUND || stage == TSW_STAGE_FINAL;
}

bool tsw_stage_is_first(tsw_stage_t stage)
{
    return stage == TSW_STAGE_WARMUP || stage == TSW_STAGE_VERIFY;
}

const char *tsw_stage_name(tsw_stage_t stage)
{
    return (size_t)stage < TSW_STAGE_COUNT ? stage_names[stage] : "?";
}

const char *tsw_cache_state_name(tsw_cache_state_t state)
{
    static const char *const names[TSW_CACHE_STATE_COUNT] = {"cold_flush", "hot", "cold_rotation"};
    return (size_t)state < TSW_CACHE_STATE_COUNT ? names[state] : "?";
}

double tsw_sample_ns(const tsw_sample_t *sample)
{
    return sample->launches > 0 ? (double)sample->interval_ns / sample->launches : 0.0;
}

double tsw_sample_joules(const tsw_sample_t *sample)
{
    return sample->launches > 0 ? 1e-3 * sample->energy_mj / sample->launches : 0.0;
}

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
