#include "device/sim_model.h"

#include "device/device.h"

#include <string.h>

#define GIB (1ull << 30)
#define MIB (1ull << 20)

/* Vendor data sheets, dense; docs/simulation.md names them. */
static const tsw_sim_model_t models[] = {
    {.name = "a100",
     .title = "A100 SXM 80 GB",
     .arch = 80,
     .sm_count = 108,
     .sm_clock_mhz = 1410,
     .mem_clock_mhz = 1593,
     .power_w = 400,
     .l2_bytes = 40 * MIB,
     .memory_bytes = 80 * GIB,
     .dram_bytes_per_s = 2.039e12,
     .peak_half = 312e12,
     .peak_tf32 = 156e12,
     .peak_f32 = 19.5e12,
     .peak_i8 = 624e12},
    {.name = "l40s",
     .title = "L40S",
     .arch = 89,
     .sm_count = 142,
     .sm_clock_mhz = 2520,
     .mem_clock_mhz = 9001,
     .power_w = 350,
     .l2_bytes = 96 * MIB,
     .memory_bytes = 48 * GIB,
     .dram_bytes_per_s = 0.864e12,
     .peak_half = 362e12,
     .peak_fp8 = 733e12,
     .peak_tf32 = 183e12,
     .peak_f32 = 91.6e12,
     .peak_i8 = 733e12},
    {.name = "h100",
     .title = "H100 SXM 80 GB",
     .arch = 90,
     .sm_count = 132,
     .sm_clock_mhz = 1830,
     .mem_clock_mhz = 2619,
     .power_w = 700,
     .l2_bytes = 50 * MIB,
     .memory_bytes = 80 * GIB,
     .dram_bytes_per_s = 3.35e12,
     .peak_half = 989.4e12,
     .peak_fp8 = 1978.9e12,
     .peak_tf32 = 494.7e12,
     .peak_f32 = 67e12,
     .peak_i8 = 1978.9e12},
    {.name = "h200",
     .title = "H200 SXM 141 GB",
     .arch = 90,
     .sm_count = 132,
     .sm_clock_mhz = 1830,
     .mem_clock_mhz = 3201,
     .power_w = 700,
     .l2_bytes = 60 * MIB,
     .memory_bytes = 141 * GIB,
     .dram_bytes_per_s = 4.8e12,
     .peak_half = 989.4e12,
     .peak_fp8 = 1978.9e12,
     .peak_tf32 = 494.7e12,
     .peak_f32 = 67e12,
     .peak_i8 = 1978.9e12},
    {.name = "b200",
     .title = "B200",
     .arch = 100,
     .sm_count = 148,
     .sm_clock_mhz = 1965,
     .mem_clock_mhz = 3996,
     .power_w = 1000,
     .l2_bytes = 126 * MIB,
     .memory_bytes = 180 * GIB,
     .dram_bytes_per_s = 7.67e12,
     .peak_half = 2250e12,
     .peak_fp8 = 4500e12,
     .peak_tf32 = 1100e12,
     .peak_f32 = 75e12,
     .peak_i8 = 4500e12},
    {.name = "rtx5090",
     .title = "RTX 5090",
     .arch = 120,
     .sm_count = 170,
     .sm_clock_mhz = 2407,
     .mem_clock_mhz = 14001,
     .power_w = 575,
     .l2_bytes = 96 * MIB,
     .memory_bytes = 32 * GIB,
     .dram_bytes_per_s = 1.792e12,
     .peak_half = 209.5e12,
     .peak_fp8 = 419e12,
     .peak_tf32 = 104.8e12,
     .peak_f32 = 104.8e12,
     .peak_i8 = 838e12},
};

enum { MODEL_COUNT = sizeof(models) / sizeof(models[0]) };

const tsw_sim_model_t *tsw_sim_model(const char *name)
{
    for (size_t i = 0; i < MODEL_COUNT; i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

const tsw_sim_model_t *tsw_sim_model_like(tsw_arch_t arch)
{
    const tsw_sim_model_t *nearest = &models[0];
    for (size_t i = 0; i < MODEL_COUNT; i++)
        if (models[i].arch <= arch)
            nearest = &models[i];
    return nearest;
}

double tsw_sim_peak(const tsw_sim_model_t *model, tsw_dtype_t dtype)
{
    switch (dtype) {
    case TSW_DTYPE_F16:
    case TSW_DTYPE_BF16:
        return model->peak_half;
    case TSW_DTYPE_E4M3:
    case TSW_DTYPE_E5M2:
        return model->peak_fp8 > 0 ? model->peak_fp8 : model->peak_half;
    case TSW_DTYPE_TF32:
        return model->peak_tf32;
    case TSW_DTYPE_I8:
        return model->peak_i8;
    default:
        return model->peak_f32;
    }
}

bool tsw_sim_arch(const char *model, tsw_arch_t *arch_p)
{
    const tsw_sim_model_t *found = tsw_sim_model(model);
    if (found == NULL)
        return false;
    *arch_p = found->arch;
    return true;
}

void tsw_sim_models(const char *const **names_p, size_t *count_p)
{
    static const char *const names[] = {"a100", "l40s", "h100", "h200", "b200", "rtx5090"};
    _Static_assert(sizeof(names) / sizeof(names[0]) == MODEL_COUNT, "a name per model");
    *names_p = names;
    *count_p = MODEL_COUNT;
}
