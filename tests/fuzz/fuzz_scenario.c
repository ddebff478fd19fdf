/* A scenario of the simulation. */
#include "fuzz.h"

#include "base/mem.h"
#include "device/sim_scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tsw_sim_subject_t subject = {.text = "TILE_M=64 occupancy=1"};
    const uint32_t gpu = 0;
    const tsw_sim_cast_t cast = {.configs = &subject,
                                 .config_count = 1,
                                 .gpus = &gpu,
                                 .gpu_count = 1,
                                 .attempt = 1,
                                 .rank_count = 2};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_sim_scenario_t scenario;
    char *text = fuzz_text(data, size);
    if (tsw_sim_scenario_parse(text, 0, &scenario, &err) == TSW_OK) {
        tsw_sim_fault_at_load(&scenario, &subject);
        tsw_sim_fault_at_launch(&scenario, &subject, 3);
        tsw_sim_slowness(&scenario, &subject);
        tsw_sim_throttle(&scenario, 3);
        tsw_sim_scenario_fini(&scenario);
    }
    if (tsw_sim_scenario_parse_rank(text, 1, &scenario, &err) == TSW_OK) {
        tsw_sim_rank_event(&scenario, TSW_FAULT_KILL, 1, 2);
        tsw_sim_scenario_fini(&scenario);
    }
    tsw_sim_scenario_check(text, &cast, &err);
    tsw_free(text);
    return 0;
}
