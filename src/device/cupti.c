#include "device/cupti.h"

#include "base/library.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CUPTI_OK = 0, CUPTI_NO_MORE = 12, KIND_KERNEL = 10, FLUSH_FORCED = 1 };

#define BUFFER_SIZE (1u << 20)
#define ALIGNMENT   8

/* How the records of a kernel begin, in all versions since that of CUDA 9. */
typedef struct {
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t cache_requested, cache_executed;
    uint64_t start_ns, end_ns;
} kernel_record_t;

_Static_assert(sizeof(kernel_record_t) == 32, "no padding");

typedef void (*request_t)(uint8_t **buffer_p, size_t *size_p, size_t *most_records_p);
typedef void (*complete_t)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t filled);

struct tsw_cupti {
    void *library;
    int (*register_callbacks)(request_t request, complete_t complete);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush)(uint32_t flag);
    int (*next)(uint8_t *buffer, size_t filled, uint8_t **record_p);
    bool is_registered;
    tsw_span_t *spans;
    size_t count, capacity;
    bool failed; /* memory ran out */
};

/* CUPTI's callbacks know no owner, and may come from a thread of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tsw_cupti_t *owner;

static void on_request(uint8_t **buffer_p, size_t *size_p, size_t *most_records_p)
{
    void *buffer = NULL;
    if (posix_memalign(&buffer, ALIGNMENT, BUFFER_SIZE) != 0)
        buffer = NULL;
    *buffer_p = buffer;
    *size_p = buffer != NULL ? BUFFER_SIZE : 0;
    *most_records_p = 0; /* as many as fit */
}

static void keep(tsw_cupti_t *cupti, const uint8_t *record)
{
    kernel_record_t kernel;
    memcpy(&kernel, record, sizeof(kernel.kind));
    if (kernel.kind != KIND_KERNEL)
        return;
    memcpy(&kernel, record, sizeof(kernel));
    if (TSW_GROW(cupti->spans, cupti->capacity, cupti->count))
        cupti->spans[cupti->count++] = (tsw_span_t){kernel.start_ns, kernel.end_ns};
    else
        cupti->failed = true;
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t filled)
{
    uint8_t *record = NULL;
    (void)context;
    (void)stream;
    (void)size;
    pthread_mutex_lock(&lock);
    while (owner != NULL && owner->next(buffer, filled, &record) == CUPTI_OK)
        keep(owner, record);
    pthread_mutex_unlock(&lock);
    free(buffer);
}

static void *open_library(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    const char *path = tsw_library_path("TSW_LIBCUPTI", NULL);
    void *library = NULL;
    if (path != NULL)
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library == NULL && i < sizeof(names) / sizeof(names[0]); i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

tsw_status_t tsw_cupti_open(tsw_cupti_t **cupti_p, tsw_err_t *err)
{
    tsw_cupti_t *cupti = tsw_calloc(1, sizeof(*cupti));
    if (cupti == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_OK;
    cupti->library = open_library();
    if (cupti->library == NULL)
        status = tsw_err_set(err, TSW_ERR_ENV,
                             "the check of the timer needs CUPTI (TSW_LIBCUPTI may name it): %s",
                             dlerror());
    else if (!tsw_library_find(cupti->library, "cuptiActivityRegisterCallbacks",
                               &cupti->register_callbacks) ||
             !tsw_library_find(cupti->library, "cuptiActivityEnable", &cupti->enable) ||
             !tsw_library_find(cupti->library, "cuptiActivityDisable", &cupti->disable) ||
             !tsw_library_find(cupti->library, "cuptiActivityFlushAll", &cupti->flush) ||
             !tsw_library_find(cupti->library, "cuptiActivityGetNextRecord", &cupti->next))
        status =
            tsw_err_set(err, TSW_ERR_ENV, "this CUPTI lacks the activity functions: %s", dlerror());
    if (status == TSW_OK)
        *cupti_p = cupti;
    else
        tsw_cupti_close(cupti);
    return status;
}

static void set_owner(tsw_cupti_t *cupti)
{
    pthread_mutex_lock(&lock);
    owner = cupti;
    pthread_mutex_unlock(&lock);
}

void tsw_cupti_close(tsw_cupti_t *cupti)
{
    if (cupti == NULL)
        return;
    set_owner(NULL);
    tsw_free(cupti->spans);
    /* Once registered it keeps our functions, so it stays as long as the process. */
    if (cupti->library != NULL && !cupti->is_registered)
        dlclose(cupti->library);
    tsw_free(cupti);
}

static tsw_status_t check(int result, const char *call, tsw_err_t *err)
{
    if (result == CUPTI_OK)
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_DEVICE, "CUPTI: %s failed (%d)%s", call, result,
                       result == 35 ? ": profiling needs more rights on this node" : "");
}

tsw_status_t tsw_cupti_begin(tsw_cupti_t *cupti, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    cupti->count = 0;
    cupti->failed = false;
    set_owner(cupti);
    if (!cupti->is_registered)
        status = check(cupti->register_callbacks(on_request, on_complete),
                       "cuptiActivityRegisterCallbacks", err);
    cupti->is_registered = cupti->is_registered || status == TSW_OK;
    if (status == TSW_OK)
        status = check(cupti->enable(KIND_KERNEL), "cuptiActivityEnable", err);
    return status;
}

static int compare_spans(const void *a, const void *b)
{
    const uint64_t left = ((const tsw_span_t *)a)->start_ns;
    const uint64_t right = ((const tsw_span_t *)b)->start_ns;
    return (left > right) - (left < right);
}

tsw_status_t tsw_cupti_end(tsw_cupti_t *cupti, tsw_span_t **spans_p, size_t *count_p,
                           tsw_err_t *err)
{
    tsw_status_t status = check(cupti->flush(FLUSH_FORCED), "cuptiActivityFlushAll", err);
    tsw_status_t disabled =
        check(cupti->disable(KIND_KERNEL), "cuptiActivityDisable", status == TSW_OK ? err : NULL);
    set_owner(NULL);
    if (status == TSW_OK)
        status = disabled;
    if (status == TSW_OK && cupti->failed)
        status = tsw_err_nomem(err);
    if (status != TSW_OK)
        return status;
    if (cupti->count > 0) /* its buffers may come in another order */
        qsort(cupti->spans, cupti->count, sizeof(*cupti->spans), compare_spans);
    *spans_p = cupti->spans;
    *count_p = cupti->count;
    cupti->spans = NULL;
    cupti->count = cupti->capacity = 0;
    return TSW_OK;
}
