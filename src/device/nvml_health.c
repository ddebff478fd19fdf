/* Whether the GPU is sound, and whether it is ours alone. */
#include "device/nvml_api.h"

#define PROCESS_MAX 64
#define EVENT_MAX   64 /* at one look */

static int count_ecc(tsw_nvml_t *nvml, int kind, unsigned long long *count_p)
{
    if (nvml->api.ecc == NULL)
        return NVML_NO_FUNCTION;
    return nvml->api.ecc(nvml->gpu, kind, NVML_ECC_VOLATILE, count_p);
}

static int open_events(tsw_nvml_t *nvml)
{
    const nvml_api_t *api = &nvml->api;
    if (api->events_new == NULL || api->events_free == NULL || api->events_register == NULL ||
        api->events_wait == NULL)
        return NVML_NO_FUNCTION;
    int result = api->events_new(&nvml->events);
    if (result != NVML_OK) {
        nvml->events = NULL;
        return result;
    }
    result = api->events_register(nvml->gpu, NVML_EVENT_XID, nvml->events);
    if (result != NVML_OK)
        tsw_nvml_health_end(nvml);
    return result;
}

void tsw_nvml_health_begin(tsw_nvml_t *nvml, tsw_buf_t *missing)
{
    unsigned count = 0;
    int result = NVML_NO_FUNCTION;
    tsw_nvml_note(missing, "ECC errors", count_ecc(nvml, NVML_ECC_CORRECTED, &nvml->corrected));
    (void)count_ecc(nvml, NVML_ECC_UNCORRECTED, &nvml->uncorrected);
    tsw_nvml_note(missing, "Xid events", open_events(nvml));
    if (nvml->api.processes != NULL)
        result = nvml->api.processes(nvml->instance, &count, NULL);
    tsw_nvml_note(missing, "other processes", result == NVML_INSUFFICIENT_SIZE ? NVML_OK : result);
}

void tsw_nvml_health_end(tsw_nvml_t *nvml)
{
    if (nvml->events != NULL)
        nvml->api.events_free(nvml->events);
    nvml->events = NULL;
}

/* New errors of a kind since the look before. */
static uint32_t new_errors(tsw_nvml_t *nvml, int kind, unsigned long long *last, int *result_p)
{
    unsigned long long count = 0;
    *result_p = count_ecc(nvml, kind, &count);
    if (*result_p != NVML_OK)
        return 0;
    unsigned long long more = count > *last ? count - *last : 0;
    *last = count;
    return more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
}

/* The list has this process, by its number or, from within a container, by another one. */
static uint32_t count_foreign(tsw_nvml_t *nvml)
{
    nvml_process_t processes[PROCESS_MAX];
    unsigned count = PROCESS_MAX;
    if (nvml->api.processes == NULL)
        return 0;
    int result = nvml->api.processes(nvml->instance, &count, processes);
    if (result == NVML_INSUFFICIENT_SIZE)
        return PROCESS_MAX;
    return result == NVML_OK && count > 0 ? count - 1 : 0;
}

/* The first fatal one, else the last. */
static uint32_t next_xid(tsw_nvml_t *nvml)
{
    uint32_t xid = 0;
    for (int i = 0; nvml->events != NULL && i < EVENT_MAX && !tsw_xid_is_fatal(xid); i++) {
        nvml_event_t event = {.type = 0};
        if (nvml->api.events_wait(nvml->events, &event, 0) != NVML_OK)
            break;
        if (event.type == NVML_EVENT_XID)
            xid = (uint32_t)event.data;
    }
    return xid;
}

void tsw_nvml_health(tsw_nvml_t *nvml, tsw_health_t *health_p)
{
    *health_p = (tsw_health_t){.foreign_processes = 0};
    if (nvml == NULL)
        return;
    int result = NVML_OK;
    health_p->ecc_corrected = new_errors(nvml, NVML_ECC_CORRECTED, &nvml->corrected, &result);
    health_p->ecc_uncorrected = new_errors(nvml, NVML_ECC_UNCORRECTED, &nvml->uncorrected, &result);
    health_p->is_gone = result == NVML_GPU_IS_LOST || result == NVML_RESET_REQUIRED;
    health_p->foreign_processes = count_foreign(nvml);
    health_p->xid = next_xid(nvml);
}
