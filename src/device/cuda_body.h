/* The cuda body's own state and the functions that its files share. Private to device. */
#ifndef TSW_DEVICE_CUDA_BODY_H
#define TSW_DEVICE_CUDA_BODY_H

#include "device/cuda_api.h"
#include "device/device.h"
#include "device/cupti.h"
#include "device/nvml_sampler.h"
#include "device/tool_values.h"

/* Pairs of events: shots that can be in the stream at a time. */
#define TSW_CUDA_EVENTS 150

typedef enum {
    TSW_TOOL_FILL,
    TSW_TOOL_FENCE,
    TSW_TOOL_GAPS,
    TSW_TOOL_COMPARE,
    TSW_TOOL_CHECKSUM,
    TSW_TOOL_CANARY,
    TSW_TOOL_GATE,
    TSW_TOOL_CHASE,
    TSW_TOOL_KERNEL_COUNT
} tsw_tool_kernel_t;

/* Result buffers: so many kernels of the tool can wait for one copy. */
#define TSW_CUDA_RESULTS 96

/* Host memory that the device sees. */
typedef struct {
    uint32_t gate;     /* ticket of the last gate that may open */
    uint32_t progress; /* how far a wave came, where the driver can write it: cuda_wave.c */
    uint64_t results[TSW_CUDA_RESULTS][TOOL_RESULT_COUNT];
} tsw_cuda_shared_t;

/* An allocation. One that is not used any more is kept for the next who asks: the driver takes its
 * time. */
typedef struct {
    cu_address_t address; /* 0: none */
    uint64_t bytes;
    bool is_used;
    uint64_t turn; /* when it was given back, in a count of these */
} tsw_cuda_block_t;

#define TSW_CUDA_BLOCKS 64

/* What a tsw_kernel_t of this body is. */
typedef struct {
    cu_module_t module;
    cu_function_t function;
    tsw_key_t key, entry; /* of the cubin's bytes, of the entry's name */
    size_t users;         /* 0: kept for the next who asks */
    uint64_t turn;        /* when it was given back, in a count of these */
} tsw_cuda_kernel_t;

typedef struct {
    tsw_device_t base;
    tsw_cuda_api_t api;
    tsw_nvml_t *nvml;            /* NULL: it cannot be read; the sampler's */
    tsw_nvml_sampler_t *sampler; /* NULL: no NVML */
    tsw_cupti_t *cupti;          /* NULL: not asked for */
    tsw_gpu_t gpu;
    cu_device_t device;
    cu_context_t context;
    cu_stream_t stream;
    cu_module_t tool;
    cu_function_t tool_kernels[TSW_TOOL_KERNEL_COUNT];
    cu_event_t starts[TSW_CUDA_EVENTS];
    cu_event_t ends[TSW_CUDA_EVENTS];
    cu_event_t done; /* end of anything else */
    volatile tsw_cuda_shared_t *shared;
    cu_address_t shared_address;
    cu_address_t results; /* TSW_CUDA_RESULTS buffers of TOOL_RESULT_COUNT words on the device */
    cu_address_t blank;   /* the same, cleared */
    cu_address_t flush;   /* what empties the L2 */
    size_t flush_bytes;
    int shared_optin_bytes;
    bool has_memory_ops;
    bool lost;       /* sticky error or time-out: every further call could block, so none is made */
    uint32_t ticket; /* number of the last gate */
    uint32_t shots;  /* that waves were to run so far */
    size_t led_by;   /* kernels that ran before the first shot of the last wave */
    double command_ns; /* what the host needs to queue a command, of late; 0: not known */
    tsw_cuda_block_t blocks[TSW_CUDA_BLOCKS];
    uint64_t block_turn;
    tsw_cuda_kernel_t **kernels;
    size_t kernel_count, kernel_capacity, idle_kernels;
    uint64_t kernel_turn;
    tsw_flush_proof_t proof; /* zero: not made yet */
} tsw_cuda_t;

/* tsw_cuda_check that also notes a lost context. */
tsw_status_t tsw_cuda_call(tsw_cuda_t *cuda, cu_result_t result, const char *call, tsw_err_t *err);
/* TSW_ERR_DEVICE_LOST when the context is lost. */
tsw_status_t tsw_cuda_usable(const tsw_cuda_t *cuda, tsw_err_t *err);

/* Wait until event has passed, never inside the driver; TSW_ERR_TIMEOUT after timeout_s. */
tsw_status_t tsw_cuda_wait(tsw_cuda_t *cuda, cu_event_t event, double timeout_s, tsw_err_t *err);
/* Everything queued so far; what names it in messages. */
tsw_status_t tsw_cuda_finish(tsw_cuda_t *cuda, const char *what, double timeout_s, tsw_err_t *err);

/* Queue a kernel of the tool over `work` threads at least (grid-stride, capped). */
tsw_status_t tsw_cuda_tool(tsw_cuda_t *cuda, tsw_tool_kernel_t kernel, uint64_t work, void **params,
                           tsw_err_t *err);
/* The same with a cleared result buffer before and its contents on the host afterwards. */
tsw_status_t tsw_cuda_tool_result(tsw_cuda_t *cuda, tsw_tool_kernel_t kernel, uint64_t work,
                                  void **params, uint64_t results[TOOL_RESULT_COUNT],
                                  tsw_err_t *err);

/* Queue the clearing of the first `count` result buffers / bring them to shared->results. */
tsw_status_t tsw_cuda_results_clear(tsw_cuda_t *cuda, size_t count, tsw_err_t *err);
tsw_status_t tsw_cuda_results_read(tsw_cuda_t *cuda, size_t count, tsw_err_t *err);

cu_function_t tsw_cuda_function(const tsw_launch_t *launch);
/* A launch's parameters as the driver wants them. */
typedef struct {
    uint64_t values[TSW_PARAM_MAX];
    void *pointers[TSW_PARAM_MAX];
} tsw_cuda_params_t;
void tsw_cuda_params(const tsw_launch_t *launch, tsw_cuda_params_t *params);
/* Before a kernel with much dynamic shared memory is launched. */
tsw_status_t tsw_cuda_allow_shared(tsw_cuda_t *cuda, const tsw_launch_t *launch, tsw_err_t *err);

/* Queue a launch. */
tsw_status_t tsw_cuda_launch(tsw_cuda_t *cuda, const tsw_launch_t *launch, tsw_err_t *err);
/* Move the shot's graph, if it has one, to its sets: takes the host a while, the device nothing. */
tsw_status_t tsw_cuda_aim(tsw_cuda_t *cuda, const tsw_shot_t *shot, tsw_err_t *err);
/* Queue all launches of a shot, which is aimed unless it was. */
tsw_status_t tsw_cuda_shoot(tsw_cuda_t *cuda, const tsw_shot_t *shot, tsw_err_t *err);

/* The entries of the table, file by file. */
tsw_status_t tsw_cuda_memory_new(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                 tsw_memory_t *memory_p, tsw_err_t *err);
tsw_status_t tsw_cuda_memory_ahead(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                   tsw_memory_t *memory_p, tsw_err_t *err);
void tsw_cuda_memory_free(tsw_device_t *dev, tsw_memory_t *memory);
/* Give what is kept back to the driver; how many bytes that were. */
uint64_t tsw_cuda_memory_trim(tsw_cuda_t *cuda);
tsw_status_t tsw_cuda_fill(tsw_device_t *dev, const tsw_memory_t *memory, tsw_dtype_t dtype,
                           uint64_t elements, const tsw_fill_t *fill, int64_t lo, int64_t hi,
                           uint64_t seed, const void *data, size_t data_size, tsw_err_t *err);
tsw_status_t tsw_cuda_poison(tsw_device_t *dev, const tsw_memory_t *memory, bool fences_only,
                             tsw_err_t *err);
tsw_status_t tsw_cuda_copy(tsw_device_t *dev, const tsw_memory_t *to, const tsw_memory_t *from,
                           tsw_err_t *err);
tsw_status_t tsw_cuda_check_fences(tsw_device_t *dev, const tsw_memory_t *memory,
                                   uint64_t *damaged_p, int64_t *first_p, tsw_err_t *err);
tsw_status_t tsw_cuda_check_gaps(tsw_device_t *dev, const tsw_memory_t *memory,
                                 const tsw_gaps_t *gaps, uint64_t *damaged_p, tsw_err_t *err);
tsw_status_t tsw_cuda_compare(tsw_device_t *dev, const tsw_memory_t *got, const tsw_memory_t *want,
                              tsw_dtype_t dtype, uint64_t elements, double atol, double rtol,
                              tsw_compare_t *compare_p, tsw_err_t *err);
tsw_status_t tsw_cuda_checksum(tsw_device_t *dev, const tsw_memory_t *memory, uint64_t *sum_p,
                               tsw_err_t *err);
tsw_status_t tsw_cuda_inspect(tsw_device_t *dev, tsw_inspection_t *items, size_t count,
                              tsw_err_t *err);
tsw_status_t tsw_cuda_kernel_load(tsw_device_t *dev, const void *cubin, size_t size,
                                  const char *entry, const tsw_kernel_model_t *model,
                                  tsw_kernel_t **kernel_p, tsw_err_t *err);
void tsw_cuda_telemetry(tsw_device_t *dev, uint64_t from_ns, uint64_t to_ns,
                        tsw_telemetry_t *telemetry_p);
void tsw_cuda_health(tsw_device_t *dev, bool now, tsw_health_t *health_p);
void tsw_cuda_kernel_unload(tsw_device_t *dev, tsw_kernel_t *kernel);
/* Unloads modules that nobody uses, down to that many. */
void tsw_cuda_modules_trim(tsw_cuda_t *cuda, size_t most);
tsw_status_t tsw_cuda_run(tsw_device_t *dev, const tsw_launch_t *launch, double timeout_s,
                          tsw_err_t *err);
tsw_status_t tsw_cuda_graph_new(tsw_device_t *dev, const tsw_shot_t *shot, tsw_graph_t **graph_p,
                                tsw_err_t *err);
void tsw_cuda_graph_free(tsw_device_t *dev, tsw_graph_t *graph);
tsw_status_t tsw_cuda_prove_flush(tsw_device_t *dev, tsw_flush_proof_t *proof_p, tsw_err_t *err);
tsw_status_t tsw_cuda_wave(tsw_device_t *dev, const tsw_shot_t *shots, size_t count,
                           const tsw_wave_plan_t *plan, uint64_t *interval_ns, size_t *finished_p,
                           tsw_err_t *err);
tsw_status_t tsw_cuda_energy_find(tsw_device_t *dev, tsw_err_t *err);
tsw_status_t tsw_cuda_energy(tsw_device_t *dev, const tsw_shot_t *shot, uint32_t round,
                             double timeout_s, tsw_energy_t *energy_p, tsw_err_t *err);
tsw_status_t tsw_cuda_queue_depth(tsw_device_t *dev, const tsw_launch_t *launch, uint32_t tried,
                                  uint32_t *depth_p, double *enqueue_ns_p, tsw_err_t *err);

#endif
