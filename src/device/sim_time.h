/* How long a kernel takes on a simulated GPU: a roofline with occupancy, wave quantisation, traffic
 * of small tiles, spills; and the noise of real machines. Pure. Private to device. */
#ifndef TSW_DEVICE_SIM_TIME_H
#define TSW_DEVICE_SIM_TIME_H

#include "base/hash.h"
#include "device/device.h"
#include "device/sim_model.h"
#include "space/space.h"

/* Blocks that fit on one multiprocessor at a time; 0: the launch is refused. */
uint32_t tsw_sim_blocks_per_sm(const tsw_sim_model_t *sim, const tsw_kernel_model_t *model,
                               const tsw_geometry_t *geometry);

/* Without noise, in ns; blocks per SM must not be 0. */
double tsw_sim_time_ns(const tsw_sim_model_t *sim, const tsw_kernel_model_t *model,
                       const tsw_geometry_t *geometry);

/* What the board takes while such kernels run: 80 to 100 % of the model's power, as each config
 * likes it. */
double tsw_sim_watts(const tsw_sim_model_t *sim, const tsw_kernel_model_t *model);

/* Whose noise. */
typedef struct {
    uint64_t seed;
    uint32_t gpu;
    uint64_t node; /* a number from its name */
} tsw_sim_place_t;

/* Factor on the time of one sample: node and GPU effects, slow drift shared by all configs of a
 * round, spread of single samples, 1 % outliers of about 2, and a slow round 0. A function of the
 * arguments alone. */
double tsw_sim_noise(const tsw_sim_place_t *place, tsw_key_t cell, tsw_key_t config,
                     uint32_t round);

#endif
