/* One config launched without a pause, while the energy counter is read. */
#include "device/cuda_body.h"
#include "device/energy_window.h"

#include "base/clock.h"

#include <math.h>

/* Work in the stream: longer than the longest reading of the counter. */
static const double ahead_ns = 30e6;
static const size_t most_ahead = 64, most_commands = 800;
/* Between readings. */
static const uint64_t pause_ns = 1000000;

typedef struct {
    tsw_cuda_t *cuda;
    tsw_shot_t shot; /* the next */
    double timeout_s;
    size_t queued, ended; /* shots */
    uint64_t start_ns, ended_ns, read_ns;
    tsw_energy_window_t window;
    tsw_energy_step_t step;
} block_t;

static cu_event_t end_of(const block_t *block, size_t i)
{
    return block->cuda->ends[i % TSW_CUDA_EVENTS];
}

static tsw_status_t queue_one(block_t *block, tsw_err_t *err)
{
    tsw_cuda_t *cuda = block->cuda;
    tsw_shot_t *shot = &block->shot;
    tsw_status_t status = tsw_cuda_shoot(cuda, shot, err);
    shot->first_set = (shot->first_set + shot->repeat) % shot->set_count;
    if (status == TSW_OK)
        status =
            tsw_cuda_call(cuda, cuda->api.event_record(end_of(block, block->queued), cuda->stream),
                          "cuEventRecord", err);
    block->queued += status == TSW_OK;
    return status;
}

/* Should the driver block behind many graphs: the device has work then. */
static bool has_room(const block_t *block)
{
    size_t ahead = block->queued - block->ended;
    size_t commands = block->shot.graph != NULL ? 2 : 1 + (size_t)block->shot.repeat;
    if (ahead < 2)
        return true;
    if (ahead == most_ahead || ahead * commands >= most_commands || block->ended == 0)
        return false;
    double shot_ns = (double)(block->ended_ns - block->start_ns) / (double)block->ended;
    return (double)ahead * shot_ns < ahead_ns;
}

/* Notes what ended; waits for nothing. */
static tsw_status_t look(block_t *block, tsw_err_t *err)
{
    uint64_t now_ns = tsw_clock_now_ns();
    while (block->ended < block->queued) {
        cu_result_t result = block->cuda->api.event_query(end_of(block, block->ended));
        if (result == CU_NOT_READY)
            break;
        tsw_status_t status = tsw_cuda_call(block->cuda, result, "cuEventQuery", err);
        if (status != TSW_OK)
            return status;
        block->ended++;
        block->ended_ns = now_ns;
    }
    if ((double)(now_ns - block->ended_ns) > block->timeout_s * 1e9) /* says so, and gives up */
        return tsw_cuda_wait(block->cuda, end_of(block, block->ended), block->timeout_s, err);
    return TSW_OK;
}

static tsw_status_t read_counter(block_t *block, tsw_err_t *err)
{
    const uint64_t now_ns = tsw_clock_now_ns();
    if (now_ns - block->read_ns < pause_ns)
        return TSW_OK;
    tsw_status_t status =
        tsw_nvml_energy_step(block->cuda->nvml, &block->window, now_ns, &block->step, err);
    block->read_ns = tsw_clock_now_ns();
    return status;
}

static tsw_status_t run_block(block_t *block, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    block->start_ns = block->ended_ns = tsw_clock_now_ns();
    while (status == TSW_OK && block->step == TSW_ENERGY_RUNNING) {
        while (status == TSW_OK && has_room(block))
            status = queue_one(block, err);
        if (status == TSW_OK)
            status = look(block, err);
        if (status == TSW_OK)
            status = read_counter(block, err);
    }
    while (status == TSW_OK && block->ended < block->queued) {
        status = tsw_cuda_wait(block->cuda, end_of(block, block->ended), block->timeout_s, err);
        block->ended += status == TSW_OK;
    }
    return status;
}

tsw_status_t tsw_cuda_energy_find(tsw_device_t *dev, tsw_err_t *err)
{
    const tsw_cuda_t *cuda = (const tsw_cuda_t *)dev;
    return tsw_nvml_energy_find(cuda->nvml, &cuda->gpu, err);
}

tsw_status_t tsw_cuda_energy(tsw_device_t *dev, const tsw_shot_t *shot, uint32_t round,
                             double timeout_s, tsw_energy_t *energy_p, tsw_err_t *err)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    block_t block = {.cuda = cuda, .shot = *shot, .timeout_s = timeout_s};
    float ms = 0;
    (void)round;
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status == TSW_OK)
        status = tsw_cuda_energy_find(dev, err);
    if (status == TSW_OK)
        status = tsw_cuda_call(cuda, cuda->api.event_record(cuda->starts[0], cuda->stream),
                               "cuEventRecord", err);
    if (status == TSW_OK)
        status = run_block(&block, err);
    if (status == TSW_OK)
        status = tsw_cuda_call(
            cuda, cuda->api.event_elapsed(&ms, cuda->starts[0], end_of(&block, block.queued - 1)),
            "cuEventElapsedTime", err);
    if (status != TSW_OK)
        return status;
    uint64_t ns = ms > 0 ? (uint64_t)llround((double)ms * 1e6) : 0;
    *energy_p = tsw_energy_of(&block.window, (uint64_t)block.queued * shot->repeat, ns);
    return TSW_OK;
}
