#include "rules_pack.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

const rules_base_t rules_matmul = {
    "name: t\n"
    "template: T3\n"
    "class: compute\n"
    "language: tile\n"
    "source: t.cu\n"
    "entry: t\n"
    "dims: [M, N, K]\n"
    "dtypes: [f16]\n"
    "args:\n"
    "  - {name: A, role: in, type: cell, size: M * K, fill: {normal: [0, 1]}}\n"
    "  - {name: C, role: out, type: cell, size: M * N}\n"
    "grid: [\"ceildiv(M, TILE_M) * ceildiv(N, TILE_N)\", 1, 1]\n"
    "flops: 2 * M * N * K\n"
    "bytes: 2 * M * N\n"
    "tunables:\n"
    "  TILE_M: {tiles: M}\n"
    "  TILE_N: {tiles: N}\n"
    "  TILE_K: {tiles: K}\n"
    "hints: [occupancy, num_ctas]\n"
    "baseline: {TILE_M: 128, TILE_N: 64, TILE_K: 64, occupancy: 2, num_ctas: 1}\n"
    "options: []\n"
    "lists:\n"
    "  default:\n"
    "    source: tests\n"
    "    configs:\n"
    "      - {TILE_M: [64, 128], TILE_N: [64, 128], TILE_K: 64, occupancy: [1, 2], num_ctas: 1}\n"
    "      - {TILE_M: 256, TILE_N: 128, TILE_K: 64, occupancy: 1, num_ctas: 2}\n" TSW_RULES_TAIL,
    "__tile_global__ [[cutile: hint(0, occupancy = OCCUPANCY, num_ctas = NUM_CTAS)]] void t(const "
    "DTYPE* __restrict__ A, DTYPE* __restrict__ C) {}\n",
};

const rules_base_t rules_rows = {
    "name: t\n"
    "template: T1\n"
    "class: memory\n"
    "language: tile\n"
    "source: t.cu\n"
    "entry: t\n"
    "dims: [M]\n"
    "dtypes: [f16]\n"
    "args:\n"
    "  - {name: X, role: in, type: cell, size: M, fill: {normal: [0, 1]}}\n"
    "  - {name: Y, role: out, type: cell, size: M}\n"
    "grid: [\"min(NUM_SM * occupancy, M)\", 1, 1]\n"
    "flops: M\n"
    "bytes: 2 * M\n"
    "tunables: {}\n"
    "hints: [occupancy]\n"
    "baseline: {occupancy: 4}\n"
    "lists:\n"
    "  default:\n"
    "    source: tests\n"
    "    configs:\n"
    "      - {occupancy: [1, 2, 4, 8]}\n" TSW_RULES_TAIL,
    "__tile_global__ [[cutile: hint(0, occupancy = OCCUPANCY)]] void t(const DTYPE* X, DTYPE* Y) "
    "{} // no NUM_CTAS\n",
};

const rules_base_t rules_rope = {
    "name: t\n"
    "template: T2\n"
    "class: memory\n"
    "language: tile\n"
    "source: t.cu\n"
    "entry: t\n"
    "dims: [M]\n"
    "dtypes: [f16]\n"
    "args:\n"
    "  - {name: X, role: inout, type: cell, size: M, fill: {normal: [0, 1]}}\n"
    "  - {name: T, role: in, type: f32, size: M, fill: {normal: [0, 1]}}\n"
    "grid: [\"min(NUM_SM * occupancy, M)\", 1, 1]\n"
    "flops: M\n"
    "bytes: 2 * M\n"
    "hints: [occupancy]\n"
    "baseline: {occupancy: 4}\n"
    "lists:\n"
    "  default:\n"
    "    source: tests\n"
    "    configs:\n"
    "      - {occupancy: [1, 2, 4, 8]}\n" TSW_RULES_TAIL,
    "__tile_global__ [[cutile: hint(0, occupancy = OCCUPANCY)]] void t(const DTYPE* X, DTYPE* Y, "
    "const float* __restrict__ T) {}\n",
};

const rules_base_t rules_fp8 = {
    "name: t\n"
    "template: T6\n"
    "class: compute\n"
    "language: tile\n"
    "source: t.cu\n"
    "entry: t\n"
    "dims: [M, N, K]\n"
    "dtypes: [e4m3]\n"
    "args:\n"
    "  - {name: A, role: in, type: cell, size: M * K, fill: {normal: [0, 1]}}\n"
    "  - {name: S, role: in, type: f32, size: \"ceildiv(K, 128) * ceildiv(M, 4) * 4\", fill: "
    "{uniform: [0, 1]}}\n"
    "  - {name: C, role: out, type: bf16, size: M * N}\n"
    "grid: [\"ceildiv(M, TILE_M) * ceildiv(N, 128)\", 1, 1]\n"
    "flops: 2 * M * N * K\n"
    "bytes: 2 * M * N\n"
    "tunables:\n"
    "  TILE_M: {tiles: M}\n"
    "  TILE_K: {tiles: K}\n"
    "hints: [occupancy, num_ctas]\n"
    "baseline: {TILE_M: 64, TILE_K: 128, occupancy: 1, num_ctas: 1}\n"
    "lists:\n"
    "  sm_89:\n"
    "    source: tests\n"
    "    configs:\n"
    "      - {TILE_M: [64, 128], TILE_K: 128, occupancy: [1, 2], num_ctas: 1}\n"
    "  default:\n"
    "    source: tests\n"
    "    configs:\n"
    "      - {TILE_M: [64, 128], TILE_K: 128, occupancy: [1, 2], num_ctas: [1, 2]}\n"
    "tolerances:\n"
    "  e4m3: {atol: 0.1, rtol: 0.01}\n"
    "reference:\n"
    "  source: r.cu\n"
    "  entry: r\n"
    "  grid: [M, 1, 1]\n"
    "  block: [32, 1, 1]\n",
    "__tile_global__ [[cutile: hint(0, occupancy = OCCUPANCY, num_ctas = NUM_CTAS)]] void t() {}\n",
};

const rules_base_t rules_dual = {
    "name: t\n"
    "template: T9\n"
    "class: compute\n"
    "language: tile\n"
    "source: t.cu\n"
    "entry: t\n"
    "dims: [M, N]\n"
    "dtypes: [f16]\n"
    "args:\n"
    "  - {name: A, role: in, type: cell, size: M, fill: {normal: [0, 1]}}\n"
    "  - {name: C, role: out, type: cell, size: M * N}\n"
    "grid: [\"ceildiv(M, TILE_M) * ceildiv(N, TILE_N)\", 1, 1]\n"
    "flops: 2 * M * N\n"
    "bytes: 2 * M * N\n"
    "tunables:\n"
    "  TILE_M: {tiles: M}\n"
    "  TILE_N: {tiles: N}\n"
    "hints: [occupancy, num_ctas]\n"
    "baseline: {TILE_M: 128, TILE_N: 64, occupancy: 1, num_ctas: 1}\n"
    "lists:\n"
    "  default:\n"
    "    source: tests\n"
    "    configs:\n"
    "      - {TILE_M: [64, 128], TILE_N: [64, 128], occupancy: [1, 2], num_ctas: [1, "
    "2]}\n" TSW_RULES_TAIL,
    "__tile_global__ [[cutile: hint(0, occupancy = OCCUPANCY, num_ctas = NUM_CTAS)]] void t() {}\n",
};

/* text with old in other words, or a copy; heap. */
static char *bend(const char *text, const char *old, const char *new_text, bool *found_p)
{
    const char *place = old != NULL && !*found_p ? strstr(text, old) : NULL;
    tsw_buf_t out = TSW_BUF_INIT;
    size_t before = place != NULL ? (size_t)(place - text) : strlen(text);
    tsw_buf_append(&out, text, before);
    if (place != NULL) {
        tsw_buf_append_text(&out, new_text);
        tsw_buf_append_text(&out, place + strlen(old));
        *found_p = true;
    }
    char *result = tsw_buf_take_text(&out);
    TSW_ASSERT(result != NULL);
    return result;
}

tsw_pack_t *rules_pack_new(const rules_base_t *base, const char *old, const char *new_text)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_pack_t *pack = NULL;
    bool found = false;
    char *yaml = bend(base->yaml, old, new_text, &found);
    char *source = bend(base->source, old, new_text, &found);
    TSW_ASSERT(old == NULL || found);
    TSW_ASSERT(tsw_fileset_add(&files, "kernel.yaml", yaml, strlen(yaml), NULL) == TSW_OK);
    TSW_ASSERT(tsw_fileset_add(&files, "t.cu", source, strlen(source), NULL) == TSW_OK);
    TSW_ASSERT(tsw_fileset_add(&files, "r.cu", "", 0, NULL) == TSW_OK);
    if (tsw_pack_read(&files, &pack, &err) != TSW_OK)
        fprintf(stderr, "%s\n", err.text);
    TSW_ASSERT(pack != NULL);
    tsw_free(yaml);
    tsw_free(source);
    tsw_fileset_fini(&files);
    return pack;
}
