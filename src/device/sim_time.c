#include "device/sim_time.h"

#include "base/rng.h"

#include <math.h>

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static uint32_t threads_of(const tsw_kernel_model_t *model, const tsw_geometry_t *geometry)
{
    uint32_t block = geometry->block[0] * geometry->block[1] * geometry->block[2];
    if (model->facts.threads > 0)
        return model->facts.threads;
    return block > 1 ? block : 128; /* a Tile kernel is launched with blocks of 1 */
}

static double grid_of(const tsw_geometry_t *geometry)
{
    return (double)geometry->grid[0] * geometry->grid[1] * geometry->grid[2];
}

uint32_t tsw_sim_blocks_per_sm(const tsw_sim_model_t *sim, const tsw_kernel_model_t *model,
                               const tsw_geometry_t *geometry)
{
    const tsw_arch_traits_t *traits = tsw_arch_traits(sim->arch);
    uint32_t threads = threads_of(model, geometry);
    uint64_t shared = (uint64_t)model->facts.shared_bytes + geometry->shared_bytes;
    if (traits == NULL || threads > 1024 || shared > traits->smem_per_block_bytes)
        return 0;
    uint32_t warps = (threads + 31) / 32;
    uint32_t warp_registers = (model->facts.registers * 32 + 255) / 256 * 256;
    uint64_t blocks = traits->threads_per_sm / (warps * 32);
    uint64_t by_registers =
        warp_registers > 0 ? traits->regs_per_sm / ((uint64_t)warp_registers * warps) : blocks;
    uint64_t by_shared = traits->smem_per_sm_bytes / (shared + 1024);
    blocks = blocks < by_registers ? blocks : by_registers;
    blocks = blocks < by_shared ? blocks : by_shared;
    return (uint32_t)(blocks < traits->blocks_per_sm ? blocks : traits->blocks_per_sm);
}

/* Whether data is reused enough for the tensor cores to be the limit. */
static bool is_dense(const tsw_kernel_model_t *model)
{
    return model->bytes > 0 && model->flops / model->bytes > 16.0;
}

/* Share of the machine's slots that the grid keeps busy until the last wave ends. */
static double wave_efficiency(double grid, double slots)
{
    double waves = ceil(grid / slots);
    return waves > 0 ? grid / (slots * waves) : 1.0;
}

/* A fixed liking of each config for each model, within 2 %: facts alone leave ties. */
static double character(const tsw_sim_model_t *sim, tsw_key_t config)
{
    uint64_t bits = tsw_rng_u64(0x51u, tsw_rng_fold(config), sim->arch, sim->sm_count, 0);
    return 1.0 + 0.04 * (tsw_rng_uniform(bits) - 0.5);
}

double tsw_sim_time_ns(const tsw_sim_model_t *sim, const tsw_kernel_model_t *model,
                       const tsw_geometry_t *geometry)
{
    double grid = most(grid_of(geometry), 1.0);
    double blocks = tsw_sim_blocks_per_sm(sim, model, geometry);
    double threads = blocks * threads_of(model, geometry);
    double slots = blocks * sim->sm_count;
    bool dense = is_dense(model);
    double cluster = model->facts.cluster > 1 ? 1.0 : 0.0;

    double hiding = least(1.0, 0.62 + 0.38 * threads / 384.0);
    double compute = model->flops / (0.78 * hiding * tsw_sim_peak(sim, model->dtype));
    double in_flight = least(1.0, 0.45 + 0.55 * threads / 1024.0);
    double memory = model->bytes / (0.9 * in_flight * sim->dram_bytes_per_s);
    /* Tiles read their rows and columns again and again: the smaller, the more often. */
    double traffic = dense ? 0.67 * model->bytes * sqrt(grid) * (1.0 - 0.15 * cluster) : 0.0;
    double l2 = traffic / (3.2 * sim->dram_bytes_per_s);

    double limit = most(compute, most(memory, l2));
    double rest = compute + memory + l2 - limit;
    double efficiency = wave_efficiency(grid, slots);
    if (!dense) /* bandwidth is shared: an idle multiprocessor leaves it to the others */
        efficiency = sqrt(most(efficiency, 0.25));
    double spill = 1.0 + model->facts.spill_bytes / 140.0;
    double seconds = (limit + 0.08 * rest) * spill / efficiency;
    seconds *= dense ? 1.0 : 1.0 + 0.02 * cluster;
    return (seconds * 1e9 + 2200.0) * character(sim, model->config_key);
}

double tsw_sim_watts(const tsw_sim_model_t *sim, const tsw_kernel_model_t *model)
{
    uint64_t bits = tsw_rng_u64(0x57u, tsw_rng_fold(model->config_key), sim->arch, 0, 0);
    return (double)sim->power_w * (0.8 + 0.2 * tsw_rng_uniform(bits));
}

/* Between two knots that are 16 rounds apart. */
static double drift(const tsw_sim_place_t *place, tsw_key_t cell, uint32_t round)
{
    const uint32_t period = 16;
    uint64_t fold = tsw_rng_fold(cell);
    double from = tsw_rng_normal(tsw_rng_u64(place->seed, place->gpu, fold, round / period, 1));
    double to = tsw_rng_normal(tsw_rng_u64(place->seed, place->gpu, fold, round / period + 1, 1));
    double at = (double)(round % period) / period;
    return 0.008 * (from + at * (to - from));
}

double tsw_sim_noise(const tsw_sim_place_t *place, tsw_key_t cell, tsw_key_t config, uint32_t round)
{
    uint64_t fold = tsw_rng_fold(cell) ^ (tsw_rng_fold(config) << 1);
    double node = 0.006 * tsw_rng_normal(tsw_rng_u64(place->seed, place->node, 0, 0, 2));
    double gpu = 0.008 * tsw_rng_normal(tsw_rng_u64(place->seed, place->node, place->gpu, 0, 3));
    double sample = 0.007 * tsw_rng_normal(tsw_rng_u64(place->seed, place->gpu, fold, round, 4));
    uint64_t bits = tsw_rng_u64(place->seed, place->gpu, fold, round, 5);
    double factor = exp(node + gpu + drift(place, cell, round) + sample);
    if (tsw_rng_uniform(bits) < 0.01)
        factor *= 1.8 + 0.4 * tsw_rng_uniform(tsw_rng_u64(bits, 0, 0, 0, 6));
    return round == 0 ? factor * 1.25 : factor;
}
