/* Calls of the driver that note a lost context, and waits that never stay inside it. */
#include "device/cuda_body.h"

#include "base/clock.h"

#include <time.h>

static const uint64_t spin_ns = 200000;
static const long nap_ns = 20000;

tsw_status_t tsw_cuda_call(tsw_cuda_t *cuda, cu_result_t result, const char *call, tsw_err_t *err)
{
    tsw_status_t status = tsw_cuda_check(&cuda->api, result, call, err);
    if (status == TSW_ERR_DEVICE_LOST)
        cuda->lost = true;
    return status;
}

tsw_status_t tsw_cuda_usable(const tsw_cuda_t *cuda, tsw_err_t *err)
{
    if (cuda->lost)
        return tsw_err_set(err, TSW_ERR_DEVICE_LOST, "the context was lost before");
    return TSW_OK;
}

/* Backoff between two looks at the device: spins first, then sleeps for 20 us a time. */
typedef struct {
    uint64_t start_ns;    /* of the wait */
    uint64_t deadline_ns; /* on the same clock */
} patience_t;

static patience_t new_patience(double timeout_s)
{
    uint64_t now = tsw_clock_now_ns();
    return (patience_t){.start_ns = now, .deadline_ns = now + (uint64_t)(timeout_s * 1e9)};
}

/* false: time is up */
static bool pause_between(const patience_t *patience)
{
    uint64_t now = tsw_clock_now_ns();
    if (now >= patience->deadline_ns)
        return false;
    if (now - patience->start_ns > spin_ns)
        nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
    return true;
}

tsw_status_t tsw_cuda_wait(tsw_cuda_t *cuda, cu_event_t event, double timeout_s, tsw_err_t *err)
{
    patience_t patience = new_patience(timeout_s);
    for (;;) {
        cu_result_t result = cuda->api.event_query(event);
        if (result != CU_NOT_READY)
            return tsw_cuda_call(cuda, result, "cuEventQuery", err);
        if (!pause_between(&patience)) {
            cuda->lost = true;
            return tsw_err_set(err, TSW_ERR_TIMEOUT, "still running after %g s", timeout_s);
        }
    }
}

tsw_status_t tsw_cuda_finish(tsw_cuda_t *cuda, const char *what, double timeout_s, tsw_err_t *err)
{
    tsw_status_t status =
        tsw_cuda_call(cuda, cuda->api.event_record(cuda->done, cuda->stream), "cuEventRecord", err);
    if (status == TSW_OK)
        status = tsw_cuda_wait(cuda, cuda->done, timeout_s, err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "%s", what);
    return status;
}
