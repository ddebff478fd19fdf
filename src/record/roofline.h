/* What a device can do at most: a time below it is the timer's or the kernel's fault. */
#ifndef TSW_RECORD_ROOFLINE_H
#define TSW_RECORD_ROOFLINE_H

#include "record/record.h"

/* Least time of a launch in ns, 2 % below the nominal peaks; 0: the device or dtype is unknown.
 * dtype: "f16", ... The memory limit holds for cold cells of more bytes than the L2 only: caches
 * may beat it otherwise. */
double tsw_roofline_floor_ns(const tsw_gpu_t *gpu, const char *dtype, bool is_cold, double flops,
                             double bytes);
/* Nominal bandwidth of the memory, bytes read plus bytes written; 0: the device is unknown. */
double tsw_roofline_memory_bytes_per_s(const tsw_gpu_t *gpu);
/* Least time of a cell with its results. */
double tsw_roofline_cell_floor_ns(const tsw_cell_result_t *cell);

#endif
