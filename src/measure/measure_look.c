/* The state of the GPU, as rounds note it. */
#include "measure/measure_cell.h"

tsw_round_t tsw_measure_round(const tsw_telemetry_t *telemetry, const tsw_health_t *health)
{
    return (tsw_round_t){
        .sm_clock_mhz = telemetry->sm_clock_mhz,
        .mem_clock_mhz = telemetry->mem_clock_mhz,
        .power_w = telemetry->power_w,
        .temperature_celsius = telemetry->temperature_celsius,
        .throttle_reasons = telemetry->throttle_reasons,
        .foreign_processes = health->foreign_processes,
        .ecc_corrected = health->ecc_corrected,
        .ecc_uncorrected = health->ecc_uncorrected,
        .xid = health->xid,
    };
}

/* Looks after the GPU; what a round that is not kept saw goes to the next. */
tsw_status_t tsw_measure_look(tsw_measure_t *measure, tsw_health_t *sum, tsw_err_t *err)
{
    tsw_health_t new;
    char reason[TSW_DETAIL_MAX];
    tsw_use_t use = tsw_measure_turn(measure, TSW_USE_CLOCK);
    measure->dev->ops->health(measure->dev, false, &new);
    tsw_measure_turn(measure, use);
    sum->foreign_processes = new.foreign_processes;
    sum->ecc_corrected += new.ecc_corrected;
    sum->ecc_uncorrected += new.ecc_uncorrected;
    sum->xid = new.xid != 0 ? new.xid : sum->xid;
    if (!tsw_health_is_unfit(&new, reason, sizeof(reason)))
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_DEVICE_UNFIT, "%s", reason);
}
