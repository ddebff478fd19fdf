/* Compile targets, and what each can do (sources: the toolkit's cuda_occupancy.h and
 * arch_traits.h, version 13.5). */
#ifndef TSW_PACK_ARCH_H
#define TSW_PACK_ARCH_H

#include "pack/dtype.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t tsw_arch_t; /* compute capability times ten: 90 is sm_90 */

/* The compile targets of tileiras 13.5. One KiB of an SM's shared memory is reserved per block. A
 * cluster of 16 needs the non-portable attribute; where no document promises it, 8 stands.
 * X(number, KiB of shared memory per SM, threads per SM, blocks per SM, cluster, fp8) */
#define TSW_ARCH_MAP(X)                                                                            \
    X(80, 164, 2048, 32, 1, false)                                                                 \
    X(86, 100, 1536, 16, 1, false)                                                                 \
    X(87, 164, 1536, 16, 1, false)                                                                 \
    X(88, 100, 1536, 16, 1, false)                                                                 \
    X(89, 100, 1536, 24, 1, true)                                                                  \
    X(90, 228, 2048, 32, 16, true)                                                                 \
    X(100, 228, 2048, 32, 16, true)                                                                \
    X(103, 228, 2048, 32, 16, true)                                                                \
    X(107, 228, 1024, 16, 8, true)                                                                 \
    X(110, 228, 1536, 24, 8, true)                                                                 \
    X(120, 100, 1536, 24, 8, true)                                                                 \
    X(121, 100, 1536, 24, 8, true)

typedef struct {
    tsw_arch_t arch;
    uint32_t smem_per_sm_bytes;
    uint32_t smem_per_block_bytes; /* opt-in maximum */
    uint32_t regs_per_sm;
    uint32_t threads_per_sm;
    uint32_t blocks_per_sm;
    uint32_t max_cluster; /* 1: no clusters */
    bool has_fp8;         /* mma of e4m3 and e5m2 */
} tsw_arch_traits_t;

bool tsw_arch_parse(const char *name, tsw_arch_t *arch_p); /* "sm_90"; known ones only */
char *tsw_arch_format(tsw_arch_t arch, char out[16]);
const tsw_arch_traits_t *tsw_arch_traits(tsw_arch_t arch); /* NULL when unknown */
/* All known archs, ascending; borrowed. */
const tsw_arch_traits_t *tsw_arch_all(size_t *count_p);
bool tsw_arch_has_dtype(tsw_arch_t arch, tsw_dtype_t dtype);

#endif
