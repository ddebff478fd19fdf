#include "device/cuda_body.h"

#include "base/clock.h"
#include "base/mem.h"
#include "device/device_bodies.h"
#include "device/tool_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tsw_cuda_t *body(tsw_device_t *dev)
{
    return (tsw_cuda_t *)dev;
}

static void format_uuid(const cu_uuid_t *uuid, char out[TSW_UUID_SIZE])
{
    size_t at = (size_t)snprintf(out, TSW_UUID_SIZE, "GPU-");
    for (size_t i = 0; i < sizeof(uuid->bytes); i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        at += (size_t)snprintf(out + at, TSW_UUID_SIZE - at, "%s%02x", dash ? "-" : "",
                               uuid->bytes[i]);
    }
}

static int attribute(const tsw_cuda_api_t *api, cu_device_t device, int which)
{
    int value = 0;
    return api->device_get_attribute(&value, which, device) == CU_OK ? value : 0;
}

/* Facts of one GPU: the one at that place among the visible ones, around and around. */
static tsw_status_t facts_of(const tsw_cuda_api_t *api, int place, tsw_gpu_t *gpu_p,
                             cu_device_t *device_p, tsw_err_t *err)
{
    int count = 0, version = 0;
    size_t bytes = 0;
    cu_device_t device = 0;
    cu_uuid_t uuid = {.bytes = {0}};
    tsw_gpu_t gpu = {.mode = "cuda"};
    tsw_status_t status =
        tsw_cuda_check(api, api->device_get_count(&count), "cuDeviceGetCount", err);
    if (status == TSW_OK && count <= 0)
        return tsw_err_set(err, TSW_ERR_ENV, "the driver shows no GPU");
    if (status == TSW_OK)
        status = tsw_cuda_check(api, api->device_get(&device, place % count), "cuDeviceGet", err);
    if (status == TSW_OK)
        status = tsw_cuda_check(api, api->device_get_name(gpu.name, sizeof(gpu.name), device),
                                "cuDeviceGetName", err);
    if (status == TSW_OK)
        status = tsw_cuda_check(api, api->device_get_uuid(&uuid, device), "cuDeviceGetUuid", err);
    if (status == TSW_OK)
        status =
            tsw_cuda_check(api, api->device_total_mem(&bytes, device), "cuDeviceTotalMem", err);
    if (status == TSW_OK)
        status = tsw_cuda_check(api, api->driver_get_version(&version), "cuDriverGetVersion", err);
    if (status != TSW_OK)
        return status;
    format_uuid(&uuid, gpu.uuid);
    gpu.arch = (uint32_t)(attribute(api, device, CU_ATTRIBUTE_ARCH_MAJOR) * 10 +
                          attribute(api, device, CU_ATTRIBUTE_ARCH_MINOR));
    gpu.sm_count = (uint32_t)attribute(api, device, CU_ATTRIBUTE_SM_COUNT);
    gpu.l2_bytes = (uint64_t)attribute(api, device, CU_ATTRIBUTE_L2_BYTES);
    gpu.memory_bytes = bytes;
    gpu.driver_version = (uint32_t)version;
    *gpu_p = gpu;
    *device_p = device;
    return TSW_OK;
}

static tsw_status_t open_context(tsw_cuda_t *cuda, tsw_err_t *err)
{
    tsw_cuda_api_t *api = &cuda->api;
    tsw_status_t status =
        tsw_cuda_check(api, api->primary_context_retain(&cuda->context, cuda->device),
                       "cuDevicePrimaryCtxRetain", err);
    if (status == TSW_OK)
        status =
            tsw_cuda_check(api, api->context_set_current(cuda->context), "cuCtxSetCurrent", err);
    if (status == TSW_OK)
        status = tsw_cuda_check(api, api->stream_create(&cuda->stream, CU_STREAM_NON_BLOCKING_FLAG),
                                "cuStreamCreate", err);
    return status;
}

static tsw_status_t make_event(tsw_cuda_t *cuda, cu_event_t *event_p, tsw_err_t *err)
{
    return tsw_cuda_check(&cuda->api, cuda->api.event_create(event_p, 0), "cuEventCreate", err);
}

static tsw_status_t open_events(tsw_cuda_t *cuda, tsw_err_t *err)
{
    tsw_status_t status = make_event(cuda, &cuda->done, err);
    for (size_t i = 0; i < TSW_CUDA_EVENTS && status == TSW_OK; i++) {
        status = make_event(cuda, &cuda->starts[i], err);
        if (status == TSW_OK)
            status = make_event(cuda, &cuda->ends[i], err);
    }
    return status;
}

/* Result buffers as they are before a kernel: zeros, and all ones where a smallest is sought. */
static tsw_status_t open_results(tsw_cuda_t *cuda, tsw_err_t *err)
{
    tsw_cuda_api_t *api = &cuda->api;
    const size_t bytes = sizeof(cuda->shared->results);
    for (size_t i = 0; i < TSW_CUDA_RESULTS; i++)
        cuda->shared->results[i][TOOL_RESULT_FIRST] = UINT64_MAX;
    tsw_status_t status =
        tsw_cuda_check(api, api->memory_alloc(&cuda->results, bytes), "cuMemAlloc", err);
    if (status == TSW_OK)
        status = tsw_cuda_check(api, api->memory_alloc(&cuda->blank, bytes), "cuMemAlloc", err);
    if (status == TSW_OK)
        status =
            tsw_cuda_check(api,
                           api->copy_in_async(cuda->blank, (void *)(uintptr_t)cuda->shared->results,
                                              bytes, cuda->stream),
                           "cuMemcpyHtoDAsync", err);
    return status == TSW_OK ? tsw_cuda_finish(cuda, "open", 60.0, err) : status;
}

static tsw_status_t open_buffers(tsw_cuda_t *cuda, tsw_err_t *err)
{
    tsw_cuda_api_t *api = &cuda->api;
    void *shared = NULL;
    tsw_status_t status = tsw_cuda_check(
        api, api->host_alloc(&shared, sizeof(*cuda->shared), CU_HOST_ALLOC_DEVICE_MAP),
        "cuMemHostAlloc", err);
    if (status != TSW_OK)
        return status;
    memset(shared, 0, sizeof(*cuda->shared));
    cuda->shared = shared;
    status = tsw_cuda_check(api, api->host_get_address(&cuda->shared_address, shared, 0),
                            "cuMemHostGetDevicePointer", err);
    if (status == TSW_OK)
        cuda->has_memory_ops =
            api->stream_write_32(cuda->stream, cuda->shared_address, 0, 0) == CU_OK;
    if (status == TSW_OK)
        status = open_results(cuda, err);
    cuda->flush_bytes = 2 * (size_t)(cuda->gpu.l2_bytes > 0 ? cuda->gpu.l2_bytes : 64u << 20);
    if (status == TSW_OK)
        status = tsw_cuda_check(api, api->memory_alloc(&cuda->flush, cuda->flush_bytes),
                                "cuMemAlloc", err);
    return status;
}

static void destroy_event(tsw_cuda_t *cuda, cu_event_t event)
{
    if (event != NULL)
        tsw_cuda_warn(&cuda->api, cuda->api.event_destroy(event), "cuEventDestroy");
}

static void release(tsw_cuda_t *cuda)
{
    tsw_cuda_api_t *api = &cuda->api;
    destroy_event(cuda, cuda->done);
    for (size_t i = 0; i < TSW_CUDA_EVENTS; i++) {
        destroy_event(cuda, cuda->starts[i]);
        destroy_event(cuda, cuda->ends[i]);
    }
    if (cuda->tool != NULL)
        tsw_cuda_warn(api, api->module_unload(cuda->tool), "cuModuleUnload");
    tsw_cuda_modules_trim(cuda, 0);
    (void)tsw_cuda_memory_trim(cuda);
    if (cuda->flush != 0)
        tsw_cuda_warn(api, api->memory_free(cuda->flush), "cuMemFree");
    if (cuda->blank != 0)
        tsw_cuda_warn(api, api->memory_free(cuda->blank), "cuMemFree");
    if (cuda->results != 0)
        tsw_cuda_warn(api, api->memory_free(cuda->results), "cuMemFree");
    if (cuda->shared != NULL)
        tsw_cuda_warn(api, api->host_free((void *)(uintptr_t)cuda->shared), "cuMemFreeHost");
    if (cuda->stream != NULL)
        tsw_cuda_warn(api, api->stream_destroy(cuda->stream), "cuStreamDestroy");
    if (cuda->context != NULL)
        tsw_cuda_warn(api, api->primary_context_release(cuda->device), "cuDevicePrimaryCtxRelease");
    tsw_cuda_api_close(api);
}

static void cuda_close(tsw_device_t *dev)
{
    tsw_cuda_t *cuda = body(dev);
    tsw_nvml_sampler_stop(cuda->sampler);
    tsw_nvml_close(cuda->nvml);
    tsw_cupti_close(cuda->cupti);
    if (!cuda->lost)
        release(cuda);
    for (size_t i = 0; i < cuda->kernel_count; i++)
        tsw_free(cuda->kernels[i]);
    tsw_free(cuda->kernels);
    tsw_free(cuda);
}

static const tsw_gpu_t *cuda_gpu(const tsw_device_t *dev)
{
    return &((const tsw_cuda_t *)dev)->gpu;
}

static tsw_status_t load_tool(tsw_device_t *dev, const void *cubin, size_t size, tsw_err_t *err)
{
    static const char *const names[TSW_TOOL_KERNEL_COUNT] = {
        [TSW_TOOL_FILL] = "tsw_tool_fill",       [TSW_TOOL_FENCE] = "tsw_tool_fence",
        [TSW_TOOL_COMPARE] = "tsw_tool_compare", [TSW_TOOL_CHECKSUM] = "tsw_tool_checksum",
        [TSW_TOOL_CANARY] = "tsw_tool_canary",   [TSW_TOOL_GATE] = "tsw_tool_gate",
        [TSW_TOOL_CHASE] = "tsw_tool_chase",     [TSW_TOOL_GAPS] = "tsw_tool_gaps",
    };
    tsw_cuda_t *cuda = body(dev);
    tsw_cuda_api_t *api = &cuda->api;
    TSW_ASSERT(cuda->tool == NULL);
    (void)size; /* a cubin knows its own size */
    tsw_status_t status =
        tsw_cuda_check(api, api->module_load_data(&cuda->tool, cubin), "cuModuleLoadData", err);
    for (size_t i = 0; i < TSW_TOOL_KERNEL_COUNT && status == TSW_OK; i++)
        status = tsw_cuda_check(
            api, api->module_get_function(&cuda->tool_kernels[i], cuda->tool, names[i]),
            "cuModuleGetFunction", err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "the tool's own kernels");
    return status;
}

static tsw_status_t canary(tsw_device_t *dev, tsw_err_t *err)
{
    tsw_cuda_t *cuda = body(dev);
    uint64_t seed = TSW_CANARY_SEED, results[TOOL_RESULT_COUNT];
    void *params[] = {&seed, &cuda->results};
    tsw_status_t status =
        tsw_cuda_tool_result(cuda, TSW_TOOL_CANARY, TSW_CANARY_THREADS, params, results, err);
    if (status != TSW_OK) {
        tsw_err_wrap(err, "canary");
        return status;
    }
    uint64_t want = tsw_tool_host_canary(seed);
    if (results[0] != want)
        return tsw_err_set(err, TSW_ERR_DEVICE, "canary: the device computed %llx instead of %llx",
                           (unsigned long long)results[0], (unsigned long long)want);
    return TSW_OK;
}

static tsw_status_t trace_find(tsw_device_t *dev, tsw_err_t *err)
{
    return body(dev)->cupti != NULL ? TSW_OK : tsw_cupti_open(&body(dev)->cupti, err);
}

static tsw_status_t trace_begin(tsw_device_t *dev, tsw_err_t *err)
{
    tsw_status_t status = trace_find(dev, err);
    return status == TSW_OK ? tsw_cupti_begin(body(dev)->cupti, err) : status;
}

static tsw_status_t trace_end(tsw_device_t *dev, tsw_span_t **spans_p, size_t *count_p,
                              tsw_err_t *err)
{
    const size_t led_by = body(dev)->led_by;
    tsw_span_t *spans = NULL;
    size_t count = 0;
    tsw_status_t status = tsw_cupti_end(body(dev)->cupti, &spans, &count, err);
    if (status == TSW_OK && count < led_by)
        status = tsw_err_set(err, TSW_ERR_DEVICE, "CUPTI saw %zu kernels, not even the first %zu",
                             count, led_by);
    if (status != TSW_OK) {
        tsw_free(spans);
        return status;
    }
    count -= led_by;
    if (count > 0)
        memmove(spans, spans + led_by, count * sizeof(*spans));
    *spans_p = spans;
    *count_p = count;
    return TSW_OK;
}

static uint64_t now_ns(const tsw_device_t *dev)
{
    (void)dev;
    return tsw_clock_now_ns();
}

static tsw_status_t profiler(tsw_device_t *dev, bool on, tsw_err_t *err)
{
    tsw_cuda_api_t *api = &body(dev)->api;
    return on ? tsw_cuda_check(api, api->profiler_start(), "cuProfilerStart", err)
              : tsw_cuda_check(api, api->profiler_stop(), "cuProfilerStop", err);
}

static const tsw_device_ops_t cuda_ops = {
    .name = "cuda",
    .close = cuda_close,
    .gpu = cuda_gpu,
    .load_tool = load_tool,
    .canary = canary,
    .memory_new = tsw_cuda_memory_new,
    .memory_free = tsw_cuda_memory_free,
    .memory_ahead = tsw_cuda_memory_ahead,
    .fill = tsw_cuda_fill,
    .poison = tsw_cuda_poison,
    .copy = tsw_cuda_copy,
    .check_fences = tsw_cuda_check_fences,
    .check_gaps = tsw_cuda_check_gaps,
    .compare = tsw_cuda_compare,
    .checksum = tsw_cuda_checksum,
    .inspect = tsw_cuda_inspect,
    .kernel_load = tsw_cuda_kernel_load,
    .kernel_unload = tsw_cuda_kernel_unload,
    .run = tsw_cuda_run,
    .graph_new = tsw_cuda_graph_new,
    .graph_free = tsw_cuda_graph_free,
    .wave = tsw_cuda_wave,
    .queue_depth = tsw_cuda_queue_depth,
    .prove_flush = tsw_cuda_prove_flush,
    .telemetry = tsw_cuda_telemetry,
    .health = tsw_cuda_health,
    .trace_find = trace_find,
    .trace_begin = trace_begin,
    .trace_end = trace_end,
    .energy_find = tsw_cuda_energy_find,
    .energy = tsw_cuda_energy,
    .now_ns = now_ns,
    .profiler = profiler,
};

tsw_status_t tsw_cuda_open(const tsw_device_spec_t *spec, tsw_device_t **dev_p, tsw_err_t *err)
{
    tsw_cuda_t *cuda = tsw_calloc(1, sizeof(*cuda));
    if (cuda == NULL)
        return tsw_err_nomem(err);
    cuda->base.ops = &cuda_ops;
    /* A module that is loaded at its first launch would wait for a queue that waits for us. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    tsw_status_t status = tsw_cuda_api_open(&cuda->api, err);
    if (status == TSW_OK)
        status = facts_of(&cuda->api, spec->place, &cuda->gpu, &cuda->device, err);
    if (status == TSW_OK) {
        cuda->shared_optin_bytes =
            attribute(&cuda->api, cuda->device, CU_ATTRIBUTE_SHARED_OPTIN_BYTES);
        cuda->nvml = tsw_nvml_attach(&cuda->gpu);
        status = open_context(cuda, err);
    }
    if (status == TSW_OK)
        status = open_events(cuda, err);
    if (status == TSW_OK)
        status = open_buffers(cuda, err);
    if (status == TSW_OK && cuda->nvml != NULL)
        status = tsw_nvml_sampler_start(cuda->nvml, &cuda->sampler, err);
    if (status != TSW_OK)
        cuda_close(&cuda->base);
    else
        *dev_p = &cuda->base;
    return status;
}

tsw_status_t tsw_cuda_list(tsw_gpu_t **gpus_p, size_t *count_p, char **missing_p, tsw_err_t *err)
{
    tsw_cuda_api_t api = {.library = NULL};
    tsw_gpu_t *gpus = NULL;
    int count = 0;
    tsw_err_t why = TSW_ERR_INIT;
    tsw_status_t status = tsw_cuda_api_open(&api, &why);
    if (status == TSW_OK)
        status = tsw_cuda_check(&api, api.device_get_count(&count), "cuDeviceGetCount", &why);
    if (status == TSW_OK && count > 0)
        gpus = tsw_calloc((size_t)count, sizeof(*gpus));
    if (status == TSW_OK && count > 0 && gpus == NULL) {
        status = tsw_err_nomem(err);
        goto out;
    }
    for (int i = 0; i < count && status == TSW_OK; i++) {
        cu_device_t device;
        status = facts_of(&api, i, &gpus[i], &device, &why);
        if (status != TSW_OK)
            break;
        tsw_nvml_close(tsw_nvml_attach(&gpus[i]));
    }
    char *missing = NULL;
    if (status != TSW_OK || count == 0) {
        missing = tsw_strdup(status != TSW_OK ? why.text : "the driver shows no GPU");
        if (missing == NULL) {
            status = tsw_err_nomem(err);
            goto out;
        }
        count = 0;
    }
    status = TSW_OK;
    *gpus_p = count > 0 ? gpus : NULL;
    *count_p = (size_t)count;
    *missing_p = missing;
    if (count > 0)
        gpus = NULL;
out:
    tsw_free(gpus);
    tsw_cuda_api_close(&api);
    return status;
}
