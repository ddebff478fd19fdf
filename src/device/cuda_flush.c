/* Proof that the flush empties the L2: a buffer that was just read takes longer to read after it.
 */
#include "device/cuda_body.h"

enum { LOADS = 256, STRIDE_WORDS = 1024, TRIES = 3 };

static const size_t buffer_bytes = (size_t)LOADS * STRIDE_WORDS * sizeof(uint64_t);

/* One pass over the buffer, timed when ns_p is not NULL. */
static tsw_status_t chase(tsw_cuda_t *cuda, cu_address_t buffer, double *ns_p, tsw_err_t *err)
{
    uint64_t count = LOADS, stride = STRIDE_WORDS;
    void *params[] = {&buffer, &count, &stride, &cuda->results};
    cu_event_t start = cuda->starts[0], end = cuda->ends[0];
    float ms = 0;
    tsw_status_t status =
        tsw_cuda_call(cuda, cuda->api.event_record(start, cuda->stream), "cuEventRecord", err);
    if (status == TSW_OK)
        status = tsw_cuda_tool(cuda, TSW_TOOL_CHASE, 1, params, err);
    if (status == TSW_OK)
        status =
            tsw_cuda_call(cuda, cuda->api.event_record(end, cuda->stream), "cuEventRecord", err);
    if (status == TSW_OK)
        status = tsw_cuda_wait(cuda, end, 10.0, err);
    if (status == TSW_OK)
        status = tsw_cuda_call(cuda, cuda->api.event_elapsed(&ms, start, end), "cuEventElapsedTime",
                               err);
    if (status == TSW_OK && ns_p != NULL)
        *ns_p = (double)ms * 1e6 / LOADS;
    return status;
}

/* The shortest of some tries each: anything else only adds. */
static tsw_status_t compare(tsw_cuda_t *cuda, cu_address_t buffer, tsw_flush_proof_t *proof,
                            tsw_err_t *err)
{
    tsw_status_t status = chase(cuda, buffer, NULL, err);
    for (int i = 0; i < TRIES && status == TSW_OK; i++) {
        double hot_ns = 0, cold_ns = 0;
        status = chase(cuda, buffer, &hot_ns, err);
        if (status == TSW_OK)
            status = tsw_cuda_call(
                cuda, cuda->api.set_d8_async(cuda->flush, 0, cuda->flush_bytes, cuda->stream),
                "cuMemsetD8Async", err);
        if (status == TSW_OK)
            status = chase(cuda, buffer, &cold_ns, err);
        proof->hot_ns = i == 0 || hot_ns < proof->hot_ns ? hot_ns : proof->hot_ns;
        proof->cold_ns = i == 0 || cold_ns < proof->cold_ns ? cold_ns : proof->cold_ns;
    }
    return status;
}

tsw_status_t tsw_cuda_prove_flush(tsw_device_t *dev, tsw_flush_proof_t *proof_p, tsw_err_t *err)
{
    tsw_cuda_t *cuda = (tsw_cuda_t *)dev;
    tsw_flush_proof_t proof = cuda->proof;
    cu_address_t buffer = 0;
    tsw_status_t status = tsw_cuda_usable(cuda, err);
    if (status == TSW_OK && proof.hot_ns == 0) {
        status =
            tsw_cuda_call(cuda, cuda->api.memory_alloc(&buffer, buffer_bytes), "cuMemAlloc", err);
        if (status == TSW_OK)
            status =
                tsw_cuda_call(cuda, cuda->api.set_d8_async(buffer, 0, buffer_bytes, cuda->stream),
                              "cuMemsetD8Async", err);
        if (status == TSW_OK)
            status = compare(cuda, buffer, &proof, err);
        if (buffer != 0 && !cuda->lost)
            tsw_cuda_warn(&cuda->api, cuda->api.memory_free(buffer), "cuMemFree");
    }
    if (status != TSW_OK) {
        tsw_err_wrap(err, "proof that the L2 is flushed");
        return status;
    }
    cuda->proof = proof;
    *proof_p = proof;
    return TSW_OK;
}
