/* Opening, and the readings of each round. */
#include "device/nvml_api.h"

#include "base/clock.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The driver calls an instance of MIG "MIG-.." where CUDA gives 16 bytes for it. */
static int find_gpu(tsw_nvml_t *nvml, const char *uuid)
{
    char instance[TSW_UUID_SIZE];
    int result = nvml->api.gpu_by_uuid(uuid, &nvml->instance);
    if (result != NVML_OK && strncmp(uuid, "GPU-", 4) == 0) {
        snprintf(instance, sizeof(instance), "MIG-%s", uuid + 4);
        if (nvml->api.gpu_by_uuid(instance, &nvml->instance) == NVML_OK)
            result = NVML_OK;
    }
    if (result != NVML_OK)
        return result;
    if (nvml->api.physical == NULL ||
        nvml->api.physical(nvml->instance, &nvml->gpu) != NVML_OK) /* no instance */
        nvml->gpu = nvml->instance;
    return NVML_OK;
}

tsw_status_t tsw_nvml_open(const char *uuid, tsw_nvml_t **nvml_p, tsw_err_t *err)
{
    tsw_nvml_t *nvml = tsw_calloc(1, sizeof(*nvml));
    if (nvml == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_nvml_load(nvml, err);
    int result = status == TSW_OK ? nvml->api.init() : NVML_OK;
    nvml->is_up = status == TSW_OK && result == NVML_OK;
    if (status == TSW_OK && !nvml->is_up)
        status = tsw_err_set(err, TSW_ERR_ENV, "NVML does not start: %s (%d)",
                             tsw_nvml_text(result), result);
    if (status == TSW_OK && (result = find_gpu(nvml, uuid)) != NVML_OK)
        status = tsw_err_set(err, TSW_ERR_ENV, "NVML has no GPU %s: %s (%d)", uuid,
                             tsw_nvml_text(result), result);
    if (status != TSW_OK)
        tsw_nvml_close(nvml);
    else
        *nvml_p = nvml;
    return status;
}

void tsw_nvml_close(tsw_nvml_t *nvml)
{
    if (nvml == NULL)
        return;
    tsw_nvml_health_end(nvml);
    if (nvml->is_up)
        nvml->api.shutdown();
    if (nvml->library != NULL)
        dlclose(nvml->library);
    tsw_free(nvml);
}

/* ---- what is known once ---- */

/* The name of an instance ends with its profile: "NVIDIA H200 MIG 1g.18gb". */
static void describe_mig(tsw_nvml_t *nvml, tsw_gpu_t *gpu)
{
    char name[96] = "";
    if (nvml->gpu == nvml->instance)
        return;
    if (nvml->api.name == NULL || nvml->api.name(nvml->instance, name, sizeof(name)) != NVML_OK)
        name[0] = '\0';
    const char *profile = strstr(name, "MIG ");
    snprintf(gpu->mig_profile, sizeof(gpu->mig_profile), "%.31s",
             profile != NULL ? profile + strlen("MIG ") : "unknown");
    if (strncmp(gpu->uuid, "GPU-", 4) == 0)
        memcpy(gpu->uuid, "MIG-", 4);
}

static void try_readings(tsw_nvml_t *nvml, tsw_buf_t *missing)
{
    const nvml_api_t *api = &nvml->api;
    unsigned value = 0, max_mhz = 0;
    unsigned long long mask = 0;
    const int none = NVML_NO_FUNCTION;
    tsw_nvml_note(missing, "SM clock",
                  api->clock != NULL ? api->clock(nvml->gpu, NVML_CLOCK_SM, &value) : none);
    if (api->max_clock != NULL && api->max_clock(nvml->gpu, NVML_CLOCK_SM, &max_mhz) == NVML_OK)
        nvml->max_sm_mhz = max_mhz;
    tsw_nvml_note(missing, "power", api->power != NULL ? api->power(nvml->gpu, &value) : none);
    tsw_nvml_note(missing, "temperature",
                  api->temperature != NULL ? api->temperature(nvml->gpu, NVML_SENSOR_GPU, &value)
                                           : none);
    tsw_nvml_note(missing, "throttle reasons",
                  api->reasons != NULL ? api->reasons(nvml->gpu, &mask) : none);
}

tsw_nvml_t *tsw_nvml_attach(tsw_gpu_t *gpu)
{
    tsw_nvml_t *nvml = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_buf_t missing = TSW_BUF_INIT;
    gpu->driver_text[0] = '\0';
    if (tsw_nvml_open(gpu->uuid, &nvml, &err) != TSW_OK) {
        snprintf(gpu->unreadable, sizeof(gpu->unreadable), "%.*s", (int)sizeof(gpu->unreadable) - 1,
                 err.text);
        return NULL;
    }
    if (nvml->api.driver(gpu->driver_text, sizeof(gpu->driver_text)) != NVML_OK)
        gpu->driver_text[0] = '\0';
    describe_mig(nvml, gpu);
    try_readings(nvml, &missing);
    tsw_nvml_health_begin(nvml, &missing);
    snprintf(gpu->unreadable, sizeof(gpu->unreadable), "%.*s", (int)sizeof(gpu->unreadable) - 1,
             tsw_buf_text(&missing));
    tsw_buf_fini(&missing);
    return nvml;
}

/* ---- each round ---- */

void tsw_nvml_read(tsw_nvml_t *nvml, tsw_telemetry_t *telemetry_p)
{
    unsigned value = 0;
    unsigned long long mask = 0;
    *telemetry_p = (tsw_telemetry_t){.power_w = 0};
    if (nvml == NULL)
        return;
    const nvml_api_t *api = &nvml->api;
    if (api->clock != NULL && api->clock(nvml->gpu, NVML_CLOCK_SM, &value) == NVML_OK)
        telemetry_p->sm_clock_mhz = value;
    telemetry_p->read_ns = tsw_clock_now_ns(); /* the rest takes a while, and matters less */
    if (api->clock != NULL && api->clock(nvml->gpu, NVML_CLOCK_MEMORY, &value) == NVML_OK)
        telemetry_p->mem_clock_mhz = value;
    telemetry_p->max_sm_clock_mhz = nvml->max_sm_mhz;
    if (api->power != NULL && api->power(nvml->gpu, &value) == NVML_OK)
        telemetry_p->power_w = (float)value / 1000.0f;
    if (api->temperature != NULL && api->temperature(nvml->gpu, NVML_SENSOR_GPU, &value) == NVML_OK)
        telemetry_p->temperature_celsius = (float)value;
    if (api->reasons != NULL && api->reasons(nvml->gpu, &mask) == NVML_OK)
        telemetry_p->throttle_reasons = mask;
}
