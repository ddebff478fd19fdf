#include "measure/calibrate.h"

#include "base/clock.h"
#include "measure/calibrate_series.h"

#include <math.h>

enum {
    SHOTS = 100, /* of a wave, within what a device queues at once */
    TIMER_WAVES = 4,
    ROUNDS = 200,
    COPIES = 9,
    COPIES_QUEUED = 8, /* at a time, so that the wait's own spread is small against them */
    RAMP_STEPS = 400,
    QUEUE_TRIED = 8192,
    SETS = 13, /* of a quarter of the L2 each: 3 x L2 in turn, and one */
};
static const double timeout_s = 10.0;
static const uint64_t load_ns = 2000000000;

typedef struct {
    tsw_device_t *dev;
    tsw_memory_t from, to; /* equal in size; from is all poison, which the reader reads on and on */
    tsw_memory_t result;
    tsw_kernel_t *reader, *nothing;
    uint64_t l2_bytes;
    uint32_t idle_s;
    uint32_t round; /* of all waves so far */
    tsw_calibration_values_t *values;
} probe_t;

/* ---- launches ---- */

static void put_param(tsw_launch_t *launch, uint64_t value)
{
    launch->params[launch->param_count++] = value;
}

/* Looks for bytes that are no poison and finds none: reads, and writes nothing. */
static tsw_launch_t reader_of(const probe_t *probe, uint64_t offset, uint64_t bytes)
{
    const uint32_t block = 256;
    uint64_t grid = bytes / 8 / block + 1;
    uint64_t most = 16ull * probe->dev->ops->gpu(probe->dev)->sm_count;
    tsw_launch_t launch = {.kernel = probe->reader};
    launch.geometry.grid[0] = (uint32_t)(grid < most ? grid : most);
    launch.geometry.grid[1] = launch.geometry.grid[2] = 1;
    launch.geometry.block[0] = block;
    launch.geometry.block[1] = launch.geometry.block[2] = 1;
    put_param(&launch, probe->from.address + offset);
    put_param(&launch, bytes);
    put_param(&launch, probe->result.address);
    return launch;
}

/* A fill of no elements. */
static tsw_launch_t nothing_of(const probe_t *probe)
{
    tsw_launch_t launch = {.kernel = probe->nothing};
    for (size_t i = 0; i < 3; i++)
        launch.geometry.grid[i] = launch.geometry.block[i] = 1;
    put_param(&launch, probe->result.address);
    for (int i = 0; i < 8; i++)
        put_param(&launch, 0);
    return launch;
}

/* One wave of single launches behind an untimed one; the intervals in ns. */
static tsw_status_t shoot(probe_t *probe, const tsw_launch_t *launches, size_t count, bool flush,
                          double *ns, tsw_err_t *err)
{
    tsw_shot_t shots[SHOTS];
    uint64_t interval_ns[SHOTS];
    size_t finished = 0;
    TSW_ASSERT(count <= SHOTS);
    for (size_t i = 0; i < count; i++)
        shots[i] =
            (tsw_shot_t){.launches = &launches[i], .set_count = 1, .repeat = 1, .flush = flush};
    const tsw_wave_plan_t plan = {
        .lead = &shots[0], .timeout_s = timeout_s, .round = ++probe->round};
    tsw_status_t status =
        probe->dev->ops->wave(probe->dev, shots, count, &plan, interval_ns, &finished, err);
    for (size_t i = 0; status == TSW_OK && i < count; i++)
        ns[i] = (double)interval_ns[i];
    return status;
}

/* ---- the probes ---- */

static tsw_status_t probe_timer(probe_t *probe, tsw_err_t *err)
{
    tsw_launch_t launches[SHOTS];
    double ns[TIMER_WAVES * SHOTS];
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < SHOTS; i++)
        launches[i] = nothing_of(probe);
    for (size_t i = 0; status == TSW_OK && i < TIMER_WAVES; i++)
        status = shoot(probe, launches, SHOTS, false, ns + i * SHOTS, err);
    if (status != TSW_OK)
        return status;
    probe->values->timer_step_ns = tsw_series_step(ns, TIMER_WAVES * SHOTS);
    probe->values->empty_launch_ns = tsw_series_median(ns, TIMER_WAVES * SHOTS);
    return TSW_OK;
}

static tsw_status_t probe_queue(probe_t *probe, tsw_err_t *err)
{
    tsw_launch_t launch = nothing_of(probe);
    uint32_t depth = 0;
    double enqueue_ns = 0;
    tsw_status_t status =
        probe->dev->ops->queue_depth(probe->dev, &launch, QUEUE_TRIED, &depth, &enqueue_ns, err);
    if (status == TSW_OK) {
        probe->values->queue_depth = depth;
        probe->values->enqueue_ns = enqueue_ns;
    }
    return status;
}

/* Median time of reading a set, always the same one or each in turn. */
static tsw_status_t read_sets(probe_t *probe, size_t sets, bool flush, double *median_p,
                              tsw_err_t *err)
{
    tsw_launch_t launches[SHOTS];
    double ns[SHOTS];
    const uint64_t bytes = probe->l2_bytes / 4;
    for (size_t i = 0; i < SHOTS; i++)
        launches[i] = reader_of(probe, i % sets * bytes, bytes);
    tsw_status_t status = shoot(probe, launches, SHOTS, flush, ns, err);
    if (status == TSW_OK)
        *median_p = tsw_series_median(ns + SETS, SHOTS - SETS); /* once around first */
    return status;
}

static tsw_status_t probe_cache(probe_t *probe, tsw_err_t *err)
{
    tsw_calibration_values_t *values = probe->values;
    values->read_bytes = (double)(probe->l2_bytes / 4);
    tsw_status_t status = read_sets(probe, 1, false, &values->read_hot_ns, err);
    if (status == TSW_OK)
        status = read_sets(probe, 1, true, &values->read_flushed_ns, err);
    if (status == TSW_OK)
        status = read_sets(probe, SETS, false, &values->read_rotated_ns, err);
    return status;
}

/* The same kernel as two configs: in pairs, the order within a pair in turn, and then all of one
 * before all of the other. Read from memory, not from the L2. */
static tsw_status_t probe_noise(probe_t *probe, tsw_err_t *err)
{
    tsw_launch_t launches[SHOTS];
    double ns[SHOTS], first[ROUNDS], second[ROUNDS];
    size_t count = 0;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < SHOTS; i++)
        launches[i] = reader_of(probe, i % 8 * 4 * probe->l2_bytes, 4 * probe->l2_bytes);
    for (; status == TSW_OK && count < ROUNDS; count += SHOTS / 2) {
        status = shoot(probe, launches, SHOTS, false, ns, err);
        for (size_t i = 0; status == TSW_OK && i < SHOTS / 2; i++) {
            first[count + i] = ns[2 * i + i % 2];
            second[count + i] = ns[2 * i + 1 - i % 2];
        }
    }
    if (status == TSW_OK)
        tsw_series_paired(first, second, ROUNDS, &probe->values->paired_ratio,
                          &probe->values->paired_sigma);
    for (size_t i = 0; status == TSW_OK && i < 2 * ROUNDS; i += SHOTS)
        status = shoot(probe, launches, SHOTS, false,
                       i < ROUNDS ? first + i : second + (i - ROUNDS), err);
    if (status == TSW_OK)
        probe->values->window_ratio =
            tsw_series_median(second, ROUNDS) / tsw_series_median(first, ROUNDS) - 1;
    return status;
}

static tsw_status_t probe_clock(probe_t *probe, tsw_err_t *err)
{
    const tsw_device_ops_t *ops = probe->dev->ops;
    tsw_launch_t launches[SHOTS];
    double ns[SHOTS], at_ns[RAMP_STEPS], mhz[RAMP_STEPS];
    tsw_telemetry_t telemetry;
    size_t count = 0;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; i < SHOTS; i++)
        launches[i] = reader_of(probe, 0, probe->from.bytes / 2);
    tsw_clock_sleep(probe->idle_s * 1000000000ull);
    const uint64_t start_ns = ops->now_ns(probe->dev);
    ops->telemetry(probe->dev, start_ns, start_ns, &telemetry);
    if (telemetry.sm_clock_mhz > 0)
        probe->values->idle_mhz = telemetry.sm_clock_mhz;
    for (uint64_t now = start_ns;
         status == TSW_OK && count < RAMP_STEPS && now - start_ns < load_ns;) {
        status = shoot(probe, launches, 8, false, ns, err);
        now = ops->now_ns(probe->dev);
        const uint64_t last_ns = telemetry.read_ns;
        ops->telemetry(probe->dev, now, now, &telemetry);
        if (telemetry.read_ns == last_ns && last_ns != 0)
            continue;
        at_ns[count] = (double)(now - start_ns);
        mhz[count++] = telemetry.sm_clock_mhz;
    }
    if (status == TSW_OK && count > 0)
        tsw_series_ramp(at_ns, mhz, count, &probe->values->steady_mhz, &probe->values->ramp_ns);
    return status;
}

/* Time of one of several copies in a row. They return once they are queued: an empty kernel behind
 * them is what the host waits for. */
static tsw_status_t time_copy(probe_t *probe, uint64_t bytes, double *ns_p, tsw_err_t *err)
{
    const tsw_device_ops_t *ops = probe->dev->ops;
    const tsw_launch_t last = nothing_of(probe);
    tsw_memory_t from = probe->from, to = probe->to;
    from.bytes = to.bytes = bytes;
    const uint64_t start_ns = ops->now_ns(probe->dev);
    tsw_status_t status = TSW_OK;
    for (int i = 0; status == TSW_OK && i < COPIES_QUEUED; i++)
        status = ops->copy(probe->dev, &to, &from, err);
    if (status == TSW_OK)
        status = ops->run(probe->dev, &last, timeout_s, err);
    *ns_p = (double)(ops->now_ns(probe->dev) - start_ns) / COPIES_QUEUED;
    return status;
}

static tsw_status_t probe_copy(probe_t *probe, tsw_err_t *err)
{
    double whole[COPIES], half[COPIES];
    const uint64_t bytes = probe->from.bytes / 2 * 2;
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < COPIES; i++) {
        status = time_copy(probe, bytes, &whole[i], err);
        if (status == TSW_OK)
            status = time_copy(probe, bytes / 2, &half[i], err);
    }
    if (status == TSW_OK)
        probe->values->copy_bytes_per_s = tsw_series_bandwidth(
            (double)bytes, tsw_series_median(whole, COPIES), tsw_series_median(half, COPIES));
    return status;
}

/* ---- all ---- */

static tsw_status_t load(probe_t *probe, const void *tool, size_t size, const char *entry,
                         const char *text, double bytes, tsw_kernel_t **kernel_p, tsw_err_t *err)
{
    const tsw_kernel_model_t model = {
        .bytes = bytes,
        .dtype = TSW_DTYPE_I32,
        .cell_key = tsw_key_of_text("calibrate"),
        .config_key = tsw_key_of_text(text),
        .config_text = text,
        .facts = {.registers = 32, .threads = 256, .cluster = 1},
    };
    return probe->dev->ops->kernel_load(probe->dev, tool, size, entry, &model, kernel_p, err);
}

static tsw_status_t set_up(probe_t *probe, const void *tool, size_t size, tsw_err_t *err)
{
    const tsw_device_ops_t *ops = probe->dev->ops;
    const tsw_gpu_t *gpu = ops->gpu(probe->dev);
    const uint64_t least_l2 = 4096, fence_bytes = 256;
    probe->l2_bytes = gpu->l2_bytes > least_l2 ? gpu->l2_bytes / 1024 * 1024 : least_l2;
    uint64_t bytes = 64 * probe->l2_bytes;
    tsw_status_t status = ops->memory_new(probe->dev, bytes, fence_bytes, &probe->from, err);
    if (status == TSW_OK)
        status = ops->memory_new(probe->dev, bytes, fence_bytes, &probe->to, err);
    if (status == TSW_OK)
        status = ops->memory_new(probe->dev, 4096, fence_bytes, &probe->result, err);
    if (status == TSW_OK)
        status = ops->poison(probe->dev, &probe->from, false, err);
    if (status == TSW_OK)
        status = load(probe, tool, size, "tsw_tool_fence", "read", (double)probe->l2_bytes / 4,
                      &probe->reader, err);
    if (status == TSW_OK)
        status = load(probe, tool, size, "tsw_tool_fill", "nothing", 0, &probe->nothing, err);
    /* Both must have run before a wave. */
    tsw_launch_t reader = reader_of(probe, 0, probe->l2_bytes);
    tsw_launch_t nothing = nothing_of(probe);
    if (status == TSW_OK)
        status = ops->run(probe->dev, &reader, timeout_s, err);
    if (status == TSW_OK)
        status = ops->run(probe->dev, &nothing, timeout_s, err);
    return status;
}

static void tear_down(probe_t *probe)
{
    const tsw_device_ops_t *ops = probe->dev->ops;
    tsw_memory_t *memories[] = {&probe->from, &probe->to, &probe->result};
    tsw_kernel_t *kernels[] = {probe->reader, probe->nothing};
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (kernels[i] != NULL)
            ops->kernel_unload(probe->dev, kernels[i]);
    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
        if (memories[i]->total > 0)
            ops->memory_free(probe->dev, memories[i]);
}

tsw_status_t tsw_calibrate(tsw_device_t *dev, const void *tool, size_t size, uint32_t idle_s,
                           tsw_calibration_t *calibration_p, tsw_err_t *err)
{
    tsw_status_t (*const probes[])(probe_t *, tsw_err_t *) = {probe_clock, probe_timer, probe_queue,
                                                              probe_cache, probe_noise, probe_copy};
    tsw_calibration_t calibration = {
        .gpu = *dev->ops->gpu(dev),
        .wall_ns = tsw_clock_wall_ns(),
        .values = tsw_calibration_unknown(),
    };
    probe_t probe = {.dev = dev, .idle_s = idle_s, .values = &calibration.values};
    tsw_status_t status = set_up(&probe, tool, size, err);
    for (size_t i = 0; status == TSW_OK && i < sizeof(probes) / sizeof(probes[0]); i++)
        status = probes[i](&probe, err);
    tear_down(&probe);
    tsw_calibration_check(&calibration);
    if (status == TSW_OK)
        *calibration_p = calibration;
    else
        tsw_err_wrap(err, "calibration");
    return status;
}
