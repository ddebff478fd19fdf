/* The cuda body on a real GPU. Each group runs in a process of its own, since some kill their
 * context; one line per check. Exit 0: all passed, 1: some failed, 77: no GPU.
 *
 *     gpu_device [GROUP..]            all groups, or those named
 *     gpu_device --compile DIR ARCH   only compile the kernels into DIR, no GPU needed
 *
 * Kernels are compiled by NVRTC (below TSW_TEST_NVRTC_ROOT, or where the loader finds it) unless
 * TSW_GPU_CUBINS names a folder made by --compile. */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "device/device.h"
#include "device/tool_host.h"
#include "device/tool_values.h"
#include "nvrtc_lite.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static const double timeout_s = 10.0;
static int failures;

static void check(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void check(bool good, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("%s ", good ? "ok  " : "FAIL");
    vprintf(format, list);
    printf("\n");
    fflush(stdout);
    va_end(list);
    failures += !good;
}

/* A step without which the group makes no sense. */
static void need(tsw_status_t status, const char *what, const tsw_err_t *err)
{
    if (status == TSW_OK)
        return;
    printf("FAIL %s: %s\n", what, err->text);
    fflush(stdout);
    _exit(1);
}

/* ---- kernels ---- */

static bool compile(const char *source, const char *arch, tsw_buf_t *cubin)
{
    tsw_buf_t log = TSW_BUF_INIT;
    bool good = nvrtc_lite_compile(source, arch, cubin, &log);
    if (!good)
        printf("FAIL compile: %s\n", tsw_buf_text(&log));
    tsw_buf_fini(&log);
    return good;
}

static bool compile_both(const char *arch, tsw_buf_t *tool, tsw_buf_t *kernels)
{
    tsw_buf_t source = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    bool good = nvrtc_lite_open(getenv("TSW_TEST_NVRTC_ROOT")) &&
                tsw_file_read(TSW_SOURCE_DIR "/tests/gpu/gpu_kernels.cu", &source, &err) == TSW_OK;
    good = good && compile(tsw_tool_source(), arch, tool);
    good = good && compile(tsw_buf_text(&source), arch, kernels);
    tsw_buf_fini(&source);
    return good;
}

static bool read_both(const char *dir, tsw_buf_t *tool, tsw_buf_t *kernels)
{
    tsw_err_t err = TSW_ERR_INIT;
    char *tool_path = tsw_path_join(dir, "tool.cubin");
    char *kernels_path = tsw_path_join(dir, "gpu_kernels.cubin");
    bool good = tsw_file_read(tool_path, tool, &err) == TSW_OK &&
                tsw_file_read(kernels_path, kernels, &err) == TSW_OK;
    if (!good)
        printf("FAIL %s\n", err.text);
    tsw_free(tool_path);
    tsw_free(kernels_path);
    return good;
}

static int compile_into(const char *dir, const char *arch)
{
    tsw_buf_t tool = TSW_BUF_INIT, kernels = TSW_BUF_INIT;
    tsw_err_t err = TSW_ERR_INIT;
    char *tool_path = tsw_path_join(dir, "tool.cubin");
    char *kernels_path = tsw_path_join(dir, "gpu_kernels.cubin");
    bool good = compile_both(arch, &tool, &kernels) && tsw_dir_make(dir, &err) == TSW_OK &&
                tsw_file_write_atomic(tool_path, tool.data, tool.size, &err) == TSW_OK &&
                tsw_file_write_atomic(kernels_path, kernels.data, kernels.size, &err) == TSW_OK;
    printf("%s\n", good ? dir : err.text);
    tsw_free(tool_path);
    tsw_free(kernels_path);
    tsw_buf_fini(&tool);
    tsw_buf_fini(&kernels);
    return good ? 0 : 1;
}

/* ---- the device of a group ---- */

static tsw_device_t *dev;
static const tsw_device_ops_t *ops;
static tsw_buf_t kernels_cubin = TSW_BUF_INIT;

static void open_device(void)
{
    tsw_device_spec_t spec = {.kind = "cuda"};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_buf_t tool = TSW_BUF_INIT;
    char arch[16];
    need(tsw_device_open(&spec, &dev, &err), "open", &err);
    ops = dev->ops;
    const char *dir = getenv("TSW_GPU_CUBINS");
    snprintf(arch, sizeof(arch), "sm_%u", ops->gpu(dev)->arch);
    bool good = dir != NULL && dir[0] != '\0' ? read_both(dir, &tool, &kernels_cubin)
                                              : compile_both(arch, &tool, &kernels_cubin);
    if (!good)
        _exit(1);
    need(ops->load_tool(dev, tool.data, tool.size, &err), "load_tool", &err);
    tsw_buf_fini(&tool);
}

static tsw_kernel_t *load(const char *entry)
{
    tsw_kernel_t *kernel = NULL;
    tsw_kernel_model_t model = {.flops = 1};
    tsw_err_t err = TSW_ERR_INIT;
    need(
        ops->kernel_load(dev, kernels_cubin.data, kernels_cubin.size, entry, &model, &kernel, &err),
        entry, &err);
    return kernel;
}

static tsw_memory_t memory_of(uint64_t bytes, uint64_t fence_bytes)
{
    tsw_memory_t memory;
    tsw_err_t err = TSW_ERR_INIT;
    need(ops->memory_new(dev, bytes, fence_bytes, &memory, &err), "memory", &err);
    need(ops->poison(dev, &memory, false, &err), "poison", &err);
    return memory;
}

static tsw_launch_t launch_of(const tsw_kernel_t *kernel, uint32_t grid, uint32_t block)
{
    return (tsw_launch_t){.kernel = kernel,
                          .geometry = {.grid = {grid, 1, 1}, .block = {block, 1, 1}}};
}

static tsw_launch_t poke_of(const tsw_kernel_t *kernel, const tsw_memory_t *memory, int64_t offset,
                            int64_t count, int value)
{
    tsw_launch_t launch = launch_of(kernel, 64, 256);
    launch.params[0] = memory->address;
    launch.params[1] = (uint64_t)offset;
    launch.params[2] = (uint64_t)count;
    launch.params[3] = (uint64_t)value;
    launch.param_count = 4;
    return launch;
}

static void fill_bytes(const tsw_memory_t *memory, const void *bytes)
{
    tsw_fill_t fill = {.kind = TSW_FILL_DATASET};
    tsw_err_t err = TSW_ERR_INIT;
    need(ops->fill(dev, memory, TSW_DTYPE_I8, memory->bytes, &fill, 0, 0, 0, bytes, memory->bytes,
                   &err),
         "fill from bytes", &err);
}

/* ---- groups ---- */

static void group_device(void)
{
    const tsw_gpu_t *gpu = ops->gpu(dev);
    tsw_telemetry_t telemetry;
    tsw_err_t err = TSW_ERR_INIT;
    printf("     %s %s sm_%u, %u SMs, L2 %" PRIu64 " MiB, driver %s (CUDA %u)\n", gpu->uuid,
           gpu->name, gpu->arch, gpu->sm_count, gpu->l2_bytes / MIB, gpu->driver_text,
           gpu->driver_version);
    check(strncmp(gpu->uuid, "GPU-", 4) == 0 && gpu->sm_count > 0 && gpu->l2_bytes > 0,
          "the GPU is described");
    check(ops->canary(dev, &err) == TSW_OK, "the canary lives %s", err.text);
    ops->telemetry(dev, 0, tsw_clock_now_ns(), &telemetry);
    printf("     %u MHz, memory %u MHz, %.0f W, %.0f C, reasons 0x%" PRIx64 "\n",
           telemetry.sm_clock_mhz, telemetry.mem_clock_mhz, (double)telemetry.power_w,
           (double)telemetry.temperature_celsius, telemetry.throttle_reasons);
    check(telemetry.sm_clock_mhz > 0, "NVML tells clocks");
}

/* Equal checksums on both sides: equal bytes, and an equal checksum kernel. */
static void check_fill(tsw_dtype_t dtype, const tsw_fill_t *fill, int64_t lo, int64_t hi,
                       const char *what)
{
    const uint64_t elements = 300007;
    uint64_t bytes = elements * tsw_dtype_bytes(dtype), sum = 0;
    tsw_memory_t memory = memory_of(bytes, MIB);
    tsw_err_t err = TSW_ERR_INIT;
    void *host = tsw_malloc(bytes);
    need(ops->fill(dev, &memory, dtype, elements, fill, lo, hi, 77, NULL, 0, &err), "fill", &err);
    need(ops->checksum(dev, &memory, &sum, &err), "checksum", &err);
    tsw_tool_host_fill(host, dtype, fill->kind, fill->a, fill->b, lo, hi, 77, elements);
    check(sum == tsw_tool_host_checksum(host, bytes), "fill %s %s equals its host twin", what,
          tsw_dtype_name(dtype));
    tsw_free(host);
    ops->memory_free(dev, &memory);
}

static void group_fill(void)
{
    const tsw_fill_t normal = {.kind = TSW_FILL_NORMAL, .a = 0.25, .b = 1.5};
    const tsw_fill_t uniform = {.kind = TSW_FILL_UNIFORM, .a = -3, .b = 5};
    const tsw_fill_t index = {.kind = TSW_FILL_INDEX};
    const tsw_fill_t sequence = {.kind = TSW_FILL_SEQUENCE};
    const tsw_fill_t offsets = {.kind = TSW_FILL_OFFSETS};
    for (int i = 0; i < TSW_DTYPE_COUNT; i++) {
        tsw_dtype_t dtype = (tsw_dtype_t)i;
        check_fill(dtype, &normal, 0, 0, "normal");
        check_fill(dtype, &uniform, 0, 0, "uniform");
        check_fill(dtype, &index, -100, 100, "index");
        check_fill(dtype, &sequence, -7, 3, "sequence");
    }
    check_fill(TSW_DTYPE_I32, &offsets, 0, 123456789, "offsets");
    check_fill(TSW_DTYPE_I64, &offsets, 0, 5, "offsets");
}

static bool same_compare(const tsw_compare_t *a, const tsw_compare_t *b)
{
    return a->elements == b->elements && a->mismatches == b->mismatches && a->nans == b->nans &&
           a->unwritten == b->unwritten && a->first_bad == b->first_bad &&
           tool_bits(a->max_abs) == tool_bits(b->max_abs) &&
           tool_bits(a->max_rel) == tool_bits(b->max_rel);
}

/* Random bits against slightly other bits: every kind of element comes up. */
static void check_compare(tsw_dtype_t dtype)
{
    const uint64_t elements = 300007;
    uint64_t bytes = elements * tsw_dtype_bytes(dtype);
    uint8_t *got = tsw_malloc(bytes), *want = tsw_malloc(bytes);
    tsw_memory_t got_memory = memory_of(bytes, MIB), want_memory = memory_of(bytes, MIB);
    tsw_compare_t device, host;
    tsw_err_t err = TSW_ERR_INIT;
    for (uint64_t i = 0; i < bytes; i++) {
        uint64_t random = tool_random(1, i);
        want[i] = (uint8_t)random;
        got[i] = random >> 8 & 3 ? want[i] : (uint8_t)(random >> 16);
        got[i] = random >> 32 & 15 ? got[i] : 0xff;
    }
    memset(got + bytes - tsw_dtype_bytes(dtype), 0xff, tsw_dtype_bytes(dtype));
    memset(want + bytes - tsw_dtype_bytes(dtype), 0, tsw_dtype_bytes(dtype));
    fill_bytes(&got_memory, got);
    fill_bytes(&want_memory, want);
    need(ops->compare(dev, &got_memory, &want_memory, dtype, elements, 1e-3, 1e-2, &device, &err),
         "compare", &err);
    tsw_tool_host_compare(got, want, dtype, elements, 1e-3, 1e-2, &host);
    check(same_compare(&device, &host) && host.mismatches > 0 && host.unwritten > 0,
          "compare %s equals its host twin: %" PRIu64 " mismatches, %" PRIu64 " NaN, %" PRIu64
          " unwritten, first %" PRIu64,
          tsw_dtype_name(dtype), device.mismatches, device.nans, device.unwritten,
          device.first_bad);
    tsw_free(got);
    tsw_free(want);
    ops->memory_free(dev, &got_memory);
    ops->memory_free(dev, &want_memory);
}

static void group_compare(void)
{
    for (int i = 0; i < TSW_DTYPE_COUNT; i++)
        check_compare((tsw_dtype_t)i);
}

static void check_poke(const tsw_kernel_t *kernel, const tsw_memory_t *memory, int64_t offset,
                       int64_t count, const char *what)
{
    uint64_t damaged = 0;
    int64_t first = 0;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_launch_t launch = poke_of(kernel, memory, offset, count, 0);
    need(ops->run(dev, &launch, timeout_s, &err), "poke", &err);
    need(ops->check_fences(dev, memory, &damaged, &first, &err), "fences", &err);
    check(damaged == (uint64_t)count && first == offset,
          "fence: %s is found (%" PRIu64 " bytes, first %" PRId64 ")", what, damaged, first);
    need(ops->poison(dev, memory, true, &err), "poison", &err);
    need(ops->check_fences(dev, memory, &damaged, &first, &err), "fences", &err);
    check(damaged == 0, "fence: mended after %s", what);
}

static void group_fence(void)
{
    const int64_t bytes = 2 * 1000003; /* f16, no multiple of anything */
    tsw_memory_t memory = memory_of((uint64_t)bytes, 2 * MIB);
    tsw_kernel_t *poke = load("poke");
    uint64_t before = 0, after = 0;
    tsw_err_t err = TSW_ERR_INIT;
    need(ops->checksum(dev, &memory, &before, &err), "checksum", &err);
    check_poke(poke, &memory, bytes, 1, "the next byte");
    check_poke(poke, &memory, bytes, 2, "one element past the end");
    check_poke(poke, &memory, bytes + 4096, 2, "an element 4 KiB past the end");
    check_poke(poke, &memory, bytes + (1 << 20), 2, "an element 1 MiB past the end");
    check_poke(poke, &memory, bytes + (2 << 20) - 1, 1, "the last byte of the fence");
    check_poke(poke, &memory, -1, 1, "the byte before the start");
    check_poke(poke, &memory, -(1 << 20), 16, "16 bytes 1 MiB before the start");
    need(ops->checksum(dev, &memory, &after, &err), "checksum", &err);
    check(before == after, "fence: mending leaves the contents alone");
    ops->memory_free(dev, &memory);
}

static void group_large(void)
{
    const uint64_t elements = (1ull << 32) + 1234567;
    tsw_memory_t a = memory_of(elements, 2 * MIB), b = memory_of(elements, 2 * MIB);
    tsw_fill_t fill = {.kind = TSW_FILL_NORMAL, .a = 0, .b = 20};
    tsw_kernel_t *poke = load("poke");
    tsw_compare_t compare;
    uint64_t sum_a = 0, sum_b = 0;
    tsw_err_t err = TSW_ERR_INIT;
    need(ops->fill(dev, &a, TSW_DTYPE_I8, elements, &fill, 0, 0, 5, NULL, 0, &err), "fill", &err);
    need(ops->copy(dev, &b, &a, &err), "copy", &err);
    need(ops->checksum(dev, &a, &sum_a, &err), "checksum", &err);
    need(ops->checksum(dev, &b, &sum_b, &err), "checksum", &err);
    check(sum_a == sum_b, "large: checksums of %" PRIu64 " elements agree", elements);
    tsw_launch_t launch = poke_of(poke, &b, (int64_t)elements - 3, 2, 0x55);
    need(ops->run(dev, &launch, timeout_s, &err), "poke", &err);
    need(ops->compare(dev, &b, &a, TSW_DTYPE_I8, elements, 0, 0, &compare, &err), "compare", &err);
    check(compare.elements == elements && compare.mismatches == 2 &&
              compare.first_bad == elements - 3,
          "large: 2 wrong elements behind 2^32 are found at %" PRIu64, compare.first_bad);
    tsw_memory_t huge;
    check(ops->memory_new(dev, 1ull << 45, 2 * MIB, &huge, &err) == TSW_ERR_DEVICE_MEMORY,
          "large: 32 TiB are out of memory: %s", err.text);
    check(ops->canary(dev, &err) == TSW_OK, "large: and the context lives on");
    ops->memory_free(dev, &a);
    ops->memory_free(dev, &b);
}

static void group_launch(void)
{
    tsw_memory_t out = memory_of(MIB, MIB);
    tsw_kernel_t *shared = load("shared_memory"), *wide = load("wide"), *kernel = NULL;
    tsw_kernel_model_t model = {.flops = 1};
    tsw_launch_t launch = launch_of(shared, 1, 256);
    tsw_err_t err = TSW_ERR_INIT;
    launch.params[0] = out.address;
    launch.params[1] = out.address;
    launch.param_count = 1;
    launch.geometry.shared_bytes = 90 * 1024;
    check(ops->run(dev, &launch, timeout_s, &err) == TSW_OK,
          "launch: 90 KiB of dynamic shared memory %s", err.text);
    launch.geometry.shared_bytes = 512 * 1024;
    check(ops->run(dev, &launch, timeout_s, &err) == TSW_ERR_DEVICE, "launch: 512 KiB: %s",
          err.text);
    launch = launch_of(wide, 1, 1024);
    launch.params[0] = out.address;
    launch.params[1] = out.address;
    launch.param_count = 2;
    check(ops->run(dev, &launch, timeout_s, &err) == TSW_ERR_DEVICE,
          "launch: too many threads for the kernel: %s", err.text);
    check(ops->kernel_load(dev, kernels_cubin.data, kernels_cubin.size, "absent", &model, &kernel,
                           &err) == TSW_ERR_DEVICE,
          "launch: no such entry: %s", err.text);
    check(ops->kernel_load(dev, "junk that is no cubin", 21, "poke", &model, &kernel, &err) ==
              TSW_ERR_DEVICE,
          "launch: no cubin: %s", err.text);
    check(ops->canary(dev, &err) == TSW_OK, "launch: and the context lives on");
    ops->memory_free(dev, &out);
}

/* ---- waves ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return (double)(values[(count - 1) / 2] + values[count / 2]) / 2;
}

enum { SLOTS = 8, WAVES = 100 };

static tsw_shot_t shot_of(const tsw_launch_t *launch, bool flush)
{
    return (tsw_shot_t){.launches = launch, .set_count = 1, .repeat = 1, .flush = flush};
}

/* Medians per slot of one launch in all slots. */
static void waves_of(const tsw_launch_t *launch, bool flush, bool bare, double medians[SLOTS])
{
    static uint64_t samples[SLOTS][WAVES];
    tsw_shot_t shots[SLOTS];
    tsw_wave_plan_t plan = {.lead = bare ? NULL : &shots[0], .timeout_s = timeout_s};
    uint64_t interval_ns[SLOTS];
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < SLOTS; i++)
        shots[i] = shot_of(launch, flush);
    need(ops->run(dev, launch, timeout_s, &err), "first launch", &err);
    for (uint32_t w = 0; w < WAVES; w++) {
        need(ops->wave(dev, shots, SLOTS, &plan, interval_ns, &finished, &err), "wave", &err);
        for (size_t i = 0; i < SLOTS; i++)
            samples[i][w] = interval_ns[i];
    }
    for (size_t i = 0; i < SLOTS; i++)
        medians[i] = median_of(samples[i], WAVES);
}

static double spread_of(const double medians[SLOTS])
{
    double low = medians[0], high = medians[0];
    for (size_t i = 1; i < SLOTS; i++) {
        low = medians[i] < low ? medians[i] : low;
        high = medians[i] > high ? medians[i] : high;
    }
    return high / low - 1;
}

static void print_medians(const char *what, const double medians[SLOTS])
{
    printf("     %s, us by slot:", what);
    for (size_t i = 0; i < SLOTS; i++)
        printf(" %.2f", medians[i] / 1e3);
    printf("  (spread %.2f %%)\n", 100 * spread_of(medians));
}

static tsw_launch_t copy_of(const tsw_kernel_t *kernel, const tsw_memory_t *from,
                            const tsw_memory_t *to)
{
    tsw_launch_t launch = launch_of(kernel, 4096, 256);
    launch.params[0] = from->address;
    launch.params[1] = to->address;
    launch.params[2] = from->bytes / 16;
    launch.param_count = 3;
    return launch;
}

static void group_wave(void)
{
    double medians[SLOTS], cold, hot;
    tsw_memory_t a = memory_of(256 * MIB, 2 * MIB), b = memory_of(256 * MIB, 2 * MIB);
    tsw_memory_t c = memory_of(8 * MIB, 2 * MIB), d = memory_of(8 * MIB, 2 * MIB);
    tsw_kernel_t *copy = load("copy"), *nothing = load("nothing"), *spin = load("spin");
    tsw_launch_t large = copy_of(copy, &a, &b), small = copy_of(copy, &c, &d);
    tsw_launch_t empty = launch_of(nothing, 1, 32), slow = launch_of(spin, 1, 1);
    slow.params[0] = 500000;
    slow.param_count = 1;

    waves_of(&large, true, false, medians);
    print_medians("copy of 256 MiB, cold", medians);
    check(spread_of(medians) < 0.03, "wave: no slot is more than 3 %% off");
    printf("     that is %.0f GB/s\n", 512.0 * MIB / medians[SLOTS - 1]);
    waves_of(&small, true, false, medians);
    print_medians("copy of 8 MiB, cold", medians);
    cold = medians[SLOTS - 1];
    waves_of(&small, false, false, medians);
    print_medians("copy of 8 MiB, hot", medians);
    hot = medians[SLOTS - 1];
    check(cold > 1.15 * hot, "wave: a flush makes 8 MiB cold: %.2f us against %.2f us", cold / 1e3,
          hot / 1e3);
    waves_of(&empty, true, false, medians);
    print_medians("empty kernel, cold", medians);
    check(medians[SLOTS - 1] < 8000, "wave: the host's cost of a launch is not counted");
    waves_of(&slow, false, false, medians);
    print_medians("kernel of 500 us", medians);
    check(medians[3] > 495e3 && medians[3] < 515e3, "wave: 500 us are 500 us");
    waves_of(&slow, false, true, medians);
    print_medians("kernel of 500 us, bare", medians);
}

/* ---- rings of buffer sets ---- */

enum { SETS_MAX = 256, RING_WAVES = 300 };

/* A copy kernel over so many sets that three times the L2 lies between two turns of one. */
typedef struct {
    tsw_memory_t from, to;
    uint32_t sets;
    tsw_launch_t launches[SETS_MAX];
} ring_t;

static uint32_t sets_for(uint64_t bytes)
{
    uint64_t sets = (3 * ops->gpu(dev)->l2_bytes + 2 * bytes - 1) / (2 * bytes) + 1;
    return sets < SETS_MAX ? (uint32_t)sets : SETS_MAX;
}

static void ring_new(ring_t *ring, const tsw_kernel_t *copy, uint64_t bytes, uint32_t sets)
{
    const tsw_fill_t normal = {.kind = TSW_FILL_NORMAL, .a = 0, .b = 1};
    tsw_err_t err = TSW_ERR_INIT;
    *ring = (ring_t){.sets = sets};
    ring->from = memory_of(bytes * sets, MIB);
    ring->to = memory_of(bytes * sets, MIB);
    need(ops->fill(dev, &ring->from, TSW_DTYPE_F32, bytes * sets / 4, &normal, 0, 0, 1, NULL, 0,
                   &err),
         "fill", &err);
    for (uint32_t i = 0; i < sets; i++) {
        tsw_memory_t from = {.address = ring->from.address + i * bytes, .bytes = bytes};
        tsw_memory_t to = {.address = ring->to.address + i * bytes, .bytes = bytes};
        ring->launches[i] = copy_of(copy, &from, &to);
        uint64_t grid = bytes / 16 / 256;
        ring->launches[i].geometry.grid[0] = grid < 4096 ? (uint32_t)grid : 4096;
    }
    need(ops->run(dev, &ring->launches[0], timeout_s, &err), "first launch", &err);
}

static void ring_free(ring_t *ring)
{
    ops->memory_free(dev, &ring->from);
    ops->memory_free(dev, &ring->to);
}

/* Whole laps that take 250 us at least. */
static uint32_t repeat_of(const ring_t *ring, double single_ns)
{
    uint64_t laps = (uint64_t)(250000 / single_ns / ring->sets) + 1;
    return (uint32_t)laps * ring->sets;
}

static tsw_shot_t graph_of(const ring_t *ring, uint32_t repeat)
{
    tsw_shot_t shot = {.launches = ring->launches, .set_count = ring->sets, .repeat = repeat};
    tsw_err_t err = TSW_ERR_INIT;
    need(ops->graph_new(dev, &shot, &shot.graph, &err), "graph", &err);
    return shot;
}

/* Median time of a launch in shots like this one, ns. */
static double time_of(const tsw_shot_t *shot, uint32_t waves)
{
    static uint64_t samples[RING_WAVES * SLOTS];
    tsw_shot_t shots[SLOTS];
    tsw_shot_t lead = *shot;
    tsw_wave_plan_t plan = {.lead = &lead, .timeout_s = timeout_s};
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    lead.repeat = 1;
    lead.graph = NULL;
    for (size_t i = 0; i < SLOTS; i++)
        shots[i] = *shot;
    for (uint32_t w = 0; w < waves; w++)
        need(ops->wave(dev, shots, SLOTS, &plan, samples + w * SLOTS, &finished, &err), "wave",
             &err);
    return median_of(samples, (size_t)waves * SLOTS) / shot->repeat;
}

/* The same graph in all slots of a wave: no place may be better than another. */
static void slot_table(const tsw_kernel_t *copy, uint64_t bytes)
{
    static uint64_t samples[SLOTS][RING_WAVES];
    static ring_t ring;
    double medians[SLOTS], sorted[SLOTS], worst = 0;
    uint64_t interval_ns[SLOTS];
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    ring_new(&ring, copy, bytes, sets_for(bytes));
    tsw_shot_t single = {.launches = ring.launches, .set_count = ring.sets, .repeat = 1};
    double single_ns = time_of(&single, 3);
    uint64_t start_ns = tsw_clock_now_ns();
    tsw_shot_t shot = graph_of(&ring, repeat_of(&ring, single_ns)), shots[SLOTS];
    double graph_us = (double)(tsw_clock_now_ns() - start_ns) / 1e3;
    tsw_shot_t lead = single;
    lead.first_set = ring.sets - 1; /* the graphs find set 0 cold */
    tsw_wave_plan_t plan = {.lead = &lead, .timeout_s = timeout_s};
    for (size_t i = 0; i < SLOTS; i++)
        shots[i] = shot;
    start_ns = tsw_clock_now_ns();
    double busy_ns = 0;
    for (uint32_t w = 0; w < RING_WAVES; w++) {
        need(ops->wave(dev, shots, SLOTS, &plan, interval_ns, &finished, &err), "wave", &err);
        for (size_t i = 0; i < SLOTS; i++) {
            samples[i][w] = interval_ns[i];
            busy_ns += (double)interval_ns[i];
        }
    }
    double share = busy_ns / (double)(tsw_clock_now_ns() - start_ns);
    for (size_t i = 0; i < SLOTS; i++)
        sorted[i] = medians[i] = median_of(samples[i], RING_WAVES) / shot.repeat;
    qsort(sorted, SLOTS, sizeof(sorted[0]), by_number);
    double center = (sorted[SLOTS / 2 - 1] + sorted[SLOTS / 2]) / 2;
    for (size_t i = 0; i < SLOTS; i++) {
        double off = medians[i] > center ? medians[i] / center - 1 : 1 - medians[i] / center;
        worst = off > worst ? off : worst;
    }
    char what[128];
    snprintf(what, sizeof(what), "copy of %" PRIu64 " MiB, %u sets, graphs of %u", bytes / MIB,
             ring.sets, shot.repeat);
    print_medians(what, medians);
    printf(
        "     a single launch %.2f us; the graph was made in %.0f us; timed %.0f %% of the wall\n",
        single_ns / 1e3, graph_us, 100 * share);
    check(worst <= 0.003, "graph: no slot is more than 0.3 %% off: %.2f %%", 100 * worst);
    ops->graph_free(dev, shot.graph);
    ring_free(&ring);
}

static void group_graph(void)
{
    static const uint64_t sizes[] = {2, 12, 48, 400};
    tsw_kernel_t *copy = load("copy");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        slot_table(copy, sizes[i] * MIB);
}

/* One graph goes round seven sets while what it was before waits in the stream. */
static void group_move(void)
{
    enum { SETS = 7, REPEAT = 3, TURNS = 14, LAPS = REPEAT * TURNS / SETS, BYTES = SETS * 4096 };
    static const unsigned char zero[BYTES];
    static unsigned char counted[BYTES];
    tsw_launch_t launches[SETS];
    tsw_shot_t shots[TURNS];
    uint64_t interval_ns[TURNS], sums[2] = {0, 1};
    size_t finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_memory_t counters = memory_of(BYTES, MIB), want = memory_of(BYTES, MIB);
    tsw_kernel_t *count_up = load("count_up"), *spin = load("spin");
    tsw_launch_t wait = launch_of(spin, 1, 1);
    wait.params[0] = 20000000;
    wait.param_count = 1;
    for (int i = 0; i < SETS; i++) {
        launches[i] = launch_of(count_up, 4, 256);
        launches[i].geometry.shared_bytes = 90 * 1024;
        launches[i].params[0] = counters.address + (uint64_t)i * 4096;
        launches[i].param_count = 1;
        counted[i * 4096] = LAPS;
    }
    fill_bytes(&counters, zero);
    fill_bytes(&want, counted);
    tsw_shot_t shot = {.launches = launches, .set_count = SETS, .repeat = REPEAT};
    uint64_t start_ns = tsw_clock_now_ns();
    need(ops->graph_new(dev, &shot, &shot.graph, &err), "graph", &err);
    uint64_t made_ns = tsw_clock_now_ns() - start_ns;
    for (uint32_t i = 0; i < TURNS; i++) {
        shots[i] = shot;
        shots[i].first_set = i * REPEAT % SETS;
    }
    tsw_shot_t lead = shot_of(&wait, false);
    tsw_wave_plan_t plan = {.lead = &lead, .timeout_s = timeout_s};
    need(ops->wave(dev, shots, TURNS, &plan, interval_ns, &finished, &err), "wave", &err);
    need(ops->checksum(dev, &counters, &sums[0], &err), "checksum", &err);
    need(ops->checksum(dev, &want, &sums[1], &err), "checksum", &err);
    check(
        sums[0] == sums[1],
        "move: each of %d turns of a graph has its own sets (made in %.0f us, a turn took %.2f us)",
        TURNS, (double)made_ns / 1e3, (double)interval_ns[TURNS - 1] / 1e3);
    ops->graph_free(dev, shot.graph);
    ops->memory_free(dev, &counters);
    ops->memory_free(dev, &want);
}

/* Two graphs of the same launches in random slots among others. */
static void check_alike(const tsw_kernel_t *copy, uint64_t bytes)
{
    static double ratios[RING_WAVES], away[RING_WAVES];
    static ring_t ring, other;
    tsw_shot_t shots[SLOTS], wave[SLOTS];
    uint64_t interval_ns[SLOTS];
    size_t order[SLOTS], finished = 0;
    tsw_err_t err = TSW_ERR_INIT;
    ring_new(&ring, copy, bytes, sets_for(bytes));
    ring_new(&other, copy, bytes * 3 / 2, sets_for(bytes * 3 / 2));
    tsw_shot_t single = {.launches = ring.launches, .set_count = ring.sets, .repeat = 1};
    uint32_t repeat = repeat_of(&ring, time_of(&single, 3));
    for (size_t i = 0; i < SLOTS; i++) {
        shots[i] = i < 3 ? graph_of(&ring, repeat) : graph_of(&other, repeat_of(&other, 1e5));
        order[i] = i;
    }
    tsw_shot_t lead = single;
    lead.first_set = ring.sets - 1;
    tsw_wave_plan_t plan = {.lead = &lead, .timeout_s = timeout_s};
    for (uint32_t w = 0; w < RING_WAVES; w++) {
        double ns[2] = {1, 1};
        for (size_t i = SLOTS - 1; i > 0; i--) {
            size_t k = tool_random(w, i) % (i + 1), kept = order[i];
            order[i] = order[k];
            order[k] = kept;
        }
        for (size_t i = 0; i < SLOTS; i++)
            wave[i] = shots[order[i]];
        need(ops->wave(dev, wave, SLOTS, &plan, interval_ns, &finished, &err), "wave", &err);
        for (size_t i = 0; i < SLOTS; i++)
            if (order[i] < 2)
                ns[order[i]] = (double)interval_ns[i];
        ratios[w] = ns[0] / ns[1] - 1;
    }
    qsort(ratios, RING_WAVES, sizeof(ratios[0]), by_number);
    double median = ratios[RING_WAVES / 2];
    for (size_t w = 0; w < RING_WAVES; w++)
        away[w] = ratios[w] > median ? ratios[w] - median : median - ratios[w];
    qsort(away, RING_WAVES, sizeof(away[0]), by_number);
    check(median < 0.003 && median > -0.003,
          "alike: copy of %" PRIu64 " MiB against itself: median %+.3f %%, MAD %.2f %%",
          bytes / MIB, 100 * median, 100 * away[RING_WAVES / 2]);
    for (size_t i = 0; i < SLOTS; i++)
        ops->graph_free(dev, shots[i].graph);
    ring_free(&ring);
    ring_free(&other);
}

static void group_alike(void)
{
    static const uint64_t sizes[] = {2, 12, 48, 400};
    tsw_kernel_t *copy = load("copy");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check_alike(copy, sizes[i] * MIB);
}

/* Cold by rotation, cold by a flush, and hot. */
static void compare_caches(const tsw_kernel_t *copy, uint64_t bytes)
{
    static ring_t ring, one;
    ring_new(&ring, copy, bytes, sets_for(bytes));
    ring_new(&one, copy, bytes, 1);
    tsw_shot_t flushed = {.launches = one.launches, .set_count = 1, .repeat = 1, .flush = true};
    double flush_ns = time_of(&flushed, 30);
    tsw_shot_t rotated = graph_of(&ring, repeat_of(&ring, flush_ns));
    tsw_shot_t hot = graph_of(&one, repeat_of(&one, flush_ns));
    double rotated_ns = time_of(&rotated, 30), hot_ns = time_of(&hot, 30);
    printf("     copy of %" PRIu64 " MiB: rotated %.2f us, flushed %.2f us (single), hot %.2f us\n",
           bytes / MIB, rotated_ns / 1e3, flush_ns / 1e3, hot_ns / 1e3);
    if (4 * bytes <= ops->gpu(dev)->l2_bytes)
        check(hot_ns < 0.95 * rotated_ns, "cache: what fits into the L2 is faster hot");
    else
        check(hot_ns < 1.1 * rotated_ns, "cache: hot is not slower");
    ops->graph_free(dev, rotated.graph);
    ops->graph_free(dev, hot.graph);
    ring_free(&ring);
    ring_free(&one);
}

static void group_cache(void)
{
    static const uint64_t sizes[] = {4, 8, 32, 128};
    tsw_flush_proof_t proof;
    tsw_telemetry_t telemetry;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_kernel_t *copy = load("copy");
    need(ops->prove_flush(dev, &proof, &err), "proof", &err);
    check(proof.cold_ns > 1.25 * proof.hot_ns,
          "cache: a load takes %.0f ns from the L2 and %.0f ns after a flush", proof.hot_ns,
          proof.cold_ns);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        compare_caches(copy, sizes[i] * MIB);
    uint64_t start_ns = tsw_clock_now_ns();
    ops->telemetry(dev, start_ns, start_ns, &telemetry);
    uint64_t end_ns = tsw_clock_now_ns();
    printf("     telemetry of %.1f ms ago was told in %.1f us\n",
           (double)(start_ns - telemetry.read_ns) / 1e6, (double)(end_ns - start_ns) / 1e3);
}

/* More launches than the driver queues, and kernels for which it makes room at first launch. */
static void group_queue(void)
{
    enum { COUNT = 1000 };
    static tsw_shot_t shots[COUNT];
    static uint64_t interval_ns[COUNT];
    tsw_wave_plan_t plan = {.lead = &shots[0], .timeout_s = timeout_s};
    size_t finished = 0;
    tsw_memory_t out = memory_of(MIB, 2 * MIB);
    tsw_kernel_t *nothing = load("nothing"), *stack = load("stack");
    tsw_launch_t empty = launch_of(nothing, 1, 32), deep = launch_of(stack, 256, 256);
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < COUNT; i++)
        shots[i] = shot_of(&empty, true);
    uint64_t start_ns = tsw_clock_now_ns();
    check(ops->wave(dev, shots, COUNT, &plan, interval_ns, &finished, &err) == TSW_OK &&
              finished == COUNT,
          "queue: a wave of %d launches ends, in %.1f ms %s", COUNT,
          (double)(tsw_clock_now_ns() - start_ns) / 1e6, err.text);
    deep.params[0] = out.address;
    deep.params[1] = 3;
    deep.param_count = 2;
    shots[5] = shot_of(&deep, true);
    start_ns = tsw_clock_now_ns();
    tsw_status_t status = ops->wave(dev, shots, 20, &plan, interval_ns, &finished, &err);
    check(status == TSW_OK,
          "queue: a kernel that never ran before does not hang a wave, %.1f ms %s",
          (double)(tsw_clock_now_ns() - start_ns) / 1e6, err.text);
}

/* A kernel that kills the context, in the middle of a wave and alone. */
static void lose(const char *entry, tsw_status_t want, double seconds, bool in_wave)
{
    tsw_memory_t out = memory_of(MIB, MIB);
    tsw_kernel_t *nothing = load("nothing"), *bad = load(entry);
    tsw_launch_t launch = launch_of(bad, 1, 32), good = launch_of(nothing, 1, 32);
    tsw_shot_t shots[] = {shot_of(&good, true), shot_of(&good, true), shot_of(&launch, true),
                          shot_of(&good, true)};
    tsw_wave_plan_t plan = {.lead = &shots[0], .timeout_s = seconds};
    uint64_t interval_ns[4];
    size_t finished = 99;
    tsw_err_t err = TSW_ERR_INIT;
    launch.params[0] = out.address;
    launch.param_count = strcmp(entry, "endless") == 0 || strcmp(entry, "misaligned") == 0;
    uint64_t start_ns = tsw_clock_now_ns();
    tsw_status_t status = in_wave ? ops->wave(dev, shots, 4, &plan, interval_ns, &finished, &err)
                                  : ops->run(dev, &launch, seconds, &err);
    double took_s = (double)(tsw_clock_now_ns() - start_ns) / 1e9;
    check(status == want && took_s < 3 * seconds + 2, "lost: %s%s after %.2f s: %s", entry,
          in_wave ? " in a wave" : "", took_s, err.text);
    if (in_wave)
        check(finished == 2, "lost: the culprit is launch 2: %zu", finished);
    check(ops->canary(dev, &err) == TSW_ERR_DEVICE_LOST, "lost: later calls are refused: %s",
          err.text);
}

static void group_trap(void)
{
    lose("trap", TSW_ERR_DEVICE_LOST, timeout_s, false);
}

static void group_trap_wave(void)
{
    lose("trap", TSW_ERR_DEVICE_LOST, timeout_s, true);
}

static void group_illegal(void)
{
    lose("illegal", TSW_ERR_DEVICE_LOST, timeout_s, false);
}

static void group_illegal_wave(void)
{
    lose("illegal", TSW_ERR_DEVICE_LOST, timeout_s, true);
}

static void group_misaligned(void)
{
    lose("misaligned", TSW_ERR_DEVICE_LOST, timeout_s, false);
}

static void group_endless(void)
{
    lose("endless", TSW_ERR_TIMEOUT, 2.0, false);
}

static void group_endless_wave(void)
{
    lose("endless", TSW_ERR_TIMEOUT, 2.0, true);
}

typedef struct {
    const char *name;
    void (*run)(void);
} group_t;

static const group_t groups[] = {
    {"device", group_device},
    {"fill", group_fill},
    {"compare", group_compare},
    {"fence", group_fence},
    {"large", group_large},
    {"launch", group_launch},
    {"wave", group_wave},
    {"queue", group_queue},
    {"graph", group_graph},
    {"move", group_move},
    {"alike", group_alike},
    {"cache", group_cache},
    {"trap", group_trap},
    {"trap_wave", group_trap_wave},
    {"illegal", group_illegal},
    {"illegal_wave", group_illegal_wave},
    {"misaligned", group_misaligned},
    {"endless", group_endless},
    {"endless_wave", group_endless_wave},
};

enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc == 1;
}

/* A process of its own that leaves without cleanup: a lost context may block there. */
static int run_group(const group_t *group)
{
    printf("---- %s\n", group->name);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        open_device();
        group->run();
        fflush(stdout);
        _exit(failures > 0);
    }
    int how = 0;
    if (child < 0 || waitpid(child, &how, 0) != child)
        return 1;
    if (WIFSIGNALED(how))
        printf("FAIL %s: ended by signal %d\n", group->name, WTERMSIG(how));
    return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? 0 : 1;
}

/* In a process of its own too: a driver that was initialised here would not survive the forks. */
static bool has_gpu(void)
{
    pid_t child = fork();
    if (child == 0) {
        tsw_gpu_t *gpus = NULL;
        size_t count = 0;
        char *missing = NULL;
        tsw_err_t err = TSW_ERR_INIT;
        if (tsw_device_list(&gpus, &count, &missing, &err) != TSW_OK || count == 0)
            printf("skipped: no GPU: %s\n", missing != NULL ? missing : err.text);
        fflush(stdout);
        _exit(count > 0 ? 0 : 1);
    }
    int how = 0;
    return child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--compile") == 0)
        return compile_into(argv[2], argv[3]);
    if (!has_gpu())
        return 77;
    int bad = 0;
    for (size_t i = 0; i < GROUPS; i++)
        if (is_wanted(groups[i].name, argc, argv))
            bad += run_group(&groups[i]);
    printf("%s: %d groups failed\n", bad == 0 ? "PASSED" : "FAILED", bad);
    return bad > 0;
}
