/* Energy of the sim body. */
#include "device/sim_body.h"

#include <math.h>

enum {
    READ_NS = 1000000,  /* between readings of the counter */
    STEP_NS = 50000000, /* between its steps */
    ROUNDS = 2048,      /* whose noise a block of launches sees */
};

tsw_status_t tsw_sim_energy_find(tsw_device_t *dev, tsw_err_t *err)
{
    const tsw_sim_t *sim = tsw_sim_body(dev);
    if (sim->is_replay)
        return tsw_err_set(err, TSW_ERR_ENV, "the energy counter: a replay has none");
    return tsw_sim_nvml_has_stand_in() ? tsw_nvml_energy_find(sim->nvml, &sim->gpu, err) : TSW_OK;
}

/* By the stand-in for the driver's library where there is one, else by a counter of its own. */
static tsw_status_t read_energy(tsw_sim_t *sim, double watts, uint64_t start_ns,
                                tsw_energy_window_t *window, tsw_energy_step_t *step_p,
                                tsw_err_t *err)
{
    uint64_t ns = sim->clock_ns - start_ns;
    if (sim->nvml != NULL)
        return tsw_nvml_energy_step(sim->nvml, window, sim->clock_ns, step_p, err);
    double mj = sim->energy_mj + watts * (double)(ns - ns % STEP_NS) * 1e-6;
    *step_p = tsw_energy_window_add(window, sim->clock_ns, (uint64_t)llround(mj));
    return TSW_OK;
}

/* The mean of many launches, like that of a block. */
static double mean_ns(const tsw_sim_t *sim, const tsw_shot_t *shot, uint32_t round)
{
    const tsw_launch_t *launch = &shot->launches[0];
    const tsw_kernel_model_t *model = &((const tsw_sim_kernel_t *)launch->kernel)->model;
    double sum = 0.0;
    for (uint32_t i = 0; i < ROUNDS; i++)
        sum += (double)tsw_sim_launch_ns(sim, model, &launch->geometry, round * ROUNDS + i + 1);
    return sum / ROUNDS;
}

tsw_status_t tsw_sim_energy(tsw_device_t *dev, const tsw_shot_t *shot, uint32_t round,
                            double timeout_s, tsw_energy_t *energy_p, tsw_err_t *err)
{
    tsw_sim_t *sim = tsw_sim_body(dev);
    const tsw_kernel_model_t *model = &((const tsw_sim_kernel_t *)shot->launches[0].kernel)->model;
    tsw_sim_subject_t subject = tsw_sim_subject_of(model);
    double watts = tsw_sim_watts(sim->model, model) * tsw_sim_power(&sim->scenario, &subject);
    tsw_energy_window_t window = {.has_begun = false};
    tsw_energy_step_t step = TSW_ENERGY_RUNNING;
    uint64_t ns = 0;
    tsw_status_t status = tsw_sim_usable(sim, err);
    if (status == TSW_OK)
        status = tsw_sim_execute(sim, &shot->launches[shot->first_set], round, timeout_s, &ns, err);
    uint64_t start_ns = sim->clock_ns;
    while (status == TSW_OK && step == TSW_ENERGY_RUNNING) {
        status = read_energy(sim, watts, start_ns, &window, &step, err);
        sim->clock_ns += READ_NS;
    }
    tsw_sim_keep_pace(sim);
    if (status != TSW_OK)
        return status;
    uint64_t elapsed_ns = sim->clock_ns - start_ns;
    double launch = mean_ns(sim, shot, round), launches = ceil((double)elapsed_ns / launch);
    sim->energy_mj += watts * (double)elapsed_ns * 1e-6;
    *energy_p = tsw_energy_of(&window, (uint64_t)launches, (uint64_t)llround(launches * launch));
    return TSW_OK;
}
