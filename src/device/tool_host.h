/* What the tool's device kernels yield, computed on the host: the fake driver runs them, tests hold
 * the GPU against them. Pure. */
#ifndef TSW_DEVICE_TOOL_HOST_H
#define TSW_DEVICE_TOOL_HOST_H

#include "device/device.h"

#define TSW_CANARY_SEED    0x7157u
#define TSW_CANARY_THREADS 256u /* one block */

/* One element from a real number, as fills and scalars store it; integers saturate. */
uint64_t tsw_tool_encode(double value, tsw_dtype_t dtype);
double tsw_tool_decode(uint64_t bits, tsw_dtype_t dtype);

/* out: elements of dtype. kind NORMAL to OFFSETS. */
void tsw_tool_host_fill(void *out, tsw_dtype_t dtype, tsw_fill_kind_t kind, double a, double b,
                        int64_t lo, int64_t hi, uint64_t seed, uint64_t elements);
/* Bytes that are not poison; *first_p: offset of the first, UINT64_MAX when there is none. */
uint64_t tsw_tool_host_fence(const void *bytes, uint64_t size, uint64_t *first_p);
void tsw_tool_host_compare(const void *got, const void *want, tsw_dtype_t dtype, uint64_t elements,
                           double atol, double rtol, tsw_compare_t *compare_p);
uint64_t tsw_tool_host_checksum(const void *bytes, uint64_t size);
uint64_t tsw_tool_host_canary(uint64_t seed);

#endif
