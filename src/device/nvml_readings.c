#include "device/nvml_readings.h"

void tsw_nvml_readings_add(tsw_nvml_readings_t *readings, const tsw_telemetry_t *reading)
{
    readings->items[readings->next] = *reading;
    readings->next = (readings->next + 1) % TSW_NVML_READINGS;
    if (readings->count < TSW_NVML_READINGS)
        readings->count++;
}

tsw_telemetry_t tsw_nvml_readings_near(const tsw_nvml_readings_t *readings, uint64_t from_ns,
                                       uint64_t to_ns)
{
    const uint64_t middle_ns = from_ns + (to_ns - from_ns) / 2;
    tsw_telemetry_t nearest = {.read_ns = 0};
    uint64_t least_ns = UINT64_MAX;
    for (size_t i = 0; i < readings->count; i++) {
        const tsw_telemetry_t *one = &readings->items[i];
        uint64_t off_ns =
            one->read_ns > middle_ns ? one->read_ns - middle_ns : middle_ns - one->read_ns;
        if (off_ns < least_ns) {
            least_ns = off_ns;
            nearest = *one;
        }
    }
    return nearest;
}
