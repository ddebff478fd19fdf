#include "plan/plan_cost.h"

#include <math.h>

#define LAUNCH_NS       5e3 /* a launch and its events */
#define COLD_NS         3e4 /* the L2 flush before a cold launch */
#define CONFIG_NS       5e6 /* load and verify one config */
#define ENERGY_NS       2e9 /* blocks by energy of one config */
#define ENERGY_CONFIGS  6.0 /* that have them, at most */
#define EFFICIENCY      0.6 /* of the peak, by an average config */
#define COMPILE_NS      2e8 /* NVRTC, once per build */
#define COMPILE_ARCH_NS 6e8 /* tileiras, per arch */

typedef struct {
    tsw_arch_t arch;
    double dram_gbs;
    double half_tflops; /* f16, bf16 on tensor cores, dense */
    double byte_tflops; /* fp8, i8 */
    double tf32_tflops;
    double f32_tflops;
} peaks_t;

/* Dense peaks from the vendor's data sheets: A100 80 GB, A40, L40S, H100, B200, B300, RTX 5090. */
static const peaks_t peak_rows[] = {
    {80, 2039, 312, 624, 156, 19.5},   {86, 696, 150, 299, 75, 37.4},
    {89, 864, 362, 733, 183, 91.6},    {90, 3350, 989, 1979, 495, 67},
    {100, 8000, 2250, 4500, 1100, 75}, {103, 8000, 2250, 4500, 1125, 75},
    {120, 1792, 209, 419, 105, 105},
};

static const peaks_t *peaks_of(tsw_arch_t arch)
{
    static const peaks_t unknown = {0, 500, 100, 200, 50, 20};
    for (size_t i = 0; i < sizeof(peak_rows) / sizeof(peak_rows[0]); i++) {
        if (peak_rows[i].arch == arch)
            return &peak_rows[i];
    }
    return &unknown;
}

static double tflops_of(const peaks_t *peaks, tsw_dtype_t dtype)
{
    switch (dtype) {
    case TSW_DTYPE_F16:
    case TSW_DTYPE_BF16:
        return peaks->half_tflops;
    case TSW_DTYPE_E4M3:
    case TSW_DTYPE_E5M2:
    case TSW_DTYPE_I8:
        return peaks->byte_tflops;
    case TSW_DTYPE_TF32:
        return peaks->tf32_tflops;
    default:
        return peaks->f32_tflops;
    }
}

double tsw_plan_cost_cell_ns(tsw_arch_t arch, tsw_dtype_t dtype, const tsw_policy_t *policy,
                             double flops, double bytes, size_t config_count)
{
    const peaks_t *peaks = peaks_of(arch);
    double compute_ns = flops / (tflops_of(peaks, dtype) * 1e3);
    double memory_ns = bytes / peaks->dram_gbs;
    double launch_ns = fmax(compute_ns, memory_ns) / EFFICIENCY + LAUNCH_NS;
    if (policy->cache == TSW_CACHE_COLD)
        launch_ns += COLD_NS;
    double rounds = (double)policy->rounds + policy->warmup_rounds;
    double energy_ns = policy->objective == TSW_OBJECTIVE_ENERGY
                           ? ENERGY_NS * fmin((double)config_count, ENERGY_CONFIGS)
                           : 0.0;
    return (double)config_count * (rounds * launch_ns + CONFIG_NS) + energy_ns;
}

double tsw_plan_cost_config(const tsw_pack_t *pack, const tsw_config_t *config)
{
    double cost = 1.0;
    for (size_t i = 0; i < pack->knob_count; i++)
        if (pack->knobs[i].is_tile)
            cost *= (double)config->values[i];
    return cost;
}

double tsw_plan_cost_build_ns(const tsw_build_t *build)
{
    double archs = 0.0;
    for (uint32_t mask = build->arch_mask; mask != 0; mask &= mask - 1)
        archs += 1.0;
    return build->kind == TSW_BUILD_CONFIG ? COMPILE_NS + archs * COMPILE_ARCH_NS
                                           : archs * COMPILE_NS;
}

double tsw_plan_cell_alone_ns(const tsw_plan_t *plan, const tsw_cell_t *cell)
{
    double configs = (double)cell->config_count;
    if (cell->skip_reason != NULL || cell->config_count == 0)
        return 0.0;
    double built = cell->is_searched ? fmin(configs, plan->job->search.builds) : configs;
    return built * (COMPILE_NS + COMPILE_ARCH_NS) + cell->cost_ns * built / configs;
}
