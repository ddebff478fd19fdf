/* Finding NVML and its functions. */
#include "device/nvml_api.h"

#include "base/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *symbol;
    size_t offset; /* of the function's pointer */
    bool is_needed;
} functions[] = {
#define FUNCTION(_field, _symbol)                                                                  \
    {                                                                                              \
        _symbol, offsetof(nvml_api_t, _field), false                                               \
    }
#define NEEDED(_field, _symbol)                                                                    \
    {                                                                                              \
        _symbol, offsetof(nvml_api_t, _field), true                                                \
    }
    NEEDED(init, "nvmlInit_v2"),
    NEEDED(shutdown, "nvmlShutdown"),
    NEEDED(gpu_by_uuid, "nvmlDeviceGetHandleByUUID"),
    NEEDED(driver, "nvmlSystemGetDriverVersion"),
    FUNCTION(name, "nvmlDeviceGetName"),
    FUNCTION(physical, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle"),
    FUNCTION(clock, "nvmlDeviceGetClockInfo"),
    FUNCTION(max_clock, "nvmlDeviceGetMaxClockInfo"),
    FUNCTION(power, "nvmlDeviceGetPowerUsage"),
    FUNCTION(energy, "nvmlDeviceGetTotalEnergyConsumption"),
    FUNCTION(temperature, "nvmlDeviceGetTemperature"),
    FUNCTION(reasons, "nvmlDeviceGetCurrentClocksEventReasons"),
    FUNCTION(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"), /* the older name */
    FUNCTION(processes, "nvmlDeviceGetComputeRunningProcesses_v3"),
    FUNCTION(processes, "nvmlDeviceGetComputeRunningProcesses_v2"),
    FUNCTION(ecc, "nvmlDeviceGetTotalEccErrors"),
    FUNCTION(events_new, "nvmlEventSetCreate"),
    FUNCTION(events_free, "nvmlEventSetFree"),
    FUNCTION(events_register, "nvmlDeviceRegisterEvents"),
    FUNCTION(events_wait, "nvmlEventSetWait_v2"),
    FUNCTION(memory_clocks, "nvmlDeviceGetSupportedMemoryClocks"),
    FUNCTION(sm_clocks, "nvmlDeviceGetSupportedGraphicsClocks"),
    FUNCTION(lock, "nvmlDeviceSetGpuLockedClocks"),
    FUNCTION(unlock, "nvmlDeviceResetGpuLockedClocks"),
};

/* The first of several names wins. */
static bool find(tsw_nvml_t *nvml, size_t i)
{
    char *slot = (char *)&nvml->api + functions[i].offset;
    void *known = NULL;
    memcpy(&known, slot, sizeof(known));
    return known != NULL || tsw_library_find(nvml->library, functions[i].symbol, slot) ||
           !functions[i].is_needed;
}

tsw_status_t tsw_nvml_load(tsw_nvml_t *nvml, tsw_err_t *err)
{
    const char *path = tsw_library_path("TSW_LIBNVML", "libnvidia-ml.so.1");
    nvml->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL)
        return tsw_err_set(err, TSW_ERR_ENV, "no NVML: %s", dlerror());
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (!find(nvml, i))
            return tsw_err_set(err, TSW_ERR_ENV, "NVML: %s lacks %s", path, functions[i].symbol);
    return TSW_OK;
}

const char *tsw_nvml_text(int result)
{
    switch (result) {
    case NVML_NOT_SUPPORTED:
        return "not supported";
    case NVML_NO_PERMISSION:
        return "no permission";
    case NVML_NOT_FOUND:
        return "not found";
    case NVML_NO_FUNCTION:
        return "not in this version of NVML";
    case NVML_GPU_IS_LOST:
        return "the GPU is lost";
    case NVML_RESET_REQUIRED:
        return "the GPU needs a reset";
    case 9:
        return "the driver is not loaded";
    default:
        return "it failed";
    }
}

void tsw_nvml_note(tsw_buf_t *missing, const char *what, int result)
{
    if (result != NVML_OK)
        tsw_buf_printf(missing, "%s%s: %s", missing->size > 0 ? "; " : "", what,
                       tsw_nvml_text(result));
}
