#include "measure_bench.h"

#include "pack_text.h"

#include <stdio.h>
#include <string.h>

static const char *const yaml_format = "name: bench\n"
                                       "template: T1\n"
                                       "class: memory\n"
                                       "language: cuda\n"
                                       "source: demo.cu\n"
                                       "entry: %s\n"
                                       "dims: [M, N]\n"
                                       "dtypes: [f16, i8]\n"
                                       "args:\n"
                                       "%s"
                                       "grid: ['ceildiv(M, TILE)']\n"
                                       "block: [32]\n"
                                       "flops: 2 * M * N\n"
                                       "bytes: 2 * ELEM_BYTES * M * N\n"
                                       "max_elements: 1000000\n"
                                       "tunables:\n"
                                       "  TILE: {}\n"
                                       "hints: [occupancy]\n"
                                       "baseline: {TILE: 1, occupancy: 1}\n"
                                       "lists:\n"
                                       "  default:\n"
                                       "    source: by hand\n"
                                       "    configs:\n"
                                       "      - {TILE: [1, 2], occupancy: 1}\n"
                                       "tolerances:\n"
                                       "  f16: {atol: 0.1, rtol: 0.01}\n"
                                       "  i8: {atol: 0, rtol: 0}\n"
                                       "reference:\n"
                                       "  source: ref.cu\n"
                                       "  entry: %s\n"
                                       "  grid: ['M']\n"
                                       "  block: [32]\n";

static void on_state(void *user, uint32_t index, tsw_outcome_t outcome, const char *detail,
                     const tsw_verify_facts_t *verify)
{
    bench_t *bench = user;
    TSW_ASSERT(index < BENCH_CONFIGS);
    bench_config_t *config = &bench->configs[index];
    config->outcome = outcome;
    config->told++;
    snprintf(config->detail, sizeof(config->detail), "%s", detail);
    if (verify != NULL)
        config->verify = *verify;
}

static void on_busy(void *user, int32_t index)
{
    ((bench_t *)user)->busy = index;
}

static void on_round(void *user, const tsw_round_t *round, const uint32_t *indices,
                     const tsw_sample_t *samples, size_t count)
{
    bench_t *bench = user;
    TSW_ASSERT(bench->round_count < BENCH_ROUNDS);
    for (size_t i = 0; i < count; i++) {
        TSW_ASSERT(indices[i] < BENCH_CONFIGS && samples[i].interval_ns > 0);
        TSW_ASSERT(samples[i].round == round->round &&
                   (samples[i].stage == round->stage || samples[i].stage == TSW_STAGE_CONTROL));
        bench_config_t *config = &bench->configs[indices[i]];
        TSW_ASSERT(config->sample_count < BENCH_ROUNDS);
        config->launches[config->sample_count] = samples[i].launches;
        config->samples[config->sample_count++] = samples[i].interval_ns;
        if (i < BENCH_CONFIGS)
            bench->order[bench->round_count][i] = indices[i];
    }
    bench->counts[bench->round_count] = (uint32_t)count;
    bench->rounds[bench->round_count++] = *round;
}

void bench_init(bench_t *bench, const char *args, const char *entry)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_buf_t yaml = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    *bench = (bench_t){.busy = -2};
    tsw_buf_printf(&yaml, yaml_format, entry, args, entry);
    tsw_test_pack_files(tsw_buf_text(&yaml), &files);
    if (tsw_pack_read(&files, &bench->pack, &err) != TSW_OK)
        fprintf(stderr, "%s\n", err.text);
    TSW_ASSERT(bench->pack != NULL);
    tsw_fileset_fini(&files);
    tsw_buf_fini(&yaml);
    bench->variant = (tsw_variant_t){.pack = bench->pack, .dtype = TSW_DTYPE_F16};
    bench->cell = (tsw_measure_cell_t){
        .variant = &bench->variant,
        .arch = 90,
        .dims = {64, 100},
        .cell_key = tsw_key_of_text("cell"),
        .policy = {.protocol = TSW_PROTOCOL_ROUNDS,
                   .warmup_rounds = 2,
                   .rounds = 4,
                   .launch_timeout_s = 5.0,
                   .seed = 3},
        .flops = 12800,
        .bytes = 25600,
        .max_tile = 16,
        .reference_cubin = "fake",
        .reference_size = 5,
    };
    bench->sink = (tsw_measure_sink_t){
        .user = bench, .config_state = on_state, .busy = on_busy, .round = on_round};
}

void bench_open(bench_t *bench, const char *kind, const char *scenario)
{
    char text[512];
    tsw_device_spec_t spec = {.model = "h200", .seed = 5, .scenario = text};
    tsw_err_t err = TSW_ERR_INIT;
    snprintf(text, sizeof(text), "%s", scenario);
    snprintf(spec.kind, sizeof(spec.kind), "%s", kind);
    if (tsw_device_open(&spec, &bench->dev, &err) != TSW_OK)
        fprintf(stderr, "%s\n", err.text);
    TSW_ASSERT(bench->dev != NULL);
    TSW_ASSERT(bench->dev->ops->load_tool(bench->dev, "fake", 5, NULL) == TSW_OK);
}

tsw_status_t bench_begin(bench_t *bench, tsw_err_t *err)
{
    return tsw_measure_begin(bench->dev, &bench->cell, &bench->sink, &bench->measure, err);
}

tsw_status_t bench_add(bench_t *bench, uint32_t index, const char *cubin, bool verified,
                       tsw_err_t *err)
{
    tsw_measure_config_t config = {
        .index = index,
        .config = {.values = {1ll << index, 1}},
        .cubin = cubin,
        .size = strlen(cubin) + 1,
        .facts = {.registers = 32, .threads = 128, .cluster = 1},
        .verified = verified,
    };
    tsw_config_set_key(bench->pack, &config.config);
    return tsw_measure_add(bench->measure, &config, err);
}

void bench_fini(bench_t *bench)
{
    tsw_measure_end(bench->measure);
    tsw_device_close(bench->dev);
    tsw_pack_free(bench->pack);
    *bench = (bench_t){.busy = -2};
}
