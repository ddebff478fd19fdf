#include "build_plan_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static char work_cu[] = "work.cu", work[] = "work", plain_cu[] = "plain.cu", plain[] = "plain";
static char tile_m[] = "TILE_M", occupancy[] = "occupancy", occupancy_macro[] = "OCCUPANCY";
static char causal[] = "causal", dim_m[] = "M", dim_d[] = "D", option[] = "-DEXTRA";

static void init_pack(plan_maker_t *maker, const char *source)
{
    static const char reference[] =
        "extern \"C\" __global__ void plain(const DTYPE *a, DTYPE *b) { *b = *a; }\n";
    tsw_pack_t *pack = &maker->pack;
    *pack = (tsw_pack_t){
        .language = TSW_LANGUAGE_TILE,
        .dims = {dim_m, dim_d},
        .dim_is_static = {false, true},
        .dim_count = 2,
        .flags = {{.name = causal, .value_count = 2}},
        .flag_count = 1,
        .kernel = {.source = work_cu, .entry = work},
        .reference = {.source = plain_cu, .entry = plain},
        .knobs = {{.name = tile_m, .macro = tile_m, .is_tile = true},
                  {.name = occupancy, .macro = occupancy_macro, .is_hint = true}},
        .knob_count = 2,
        .options = maker->options,
        .option_count = 1,
    };
    maker->options[0] = option;
    assert_int_equal(tsw_fileset_add(&pack->files, work_cu, source, strlen(source), NULL), TSW_OK);
    assert_int_equal(
        tsw_fileset_add(&pack->files, plain_cu, reference, sizeof(reference) - 1, NULL), TSW_OK);
}

void plan_maker_init(plan_maker_t *maker, const char *source)
{
    *maker = (plan_maker_t){.archs = {90, 80}};
    init_pack(maker, source);
    maker->job = (tsw_job_t){.archs = maker->archs, .arch_count = 2, .compile_cpu_s = 60};
    maker->configs[0] = (tsw_config_t){.values = {64, 2}};
    maker->configs[1] = (tsw_config_t){.values = {128, 1}};
    maker->variant = (tsw_plan_variant_t){
        .id = {.pack = &maker->pack, .dtype = TSW_DTYPE_F16, .flags = {1}, .static_dims = {0, 96}},
        .configs = maker->configs,
        .config_count = 2,
    };
    maker->builds[0] = (tsw_build_t){.id = 0, .kind = TSW_BUILD_TOOL, .arch_mask = 3};
    maker->builds[1] = (tsw_build_t){.id = 1, .kind = TSW_BUILD_REFERENCE, .arch_mask = 3};
    maker->builds[2] = (tsw_build_t){.id = 2, .kind = TSW_BUILD_CONFIG, .arch_mask = 3};
    maker->builds[3] =
        (tsw_build_t){.id = 3, .kind = TSW_BUILD_CONFIG, .config = 1, .arch_mask = 1};
    maker->plan = (tsw_plan_t){
        .job = &maker->job,
        .variants = &maker->variant,
        .variant_count = 1,
        .builds = maker->builds,
        .build_count = 4,
    };
}

void plan_maker_fini(plan_maker_t *maker)
{
    tsw_fileset_fini(&maker->pack.files);
}
