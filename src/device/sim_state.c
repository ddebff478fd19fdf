/* The state of a simulated GPU beside its computing. A clock, a temperature and errors of its own
 * it has only where a test stands in for the driver. */
#include "device/sim_body.h"

#include "base/library.h"

#include <string.h>

bool tsw_sim_nvml_has_stand_in(void)
{
    return tsw_library_path("TSW_LIBNVML", NULL) != NULL;
}

void tsw_sim_nvml_attach(tsw_sim_t *sim)
{
    char driver_text[TSW_NAME_SIZE];
    if (sim->is_replay || !tsw_sim_nvml_has_stand_in())
        return;
    memcpy(driver_text, sim->gpu.driver_text, sizeof(driver_text));
    sim->nvml = tsw_nvml_attach(&sim->gpu);
    memcpy(sim->gpu.driver_text, driver_text, sizeof(driver_text));
}

/* No thread here: a stand-in is read at each call, so that equal runs see the same. */
void tsw_sim_telemetry(tsw_device_t *dev, uint64_t from_ns, uint64_t to_ns,
                       tsw_telemetry_t *telemetry_p)
{
    const tsw_sim_t *sim = tsw_sim_body(dev);
    (void)from_ns;
    (void)to_ns;
    if (sim->nvml != NULL) {
        tsw_nvml_read(sim->nvml, telemetry_p);
        telemetry_p->read_ns = sim->clock_ns;
        return;
    }
    const tsw_sim_rule_t *throttle = tsw_sim_throttle(&sim->scenario, sim->round);
    double share = tsw_sim_clock_share(sim, sim->round);
    *telemetry_p = (tsw_telemetry_t){.sm_clock_mhz = (uint32_t)(sim->model->sm_clock_mhz * share),
                                     .throttle_reasons = throttle != NULL ? throttle->reason : 0,
                                     .mem_clock_mhz = sim->model->mem_clock_mhz,
                                     .power_w = sim->model->power_w,
                                     .temperature_celsius = 55.0f,
                                     .max_sm_clock_mhz = sim->model->sm_clock_mhz,
                                     .read_ns = sim->clock_ns};
}

void tsw_sim_health(tsw_device_t *dev, bool now, tsw_health_t *health_p)
{
    (void)now;
    tsw_nvml_health(tsw_sim_body(dev)->nvml, health_p);
}
