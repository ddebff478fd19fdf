#include "pack_text.h"

#include "base/file.h"
#include "base/mem.h"

#include <string.h>

const char *const tsw_test_pack_text =
    "name: demo\n"
    "template: T5\n"
    "class: compute\n"
    "language: tile\n"
    "source: demo.cu\n"
    "entry: demo\n"
    "dims: [M, N, D]\n"
    "static: [D]\n"
    "flags:\n"
    "  causal: [0, 1]\n"
    "  layout: [row, column]\n"
    "dtypes: [f16, i8]\n"
    "args:\n"
    "  - {name: A, role: in, type: cell, size: M * N, row: N, fill: {normal: [0, 0.5]}}\n"
    "  - {name: I, role: in, type: i32, size: M, fill: {index: [0, N - 1]}}\n"
    "  - {name: O, role: in, type: i32, size: M, fill: {offsets: N}}\n"
    "  - {name: S, role: in, type: i64, size: M, fill: {sequence: [0, 2]}}\n"
    "  - {name: X, role: in, type: f32, size: M, fill: {dataset: 'data.h5:/x/y'}}\n"
    "  - {name: U, role: inout, type: cell, size: M, align: 32, fill: {uniform: [-1, 1]}}\n"
    "  - {name: C, role: out, type: cell, size: M * N, row: N}\n"
    "  - {name: W, role: workspace, type: f32, size: M}\n"
    "  - {name: n, role: scalar, type: i32, value: N}\n"
    "grid: ['ceildiv(M, TILE_M)', 'min(NUM_SM * occupancy, N)']\n"
    "shared: TILE_M * 2\n"
    "flops: 2 * M * N * D\n"
    "bytes: ELEM_BYTES * M * N\n"
    "max_elements: 1000000\n"
    "tunables:\n"
    "  TILE_M: {tiles: M}\n"
    "  TILE_X: {tile: true}\n"
    "  SWAP: {}\n"
    "hints: [occupancy, num_ctas]\n"
    "options: [--use_fast_math]\n"
    "baseline: {TILE_M: 64, TILE_X: 16, SWAP: 0, occupancy: 2, num_ctas: 1}\n"
    "lists:\n"
    "  sm_90:\n"
    "    source: by hand\n"
    "    configs:\n"
    "      - {TILE_M: [64, 128], TILE_X: 16, SWAP: [0, 1], occupancy: [1, 2, 4], num_ctas: 1}\n"
    "      - {TILE_M: 256, TILE_X: 16, SWAP: 0, occupancy: 1, num_ctas: 2}\n"
    "  default:\n"
    "    source: by hand\n"
    "    configs:\n"
    "      - {num_ctas: 1, TILE_M: 32, TILE_X: 16, SWAP: 0, occupancy: 1}\n"
    "constraints:\n"
    "  - {name: fits, keep: TILE_M * D <= 65536, reason: registers}\n"
    "  - {name: divides, keep: M % TILE_M == 0, reason: no tails}\n"
    "tolerances:\n"
    "  f16: {atol: 0.1, rtol: 0.01}\n"
    "separate_tables: true\n"
    "reference:\n"
    "  source: ref.cu\n"
    "  entry: demo_reference\n"
    "  grid: ['ceildiv(M * N, 256)']\n"
    "  block: [256]\n";

char *tsw_test_replace(const char *text, const char *old, const char *new_text)
{
    const char *place = strstr(text, old);
    TSW_ASSERT(place != NULL);
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_buf_append(&out, text, (size_t)(place - text));
    tsw_buf_append_text(&out, new_text);
    tsw_buf_append_text(&out, place + strlen(old));
    char *result = tsw_buf_take_text(&out);
    TSW_ASSERT(result != NULL);
    return result;
}

static void add(tsw_fileset_t *files, const char *name, const char *text)
{
    tsw_status_t status = tsw_fileset_add(files, name, text, strlen(text), NULL);
    TSW_ASSERT(status == TSW_OK);
}

void tsw_test_pack_files(const char *yaml, tsw_fileset_t *files)
{
    add(files, "kernel.yaml", yaml);
    add(files, "demo.cu", "extern \"C\" void demo();\n");
    add(files, "ref.cu", "// may name __CUDA_ARCH__\n");
    add(files, "data.h5", "not read here");
}

char *tsw_test_source_file(const char *path)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    char *full = tsw_path_join(TSW_SOURCE_DIR, path);
    TSW_ASSERT(full != NULL);
    tsw_status_t status = tsw_file_read(full, &bytes, NULL);
    TSW_ASSERT(status == TSW_OK);
    tsw_free(full);
    return tsw_buf_take_text(&bytes);
}
