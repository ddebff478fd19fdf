#include "fake_libcuda.h"

#include "device/cuda_api.h"
#include "device/tool_host.h"
#include "device/tool_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INVALID_VALUE = 1,
    NO_DEVICE = 100,
    INVALID_IMAGE = 200,
    NOT_FOUND = 500,
    OUT_OF_RESOURCES = 701,
    LAUNCH_FAILED = 719,
    LAUNCH_NS = 10240,
    MEMORY_MAX = 1 << 28,
};

struct cu_function {
    char name[64];
    struct cu_function *next;
};

struct cu_module {
    char kind[64]; /* of its kernels; "": as they are called */
    struct cu_function *functions;
};

/* A kernel of a graph, with its parameters. */
typedef struct cu_graph_node {
    char name[64];
    uint64_t values[3];
} node_t;

/* An executable one is a copy of the other, and knows it. */
struct cu_graph {
    node_t nodes[256];
    int count;
    cu_graph_t origin;
};

struct cu_event {
    uint64_t time_ns;
    bool is_behind_hang;
    int lag; /* queries until it is ready */
};

typedef struct {
    char function[48];
    int countdown; /* 0: none */
    int result;
} failure_t;

static struct {
    fake_cuda_counts_t counts;
    failure_t failure;
    int devices;
    int lost; /* the sticky result; 0: none */
    bool hangs;
    uint64_t now_ns;
    int queued;
    bool is_event;                 /* the last command records one */
    const volatile uint32_t *gate; /* what the last gate looks at; NULL: there was none */
    uint32_t ticket;               /* and waits for */
    bool is_flushed;               /* since the last chase */
    bool never_flushes;
    int lag;
    bool is_busy; /* by the last query */
} fake = {.devices = 1};

static int dummy_context, dummy_stream;

/* What a lost context never gave back is freed by a reset, or at the end. */
static struct {
    void *items[1 << 14];
    size_t count;
} kept;

static void *keep(void *memory)
{
    if (memory == NULL || kept.count == sizeof(kept.items) / sizeof(kept.items[0]))
        abort();
    kept.items[kept.count++] = memory;
    return memory;
}

static void release(void *memory)
{
    for (size_t i = kept.count; i-- > 0;) {
        if (kept.items[i] != memory)
            continue;
        kept.items[i] = kept.items[--kept.count];
        free(memory);
        return;
    }
    abort(); /* never made, or released twice */
}

__attribute__((destructor)) static void free_kept(void)
{
    while (kept.count > 0)
        free(kept.items[--kept.count]);
}

void fake_cuda_reset(void)
{
    free_kept();
    memset(&fake, 0, sizeof(fake));
    fake.devices = 1;
}

void fake_cuda_fail(const char *function, int n, int result)
{
    snprintf(fake.failure.function, sizeof(fake.failure.function), "%s", function);
    fake.failure.countdown = n;
    fake.failure.result = result;
}

void fake_cuda_set_devices(int count)
{
    fake.devices = count;
}

void fake_cuda_never_flush(void)
{
    fake.never_flushes = true;
}

void fake_cuda_lag(int queries)
{
    fake.lag = queries;
}

void fake_cuda_counts(fake_cuda_counts_t *counts_p)
{
    *counts_p = fake.counts;
}

/* What a call returns before it does anything; 0: go on. */
static cu_result_t enter(const char *function)
{
    if (fake.failure.countdown > 0 && strcmp(function, fake.failure.function) == 0 &&
        --fake.failure.countdown == 0) {
        if (fake.failure.result >= 700 && fake.failure.result != OUT_OF_RESOURCES)
            fake.lost = fake.failure.result;
        return fake.failure.result;
    }
    return fake.lost;
}

static bool is_gate_closed(void)
{
    return fake.gate != NULL && *fake.gate != fake.ticket;
}

static void note_queued(void)
{
    fake.is_event = false;
    fake.counts.held += is_gate_closed();
    fake.queued++;
    if (fake.queued > fake.counts.most_queued)
        fake.counts.most_queued = fake.queued;
}

#define ENTER(_name)                                                                               \
    do {                                                                                           \
        cu_result_t early = enter(_name);                                                          \
        if (early != CU_OK)                                                                        \
            return early;                                                                          \
    } while (0)

/* The driver's own names, and the prototypes that cuda_api.h knows. */
#define DECLARE(_member, _symbol, _parameters)                                                     \
    cu_result_t fake_##_member _parameters __asm__(_symbol) __attribute__((visibility("defaul"     \
                                                                                      "t")));
TSW_CUDA_API_MAP(DECLARE)
#undef DECLARE

cu_result_t fake_init(unsigned flags)
{
    ENTER("cuInit");
    return flags == 0 ? CU_OK : INVALID_VALUE;
}

cu_result_t fake_driver_get_version(int *version_p)
{
    ENTER("cuDriverGetVersion");
    *version_p = 13000;
    return CU_OK;
}

cu_result_t fake_get_error_name(cu_result_t result, const char **text_p)
{
    *text_p = result == CU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_SCRIPTED";
    return CU_OK;
}

cu_result_t fake_get_error_string(cu_result_t result, const char **text_p)
{
    (void)result;
    *text_p = "scripted error";
    return CU_OK;
}

cu_result_t fake_device_get_count(int *count_p)
{
    ENTER("cuDeviceGetCount");
    *count_p = fake.devices;
    return CU_OK;
}

cu_result_t fake_device_get(cu_device_t *device_p, int ordinal)
{
    ENTER("cuDeviceGet");
    *device_p = ordinal;
    return CU_OK;
}

cu_result_t fake_device_get_name(char *name, int size, cu_device_t device)
{
    ENTER("cuDeviceGetName");
    snprintf(name, (size_t)size, "Fake GPU %d", device);
    return CU_OK;
}

cu_result_t fake_device_get_uuid(cu_uuid_t *uuid_p, cu_device_t device)
{
    ENTER("cuDeviceGetUuid");
    for (size_t i = 0; i < sizeof(uuid_p->bytes); i++)
        uuid_p->bytes[i] = (unsigned char)(17 * i);
    uuid_p->bytes[0] = (unsigned char)device;
    return CU_OK;
}

cu_result_t fake_device_get_attribute(int *value_p, int attribute, cu_device_t device)
{
    (void)device;
    ENTER("cuDeviceGetAttribute");
    switch (attribute) {
    case CU_ATTRIBUTE_SM_COUNT:
        *value_p = 4;
        return CU_OK;
    case CU_ATTRIBUTE_L2_BYTES:
        *value_p = 4096;
        return CU_OK;
    case CU_ATTRIBUTE_ARCH_MAJOR:
        *value_p = 9;
        return CU_OK;
    case CU_ATTRIBUTE_ARCH_MINOR:
        *value_p = 0;
        return CU_OK;
    case CU_ATTRIBUTE_SHARED_OPTIN_BYTES:
        *value_p = 232448;
        return CU_OK;
    default:
        return INVALID_VALUE;
    }
}

cu_result_t fake_device_total_mem(size_t *bytes_p, cu_device_t device)
{
    (void)device;
    ENTER("cuDeviceTotalMem");
    *bytes_p = MEMORY_MAX;
    return CU_OK;
}

cu_result_t fake_primary_context_retain(cu_context_t *context_p, cu_device_t device)
{
    (void)device;
    ENTER("cuDevicePrimaryCtxRetain");
    fake.counts.contexts++;
    *context_p = (cu_context_t)&dummy_context;
    return CU_OK;
}

cu_result_t fake_primary_context_release(cu_device_t device)
{
    (void)device;
    ENTER("cuDevicePrimaryCtxRelease");
    fake.counts.contexts--;
    return CU_OK;
}

cu_result_t fake_context_set_current(cu_context_t context)
{
    (void)context;
    ENTER("cuCtxSetCurrent");
    return CU_OK;
}

cu_result_t fake_module_load_data(cu_module_t *module_p, const void *image)
{
    ENTER("cuModuleLoadData");
    const char *text = image;
    if (memcmp(text, "fake", 4) != 0)
        return INVALID_IMAGE;
    *module_p = keep(calloc(1, sizeof(**module_p)));
    if (text[4] == ':')
        snprintf((*module_p)->kind, sizeof((*module_p)->kind), "%s", text + 5);
    fake.counts.modules++;
    return CU_OK;
}

cu_result_t fake_module_unload(cu_module_t module)
{
    ENTER("cuModuleUnload");
    while (module->functions != NULL) {
        struct cu_function *function = module->functions;
        module->functions = function->next;
        release(function);
    }
    release(module);
    fake.counts.modules--;
    return CU_OK;
}

cu_result_t fake_module_get_function(cu_function_t *function_p, cu_module_t module,
                                     const char *name)
{
    ENTER("cuModuleGetFunction");
    if (strncmp(name, "fake_", 5) != 0 && strncmp(name, "tsw_tool_", 9) != 0)
        return NOT_FOUND;
    struct cu_function *function = keep(calloc(1, sizeof(*function)));
    snprintf(function->name, sizeof(function->name), "%s",
             module->kind[0] != '\0' ? module->kind : name);
    function->next = module->functions;
    module->functions = function;
    *function_p = function;
    return CU_OK;
}

cu_result_t fake_function_set_attribute(cu_function_t function, int attribute, int value)
{
    (void)function;
    ENTER("cuFuncSetAttribute");
    return attribute == CU_FUNCTION_MAX_DYNAMIC_SHARED && value <= 232448 ? CU_OK : INVALID_VALUE;
}

cu_result_t fake_memory_alloc(cu_address_t *address_p, size_t bytes)
{
    ENTER("cuMemAlloc");
    if (bytes > MEMORY_MAX)
        return CU_OUT_OF_MEMORY;
    size_t whole = (bytes + 511) / 512 * 512;
    *address_p = (cu_address_t)(uintptr_t)keep(aligned_alloc(512, whole));
    fake.counts.memories++;
    return CU_OK;
}

cu_result_t fake_memory_free(cu_address_t address)
{
    ENTER("cuMemFree");
    release((void *)(uintptr_t)address);
    fake.counts.memories--;
    return CU_OK;
}

cu_result_t fake_host_alloc(void **memory_p, size_t bytes, unsigned flags)
{
    ENTER("cuMemHostAlloc");
    if (flags != CU_HOST_ALLOC_DEVICE_MAP)
        return INVALID_VALUE;
    *memory_p = keep(calloc(1, bytes));
    fake.counts.host_memories++;
    return CU_OK;
}

cu_result_t fake_host_free(void *memory)
{
    ENTER("cuMemFreeHost");
    fake.gate = NULL;
    release(memory);
    fake.counts.host_memories--;
    return CU_OK;
}

cu_result_t fake_host_get_address(cu_address_t *address_p, void *memory, unsigned flags)
{
    (void)flags;
    ENTER("cuMemHostGetDevicePointer");
    *address_p = (cu_address_t)(uintptr_t)memory;
    return CU_OK;
}

cu_result_t fake_set_d8_async(cu_address_t to, unsigned char value, size_t bytes,
                              cu_stream_t stream)
{
    (void)stream;
    ENTER("cuMemsetD8Async");
    note_queued();
    fake.counts.flushes += bytes == 2 * 4096 && value == 0;
    fake.is_flushed = fake.is_flushed || (bytes == 2 * 4096 && !fake.never_flushes);
    memset((void *)(uintptr_t)to, value, bytes);
    return CU_OK;
}

cu_result_t fake_copy_in_async(cu_address_t to, const void *from, size_t bytes, cu_stream_t stream)
{
    (void)stream;
    ENTER("cuMemcpyHtoDAsync");
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CU_OK;
}

cu_result_t fake_copy_out_async(void *to, cu_address_t from, size_t bytes, cu_stream_t stream)
{
    (void)stream;
    ENTER("cuMemcpyDtoHAsync");
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CU_OK;
}

cu_result_t fake_copy_async(cu_address_t to, cu_address_t from, size_t bytes, cu_stream_t stream)
{
    (void)stream;
    ENTER("cuMemcpyDtoDAsync");
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return CU_OK;
}

cu_result_t fake_stream_create(cu_stream_t *stream_p, unsigned flags)
{
    (void)flags;
    ENTER("cuStreamCreate");
    *stream_p = (cu_stream_t)&dummy_stream;
    fake.counts.streams++;
    return CU_OK;
}

cu_result_t fake_stream_destroy(cu_stream_t stream)
{
    (void)stream;
    ENTER("cuStreamDestroy");
    fake.counts.streams--;
    return CU_OK;
}

cu_result_t fake_event_create(cu_event_t *event_p, unsigned flags)
{
    (void)flags;
    ENTER("cuEventCreate");
    *event_p = keep(calloc(1, sizeof(**event_p)));
    fake.counts.events++;
    return CU_OK;
}

cu_result_t fake_event_destroy(cu_event_t event)
{
    ENTER("cuEventDestroy");
    release(event);
    fake.counts.events--;
    return CU_OK;
}

cu_result_t fake_event_record(cu_event_t event, cu_stream_t stream)
{
    (void)stream;
    ENTER("cuEventRecord");
    note_queued();
    fake.is_event = true;
    event->time_ns = fake.now_ns;
    event->is_behind_hang = fake.hangs;
    event->lag = fake.lag;
    return CU_OK;
}

cu_result_t fake_event_query(cu_event_t event)
{
    ENTER("cuEventQuery");
    fake.counts.gate_waits += is_gate_closed();
    fake.queued = 0;
    fake.is_busy = event->is_behind_hang || event->lag > 0;
    event->lag -= event->lag > 0;
    return fake.is_busy ? CU_NOT_READY : CU_OK;
}

cu_result_t fake_event_elapsed(float *ms_p, cu_event_t start, cu_event_t end)
{
    ENTER("cuEventElapsedTime");
    *ms_p = (float)(end->time_ns - start->time_ns) * 1e-6f;
    return CU_OK;
}

cu_result_t fake_stream_write_32(cu_stream_t stream, cu_address_t address, uint32_t value,
                                 unsigned flags)
{
    (void)stream;
    (void)flags;
    ENTER("cuStreamWriteValue32");
    note_queued();
    if (!fake.hangs)
        *(uint32_t *)(uintptr_t)address = value;
    return CU_OK;
}

/* Reads parameter i of any scalar or pointer type. */
#define PARAM(_type, _i) (*(_type *)params[_i])

static void run_tool(const char *name, void **params)
{
    if (strcmp(name, "tsw_tool_fill") == 0) {
        fake.counts.fills++;
        fake.counts.fills_behind += fake.is_busy;
        tsw_tool_host_fill(PARAM(void *, 0), (tsw_dtype_t)PARAM(int, 1),
                           (tsw_fill_kind_t)PARAM(int, 2), PARAM(double, 3), PARAM(double, 4),
                           PARAM(int64_t, 5), PARAM(int64_t, 6), PARAM(uint64_t, 7),
                           PARAM(uint64_t, 8));
    } else if (strcmp(name, "tsw_tool_fence") == 0) {
        uint64_t *result = PARAM(uint64_t *, 2);
        result[TOOL_RESULT_MISMATCHES] =
            tsw_tool_host_fence(PARAM(void *, 0), PARAM(uint64_t, 1), &result[TOOL_RESULT_FIRST]);
    } else if (strcmp(name, "tsw_tool_gaps") == 0) {
        uint64_t *result = PARAM(uint64_t *, 4), first = 0;
        for (uint64_t i = 0; i < PARAM(uint64_t, 3); i++)
            result[TOOL_RESULT_MISMATCHES] += tsw_tool_host_fence(
                PARAM(uint8_t *, 0) + i * PARAM(uint64_t, 2), PARAM(uint64_t, 1), &first);
    } else if (strcmp(name, "tsw_tool_compare") == 0) {
        uint64_t *result = PARAM(uint64_t *, 6);
        tsw_compare_t compare;
        tsw_tool_host_compare(PARAM(void *, 0), PARAM(void *, 1), (tsw_dtype_t)PARAM(int, 2),
                              PARAM(uint64_t, 3), PARAM(double, 4), PARAM(double, 5), &compare);
        result[TOOL_RESULT_MISMATCHES] = compare.mismatches;
        result[TOOL_RESULT_NANS] = compare.nans;
        result[TOOL_RESULT_UNWRITTEN] = compare.unwritten;
        result[TOOL_RESULT_FIRST] = compare.first_bad;
        result[TOOL_RESULT_ABS] = tool_bits(compare.max_abs);
        result[TOOL_RESULT_REL] = tool_bits(compare.max_rel);
    } else if (strcmp(name, "tsw_tool_checksum") == 0) {
        PARAM(uint64_t *, 2)[0] = tsw_tool_host_checksum(PARAM(void *, 0), PARAM(uint64_t, 1));
    } else if (strcmp(name, "tsw_tool_gate") == 0) {
        fake.gate = PARAM(const volatile uint32_t *, 0);
        fake.ticket = PARAM(uint32_t, 1);
        fake.counts.gates++;
        fake.counts.held = fake.counts.held_graphs = 0;
    } else if (strcmp(name, "tsw_tool_chase") == 0) {
        fake.now_ns += fake.is_flushed ? 2 * LAUNCH_NS : 0;
        fake.is_flushed = false;
    } else if (strcmp(name, "tsw_tool_canary") == 0) {
        PARAM(uint64_t *, 1)[0] = tsw_tool_host_canary(PARAM(uint64_t, 0));
    }
}

static bool is(const char *name, const char *kind)
{
    return strcmp(name, kind) == 0;
}

static void run_writer(const char *name, uint8_t *out, uint64_t bytes)
{
    if (is(name, "fake_grow")) {
        for (uint64_t i = 0; i < bytes; i++)
            out[i] = out[i] == 1 ? 0x44 : 1;
        return;
    }
    memset(out, 1, is(name, "fake_half") ? bytes / 2 : bytes + is(name, "fake_overrun"));
    if (is(name, "fake_near"))
        out[bytes - 2] = 2;
    if (is(name, "fake_nan")) {
        out[bytes - 2] = 0;
        out[bytes - 1] = 0x7e;
    }
}

static void run_mapper(const char *name, uint8_t *in, uint8_t *out, uint64_t bytes)
{
    if (is(name, "fake_symmetric")) {
        uint8_t *copy = malloc(bytes);
        memcpy(copy, in, bytes);
        for (uint64_t i = 0; i < bytes; i++)
            out[i] = (uint8_t)(copy[bytes - 1 - i] + 1);
        free(copy);
        return;
    }
    for (uint64_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(in[is(name, "fake_reverse") ? bytes - 1 - i : i] + 1);
    if (is(name, "fake_dirty"))
        in[bytes / 2]++;
}

static bool is_mapper(const char *name)
{
    static const char *const mappers[] = {"fake_add", "fake_dirty", "fake_reverse",
                                          "fake_symmetric"};
    for (size_t i = 0; i < sizeof(mappers) / sizeof(mappers[0]); i++)
        if (is(name, mappers[i]))
            return true;
    return false;
}

static cu_result_t run_kernel(const char *name, void **params)
{
    fake.counts.launches++;
    if (is(name, "fake_refused"))
        return OUT_OF_RESOURCES;
    fake.hangs = fake.hangs || is(name, "fake_hang");
    if (is(name, "fake_lost"))
        fake.lost = LAUNCH_FAILED; /* seen by the next call, as with a real launch */
    if (is(name, "fake_hang") || is(name, "fake_lost"))
        return CU_OK;
    if (is_mapper(name))
        run_mapper(name, PARAM(uint8_t *, 0), PARAM(uint8_t *, 1), PARAM(uint64_t, 2));
    else
        run_writer(name, PARAM(uint8_t *, 0), PARAM(uint64_t, 1));
    return CU_OK;
}

cu_result_t fake_launch(cu_function_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        cu_stream_t stream, void **params, void **extra)
{
    (void)stream;
    (void)extra;
    (void)shared_bytes;
    ENTER("cuLaunchKernel");
    note_queued();
    if (grid_x * grid_y * grid_z * block_x * block_y * block_z == 0)
        return INVALID_VALUE;
    fake.now_ns += LAUNCH_NS;
    if (strncmp(function->name, "tsw_tool_", 9) == 0) {
        run_tool(function->name, params);
        return CU_OK;
    }
    return run_kernel(function->name, params);
}

cu_result_t fake_graph_create(cu_graph_t *graph_p, unsigned flags)
{
    ENTER("cuGraphCreate");
    if (flags != 0)
        return INVALID_VALUE;
    *graph_p = keep(calloc(1, sizeof(**graph_p)));
    fake.counts.graphs++;
    return CU_OK;
}

static cu_result_t set_node(node_t *node, const cu_kernel_node_t *kernel)
{
    const char *name = kernel->function->name;
    void **params = kernel->params;
    if (kernel->grid[0] * kernel->grid[1] * kernel->grid[2] * kernel->block[0] == 0)
        return INVALID_VALUE;
    if (is(name, "fake_refused"))
        return OUT_OF_RESOURCES;
    snprintf(node->name, sizeof(node->name), "%s", name);
    for (int i = 0; i < (is_mapper(name) ? 3 : 2); i++)
        node->values[i] = PARAM(uint64_t, i);
    return CU_OK;
}

/* Only chains. */
cu_result_t fake_graph_add_kernel(cu_graph_node_t *node_p, cu_graph_t graph,
                                  const cu_graph_node_t *before, size_t count,
                                  const cu_kernel_node_t *kernel)
{
    ENTER("cuGraphAddKernelNode");
    const int capacity = sizeof(graph->nodes) / sizeof(graph->nodes[0]);
    if (graph->count == capacity || count != (graph->count > 0) ||
        (count == 1 && *before != &graph->nodes[graph->count - 1]))
        return INVALID_VALUE;
    *node_p = &graph->nodes[graph->count++];
    return set_node(*node_p, kernel);
}

cu_result_t fake_graph_set_kernel(cu_graph_exec_t exec, cu_graph_node_t node,
                                  const cu_kernel_node_t *kernel)
{
    ENTER("cuGraphExecKernelNodeSetParams");
    cu_graph_t made = (cu_graph_t)exec, origin = made->origin;
    if (node < origin->nodes || node >= origin->nodes + origin->count)
        return INVALID_VALUE;
    fake.counts.graph_moves++;
    fake.counts.late_moves += fake.is_event;
    return set_node(&made->nodes[node - origin->nodes], kernel);
}

cu_result_t fake_graph_destroy(cu_graph_t graph)
{
    ENTER("cuGraphDestroy");
    release(graph);
    fake.counts.graphs--;
    return CU_OK;
}

cu_result_t fake_graph_instantiate(cu_graph_exec_t *exec_p, cu_graph_t graph,
                                   unsigned long long flags)
{
    ENTER("cuGraphInstantiate");
    if (flags != 0)
        return INVALID_VALUE;
    cu_graph_t copy = keep(calloc(1, sizeof(*copy)));
    *copy = *graph;
    copy->origin = graph;
    *exec_p = (cu_graph_exec_t)copy;
    fake.counts.graphs++;
    return CU_OK;
}

cu_result_t fake_graph_upload(cu_graph_exec_t exec, cu_stream_t stream)
{
    (void)exec;
    (void)stream;
    ENTER("cuGraphUpload");
    return CU_OK;
}

cu_result_t fake_graph_exec_destroy(cu_graph_exec_t exec)
{
    ENTER("cuGraphExecDestroy");
    release(exec);
    fake.counts.graphs--;
    return CU_OK;
}

cu_result_t fake_graph_launch(cu_graph_exec_t exec, cu_stream_t stream)
{
    (void)stream;
    ENTER("cuGraphLaunch");
    note_queued();
    cu_graph_t graph = (cu_graph_t)exec;
    fake.counts.graph_launches++;
    fake.counts.held_graphs += is_gate_closed();
    for (int i = 0; i < graph->count; i++) {
        node_t *node = &graph->nodes[i];
        void *params[] = {&node->values[0], &node->values[1], &node->values[2]};
        fake.now_ns += LAUNCH_NS;
        run_kernel(node->name, params);
    }
    return CU_OK;
}

cu_result_t fake_profiler_start(void)
{
    ENTER("cuProfilerStart");
    fake.counts.profilers++;
    return CU_OK;
}

cu_result_t fake_profiler_stop(void)
{
    ENTER("cuProfilerStop");
    fake.counts.profilers--;
    return CU_OK;
}

/* ---- NVML ---- */

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **gpu_p);
int nvmlSystemGetDriverVersion(char *out, unsigned size);
int nvmlDeviceGetClockInfo(void *gpu, int type, unsigned *mhz_p);
int nvmlDeviceGetMaxClockInfo(void *gpu, int type, unsigned *mhz_p);
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatt_p);
int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *celsius_p);
int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *millijoule_p);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *mask_p);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **gpu_p)
{
    *gpu_p = &dummy_context;
    return strncmp(uuid, "GPU-", 4) == 0 ? 0 : 6;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    snprintf(out, size, "580.1.2");
    return 0;
}

int nvmlDeviceGetClockInfo(void *gpu, int type, unsigned *mhz_p)
{
    (void)gpu;
    *mhz_p = type == 1 ? 1500 : 2600;
    return 0;
}

int nvmlDeviceGetMaxClockInfo(void *gpu, int type, unsigned *mhz_p)
{
    (void)gpu;
    *mhz_p = type == 1 ? 1980 : 2600;
    return 0;
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatt_p)
{
    (void)gpu;
    *milliwatt_p = 412500;
    return 0;
}

static struct {
    unsigned long long millijoule;
    int left; /* readings until it is reset; 0: it is not */
} energy;

void fake_cuda_reset_energy(int n)
{
    energy.left = n;
}

int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *millijoule_p)
{
    (void)gpu;
    energy.millijoule += 1000;
    if (energy.left > 0 && --energy.left == 0)
        energy.millijoule = 0;
    *millijoule_p = energy.millijoule;
    return 0;
}

int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *celsius_p)
{
    (void)gpu;
    (void)sensor;
    *celsius_p = 61;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *mask_p)
{
    (void)gpu;
    *mask_p = 4;
    return 0;
}
