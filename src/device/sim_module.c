/* Kernels of the sim and replay bodies: the models that stand for them. */
#include "device/sim_body.h"

#include "base/mem.h"

enum { LOAD_NS = 600000 }; /* a module */

bool tsw_sim_is_reference(const tsw_kernel_model_t *model)
{
    return model->config_text == NULL;
}

tsw_sim_subject_t tsw_sim_subject_of(const tsw_kernel_model_t *model)
{
    return (tsw_sim_subject_t){.text = model->config_text, .key = model->config_key};
}

tsw_status_t tsw_sim_load_tool(tsw_device_t *dev, const void *cubin, size_t size, tsw_err_t *err)
{
    (void)cubin;
    (void)size;
    tsw_sim_body(dev)->clock_ns += LOAD_NS;
    return tsw_sim_usable(tsw_sim_body(dev), err);
}

tsw_status_t tsw_sim_kernel_load(tsw_device_t *dev, const void *cubin, size_t size,
                                 const char *entry, const tsw_kernel_model_t *model,
                                 tsw_kernel_t **kernel_p, tsw_err_t *err)
{
    tsw_sim_t *sim = tsw_sim_body(dev);
    (void)cubin;
    (void)size;
    tsw_status_t status = tsw_sim_usable(sim, err);
    if (status != TSW_OK)
        return status;
    if (sim->is_replay && !tsw_sim_is_reference(model) && model->recorded_count == 0)
        return tsw_err_set(err, TSW_ERR_DEVICE, "entry %s: no samples of this config are recorded",
                           entry);
    tsw_sim_subject_t subject = tsw_sim_subject_of(model);
    sim->clock_ns += LOAD_NS;
    switch (tsw_sim_fault_at_load(&sim->scenario, &subject)) {
    case TSW_FAULT_LOAD:
        return tsw_err_set(err, TSW_ERR_DEVICE, "entry %s: loading failed as the scenario says",
                           entry);
    case TSW_FAULT_OOM:
        return tsw_err_set(err, TSW_ERR_DEVICE_MEMORY,
                           "entry %s: out of device memory as the scenario says", entry);
    default:
        break;
    }
    tsw_sim_kernel_t *kernel = tsw_calloc(1, sizeof(*kernel));
    if (kernel == NULL)
        return tsw_err_nomem(err);
    kernel->model = *model;
    *kernel_p = (tsw_kernel_t *)kernel;
    return TSW_OK;
}

void tsw_sim_kernel_unload(tsw_device_t *dev, tsw_kernel_t *kernel)
{
    (void)dev;
    tsw_free(kernel);
}
