#include "device/nvml.h"

#include "base/mem.h"

struct tsw_clocks {
    tsw_nvml_t *nvml;
};

tsw_status_t tsw_clocks_lock(const char *uuid, uint32_t mhz, tsw_clocks_t **clocks_p,
                             tsw_err_t *err)
{
    tsw_clocks_t *clocks = tsw_calloc(1, sizeof(*clocks));
    tsw_status_t status =
        clocks != NULL ? tsw_nvml_open(uuid, &clocks->nvml, err) : tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_nvml_lock(clocks->nvml, mhz, err);
    if (status == TSW_OK) {
        *clocks_p = clocks;
        return TSW_OK;
    }
    if (clocks != NULL)
        tsw_nvml_close(clocks->nvml);
    tsw_free(clocks);
    return status;
}

tsw_status_t tsw_clocks_unlock(tsw_clocks_t *clocks, tsw_err_t *err)
{
    tsw_status_t status = tsw_nvml_unlock(clocks->nvml, err);
    tsw_nvml_close(clocks->nvml);
    tsw_free(clocks);
    return status;
}
