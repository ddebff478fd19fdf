/* A cell to measure and a sink that remembers, for tests of measure. Failures are TSW_ASSERTs. */
#ifndef TSW_TESTS_MEASURE_BENCH_H
#define TSW_TESTS_MEASURE_BENCH_H

#include "measure/measure.h"

#define BENCH_CONFIGS 16
#define BENCH_ROUNDS  64

typedef struct {
    tsw_outcome_t outcome; /* the last one told */
    int told;              /* how often */
    char detail[2 * TSW_DETAIL_MAX];
    tsw_verify_facts_t verify;
    uint64_t samples[BENCH_ROUNDS];  /* in order of arrival, warm-up too */
    uint32_t launches[BENCH_ROUNDS]; /* of each sample */
    uint32_t sample_count;
} bench_config_t;

typedef struct {
    tsw_pack_t *pack;
    tsw_variant_t variant;
    tsw_measure_cell_t cell;
    tsw_measure_sink_t sink;
    tsw_device_t *dev;
    tsw_measure_t *measure;
    /* What the sink saw. */
    bench_config_t configs[BENCH_CONFIGS];
    int32_t busy; /* the last told */
    tsw_round_t rounds[BENCH_ROUNDS];
    uint32_t order[BENCH_ROUNDS][BENCH_CONFIGS]; /* configs by slot */
    uint32_t counts[BENCH_ROUNDS];               /* samples per round */
    uint32_t round_count;
} bench_t;

/* Pack with dims M N, knobs TILE (1) and occupancy. args: the YAML lines of its arguments, entries
 * "fake_write" and "fake_write" unless entry says otherwise. M = 64, N = 100, dtype f16, policy: 2
 * warm-up and 4 rounds, cold, 5 s. */
void bench_init(bench_t *bench, const char *args, const char *entry);
/* kind "sim" (h200, with the scenario) or "cuda" (the fake driver). */
void bench_open(bench_t *bench, const char *kind, const char *scenario);
tsw_status_t bench_begin(bench_t *bench, tsw_err_t *err);
/* Config `index` is TILE=2^index occupancy=1; cubin: text of the fake driver. */
tsw_status_t bench_add(bench_t *bench, uint32_t index, const char *cubin, bool verified,
                       tsw_err_t *err);
void bench_fini(bench_t *bench); /* ends what is open; a zeroed one is fine */

#endif
