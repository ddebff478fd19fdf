#include "device/nvml.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvml_gpu *nvml_gpu_t;

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_SENSOR_GPU = 0 };

struct tsw_nvml {
    void *library;
    nvml_gpu_t gpu;
    int (*init)(void);
    int (*shutdown)(void);
    int (*gpu_by_uuid)(const char *uuid, nvml_gpu_t *gpu_p);
    int (*driver)(char *out, unsigned size);
    int (*clock)(nvml_gpu_t gpu, int type, unsigned *mhz_p);
    int (*max_clock)(nvml_gpu_t gpu, int type, unsigned *mhz_p); /* NULL: not known */
    int (*power)(nvml_gpu_t gpu, unsigned *milliwatt_p);
    int (*temperature)(nvml_gpu_t gpu, int sensor, unsigned *celsius_p);
    int (*reasons)(nvml_gpu_t gpu, unsigned long long *mask_p);
};

static bool find(void *library, const char *symbol, void *function_p)
{
    void *function = dlsym(library, symbol);
    memcpy(function_p, &function, sizeof(function));
    return function != NULL;
}

static bool load(tsw_nvml_t *nvml)
{
    void *library = nvml->library;
    (void)find(library, "nvmlDeviceGetMaxClockInfo", &nvml->max_clock);
    return find(library, "nvmlInit_v2", &nvml->init) &&
           find(library, "nvmlShutdown", &nvml->shutdown) &&
           find(library, "nvmlDeviceGetHandleByUUID", &nvml->gpu_by_uuid) &&
           find(library, "nvmlSystemGetDriverVersion", &nvml->driver) &&
           find(library, "nvmlDeviceGetClockInfo", &nvml->clock) &&
           find(library, "nvmlDeviceGetPowerUsage", &nvml->power) &&
           find(library, "nvmlDeviceGetTemperature", &nvml->temperature) &&
           find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml->reasons);
}

tsw_nvml_t *tsw_nvml_open(const char *gpu_uuid)
{
    const char *path = getenv("TSW_LIBNVML");
    tsw_nvml_t *nvml = tsw_calloc(1, sizeof(*nvml));
    if (nvml == NULL)
        return NULL;
    nvml->library =
        dlopen(path != NULL && path[0] != '\0' ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL)
        goto failed;
    if (!load(nvml) || nvml->init() != 0)
        goto failed_library;
    if (nvml->gpu_by_uuid(gpu_uuid, &nvml->gpu) != 0)
        nvml->gpu = NULL;
    return nvml;

failed_library:
    dlclose(nvml->library);
failed:
    tsw_free(nvml);
    return NULL;
}

void tsw_nvml_close(tsw_nvml_t *nvml)
{
    if (nvml == NULL)
        return;
    nvml->shutdown();
    dlclose(nvml->library);
    tsw_free(nvml);
}

void tsw_nvml_read(tsw_nvml_t *nvml, tsw_telemetry_t *telemetry_p)
{
    *telemetry_p = (tsw_telemetry_t){.power_w = 0};
    if (nvml == NULL || nvml->gpu == NULL)
        return;
    unsigned value = 0;
    unsigned long long mask = 0;
    if (nvml->clock(nvml->gpu, NVML_CLOCK_SM, &value) == 0)
        telemetry_p->sm_clock_mhz = value;
    if (nvml->clock(nvml->gpu, NVML_CLOCK_MEMORY, &value) == 0)
        telemetry_p->mem_clock_mhz = value;
    if (nvml->max_clock != NULL && nvml->max_clock(nvml->gpu, NVML_CLOCK_SM, &value) == 0)
        telemetry_p->max_sm_clock_mhz = value;
    if (nvml->power(nvml->gpu, &value) == 0)
        telemetry_p->power_w = (float)value / 1000.0f;
    if (nvml->temperature(nvml->gpu, NVML_SENSOR_GPU, &value) == 0)
        telemetry_p->temperature_celsius = (float)value;
    if (nvml->reasons(nvml->gpu, &mask) == 0)
        telemetry_p->throttle_reasons = mask;
}

void tsw_nvml_driver(tsw_nvml_t *nvml, char *out, size_t size)
{
    char text[96] = "";
    if (nvml != NULL && nvml->driver(text, sizeof(text)) != 0)
        text[0] = '\0';
    snprintf(out, size, "%s", text);
}
