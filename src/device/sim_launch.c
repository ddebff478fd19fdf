/* Launches of the sim and replay bodies: how long they take, what the scenario does to them. */
#include "device/sim_body.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAUNCH_NS = 5000,
    QUEUE_DEPTH = 1022,
    REFERENCE_SLOWNESS = 40,
};

double tsw_sim_clock_share(const tsw_sim_t *sim, uint32_t round)
{
    const tsw_sim_rule_t *throttle = tsw_sim_throttle(&sim->scenario, round);
    return throttle != NULL ? throttle->value : 1;
}

uint64_t tsw_sim_launch_ns(const tsw_sim_t *sim, const tsw_kernel_model_t *model,
                           const tsw_geometry_t *geometry, uint32_t round)
{
    if (sim->is_replay)
        return model->recorded_count > 0 ? model->recorded_ns[round % model->recorded_count] : 1;
    tsw_sim_subject_t subject = tsw_sim_subject_of(model);
    double ns = tsw_sim_time_ns(sim->model, model, geometry);
    ns *= tsw_sim_slowness(&sim->scenario, &subject);
    ns /= tsw_sim_clock_share(sim, round);
    if (tsw_sim_is_reference(model))
        ns *= REFERENCE_SLOWNESS;
    else
        ns *= tsw_sim_noise(&sim->place, model->cell_key, model->config_key, round);
    return (uint64_t)llround(ns);
}

static bool is_in_place(const tsw_launch_t *launch)
{
    for (uint32_t i = 1; i < launch->param_count; i++)
        if (launch->params[i] == launch->params[i - 1] && launch->params[i] >= 1ull << 32)
            return true;
    return false;
}

static void note_result(tsw_sim_t *sim, const tsw_launch_t *launch, tsw_fault_t fault)
{
    const tsw_sim_kernel_t *kernel = (const tsw_sim_kernel_t *)launch->kernel;
    if (fault == TSW_FAULT_INPLACE && !is_in_place(launch))
        fault = TSW_FAULT_NONE;
    if (tsw_sim_is_reference(&kernel->model)) {
        sim->reference_is_wrong = fault == TSW_FAULT_WRONG;
        fault = fault == TSW_FAULT_WRONG ? TSW_FAULT_NONE : fault;
    }
    sim->result_fault = fault;
    memcpy(sim->touched, launch->params, sizeof(sim->touched));
    sim->touched_count = launch->param_count;
}

tsw_status_t tsw_sim_execute(tsw_sim_t *sim, const tsw_launch_t *launch, uint32_t round,
                             double timeout_s, uint64_t *interval_ns_p, tsw_err_t *err)
{
    /* Kernels count their launches; the port hands them out as constant. */
    tsw_sim_kernel_t *kernel = (tsw_sim_kernel_t *)(uintptr_t)launch->kernel;
    tsw_sim_subject_t subject = tsw_sim_subject_of(&kernel->model);
    tsw_sim_settle(sim);
    tsw_fault_t fault = tsw_sim_fault_at_launch(&sim->scenario, &subject, ++kernel->launches);
    if (fault == TSW_FAULT_CRASH)
        abort();
    if (fault == TSW_FAULT_LAUNCH)
        return tsw_err_set(err, TSW_ERR_DEVICE, "launch refused as the scenario says");
    if (fault == TSW_FAULT_LOST) {
        sim->lost = true;
        return tsw_err_set(err, TSW_ERR_DEVICE_LOST, "context lost as the scenario says");
    }
    if (!sim->is_replay &&
        tsw_sim_blocks_per_sm(sim->model, &kernel->model, &launch->geometry) == 0)
        return tsw_err_set(err, TSW_ERR_DEVICE,
                           "launch refused: too many threads, registers or too much shared memory");
    uint64_t ns = tsw_sim_launch_ns(sim, &kernel->model, &launch->geometry, round);
    if (fault == TSW_FAULT_HANG || (double)ns > timeout_s * 1e9) {
        sim->lost = true;
        sim->clock_ns += (uint64_t)(timeout_s * 1e9);
        return tsw_err_set(err, TSW_ERR_TIMEOUT, "still running after %g s", timeout_s);
    }
    note_result(sim, launch, fault);
    sim->clock_ns += LAUNCH_NS + ns;
    *interval_ns_p = ns;
    return TSW_OK;
}

tsw_status_t tsw_sim_run(tsw_device_t *dev, const tsw_launch_t *launch, double timeout_s,
                         tsw_err_t *err)
{
    uint64_t ns = 0;
    tsw_status_t status = tsw_sim_usable(tsw_sim_body(dev), err);
    return status == TSW_OK ? tsw_sim_execute(tsw_sim_body(dev), launch, 0, timeout_s, &ns, err)
                            : status;
}

tsw_status_t tsw_sim_queue_depth(tsw_device_t *dev, const tsw_launch_t *launch, uint32_t tried,
                                 uint32_t *depth_p, double *enqueue_ns_p, tsw_err_t *err)
{
    (void)launch;
    tsw_status_t status = tsw_sim_usable(tsw_sim_body(dev), err);
    if (status != TSW_OK)
        return status;
    tsw_sim_body(dev)->clock_ns += (uint64_t)LAUNCH_NS * QUEUE_DEPTH;
    *depth_p = tried > QUEUE_DEPTH ? QUEUE_DEPTH : 0;
    *enqueue_ns_p = LAUNCH_NS;
    return TSW_OK;
}
