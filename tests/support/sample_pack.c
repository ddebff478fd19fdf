#include "sample_pack.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>

static const char head[] =
    "name: mini\n"
    "template: T3\n"
    "class: compute\n"
    "language: tile\n"
    "source: mini.cu\n"
    "entry: mini\n"
    "dims: [M, N, D]\n"
    "static: [D]\n"
    "flags: {causal: [no, yes]}\n"
    "dtypes: [f16, e4m3]\n"
    "args:\n"
    "  - {name: A, role: in, type: cell, size: M * D, fill: {normal: [0, 1]}}\n"
    "  - {name: C, role: out, type: cell, size: M * N}\n"
    "  - {name: M, role: scalar, type: i32, value: M}\n"
    "grid: [\"ceildiv(M, TILE_M) * ceildiv(N, TILE_N)\", 1, 1]\n"
    "block: [1, 1, 1]\n"
    "flops: 2 * M * N * D\n"
    "bytes: ELEM_BYTES * (M * D + M * N)\n"
    "max_elements: 1073741824\n"
    "tunables:\n"
    "  TILE_M: {tiles: M}\n"
    "  TILE_N: {tiles: N}\n"
    "hints: [occupancy, num_ctas]\n"
    "baseline: {TILE_M: 128, TILE_N: 64, occupancy: 2, num_ctas: 1}\n"
    "tolerances:\n"
    "  f16: {atol: 0.1, rtol: 0.01}\n"
    "  e4m3: {atol: 0.1, rtol: 0.01}\n"
    "reference:\n"
    "  source: mini.cu\n"
    "  entry: mini_reference\n"
    "  grid: [M, 1, 1]\n"
    "  block: [32, 1, 1]\n";

const char *const sample_pack_lists =
    "lists:\n"
    "  default:\n"
    "    source: a test\n"
    "    configs:\n"
    "      - {TILE_M: [64, 128], TILE_N: [64, 128], occupancy: [1, 2], num_ctas: 1}\n";

tsw_pack_t *sample_pack_new(const char *lists, const char *constraints)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_buf_t yaml = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_pack_t *pack = NULL;
    tsw_buf_printf(&yaml, "%s%s%s", head, lists, constraints);
    TSW_ASSERT(tsw_fileset_add(&files, "kernel.yaml", yaml.data, yaml.size, NULL) == TSW_OK);
    TSW_ASSERT(tsw_fileset_add(&files, "mini.cu", "//", 2, NULL) == TSW_OK);
    if (tsw_pack_read(&files, &pack, &err) != TSW_OK)
        fprintf(stderr, "%s\n", err.text);
    TSW_ASSERT(pack != NULL);
    tsw_fileset_fini(&files);
    tsw_buf_fini(&yaml);
    return pack;
}

tsw_config_row_t *sample_rows_new(const tsw_pack_t *pack, const sample_row_t *rows, size_t count)
{
    tsw_config_row_t *out = tsw_calloc(count, sizeof(*out));
    TSW_ASSERT(out != NULL);
    for (size_t r = 0; r < count; r++) {
        for (size_t k = 0; k < pack->knob_count; k++) {
            while (rows[r].values[k][out[r].count[k]] != 0)
                out[r].count[k]++;
            out[r].values[k] = tsw_memdup(rows[r].values[k], 5 * sizeof(int64_t));
            TSW_ASSERT(out[r].values[k] != NULL);
        }
    }
    return out;
}

void sample_rows_free(tsw_config_row_t *rows, size_t count)
{
    for (size_t r = 0; r < count; r++) {
        for (size_t k = 0; k < TSW_KNOB_MAX; k++)
            tsw_free(rows[r].values[k]);
    }
    tsw_free(rows);
}
