/* The lock of the SM clock. */
#include "device/nvml_api.h"

#include <stdlib.h>

#define CLOCK_MAX 1024 /* supported ones */

/* Of the clocks that the GPU has at its highest memory clock: the nearest, 0 when it does not tell.
 */
static unsigned nearest_clock(tsw_nvml_t *nvml, unsigned mhz)
{
    unsigned clocks[CLOCK_MAX];
    unsigned count = CLOCK_MAX, memory_mhz = 0, nearest = 0;
    if (nvml->api.memory_clocks == NULL || nvml->api.sm_clocks == NULL ||
        nvml->api.memory_clocks(nvml->gpu, &count, clocks) != NVML_OK)
        return 0;
    for (unsigned i = 0; i < count; i++)
        memory_mhz = clocks[i] > memory_mhz ? clocks[i] : memory_mhz;
    count = CLOCK_MAX;
    if (nvml->api.sm_clocks(nvml->gpu, memory_mhz, &count, clocks) != NVML_OK)
        return 0;
    for (unsigned i = 0; i < count; i++)
        if (nearest == 0 || labs((long)clocks[i] - (long)mhz) < labs((long)nearest - (long)mhz))
            nearest = clocks[i];
    return nearest;
}

static tsw_status_t refuse(int result, const char *what, tsw_err_t *err)
{
    if (result == NVML_NO_PERMISSION)
        return tsw_err_set(err, TSW_ERR_ENV,
                           "%s: no permission; it takes root or CAP_SYS_ADMIN on this node, or "
                           "leave the clocks free",
                           what);
    return tsw_err_set(err, TSW_ERR_ENV, "%s: %s (NVML %d)", what, tsw_nvml_text(result), result);
}

tsw_status_t tsw_nvml_lock(tsw_nvml_t *nvml, uint32_t mhz, tsw_err_t *err)
{
    if (nvml->gpu != nvml->instance)
        return tsw_err_set(err, TSW_ERR_ENV,
                           "this is an instance of MIG: its clock is that of the whole GPU, which "
                           "others use too");
    if (nvml->api.lock == NULL || nvml->api.unlock == NULL)
        return refuse(NVML_NO_FUNCTION, "locking the SM clock", err);
    unsigned nearest = nearest_clock(nvml, mhz);
    if (nearest != 0 && nearest != mhz)
        return tsw_err_set(err, TSW_ERR_ARG, "the GPU has no SM clock of %u MHz; the nearest is %u",
                           mhz, nearest);
    int result = nvml->api.lock(nvml->gpu, mhz, mhz);
    return result == NVML_OK ? TSW_OK : refuse(result, "locking the SM clock", err);
}

tsw_status_t tsw_nvml_unlock(tsw_nvml_t *nvml, tsw_err_t *err)
{
    int result = nvml->api.unlock(nvml->gpu);
    return result == NVML_OK ? TSW_OK : refuse(result, "unlocking the SM clock", err);
}
