/* The CUDA driver, opened at run time: our own prototypes of the few functions used, so that the
 * tool builds without CUDA headers and starts without a driver. Private to device. */
#ifndef TSW_DEVICE_CUDA_API_H
#define TSW_DEVICE_CUDA_API_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef int cu_result_t;
typedef int cu_device_t;
typedef uint64_t cu_address_t;
typedef struct cu_context *cu_context_t;
typedef struct cu_module *cu_module_t;
typedef struct cu_function *cu_function_t;
typedef struct cu_stream *cu_stream_t;
typedef struct cu_event *cu_event_t;
typedef struct cu_graph *cu_graph_t;
typedef struct cu_graph_exec *cu_graph_exec_t;
typedef struct cu_graph_node *cu_graph_node_t;
typedef struct { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    cu_function_t function;
    unsigned grid[3], block[3], shared_bytes;
    void **params, **extra;
    void *kernel;         /* instead of function */
    cu_context_t context; /* with kernel */
} cu_kernel_node_t;
typedef struct {
    unsigned char bytes[16];
} cu_uuid_t;

enum { /* of CUresult */
       CU_OK = 0,
       CU_OUT_OF_MEMORY = 2,
       CU_NOT_READY = 600,
};

enum { /* of CUdevice_attribute */
       CU_ATTRIBUTE_SM_COUNT = 16,
       CU_ATTRIBUTE_L2_BYTES = 38,
       CU_ATTRIBUTE_ARCH_MAJOR = 75,
       CU_ATTRIBUTE_ARCH_MINOR = 76,
       CU_ATTRIBUTE_SHARED_OPTIN_BYTES = 97,
};

enum { /* of CUfunction_attribute */
       CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
};

enum {
    CU_STREAM_NON_BLOCKING_FLAG = 1,
    CU_HOST_ALLOC_DEVICE_MAP = 2,
};

/* X(member, symbol, parameters) */
#define TSW_CUDA_API_MAP(X)                                                                        \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(driver_get_version, "cuDriverGetVersion", (int *version_p))                                  \
    X(get_error_name, "cuGetErrorName", (cu_result_t result, const char **text_p))                 \
    X(get_error_string, "cuGetErrorString", (cu_result_t result, const char **text_p))             \
    X(device_get_count, "cuDeviceGetCount", (int *count_p))                                        \
    X(device_get, "cuDeviceGet", (cu_device_t * device_p, int ordinal))                            \
    X(device_get_name, "cuDeviceGetName", (char *name, int size, cu_device_t device))              \
    X(device_get_uuid, "cuDeviceGetUuid_v2", (cu_uuid_t * uuid_p, cu_device_t device))             \
    X(device_get_attribute, "cuDeviceGetAttribute",                                                \
      (int *value_p, int attribute, cu_device_t device))                                           \
    X(device_total_mem, "cuDeviceTotalMem_v2", (size_t * bytes_p, cu_device_t device))             \
    X(primary_context_retain, "cuDevicePrimaryCtxRetain",                                          \
      (cu_context_t * context_p, cu_device_t device))                                              \
    X(primary_context_release, "cuDevicePrimaryCtxRelease_v2", (cu_device_t device))               \
    X(context_set_current, "cuCtxSetCurrent", (cu_context_t context))                              \
    X(module_load_data, "cuModuleLoadData", (cu_module_t * module_p, const void *image))           \
    X(module_unload, "cuModuleUnload", (cu_module_t module))                                       \
    X(module_get_function, "cuModuleGetFunction",                                                  \
      (cu_function_t * function_p, cu_module_t module, const char *name))                          \
    X(function_set_attribute, "cuFuncSetAttribute",                                                \
      (cu_function_t function, int attribute, int value))                                          \
    X(memory_alloc, "cuMemAlloc_v2", (cu_address_t * address_p, size_t bytes))                     \
    X(memory_free, "cuMemFree_v2", (cu_address_t address))                                         \
    X(host_alloc, "cuMemHostAlloc", (void **memory_p, size_t bytes, unsigned flags))               \
    X(host_free, "cuMemFreeHost", (void *memory))                                                  \
    X(host_get_address, "cuMemHostGetDevicePointer_v2",                                            \
      (cu_address_t * address_p, void *memory, unsigned flags))                                    \
    X(set_d8_async, "cuMemsetD8Async",                                                             \
      (cu_address_t to, unsigned char value, size_t bytes, cu_stream_t stream))                    \
    X(copy_in_async, "cuMemcpyHtoDAsync_v2",                                                       \
      (cu_address_t to, const void *from, size_t bytes, cu_stream_t stream))                       \
    X(copy_out_async, "cuMemcpyDtoHAsync_v2",                                                      \
      (void *to, cu_address_t from, size_t bytes, cu_stream_t stream))                             \
    X(copy_async, "cuMemcpyDtoDAsync_v2",                                                          \
      (cu_address_t to, cu_address_t from, size_t bytes, cu_stream_t stream))                      \
    X(stream_create, "cuStreamCreate", (cu_stream_t * stream_p, unsigned flags))                   \
    X(stream_destroy, "cuStreamDestroy_v2", (cu_stream_t stream))                                  \
    X(event_create, "cuEventCreate", (cu_event_t * event_p, unsigned flags))                       \
    X(event_destroy, "cuEventDestroy_v2", (cu_event_t event))                                      \
    X(event_record, "cuEventRecord", (cu_event_t event, cu_stream_t stream))                       \
    X(event_query, "cuEventQuery", (cu_event_t event))                                             \
    X(event_elapsed, "cuEventElapsedTime", (float *ms_p, cu_event_t start, cu_event_t end))        \
    X(stream_write_32, "cuStreamWriteValue32_v2",                                                  \
      (cu_stream_t stream, cu_address_t address, uint32_t value, unsigned flags))                  \
    X(launch, "cuLaunchKernel",                                                                    \
      (cu_function_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                  \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                \
       cu_stream_t stream, void **params, void **extra))                                           \
    X(graph_create, "cuGraphCreate", (cu_graph_t * graph_p, unsigned flags))                       \
    X(graph_add_kernel, "cuGraphAddKernelNode_v2",                                                 \
      (cu_graph_node_t * node_p, cu_graph_t graph, const cu_graph_node_t *before, size_t count,    \
       const cu_kernel_node_t *kernel))                                                            \
    X(graph_set_kernel, "cuGraphExecKernelNodeSetParams_v2",                                       \
      (cu_graph_exec_t exec, cu_graph_node_t node, const cu_kernel_node_t *kernel))                \
    X(graph_destroy, "cuGraphDestroy", (cu_graph_t graph))                                         \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                            \
      (cu_graph_exec_t * exec_p, cu_graph_t graph, unsigned long long flags))                      \
    X(graph_upload, "cuGraphUpload", (cu_graph_exec_t exec, cu_stream_t stream))                   \
    X(graph_exec_destroy, "cuGraphExecDestroy", (cu_graph_exec_t exec))                            \
    X(graph_launch, "cuGraphLaunch", (cu_graph_exec_t exec, cu_stream_t stream))                   \
    X(profiler_start, "cuProfilerStart", (void))                                                   \
    X(profiler_stop, "cuProfilerStop", (void))

typedef struct {
    void *library;
#define TSW_CUDA_API_MEMBER(_member, _symbol, _parameters) cu_result_t(*_member) _parameters;
    TSW_CUDA_API_MAP(TSW_CUDA_API_MEMBER)
#undef TSW_CUDA_API_MEMBER
} tsw_cuda_api_t;

/* Open libcuda.so.1, or the file that TSW_LIBCUDA names, and initialise it. TSW_ERR_ENV says what
 * is missing; *api_p is then untouched. */
tsw_status_t tsw_cuda_api_open(tsw_cuda_api_t *api_p, tsw_err_t *err);
void tsw_cuda_api_close(tsw_cuda_api_t *api); /* a zeroed one is fine */

/* Status of a CUresult: TSW_OK, TSW_ERR_DEVICE_MEMORY, TSW_ERR_DEVICE_LOST when the context cannot
 * be used any more, else TSW_ERR_DEVICE. */
tsw_status_t tsw_cuda_status(cu_result_t result);

/* Status of a call; fills err with the call, the name and the number of the result. */
tsw_status_t tsw_cuda_check(const tsw_cuda_api_t *api, cu_result_t result, const char *call,
                            tsw_err_t *err);
/* For cleanup: logs a failure, nothing else. Quiet about a context that is lost anyway. */
void tsw_cuda_warn(const tsw_cuda_api_t *api, cu_result_t result, const char *call);

#endif
