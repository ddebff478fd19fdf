/* How each body is opened. Private to device. */
#ifndef TSW_DEVICE_DEVICE_BODIES_H
#define TSW_DEVICE_DEVICE_BODIES_H

#include "device/device.h"

tsw_status_t tsw_cuda_open(const tsw_device_spec_t *spec, tsw_device_t **dev_p, tsw_err_t *err);
tsw_status_t tsw_cuda_list(tsw_gpu_t **gpus_p, size_t *count_p, char **missing_p, tsw_err_t *err);
tsw_status_t tsw_sim_open(const tsw_device_spec_t *spec, tsw_device_t **dev_p, tsw_err_t *err);
tsw_status_t tsw_replay_open(const tsw_device_spec_t *spec, tsw_device_t **dev_p, tsw_err_t *err);

#endif
