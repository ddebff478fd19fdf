/* Whether the clock during a round was that of the others. */
#include "measure/measure_cell.h"
#include "stats/stats.h"

static const double most_off = 0.02;      /* from the median of the cell's rounds */
static const double least_share = 0.75;   /* of the highest clock, when something throttles */
static const size_t least_readings = 4;   /* before there is a median to speak of */
static const uint32_t lock_step_mhz = 15; /* a step of the clock: it may stand on the next one */

enum { REASON_IDLE = 0x1, REASON_POWER_CAP = 0x4 }; /* of NVML's mask: every GPU has these */

static double median_of(const tsw_measure_clock_t *clock)
{
    double mhz[TSW_MEASURE_CLOCKS];
    for (size_t i = 0; i < clock->count; i++)
        mhz[i] = clock->mhz[i];
    return tsw_stats_median(mhz, clock->count);
}

static bool is_throttled(const tsw_telemetry_t *now)
{
    uint64_t reasons = now->throttle_reasons & ~(uint64_t)(REASON_IDLE | REASON_POWER_CAP);
    return reasons != 0 && now->sm_clock_mhz < least_share * now->max_sm_clock_mhz;
}

bool tsw_measure_clock_is_off(const tsw_measure_clock_t *clock, const tsw_telemetry_t *now)
{
    if (now->sm_clock_mhz == 0)
        return false;
    if (clock->locked_mhz != 0)
        return now->sm_clock_mhz > clock->locked_mhz + lock_step_mhz ||
               now->sm_clock_mhz + lock_step_mhz < clock->locked_mhz;
    if (is_throttled(now))
        return true;
    if (clock->count < least_readings)
        return false;
    double median = median_of(clock), mhz = now->sm_clock_mhz;
    return mhz > median * (1 + most_off) || mhz < median * (1 - most_off);
}

void tsw_measure_clock_note(tsw_measure_clock_t *clock, const tsw_telemetry_t *now)
{
    if (now->sm_clock_mhz == 0)
        return;
    if (clock->count < TSW_MEASURE_CLOCKS)
        clock->count++;
    clock->mhz[clock->next] = now->sm_clock_mhz;
    clock->next = (clock->next + 1) % TSW_MEASURE_CLOCKS;
}
