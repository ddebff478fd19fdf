/* Small packs from text, for tests. Every failure is a TSW_ASSERT. */
#ifndef TSW_TESTS_SAMPLE_PACK_H
#define TSW_TESTS_SAMPLE_PACK_H

#include "pack/pack.h"

/* A matmul with a static dim and a flag:
 *   dims M N D (D static), flag causal (no, yes), dtypes f16 and e4m3, tiles TILE_M (M), TILE_N
 * (N), hints occupancy and num_ctas, baseline 128 64 2 1, arguments A (M*D) and C (M*N), grid
 *   ceildiv(M, TILE_M) * ceildiv(N, TILE_N), max_elements 2^30.
 * lists: the YAML of the key "lists", constraints: of "constraints" (may be ""). */
tsw_pack_t *sample_pack_new(const char *lists, const char *constraints);

/* 2 x 2 x 2 configs for every arch: TILE_M 64 128, TILE_N 64 128, occupancy 1 2. */
extern const char *const sample_pack_lists;

/* Rows as a job's own space has them: values[knob] up to 4 values, 0 ends them. */
typedef struct {
    int64_t values[TSW_KNOB_MAX][5];
} sample_row_t;
tsw_config_row_t *sample_rows_new(const tsw_pack_t *pack, const sample_row_t *rows, size_t count);
void sample_rows_free(tsw_config_row_t *rows, size_t count);

#endif
