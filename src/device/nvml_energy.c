/* The counter of the energy that the board took since the driver was loaded. */
#include "device/nvml_api.h"

static tsw_status_t missing(const char *why, int result, tsw_err_t *err)
{
    return tsw_err_set(err, TSW_ERR_ENV, "the energy counter: %s (NVML %d)", why, result);
}

tsw_status_t tsw_nvml_energy(tsw_nvml_t *nvml, uint64_t *mj_p, tsw_err_t *err)
{
    unsigned long long mj = 0;
    if (nvml->gpu != nvml->instance)
        return missing("it is the whole GPU's, not that of an instance of MIG", NVML_NOT_SUPPORTED,
                       err);
    int result = nvml->api.energy != NULL ? nvml->api.energy(nvml->gpu, &mj) : NVML_NO_FUNCTION;
    if (result != NVML_OK)
        return missing(tsw_nvml_text(result), result, err);
    *mj_p = mj;
    return TSW_OK;
}

tsw_status_t tsw_nvml_energy_find(tsw_nvml_t *nvml, const tsw_gpu_t *gpu, tsw_err_t *err)
{
    uint64_t mj = 0;
    if (nvml == NULL)
        return tsw_err_set(err, TSW_ERR_ENV, "the energy counter: %s", gpu->unreadable);
    return tsw_nvml_energy(nvml, &mj, err);
}

tsw_status_t tsw_nvml_energy_step(tsw_nvml_t *nvml, tsw_energy_window_t *window, uint64_t now_ns,
                                  tsw_energy_step_t *step_p, tsw_err_t *err)
{
    uint64_t mj = 0;
    tsw_err_t why = TSW_ERR_INIT;
    if (tsw_nvml_energy(nvml, &mj, &why) != TSW_OK)
        return tsw_err_set(err, TSW_ERR_DEVICE_UNFIT, "%s", why.text);
    *step_p = tsw_energy_window_add(window, now_ns, mj);
    return TSW_OK;
}
