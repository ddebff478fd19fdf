#include "dataset_maker.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool ok)
{
    if (ok)
        return;
    fprintf(stderr, "dataset_maker: out of memory\n");
    abort();
}

static char *text_of(const char *text)
{
    char *copy = tsw_strdup(text);
    must(copy != NULL);
    return copy;
}

tsw_run_meta_t tsw_make_meta(const tsw_make_t *make)
{
    return (tsw_run_meta_t){
        .job_name = text_of("demo"),
        .job_text = text_of("name: demo\n# \xc3\xbc\n"),
        .job_key = tsw_key_of_text("job"),
        .plan_key = tsw_key_of_text("plan"),
        .purpose = text_of("release"),
        .toolchain = text_of("nvrtc 13.5 tileiras 13.5.37 0123"),
        .tool = text_of("tilesweep 0.1.0"),
        .mode = text_of("sim"),
        .clocks = text_of("free"),
        .protocol = text_of("rounds"),
        .objective = text_of("median"),
        .invocation = text_of("tilesweep run demo.yaml -o run"),
        .retired = text_of("attempt 1, rank 3 on n1, GPU-7: Xid 79\n"),
        .inputs = text_of("measure.rounds: 5\npurpose: release\n"),
        .parts = text_of("1,3/4"),
        .cells = 7,
        .edition = 2,
        .seed = make->seed,
        .start_wall_ns = 1700000000000000000u,
    };
}

static void add_sample(tsw_record_t *record, uint64_t interval_ns, size_t round, tsw_stage_t stage)
{
    tsw_sample_t sample = {.interval_ns = interval_ns,
                           .round = (uint32_t)round,
                           .launches = 4,
                           .stage = (uint16_t)stage,
                           .slot = (uint16_t)(record->config_index % 7)};
    must(tsw_record_add_sample(record, &sample, NULL) == TSW_OK);
}

static void time_record(const tsw_make_t *make, tsw_record_t *record, size_t cell)
{
    uint64_t base = 10000 + 100 * record->config_index;
    for (size_t i = 0; i < 2; i++)
        add_sample(record, 2 * base, i, TSW_STAGE_WARMUP);
    for (size_t i = 0; i < make->rounds; i++) {
        uint64_t bits = tsw_rng_u64(make->seed, cell, record->config_index, i, make->attempt);
        add_sample(record, base + bits % 64, i, TSW_STAGE_ROUND);
    }
}

static tsw_record_t make_record(const tsw_make_t *make, tsw_key_t cell_key, size_t cell,
                                size_t index, const char *config)
{
    tsw_record_t record = {
        .cell_key = cell_key,
        .config_key = tsw_key_of_text(config),
        .config_index = (uint32_t)index,
        .outcome = TSW_OUTCOME_OK,
        .fate = (tsw_fate_t)(index % TSW_FATE_COUNT),
        .unstable = (uint8_t)(index % 8),
        .grid = {(uint32_t)(10 + index), 2, 1},
        .block = {128, 1, 1},
        .dynamic_shared_bytes = (uint32_t)(1024 * index),
        .build = {.registers = 64,
                  .shared_bytes = 4096,
                  .spill_bytes = 8,
                  .threads = 128,
                  .cluster = 2,
                  .cubin_bytes = 37000,
                  .compile_cpu_ns = 400000000,
                  .compile_wall_ns = 410000000,
                  .from_cache = (uint8_t)(index % 2),
                  .cubin_key = tsw_key_of_text(config)},
        .verify = {.elements = 65536,
                   .mismatches = index,
                   .nans = 1,
                   .unwritten = 2,
                   .max_abs = 0.125,
                   .max_rel = 0.25},
    };
    if (index == 1) {
        record.outcome = TSW_OUTCOME_COMPILE_FAILED;
        record.verify = (tsw_verify_facts_t){0};
        snprintf(record.detail, sizeof(record.detail), "demo.cu:3: no such tile");
    } else if (index == 2) {
        record.outcome = TSW_OUTCOME_ALIAS;
        record.alias_of = 0;
    } else {
        time_record(make, &record, cell);
    }
    return record;
}

static void make_rounds(const tsw_make_t *make, tsw_cell_result_t *cell)
{
    for (size_t i = 0; i < make->rounds; i++) {
        must(TSW_GROW(cell->rounds, cell->round_capacity, cell->round_count));
        cell->rounds[cell->round_count++] = (tsw_round_t){
            .round = (uint32_t)i,
            .stage = TSW_STAGE_ROUND,
            .sm_clock_mhz = 1980,
            .mem_clock_mhz = 3201,
            .power_w = 350.5f,
            .temperature_celsius = 41.0f,
            .throttle_reasons = i % 2,
            .cache_state = (uint8_t)(i % TSW_CACHE_STATE_COUNT),
            .is_unstable = i % 2,
            .foreign_processes = 1,
            .ecc_corrected = 2,
            .ecc_uncorrected = (uint32_t)i,
            .xid = 31,
            .start_ns = 1000000 * i,
            .duration_ns = 900000,
        };
    }
}

tsw_cell_result_t tsw_make_cell(const tsw_make_t *make, size_t index)
{
    size_t device = index % make->nodes;
    tsw_cell_result_t cell = {
        .pack = "demo",
        .pack_key = tsw_key_of_text("pack demo"),
        .variant = "dtype=f16 causal=1",
        .separate_tables = 1,
        .weight = 1.5,
        .arch = 90,
        .flops = 2e9,
        .bytes = 3e6,
        .cache_mode = 0,
        .coverage = {.generation = 1 + (uint32_t)index % 3,
                     .space_configs = 900,
                     .built_configs = 64 + (uint32_t)index,
                     .untried = "TILE_M=512 occupancy=16,32"},
        .pick = make->configs > 0 ? (int32_t)(index % make->configs) : -1,
        .attempt = make->attempt,
        .complete = 1,
        .rank = (int32_t)device,
        .gpu = {.name = "simulated H200",
                .arch = 90,
                .sm_count = 132,
                .memory_bytes = 150000000000u,
                .l2_bytes = 50u << 20,
                .driver_version = 13000,
                .driver_text = "580.159.04",
                .mode = "sim",
                .mig_profile = "1g.18gb",
                .locked_mhz = 1500,
                .unreadable = "power: not supported"},
        .peak_memory_bytes = 123456789,
        .start_wall_ns = 1700000000000000000u + index,
        .wall_ns = 2000000000,
        .busy_ns = 1500000000,
        .usage = {{[TSW_USE_LOAD] = 100000000 + index, [TSW_USE_WAVE] = 1500000000}},
    };
    snprintf(cell.shape, sizeof(cell.shape), "M=%zu N=256", 128 * (index + 1));
    snprintf(cell.node, sizeof(cell.node), "node%zu", device);
    snprintf(cell.gpu.uuid, sizeof(cell.gpu.uuid), "sim:h200:%zu", device);
    cell.key = tsw_key_of_text(cell.shape);
    cell.records = tsw_calloc(make->configs, sizeof(cell.records[0]));
    cell.config_texts = tsw_calloc(make->configs, sizeof(cell.config_texts[0]));
    must(cell.records != NULL && cell.config_texts != NULL);
    cell.record_count = make->configs;
    for (size_t i = 0; i < make->configs; i++) {
        char config[64];
        snprintf(config, sizeof(config), "TILE_M=%d occupancy=%zu", 64, i + 1);
        cell.config_texts[i] = text_of(config);
        cell.records[i] = make_record(make, cell.key, index, i, config);
    }
    make_rounds(make, &cell);
    return cell;
}

tsw_dataset_t tsw_make_dataset(const tsw_make_t *make)
{
    tsw_dataset_t dataset = {.meta = tsw_make_meta(make)};
    for (size_t i = 0; i < make->cells; i++) {
        tsw_cell_result_t cell = tsw_make_cell(make, i);
        must(tsw_dataset_add(&dataset, &cell, NULL) == TSW_OK);
    }
    return dataset;
}

/* Equality of one field; the name of the field is the answer when it differs. */
#define DIFFER_VALUE(_field)                                                                       \
    do {                                                                                           \
        if (memcmp(&a->_field, &b->_field, sizeof(a->_field)) != 0)                                \
            return #_field;                                                                        \
    } while (0)
#define DIFFER_TEXT(_field)                                                                        \
    do {                                                                                           \
        if (strcmp(a->_field, b->_field) != 0)                                                     \
            return #_field;                                                                        \
    } while (0)

static const char *build_difference(const tsw_build_facts_t *a, const tsw_build_facts_t *b)
{
    DIFFER_VALUE(registers);
    DIFFER_VALUE(shared_bytes);
    DIFFER_VALUE(spill_bytes);
    DIFFER_VALUE(threads);
    DIFFER_VALUE(cluster);
    DIFFER_VALUE(cubin_bytes);
    DIFFER_VALUE(compile_cpu_ns);
    DIFFER_VALUE(compile_wall_ns);
    DIFFER_VALUE(from_cache);
    DIFFER_VALUE(cubin_key);
    return NULL;
}

static const char *sample_difference(const tsw_record_t *a, const tsw_record_t *b)
{
    DIFFER_VALUE(sample_count);
    for (size_t i = 0; i < a->sample_count; i++) {
        const tsw_sample_t *x = &a->samples[i];
        const tsw_sample_t *y = &b->samples[i];
        if (x->interval_ns != y->interval_ns || x->round != y->round ||
            x->launches != y->launches || x->stage != y->stage || x->slot != y->slot ||
            x->energy_mj != y->energy_mj)
            return "samples";
    }
    return NULL;
}

static const char *record_difference(const tsw_record_t *a, const tsw_record_t *b)
{
    DIFFER_VALUE(cell_key);
    DIFFER_VALUE(config_key);
    DIFFER_VALUE(config_index);
    DIFFER_VALUE(outcome);
    DIFFER_TEXT(detail);
    DIFFER_VALUE(fate);
    DIFFER_VALUE(unstable);
    DIFFER_VALUE(alias_of);
    DIFFER_VALUE(grid);
    DIFFER_VALUE(block);
    DIFFER_VALUE(dynamic_shared_bytes);
    DIFFER_VALUE(verify);
    const char *difference = build_difference(&a->build, &b->build);
    return difference != NULL ? difference : sample_difference(a, b);
}

static const char *gpu_difference(const tsw_gpu_t *a, const tsw_gpu_t *b)
{
    DIFFER_TEXT(uuid);
    DIFFER_TEXT(name);
    DIFFER_VALUE(arch);
    DIFFER_VALUE(sm_count);
    DIFFER_VALUE(memory_bytes);
    DIFFER_VALUE(l2_bytes);
    DIFFER_VALUE(driver_version);
    DIFFER_TEXT(driver_text);
    DIFFER_TEXT(mode);
    DIFFER_TEXT(mig_profile);
    DIFFER_VALUE(locked_mhz);
    DIFFER_TEXT(unreadable);
    return NULL;
}

static const char *round_difference(const tsw_round_t *a, const tsw_round_t *b)
{
    DIFFER_VALUE(round);
    DIFFER_VALUE(stage);
    DIFFER_VALUE(sm_clock_mhz);
    DIFFER_VALUE(mem_clock_mhz);
    DIFFER_VALUE(power_w);
    DIFFER_VALUE(temperature_celsius);
    DIFFER_VALUE(throttle_reasons);
    DIFFER_VALUE(cache_state);
    DIFFER_VALUE(is_unstable);
    DIFFER_VALUE(foreign_processes);
    DIFFER_VALUE(ecc_corrected);
    DIFFER_VALUE(ecc_uncorrected);
    DIFFER_VALUE(xid);
    DIFFER_VALUE(start_ns);
    DIFFER_VALUE(duration_ns);
    return NULL;
}

static const char *head_difference(const tsw_cell_result_t *a, const tsw_cell_result_t *b)
{
    DIFFER_VALUE(key);
    DIFFER_TEXT(pack);
    DIFFER_VALUE(pack_key);
    DIFFER_TEXT(variant);
    DIFFER_VALUE(separate_tables);
    DIFFER_TEXT(shape);
    DIFFER_VALUE(weight);
    DIFFER_VALUE(arch);
    DIFFER_VALUE(flops);
    DIFFER_VALUE(bytes);
    DIFFER_VALUE(cache_mode);
    DIFFER_VALUE(attempt);
    DIFFER_VALUE(complete);
    DIFFER_VALUE(rank);
    DIFFER_TEXT(node);
    DIFFER_VALUE(pick);
    DIFFER_VALUE(coverage.generation);
    DIFFER_VALUE(coverage.space_configs);
    DIFFER_VALUE(coverage.built_configs);
    DIFFER_TEXT(coverage.untried);
    DIFFER_VALUE(peak_memory_bytes);
    DIFFER_VALUE(start_wall_ns);
    DIFFER_VALUE(wall_ns);
    DIFFER_VALUE(busy_ns);
    DIFFER_VALUE(usage);
    DIFFER_VALUE(record_count);
    DIFFER_VALUE(round_count);
    return gpu_difference(&a->gpu, &b->gpu);
}

const char *tsw_cell_difference(const tsw_cell_result_t *a, const tsw_cell_result_t *b)
{
    const char *difference = head_difference(a, b);
    for (size_t i = 0; difference == NULL && i < a->record_count; i++) {
        difference = record_difference(&a->records[i], &b->records[i]);
        if (difference == NULL && strcmp(a->config_texts[i], b->config_texts[i]) != 0)
            difference = "config_texts";
    }
    for (size_t i = 0; difference == NULL && i < a->round_count; i++)
        difference = round_difference(&a->rounds[i], &b->rounds[i]);
    return difference;
}

const char *tsw_meta_difference(const tsw_run_meta_t *a, const tsw_run_meta_t *b)
{
    DIFFER_TEXT(job_name);
    DIFFER_TEXT(job_text);
    DIFFER_VALUE(job_key);
    DIFFER_VALUE(plan_key);
    DIFFER_TEXT(purpose);
    DIFFER_TEXT(toolchain);
    DIFFER_TEXT(tool);
    DIFFER_TEXT(mode);
    DIFFER_TEXT(clocks);
    DIFFER_TEXT(protocol);
    DIFFER_TEXT(objective);
    DIFFER_TEXT(invocation);
    DIFFER_TEXT(retired);
    DIFFER_TEXT(inputs);
    DIFFER_TEXT(parts);
    DIFFER_VALUE(cells);
    DIFFER_VALUE(edition);
    DIFFER_VALUE(seed);
    DIFFER_VALUE(start_wall_ns);
    return NULL;
}

const char *tsw_dataset_difference(const tsw_dataset_t *a, const tsw_dataset_t *b)
{
    const char *difference = tsw_meta_difference(&a->meta, &b->meta);
    if (difference == NULL && a->cell_count != b->cell_count)
        difference = "cell_count";
    for (size_t i = 0; difference == NULL && i < a->cell_count; i++)
        difference = tsw_cell_difference(&a->cells[i], &b->cells[i]);
    return difference;
}
