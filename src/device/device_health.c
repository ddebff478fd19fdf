#include "device/device.h"

#include <stdio.h>

/* Of NVIDIA's list of Xid errors those after which the GPU must be reset, or its memory is bad.
 * What a faulty kernel causes (13, 31, 43, 45) is not among them, nor is an error that was
 * contained. */
static const uint32_t fatal_xids[] = {
    48,  /* uncorrected ECC error */
    62,  /* a controller of the GPU halted */
    64,  /* a row of memory could not be replaced */
    79,  /* the GPU is no longer on the bus */
    95,  /* uncontained memory error */
    119, /* its system processor does not answer */
    120, /* error of that processor */
    140, /* unrecovered ECC error */
};

bool tsw_xid_is_fatal(uint32_t xid)
{
    for (size_t i = 0; i < sizeof(fatal_xids) / sizeof(fatal_xids[0]); i++)
        if (fatal_xids[i] == xid)
            return true;
    return false;
}

bool tsw_health_is_unfit(const tsw_health_t *health, char *reason, size_t size)
{
    if (tsw_xid_is_fatal(health->xid))
        snprintf(reason, size, "the driver reported Xid %u", health->xid);
    else if (health->ecc_uncorrected > 0)
        snprintf(reason, size, "uncorrected ECC errors: %u", health->ecc_uncorrected);
    else if (health->is_gone)
        snprintf(reason, size, "NVML says that the GPU is lost or must be reset");
    else
        return false;
    return true;
}
