/* How many launches wait in the driver's queue before the host has to. */
#include "device/cuda_body.h"

#include "base/clock.h"

/* A call that takes this long was waiting, and the gate must hold for longer. */
static const uint64_t blocked_ns = 20000000, queue_gate_ns = 100000000;

static tsw_status_t hold(tsw_cuda_t *cuda, tsw_err_t *err)
{
    cu_address_t flag = cuda->shared_address + offsetof(tsw_cuda_shared_t, gate);
    uint32_t ticket = ++cuda->ticket;
    uint64_t limit_ns = queue_gate_ns;
    void *params[] = {&flag, &ticket, &limit_ns};
    return tsw_cuda_tool(cuda, TSW_TOOL_GATE, 1, params, err);
}

tsw_status_t tsw_cuda_queue_depth(tsw_device_t *dev, const tsw_launch_t *launch, uint32_t tried,
                                  uint32_t *depth_p, double *enqueue_ns_p, tsw_err_t *err)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    uint32_t queued = 0;
    uint64_t last_ns = 0;
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status == TSW_OK)
        status = hold(cuda, err);
    const uint64_t start_ns = tsw_clock_now_ns();
    uint64_t spent_ns = 0;
    while (status == TSW_OK && queued < tried && last_ns < blocked_ns) {
        const uint64_t before_ns = tsw_clock_now_ns();
        spent_ns = before_ns - start_ns;
        status = tsw_cuda_launch(cuda, launch, err);
        last_ns = tsw_clock_now_ns() - before_ns;
        queued++;
    }
    cuda->shared->gate = cuda->ticket;
    if (status == TSW_OK)
        status = tsw_cuda_finish(cuda, "a full queue", 10.0, err);
    if (status != TSW_OK)
        return status;
    *depth_p = last_ns < blocked_ns ? 0 : queued - 1;
    *enqueue_ns_p = queued > 1 ? (double)spent_ns / (queued - 1) : (double)last_ns;
    return TSW_OK;
}
