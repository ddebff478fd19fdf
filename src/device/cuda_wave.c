/* Waves: launches queued behind a gate, each between two events of its own. */
#include "device/cuda_body.h"

#include <math.h>

/* A gate that nobody opens gives way by itself, so that a queue behind it cannot hang. */
static const uint64_t gate_limit_ns = 500000000;

typedef struct {
    const tsw_launch_t *launches;
    size_t count;
    tsw_wave_mode_t mode;
    double timeout_s;
    size_t queued; /* launches whose end event is in the stream */
} batch_t;

/* Launches that ended by what the device wrote itself: it says which batch, since the last word of
 * the batch before may arrive late. */
enum { PROGRESS_UNIT = 1024 };
_Static_assert(TSW_CUDA_BATCH < PROGRESS_UNIT, "a batch fits");

static uint32_t progress_word(const tsw_cuda_t *cuda, size_t ended)
{
    return cuda->ticket * PROGRESS_UNIT + (uint32_t)ended;
}

static size_t progress_of(const tsw_cuda_t *cuda)
{
    uint32_t ended = cuda->shared->progress - progress_word(cuda, 0);
    return ended < PROGRESS_UNIT ? ended : 0;
}

static tsw_status_t queue_gate(tsw_cuda_t *cuda, tsw_err_t *err)
{
    cu_address_t flag = cuda->shared_address + offsetof(tsw_cuda_shared_t, gate);
    uint32_t ticket = cuda->ticket;
    uint64_t limit_ns = gate_limit_ns;
    void *params[] = {&flag, &ticket, &limit_ns};
    return tsw_cuda_tool(cuda, TSW_TOOL_GATE, 1, params, err);
}

static tsw_status_t queue_flush(tsw_cuda_t *cuda, tsw_wave_mode_t mode, tsw_err_t *err)
{
    if (mode != TSW_WAVE_COLD)
        return TSW_OK;
    return tsw_cuda_call(cuda,
                         cuda->api.set_d8_async(cuda->flush, 0, cuda->flush_bytes, cuda->stream),
                         "cuMemsetD8Async", err);
}

/* The gate and a first launch that is not timed: the place right behind a gate is slower. */
static tsw_status_t queue_head(tsw_cuda_t *cuda, const batch_t *batch, tsw_err_t *err)
{
    cuda->ticket++;
    if (batch->mode == TSW_WAVE_BARE)
        return TSW_OK;
    tsw_status_t status = queue_gate(cuda, err);
    if (status == TSW_OK)
        status = queue_flush(cuda, batch->mode, err);
    if (status == TSW_OK)
        status = tsw_cuda_launch(cuda, &batch->launches[0], err);
    return status;
}

/* Outlives the context: tells how far a batch came before an error. */
static tsw_status_t queue_progress(tsw_cuda_t *cuda, size_t ended, tsw_err_t *err)
{
    if (!cuda->has_memory_ops)
        return TSW_OK;
    cu_address_t address = cuda->shared_address + offsetof(tsw_cuda_shared_t, progress);
    uint32_t word = progress_word(cuda, ended);
    return tsw_cuda_call(cuda, cuda->api.stream_write_32(cuda->stream, address, word, 0),
                         "cuStreamWriteValue32", err);
}

static tsw_status_t queue_sample(tsw_cuda_t *cuda, const batch_t *batch, size_t i, tsw_err_t *err)
{
    tsw_cuda_api_t *api = &cuda->api;
    tsw_status_t status = queue_flush(cuda, batch->mode, err);
    if (status == TSW_OK)
        status = tsw_cuda_call(cuda, api->event_record(cuda->starts[i], cuda->stream),
                               "cuEventRecord", err);
    if (status == TSW_OK)
        status = tsw_cuda_launch(cuda, &batch->launches[i], err);
    if (status == TSW_OK)
        status = tsw_cuda_call(cuda, api->event_record(cuda->ends[i], cuda->stream),
                               "cuEventRecord", err);
    if (status == TSW_OK)
        status = queue_progress(cuda, i + 1, err);
    return status;
}

/* Waits for the queued launches one after the other, each with its own deadline (the first with
 * that of the lead-in too). *ended_p: those that ended. */
static tsw_status_t await(tsw_cuda_t *cuda, const batch_t *batch, size_t *ended_p, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    size_t ended = 0;
    while (ended < batch->queued && status == TSW_OK) {
        double timeout_s = ended == 0 ? 2 * batch->timeout_s : batch->timeout_s;
        status = tsw_cuda_wait(cuda, cuda->ends[ended], timeout_s, err);
        ended += status == TSW_OK;
    }
    size_t progress = progress_of(cuda);
    *ended_p = status != TSW_OK && progress > ended && progress <= batch->queued ? progress : ended;
    if (*ended_p == batch->count && status != TSW_OK)
        *ended_p = batch->count - 1;
    return status;
}

static tsw_status_t read_intervals(tsw_cuda_t *cuda, size_t count, uint64_t *interval_ns,
                                   tsw_err_t *err)
{
    for (size_t i = 0; i < count; i++) {
        float ms = 0;
        tsw_status_t status =
            tsw_cuda_call(cuda, cuda->api.event_elapsed(&ms, cuda->starts[i], cuda->ends[i]),
                          "cuEventElapsedTime", err);
        if (status != TSW_OK)
            return status;
        interval_ns[i] = ms > 0 ? (uint64_t)llround((double)ms * 1e6) : 0;
        interval_ns[i] = interval_ns[i] > 0 ? interval_ns[i] : 1;
    }
    return TSW_OK;
}

static tsw_status_t run_batch(tsw_cuda_t *cuda, batch_t *batch, uint64_t *interval_ns,
                              size_t *ended_p, tsw_err_t *err)
{
    tsw_err_t late = TSW_ERR_INIT;
    tsw_status_t status = queue_head(cuda, batch, err);
    while (status == TSW_OK && batch->queued < batch->count) {
        status = queue_sample(cuda, batch, batch->queued, err);
        batch->queued += status == TSW_OK;
    }
    cuda->shared->gate = cuda->ticket; /* from here on the device works */
    if (status == TSW_ERR_DEVICE_LOST) {
        size_t progress = progress_of(cuda);
        *ended_p = progress < batch->count ? progress : batch->count - 1;
        return status;
    }
    /* A launch that was refused is the culprit, but what stands before it must still end. */
    tsw_status_t end_status = await(cuda, batch, ended_p, status == TSW_OK ? err : &late);
    if (end_status == TSW_OK && status == TSW_OK)
        return read_intervals(cuda, batch->count, interval_ns, err);
    if (end_status != TSW_OK && status != TSW_OK && err != NULL)
        *err = late;
    return end_status != TSW_OK ? end_status : status;
}

tsw_status_t tsw_cuda_wave(tsw_device_t *dev, const tsw_launch_t *launches, size_t count,
                           tsw_wave_mode_t mode, uint32_t round, double timeout_s,
                           uint64_t *interval_ns, size_t *finished_p, tsw_err_t *err)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    (void)round;
    size_t finished = 0;
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    while (status == TSW_OK && finished < count) {
        size_t left = count - finished;
        batch_t batch = {
            .launches = launches + finished,
            .count = left < TSW_CUDA_BATCH ? left : TSW_CUDA_BATCH,
            .mode = mode,
            .timeout_s = timeout_s,
        };
        size_t ended = 0;
        status = run_batch(cuda, &batch, interval_ns + finished, &ended, err);
        finished += ended;
    }
    *finished_p = finished;
    return status;
}
