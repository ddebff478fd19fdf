/* Simulated GPUs: what is known about the models. Private to device; data only. */
#ifndef TSW_DEVICE_SIM_MODEL_H
#define TSW_DEVICE_SIM_MODEL_H

#include "pack/arch.h"
#include "pack/dtype.h"

typedef struct {
    const char *name;  /* "h200" */
    const char *title; /* "H200 SXM 141 GB" */
    tsw_arch_t arch;
    uint32_t sm_count;
    uint32_t sm_clock_mhz, mem_clock_mhz; /* under load */
    float power_w;
    uint64_t l2_bytes, memory_bytes;
    double dram_bytes_per_s;
    /* Dense peaks, operations per second; 0: not there. */
    double peak_half, peak_fp8, peak_tf32, peak_f32, peak_i8;
} tsw_sim_model_t;

/* NULL when unknown. */
const tsw_sim_model_t *tsw_sim_model(const char *name);
/* One of that arch, or any: replay needs the facts of a device like the recorded one. */
const tsw_sim_model_t *tsw_sim_model_like(tsw_arch_t arch);
double tsw_sim_peak(const tsw_sim_model_t *model, tsw_dtype_t dtype);

#endif
