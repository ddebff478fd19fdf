/* Waves: shots queued one behind the other, each between two events of its own. A window of them is
 * in the stream at a time, so that the driver never blocks, and the device never waits for us. */
#include "base/clock.h"
#include "device/cuda_body.h"
#include "device/gate.h"

#include <math.h>

/* A gate that nobody opens gives way by itself, so that a queue behind it cannot hang. */
static const uint64_t gate_limit_ns = 500000000;

/* Commands in the stream; the driver blocks at 1,000 or so. */
static const size_t window = 800;

typedef struct {
    tsw_cuda_t *cuda;
    const tsw_shot_t *shots;
    size_t count;
    const tsw_wave_plan_t *plan;
    uint64_t *interval_ns;
    size_t queued, ended; /* shots */
    size_t commands;      /* of the shots that are queued and not yet known to have ended */
    uint32_t base;        /* of the progress words of this wave */
    bool is_held;         /* a closed gate stands before all this */
    size_t opens_after;   /* so many shots are in the stream */
    bool was_idle;        /* the host had its time */
    uint64_t pace_ns;     /* what the host needed */
    size_t paced;         /* for so many commands */
} queue_t;

static cu_event_t start_of(const queue_t *queue, size_t i)
{
    return queue->cuda->starts[i % TSW_CUDA_EVENTS];
}

static cu_event_t end_of(const queue_t *queue, size_t i)
{
    return queue->cuda->ends[i % TSW_CUDA_EVENTS];
}

static tsw_status_t record(tsw_cuda_t *cuda, cu_event_t event, tsw_err_t *err)
{
    return tsw_cuda_call(cuda, cuda->api.event_record(event, cuda->stream), "cuEventRecord", err);
}

/* ---- the gate: what is behind it is queued before it runs ---- */

static tsw_status_t queue_gate(queue_t *queue, tsw_err_t *err)
{
    tsw_cuda_t *cuda = queue->cuda;
    cu_address_t flag = cuda->shared_address + offsetof(tsw_cuda_shared_t, gate);
    uint32_t ticket = ++cuda->ticket;
    uint64_t limit_ns = gate_limit_ns;
    void *params[] = {&flag, &ticket, &limit_ns};
    queue->is_held = true;
    return tsw_cuda_tool(cuda, TSW_TOOL_GATE, 1, params, err);
}

static void open_gate(queue_t *queue)
{
    if (queue->is_held)
        queue->cuda->shared->gate = queue->cuda->ticket;
    queue->is_held = false;
}

/* ---- shots into the stream ---- */

static tsw_status_t queue_flush(tsw_cuda_t *cuda, const tsw_shot_t *shot, tsw_err_t *err)
{
    if (!shot->flush)
        return TSW_OK;
    return tsw_cuda_call(cuda,
                         cuda->api.set_d8_async(cuda->flush, 0, cuda->flush_bytes, cuda->stream),
                         "cuMemsetD8Async", err);
}

/* The device came to the end of what was queued: what follows would wait for the host in the middle
 * of an interval. */
static bool ran_dry(const queue_t *queue)
{
    return !queue->is_held && queue->queued > queue->ended && queue->plan->lead != NULL &&
           queue->shots[queue->queued].graph == NULL &&
           queue->cuda->api.event_query(end_of(queue, queue->queued - 1)) == CU_OK;
}

/* Behind a gate, so that what follows is queued before it runs. */
static tsw_status_t queue_lead(queue_t *queue, tsw_err_t *err)
{
    const tsw_shot_t *lead = queue->plan->lead;
    queue->cuda->led_by = 0;
    if (lead == NULL)
        return TSW_OK;
    queue->cuda->led_by = 1 + lead->repeat;
    tsw_status_t status = queue_gate(queue, err);
    if (status == TSW_OK)
        status = queue_flush(queue->cuda, lead, err);
    if (status == TSW_OK)
        status = tsw_cuda_shoot(queue->cuda, lead, err);
    return status;
}

/* Outlives the context: tells how far a wave came before an error. */
static tsw_status_t queue_progress(queue_t *queue, tsw_err_t *err)
{
    tsw_cuda_t *cuda = queue->cuda;
    if (!cuda->has_memory_ops)
        return TSW_OK;
    cu_address_t address = cuda->shared_address + offsetof(tsw_cuda_shared_t, progress);
    uint32_t word = queue->base + (uint32_t)queue->queued + 1;
    return tsw_cuda_call(cuda, cuda->api.stream_write_32(cuda->stream, address, word, 0),
                         "cuStreamWriteValue32", err);
}

static tsw_status_t queue_shot(queue_t *queue, tsw_err_t *err)
{
    tsw_cuda_t *cuda = queue->cuda;
    size_t i = queue->queued;
    const tsw_shot_t *shot = &queue->shots[i];
    if (tsw_gate_commands(shot) > window)
        open_gate(queue);
    tsw_status_t status = tsw_cuda_aim(cuda, shot, err); /* ahead of the interval */
    if (status == TSW_OK && ran_dry(queue))
        status = queue_gate(queue, err);
    if (status == TSW_OK)
        status = queue_flush(cuda, shot, err);
    if (status == TSW_OK)
        status = record(cuda, start_of(queue, i), err);
    if (status == TSW_OK)
        status = tsw_cuda_shoot(cuda, shot, err);
    if (status == TSW_OK)
        status = record(cuda, end_of(queue, i), err);
    if (status == TSW_OK)
        status = queue_progress(queue, err);
    if (status != TSW_OK)
        return status;
    queue->queued++;
    queue->commands += tsw_gate_commands(shot);
    if (queue->queued == queue->opens_after)
        open_gate(queue);
    return TSW_OK;
}

/* The same, and how long the host needs for a command. */
static tsw_status_t pace_shot(queue_t *queue, tsw_err_t *err)
{
    size_t commands = tsw_gate_commands(&queue->shots[queue->queued]);
    uint64_t start_ns = tsw_clock_now_ns();
    tsw_status_t status = queue_shot(queue, err);
    queue->pace_ns += tsw_clock_now_ns() - start_ns;
    queue->paced += commands;
    return status;
}

/* The slowest of late counts. */
static void note_pace(const queue_t *queue)
{
    const double forget = 0.9;
    double ns = queue->paced > 0 ? (double)queue->pace_ns / (double)queue->paced : 0.0;
    queue->cuda->command_ns = fmax(ns, forget * queue->cuda->command_ns);
}

static bool has_room(const queue_t *queue)
{
    if (queue->queued == queue->count || queue->queued - queue->ended == TSW_CUDA_EVENTS)
        return false;
    return queue->queued == queue->ended ||
           queue->commands + tsw_gate_commands(&queue->shots[queue->queued]) <= window;
}

/* ---- shots out of it ---- */

/* Once all are in the stream the host has time for something else, when they are many. */
static void work_ahead(queue_t *queue)
{
    if (queue->count == 1 || queue->queued < queue->count || queue->was_idle)
        return;
    queue->was_idle = true;
    cu_event_t end = end_of(queue, queue->count - 1);
    while (queue->plan->idle != NULL && queue->cuda->api.event_query(end) == CU_NOT_READY &&
           queue->plan->idle(queue->plan->user)) {
    }
}

/* Waits for the oldest shot, with a deadline of its own (the first: with that of the lead too). */
static tsw_status_t retire_shot(queue_t *queue, tsw_err_t *err)
{
    tsw_cuda_t *cuda = queue->cuda;
    size_t i = queue->ended;
    float ms = 0;
    open_gate(queue);
    work_ahead(queue);
    bool is_led = i == 0 && queue->plan->lead != NULL;
    double timeout_s = is_led ? 2 * queue->plan->timeout_s : queue->plan->timeout_s;
    tsw_status_t status = tsw_cuda_wait(cuda, end_of(queue, i), timeout_s, err);
    if (status == TSW_OK)
        status =
            tsw_cuda_call(cuda, cuda->api.event_elapsed(&ms, start_of(queue, i), end_of(queue, i)),
                          "cuEventElapsedTime", err);
    if (status != TSW_OK)
        return status;
    uint64_t ns = ms > 0 ? (uint64_t)llround((double)ms * 1e6) : 0;
    queue->interval_ns[i] = ns; /* 0: the timer did not move */
    queue->commands -= tsw_gate_commands(&queue->shots[i]);
    queue->ended++;
    return TSW_OK;
}

/* A shot was refused, and is the culprit; but what stands before it must still end. */
static tsw_status_t retire_rest(queue_t *queue, tsw_status_t status, tsw_err_t *err)
{
    tsw_err_t late = TSW_ERR_INIT;
    tsw_status_t end_status = TSW_OK;
    while (end_status == TSW_OK && queue->ended < queue->queued)
        end_status = retire_shot(queue, &late);
    if (end_status != TSW_OK && err != NULL)
        *err = late;
    return end_status != TSW_OK ? end_status : status;
}

/* Shots that ended, by our own waiting or by what the device wrote. */
static size_t finished_shots(const queue_t *queue, tsw_status_t status)
{
    size_t progress = queue->cuda->shared->progress - queue->base;
    size_t ended = queue->ended;
    if (status == TSW_OK)
        return ended;
    if (progress > ended && progress <= queue->queued)
        ended = progress;
    return ended < queue->count ? ended : queue->count - 1;
}

tsw_status_t tsw_cuda_wave(tsw_device_t *dev, const tsw_shot_t *shots, size_t count,
                           const tsw_wave_plan_t *plan, uint64_t *interval_ns, size_t *finished_p,
                           tsw_err_t *err)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    queue_t queue = {.cuda = cuda,
                     .shots = shots,
                     .count = count,
                     .plan = plan,
                     .interval_ns = interval_ns,
                     .base = cuda->shots};
    *finished_p = 0;
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status != TSW_OK)
        return status;
    bool is_refused = false;
    queue.opens_after = tsw_gate_opens_after(shots, count, cuda->command_ns);
    status = queue_lead(&queue, err);
    while (status == TSW_OK && queue.ended < count) {
        bool has_more = has_room(&queue);
        status = has_more ? pace_shot(&queue, err) : retire_shot(&queue, err);
        is_refused = has_more && status != TSW_OK && status != TSW_ERR_DEVICE_LOST;
    }
    open_gate(&queue);
    note_pace(&queue);
    if (is_refused)
        status = retire_rest(&queue, status, err);
    *finished_p = finished_shots(&queue, status);
    cuda->shots += (uint32_t)count;
    return status;
}
