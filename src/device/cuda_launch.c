/* Kernels: the tool's own, and those that are measured. */
#include "device/cuda_body.h"

#include <string.h>

static const unsigned plain_shared_bytes = 48 * 1024; /* more must be asked for */

static tsw_cuda_t *body(tsw_device_t *dev)
{
    return (tsw_cuda_t *)dev;
}

tsw_status_t tsw_cuda_tool(tsw_cuda_t *cuda, tsw_tool_kernel_t kernel, uint64_t work, void **params,
                           tsw_err_t *err)
{
    /* The others work by whole warps. */
    bool is_single = kernel == TSW_TOOL_GATE || kernel == TSW_TOOL_CHASE;
    const unsigned block = is_single ? 1 : 256;
    TSW_ASSERT(cuda->tool != NULL);
    uint64_t grid = (work + block - 1) / block;
    uint64_t cap = (uint64_t)cuda->gpu.sm_count * 16;
    grid = grid > cap ? cap : grid;
    return tsw_cuda_call(cuda,
                         cuda->api.launch(cuda->tool_kernels[kernel], grid > 0 ? (unsigned)grid : 1,
                                          1, 1, block, 1, 1, 0, cuda->stream, params, NULL),
                         "cuLaunchKernel", err);
}

static const size_t result_bytes = TOOL_RESULT_COUNT * sizeof(uint64_t);

tsw_status_t tsw_cuda_results_clear(tsw_cuda_t *cuda, size_t count, tsw_err_t *err)
{
    return tsw_cuda_call(
        cuda, cuda->api.copy_async(cuda->results, cuda->blank, count * result_bytes, cuda->stream),
        "cuMemcpyDtoDAsync", err);
}

tsw_status_t tsw_cuda_results_read(tsw_cuda_t *cuda, size_t count, tsw_err_t *err)
{
    void *to = (void *)(uintptr_t)cuda->shared->results;
    tsw_status_t status = tsw_cuda_call(
        cuda, cuda->api.copy_out_async(to, cuda->results, count * result_bytes, cuda->stream),
        "cuMemcpyDtoHAsync", err);
    return status == TSW_OK ? tsw_cuda_finish(cuda, "a kernel of the tool", 60.0, err) : status;
}

tsw_status_t tsw_cuda_tool_result(tsw_cuda_t *cuda, tsw_tool_kernel_t kernel, uint64_t work,
                                  void **params, uint64_t results[TOOL_RESULT_COUNT],
                                  tsw_err_t *err)
{
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status == TSW_OK)
        status = tsw_cuda_results_clear(cuda, 1, err);
    if (status == TSW_OK)
        status = tsw_cuda_tool(cuda, kernel, work, params, err);
    if (status == TSW_OK)
        status = tsw_cuda_results_read(cuda, 1, err);
    for (size_t i = 0; i < TOOL_RESULT_COUNT && status == TSW_OK; i++)
        results[i] = cuda->shared->results[0][i];
    return status;
}

cu_function_t tsw_cuda_function(const tsw_launch_t *launch)
{
    return ((const tsw_cuda_kernel_t *)launch->kernel)->function;
}

tsw_status_t tsw_cuda_allow_shared(tsw_cuda_t *cuda, const tsw_launch_t *launch, tsw_err_t *err)
{
    uint32_t bytes = launch->geometry.shared_bytes;
    if (bytes <= plain_shared_bytes)
        return TSW_OK;
    tsw_status_t status = tsw_cuda_call(
        cuda,
        cuda->api.function_set_attribute(tsw_cuda_function(launch), CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                         bytes > INT32_MAX ? INT32_MAX : (int)bytes),
        "cuFuncSetAttribute", err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "%u bytes of dynamic shared memory, this GPU allows %d per block", bytes,
                     cuda->shared_optin_bytes);
    return status;
}

void tsw_cuda_params(const tsw_launch_t *launch, tsw_cuda_params_t *params)
{
    TSW_ASSERT(launch->param_count <= TSW_PARAM_MAX);
    memcpy(params->values, launch->params, sizeof(params->values));
    for (uint32_t i = 0; i < launch->param_count; i++)
        params->pointers[i] = &params->values[i];
}

tsw_status_t tsw_cuda_launch(tsw_cuda_t *cuda, const tsw_launch_t *launch, tsw_err_t *err)
{
    const tsw_geometry_t *at = &launch->geometry;
    tsw_cuda_params_t params;
    tsw_cuda_params(launch, &params);
    tsw_status_t status = tsw_cuda_allow_shared(cuda, launch, err);
    if (status != TSW_OK)
        return status;
    status = tsw_cuda_call(cuda,
                           cuda->api.launch(tsw_cuda_function(launch), at->grid[0], at->grid[1],
                                            at->grid[2], at->block[0], at->block[1], at->block[2],
                                            at->shared_bytes, cuda->stream, params.pointers, NULL),
                           "cuLaunchKernel", err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "grid %ux%ux%u block %ux%ux%u shared %u", at->grid[0], at->grid[1],
                     at->grid[2], at->block[0], at->block[1], at->block[2], at->shared_bytes);
    return status;
}

tsw_status_t tsw_cuda_run(tsw_device_t *dev, const tsw_launch_t *launch, double timeout_s,
                          tsw_err_t *err)
{
    tsw_cuda_t *cuda = body(dev);
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status == TSW_OK)
        status = tsw_cuda_launch(cuda, launch, err);
    return status == TSW_OK ? tsw_cuda_finish(cuda, "kernel", timeout_s, err) : status;
}
