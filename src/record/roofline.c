#include "record/roofline.h"

#include <string.h>

/* Nominal peaks from the vendor's data sheets, without sparsity. The first row whose text is a part
 * of the device's name counts. 0: none, or not known. */
static const struct {
    const char *name;
    double memory_gbps;
    double f16_tflops, f8_tflops, f32_tflops; /* f32: with TF32 tensor cores where there are any */
} peaks[] = {
    {"A100-SXM4-40GB", 1555, 312, 0, 156}, {"A100-PCIE-40GB", 1555, 312, 0, 156},
    {"A100", 2039, 312, 0, 156},           {"H100 PCIe", 2039, 756, 1513, 378},
    {"H100 NVL", 3938, 835, 1671, 418},    {"H100", 3352, 989.4, 1978.9, 494.7},
    {"H200", 4800, 989.4, 1978.9, 494.7},  {"B200", 8000, 2250, 4500, 1125},
    {"L40S", 864, 362, 733, 183},
};

static const double tolerance = 0.98;

enum { DEVICE_COUNT = sizeof(peaks) / sizeof(peaks[0]) };

/* DEVICE_COUNT: unknown. */
static size_t find_device(const tsw_gpu_t *gpu)
{
    size_t device = 0;
    while (device < DEVICE_COUNT && strstr(gpu->name, peaks[device].name) == NULL)
        device++;
    return device;
}

static double peak_tflops(size_t device, const char *dtype)
{
    if (strcmp(dtype, "f16") == 0 || strcmp(dtype, "bf16") == 0)
        return peaks[device].f16_tflops;
    if (strncmp(dtype, "f8", 2) == 0 || strncmp(dtype, "i8", 2) == 0)
        return peaks[device].f8_tflops;
    if (strcmp(dtype, "f32") == 0 || strcmp(dtype, "tf32") == 0)
        return peaks[device].f32_tflops;
    return 0.0;
}

double tsw_roofline_floor_ns(const tsw_gpu_t *gpu, const char *dtype, bool is_cold, double flops,
                             double bytes)
{
    const size_t device = find_device(gpu);
    if (device == DEVICE_COUNT)
        return 0.0;
    double tflops = peak_tflops(device, dtype);
    double compute_ns = tflops > 0.0 ? flops / (tflops * 1e3) : 0.0;
    bool reads_memory = is_cold && bytes > (double)gpu->l2_bytes;
    double memory_ns = reads_memory ? bytes / peaks[device].memory_gbps : 0.0;
    return tolerance * (compute_ns > memory_ns ? compute_ns : memory_ns);
}

double tsw_roofline_memory_bytes_per_s(const tsw_gpu_t *gpu)
{
    const size_t device = find_device(gpu);
    return device < DEVICE_COUNT ? peaks[device].memory_gbps * 1e9 : 0.0;
}

double tsw_roofline_cell_floor_ns(const tsw_cell_result_t *cell)
{
    static const char key[] = "dtype=";
    char dtype[16] = "";
    const char *at = strstr(cell->variant, key);
    if (at != NULL) {
        at += strlen(key);
        size_t size = strcspn(at, " ");
        if (size < sizeof(dtype))
            memcpy(dtype, at, size);
    }
    return tsw_roofline_floor_ns(&cell->gpu, dtype, cell->cache_mode != TSW_CACHE_STATE_HOT,
                                 cell->flops, cell->bytes);
}
