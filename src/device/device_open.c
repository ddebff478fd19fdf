#include "device/device.h"
#include "device/device_bodies.h"

#include <string.h>

tsw_status_t tsw_device_open(const tsw_device_spec_t *spec, tsw_device_t **dev_p, tsw_err_t *err)
{
    if (strcmp(spec->kind, "cuda") == 0)
        return tsw_cuda_open(spec, dev_p, err);
    if (strcmp(spec->kind, "sim") == 0)
        return tsw_sim_open(spec, dev_p, err);
    if (strcmp(spec->kind, "replay") == 0)
        return tsw_replay_open(spec, dev_p, err);
    return tsw_err_set(err, TSW_ERR_ARG, "unknown kind of device \"%s\"; known: cuda sim replay",
                       spec->kind);
}

void tsw_device_close(tsw_device_t *dev)
{
    if (dev != NULL)
        dev->ops->close(dev);
}

tsw_status_t tsw_device_list(tsw_gpu_t **gpus_p, size_t *count_p, char **missing_p, tsw_err_t *err)
{
    return tsw_cuda_list(gpus_p, count_p, missing_p, err);
}
