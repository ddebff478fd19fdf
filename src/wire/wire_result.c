/* Results as bytes. Each put has its get below it, field by field in the same order. */
#include "wire/wire.h"

#include "base/mem.h"

/* Bytes of the smallest packed form: bounds what a count may make us allocate. */
#define SAMPLE_BYTES     24
#define ROUND_BYTES      72
#define RECORD_MIN_BYTES 205

static void put_triple(tsw_buf_t *out, const uint32_t triple[3])
{
    for (int i = 0; i < 3; i++)
        tsw_put_u32(out, triple[i]);
}

static void get_triple(tsw_reader_t *in, uint32_t triple[3])
{
    for (int i = 0; i < 3; i++)
        triple[i] = tsw_get_u32(in);
}

/* A number that must be at most max. */
static uint32_t get_limited(tsw_reader_t *in, uint32_t max)
{
    uint32_t value = tsw_get_u32(in);
    if (value <= max)
        return value;
    in->failed = true;
    return 0;
}

tsw_outcome_t tsw_get_outcome(tsw_reader_t *in)
{
    return (tsw_outcome_t)get_limited(in, TSW_OUTCOME_COUNT - 1);
}

void tsw_put_sample(tsw_buf_t *out, const tsw_sample_t *sample)
{
    tsw_put_u64(out, sample->interval_ns);
    tsw_put_u32(out, sample->round);
    tsw_put_u32(out, sample->launches);
    tsw_put_u32(out, (uint32_t)sample->stage << 16 | sample->slot);
    tsw_put_u32(out, sample->energy_mj);
}

tsw_sample_t tsw_get_sample(tsw_reader_t *in)
{
    tsw_sample_t sample;
    sample.interval_ns = tsw_get_u64(in);
    sample.round = tsw_get_u32(in);
    sample.launches = tsw_get_u32(in);
    uint32_t both = tsw_get_u32(in);
    sample.stage = (uint16_t)(both >> 16);
    sample.slot = (uint16_t)both;
    sample.energy_mj = tsw_get_u32(in);
    return sample;
}

void tsw_put_round(tsw_buf_t *out, const tsw_round_t *round)
{
    tsw_put_u32(out, round->round);
    tsw_put_u32(out, round->stage);
    tsw_put_u32(out, round->sm_clock_mhz);
    tsw_put_u32(out, round->mem_clock_mhz);
    tsw_put_f64(out, (double)round->power_w);
    tsw_put_f64(out, (double)round->temperature_celsius);
    tsw_put_u64(out, round->throttle_reasons);
    tsw_put_u8(out, round->cache_state);
    tsw_put_u8(out, round->is_unstable);
    tsw_put_u32(out, round->foreign_processes);
    tsw_put_u32(out, round->ecc_corrected);
    tsw_put_u32(out, round->ecc_uncorrected);
    tsw_put_u32(out, round->xid);
    tsw_put_u64(out, round->start_ns);
    tsw_put_u64(out, round->duration_ns);
}

tsw_round_t tsw_get_round(tsw_reader_t *in)
{
    tsw_round_t round = {.round = tsw_get_u32(in)};
    round.stage = (uint16_t)get_limited(in, UINT16_MAX);
    round.sm_clock_mhz = tsw_get_u32(in);
    round.mem_clock_mhz = tsw_get_u32(in);
    round.power_w = (float)tsw_get_f64(in);
    round.temperature_celsius = (float)tsw_get_f64(in);
    round.throttle_reasons = tsw_get_u64(in);
    round.cache_state = tsw_get_u8(in);
    round.is_unstable = tsw_get_u8(in);
    round.foreign_processes = tsw_get_u32(in);
    round.ecc_corrected = tsw_get_u32(in);
    round.ecc_uncorrected = tsw_get_u32(in);
    round.xid = tsw_get_u32(in);
    round.start_ns = tsw_get_u64(in);
    round.duration_ns = tsw_get_u64(in);
    return round;
}

void tsw_put_build_facts(tsw_buf_t *out, const tsw_build_facts_t *facts)
{
    tsw_put_u32(out, facts->registers);
    tsw_put_u32(out, facts->shared_bytes);
    tsw_put_u32(out, facts->spill_bytes);
    tsw_put_u32(out, facts->threads);
    tsw_put_u32(out, facts->cluster);
    tsw_put_u32(out, facts->cubin_bytes);
    tsw_put_u64(out, facts->compile_cpu_ns);
    tsw_put_u64(out, facts->compile_wall_ns);
    tsw_put_u8(out, facts->from_cache);
    tsw_put_key(out, facts->cubin_key);
}

void tsw_get_build_facts(tsw_reader_t *in, tsw_build_facts_t *facts)
{
    facts->registers = tsw_get_u32(in);
    facts->shared_bytes = tsw_get_u32(in);
    facts->spill_bytes = tsw_get_u32(in);
    facts->threads = tsw_get_u32(in);
    facts->cluster = tsw_get_u32(in);
    facts->cubin_bytes = tsw_get_u32(in);
    facts->compile_cpu_ns = tsw_get_u64(in);
    facts->compile_wall_ns = tsw_get_u64(in);
    facts->from_cache = tsw_get_u8(in);
    facts->cubin_key = tsw_get_key(in);
}

void tsw_put_verify_facts(tsw_buf_t *out, const tsw_verify_facts_t *verify)
{
    tsw_put_u64(out, verify->elements);
    tsw_put_u64(out, verify->mismatches);
    tsw_put_u64(out, verify->nans);
    tsw_put_u64(out, verify->unwritten);
    tsw_put_f64(out, verify->max_abs);
    tsw_put_f64(out, verify->max_rel);
}

void tsw_get_verify_facts(tsw_reader_t *in, tsw_verify_facts_t *verify)
{
    verify->elements = tsw_get_u64(in);
    verify->mismatches = tsw_get_u64(in);
    verify->nans = tsw_get_u64(in);
    verify->unwritten = tsw_get_u64(in);
    verify->max_abs = tsw_get_f64(in);
    verify->max_rel = tsw_get_f64(in);
}

void tsw_put_usage(tsw_buf_t *out, const tsw_usage_t *usage)
{
    for (size_t i = 0; i < TSW_USE_COUNT; i++)
        tsw_put_u64(out, usage->ns[i]);
}

void tsw_get_usage(tsw_reader_t *in, tsw_usage_t *usage)
{
    for (size_t i = 0; i < TSW_USE_COUNT; i++)
        usage->ns[i] = tsw_get_u64(in);
}

void tsw_put_gpu(tsw_buf_t *out, const tsw_gpu_t *gpu)
{
    tsw_put_text(out, gpu->uuid);
    tsw_put_text(out, gpu->name);
    tsw_put_u32(out, gpu->arch);
    tsw_put_u32(out, gpu->sm_count);
    tsw_put_u64(out, gpu->memory_bytes);
    tsw_put_u64(out, gpu->l2_bytes);
    tsw_put_u32(out, gpu->driver_version);
    tsw_put_text(out, gpu->driver_text);
    tsw_put_text(out, gpu->mode);
    tsw_put_text(out, gpu->mig_profile);
    tsw_put_u32(out, gpu->locked_mhz);
    tsw_put_text(out, gpu->unreadable);
}

void tsw_get_gpu(tsw_reader_t *in, tsw_gpu_t *gpu)
{
    tsw_get_text_into(in, gpu->uuid, sizeof(gpu->uuid));
    tsw_get_text_into(in, gpu->name, sizeof(gpu->name));
    gpu->arch = tsw_get_u32(in);
    gpu->sm_count = tsw_get_u32(in);
    gpu->memory_bytes = tsw_get_u64(in);
    gpu->l2_bytes = tsw_get_u64(in);
    gpu->driver_version = tsw_get_u32(in);
    tsw_get_text_into(in, gpu->driver_text, sizeof(gpu->driver_text));
    tsw_get_text_into(in, gpu->mode, sizeof(gpu->mode));
    tsw_get_text_into(in, gpu->mig_profile, sizeof(gpu->mig_profile));
    gpu->locked_mhz = tsw_get_u32(in);
    tsw_get_text_into(in, gpu->unreadable, sizeof(gpu->unreadable));
}

static void put_record(tsw_buf_t *out, const tsw_record_t *record, const char *config)
{
    tsw_put_text(out, config);
    tsw_put_key(out, record->cell_key);
    tsw_put_key(out, record->config_key);
    tsw_put_u32(out, record->config_index);
    tsw_put_u32(out, record->outcome);
    tsw_put_text(out, record->detail);
    tsw_put_u32(out, record->fate);
    tsw_put_u8(out, record->unstable);
    tsw_put_u32(out, record->alias_of);
    put_triple(out, record->grid);
    put_triple(out, record->block);
    tsw_put_u32(out, record->dynamic_shared_bytes);
    tsw_put_build_facts(out, &record->build);
    tsw_put_verify_facts(out, &record->verify);
    tsw_put_u64(out, record->sample_count);
    for (size_t i = 0; i < record->sample_count; i++)
        tsw_put_sample(out, &record->samples[i]);
}

/* A failure leaves what was read so far in *record and *config_p, for the caller to release. */
static void get_record(tsw_reader_t *in, tsw_record_t *record, char **config_p)
{
    *config_p = tsw_get_text(in);
    record->cell_key = tsw_get_key(in);
    record->config_key = tsw_get_key(in);
    record->config_index = tsw_get_u32(in);
    record->outcome = tsw_get_outcome(in);
    tsw_get_text_into(in, record->detail, sizeof(record->detail));
    record->fate = (tsw_fate_t)get_limited(in, TSW_FATE_COUNT - 1);
    record->unstable = tsw_get_u8(in);
    record->alias_of = tsw_get_u32(in);
    get_triple(in, record->grid);
    get_triple(in, record->block);
    record->dynamic_shared_bytes = tsw_get_u32(in);
    tsw_get_build_facts(in, &record->build);
    tsw_get_verify_facts(in, &record->verify);
    size_t count = tsw_get_count(in, SAMPLE_BYTES);
    if (count == 0)
        return;
    record->samples = tsw_calloc(count, sizeof(record->samples[0]));
    if (record->samples == NULL) {
        in->failed = true;
        in->nomem = true;
        return;
    }
    record->sample_count = count;
    record->sample_capacity = count;
    for (size_t i = 0; i < count; i++)
        record->samples[i] = tsw_get_sample(in);
}

static void put_head(tsw_buf_t *out, const tsw_cell_result_t *result)
{
    tsw_put_key(out, result->key);
    tsw_put_text(out, result->pack);
    tsw_put_key(out, result->pack_key);
    tsw_put_text(out, result->variant);
    tsw_put_u8(out, result->separate_tables);
    tsw_put_text(out, result->shape);
    tsw_put_f64(out, result->weight);
    tsw_put_u32(out, result->arch);
    tsw_put_f64(out, result->flops);
    tsw_put_f64(out, result->bytes);
    tsw_put_u8(out, result->cache_mode);
    tsw_put_u32(out, result->attempt);
    tsw_put_u8(out, result->complete);
    tsw_put_i64(out, result->rank);
    tsw_put_text(out, result->node);
    tsw_put_gpu(out, &result->gpu);
    tsw_put_i64(out, result->pick);
    tsw_put_u32(out, result->coverage.generation);
    tsw_put_u32(out, result->coverage.space_configs);
    tsw_put_u32(out, result->coverage.built_configs);
    tsw_put_text(out, result->coverage.untried);
    tsw_put_u64(out, result->peak_memory_bytes);
    tsw_put_u64(out, result->start_wall_ns);
    tsw_put_u64(out, result->wall_ns);
    tsw_put_u64(out, result->busy_ns);
    tsw_put_usage(out, &result->usage);
}

static int32_t get_i32(tsw_reader_t *in)
{
    int64_t value = tsw_get_i64(in);
    if (value >= INT32_MIN && value <= INT32_MAX)
        return (int32_t)value;
    in->failed = true;
    return 0;
}

static void get_head(tsw_reader_t *in, tsw_cell_result_t *result)
{
    result->key = tsw_get_key(in);
    tsw_get_text_into(in, result->pack, sizeof(result->pack));
    result->pack_key = tsw_get_key(in);
    tsw_get_text_into(in, result->variant, sizeof(result->variant));
    result->separate_tables = tsw_get_u8(in);
    tsw_get_text_into(in, result->shape, sizeof(result->shape));
    result->weight = tsw_get_f64(in);
    result->arch = tsw_get_u32(in);
    result->flops = tsw_get_f64(in);
    result->bytes = tsw_get_f64(in);
    result->cache_mode = tsw_get_u8(in);
    result->attempt = tsw_get_u32(in);
    result->complete = tsw_get_u8(in);
    result->rank = get_i32(in);
    tsw_get_text_into(in, result->node, sizeof(result->node));
    tsw_get_gpu(in, &result->gpu);
    result->pick = get_i32(in);
    result->coverage.generation = tsw_get_u32(in);
    result->coverage.space_configs = tsw_get_u32(in);
    result->coverage.built_configs = tsw_get_u32(in);
    tsw_get_text_into(in, result->coverage.untried, sizeof(result->coverage.untried));
    result->peak_memory_bytes = tsw_get_u64(in);
    result->start_wall_ns = tsw_get_u64(in);
    result->wall_ns = tsw_get_u64(in);
    result->busy_ns = tsw_get_u64(in);
    tsw_get_usage(in, &result->usage);
}

void tsw_put_cell_result(tsw_buf_t *out, const tsw_cell_result_t *result)
{
    put_head(out, result);
    tsw_put_u64(out, result->record_count);
    for (size_t i = 0; i < result->record_count; i++)
        put_record(out, &result->records[i], result->config_texts[i]);
    tsw_put_u64(out, result->round_count);
    for (size_t i = 0; i < result->round_count; i++)
        tsw_put_round(out, &result->rounds[i]);
}

static void get_records(tsw_reader_t *in, tsw_cell_result_t *result)
{
    size_t count = tsw_get_count(in, RECORD_MIN_BYTES);
    if (count == 0)
        return;
    result->records = tsw_calloc(count, sizeof(result->records[0]));
    result->config_texts = tsw_calloc(count, sizeof(result->config_texts[0]));
    result->record_count = count;
    if (result->records == NULL || result->config_texts == NULL) {
        in->failed = true;
        in->nomem = true;
    }
    for (size_t i = 0; !in->failed && i < count; i++)
        get_record(in, &result->records[i], &result->config_texts[i]);
}

static void get_rounds(tsw_reader_t *in, tsw_cell_result_t *result)
{
    size_t count = tsw_get_count(in, ROUND_BYTES);
    if (count == 0)
        return;
    result->rounds = tsw_calloc(count, sizeof(result->rounds[0]));
    if (result->rounds == NULL) {
        in->failed = true;
        in->nomem = true;
        return;
    }
    result->round_count = count;
    result->round_capacity = count;
    for (size_t i = 0; i < count; i++)
        result->rounds[i] = tsw_get_round(in);
}

tsw_status_t tsw_get_cell_result(tsw_reader_t *in, tsw_cell_result_t *result_p, tsw_err_t *err)
{
    tsw_cell_result_t result = {0};
    get_head(in, &result);
    get_records(in, &result);
    get_rounds(in, &result);
    tsw_status_t status = tsw_reader_check(in, "cell result", err);
    if (status == TSW_OK)
        *result_p = result;
    else
        tsw_cell_result_fini(&result);
    return status;
}
