/* Small packs without a finding, for tests that bend one place. */
#ifndef TSW_TESTS_RULES_PACK_H
#define TSW_TESTS_RULES_PACK_H

#include "pack/pack.h"

/* Where matmul, rows, rope and dual end, behind their lists. */
#define TSW_RULES_TAIL                                                                             \
    "tolerances:\n"                                                                                \
    "  f16: {atol: 0.1, rtol: 0.01}\n"                                                             \
    "reference:\n"                                                                                 \
    "  source: r.cu\n"                                                                             \
    "  entry: r\n"                                                                                 \
    "  grid: [M, 1, 1]\n"                                                                          \
    "  block: [32, 1, 1]\n"

typedef struct {
    const char *yaml, *source;
} rules_base_t;

extern const rules_base_t rules_matmul; /* T3, tiles of M and N, all archs */
extern const rules_base_t rules_rows;   /* T1, memory-bound, occupancy only */
extern const rules_base_t rules_rope;   /* T2, in place */
extern const rules_base_t rules_fp8;    /* T6, TILE_M and the tile of K */
extern const rules_base_t rules_dual;   /* T9 */

/* The base with the first `old` of its YAML, or else of its source, in other words; old NULL: as it
 * is. Dies where that is no pack. */
tsw_pack_t *rules_pack_new(const rules_base_t *base, const char *old, const char *new_text);

#endif
