#include "table/table_fields.h"

#include "table/table.h"

#define COUNT_OF(_a) (sizeof(_a) / sizeof((_a)[0]))

static const tsw_table_field_t top_fields[] = {
    {"arch", TSW_FIELD_ARCH, offsetof(tsw_table_t, arch)},
    {"mode", TSW_FIELD_TEXT, offsetof(tsw_table_t, mode)},
    {"purpose", TSW_FIELD_TEXT, offsetof(tsw_table_t, purpose)},
    {"toolchain", TSW_FIELD_TEXT, offsetof(tsw_table_t, toolchain)},
    {"device", TSW_FIELD_TEXT, offsetof(tsw_table_t, device)},
    {"clocks", TSW_FIELD_TEXT, offsetof(tsw_table_t, clocks)},
    {"cache_mode", TSW_FIELD_TEXT, offsetof(tsw_table_t, cache_mode)},
    {"objective", TSW_FIELD_TEXT, offsetof(tsw_table_t, objective)},
    {"digest", TSW_FIELD_KEY, offsetof(tsw_table_t, digest)},
};

static const tsw_table_field_t pack_fields[] = {
    {"name", TSW_FIELD_TEXT, offsetof(tsw_table_pack_t, name)},
    {"pack_key", TSW_FIELD_KEY, offsetof(tsw_table_pack_t, pack_key)},
    {"variant", TSW_FIELD_TEXT_OR_NULL, offsetof(tsw_table_pack_t, variant)},
    {"candidates", TSW_FIELD_SIZE, offsetof(tsw_table_pack_t, candidate_count)},
    {"mean_regret", TSW_FIELD_REAL_OR_NULL, offsetof(tsw_table_pack_t, mean_regret)},
    {"worst_regret", TSW_FIELD_REAL_OR_NULL, offsetof(tsw_table_pack_t, worst_regret)},
    {"baseline_mean_regret", TSW_FIELD_REAL_OR_NULL,
     offsetof(tsw_table_pack_t, baseline_mean_regret)},
    {"baseline_worst_regret", TSW_FIELD_REAL_OR_NULL,
     offsetof(tsw_table_pack_t, baseline_worst_regret)},
    {"verdict", TSW_FIELD_TEXT, offsetof(tsw_table_pack_t, verdict)},
    {"gain", TSW_FIELD_REAL, offsetof(tsw_table_pack_t, gain)},
    {"gain_low", TSW_FIELD_REAL_OR_NONE, offsetof(tsw_table_pack_t, gain_low)},
    {"gain_high", TSW_FIELD_REAL_OR_NONE, offsetof(tsw_table_pack_t, gain_high)},
};

static const tsw_table_field_t row_fields[] = {
    {"variant", TSW_FIELD_TEXT, offsetof(tsw_table_row_t, variant)},
    {"shape", TSW_FIELD_TEXT, offsetof(tsw_table_row_t, shape)},
    {"config", TSW_FIELD_U32, offsetof(tsw_table_row_t, config)},
    {"time_ns", TSW_FIELD_REAL, offsetof(tsw_table_row_t, time_ns)},
    {"ci_low_ns", TSW_FIELD_REAL_OR_NONE, offsetof(tsw_table_row_t, ci_low_ns)},
    {"ci_high_ns", TSW_FIELD_REAL_OR_NONE, offsetof(tsw_table_row_t, ci_high_ns)},
    {"speedup", TSW_FIELD_REAL, offsetof(tsw_table_row_t, speedup)},
    {"regret", TSW_FIELD_REAL, offsetof(tsw_table_row_t, regret)},
    {"ties", TSW_FIELD_U32, offsetof(tsw_table_row_t, tie_count)},
    {"unstable", TSW_FIELD_TEXT_OR_NULL, offsetof(tsw_table_row_t, unstable)},
    {"energy_mj", TSW_FIELD_REAL_OR_NONE, offsetof(tsw_table_row_t, energy_mj)},
    {"energy_low_mj", TSW_FIELD_REAL_OR_NONE, offsetof(tsw_table_row_t, energy_low_mj)},
    {"energy_high_mj", TSW_FIELD_REAL_OR_NONE, offsetof(tsw_table_row_t, energy_high_mj)},
    {"power_w", TSW_FIELD_REAL_OR_NONE, offsetof(tsw_table_row_t, power_w)},
};

const tsw_table_object_t tsw_table_object_top = {
    .fields = top_fields,
    .count = COUNT_OF(top_fields),
    .containers = {"packs"},
    .container_count = 1,
};

const tsw_table_object_t tsw_table_object_pack = {
    .fields = pack_fields,
    .count = COUNT_OF(pack_fields),
    .containers = {"configs", "choices"},
    .container_count = 2,
};

const tsw_table_object_t tsw_table_object_row = {
    .fields = row_fields,
    .count = COUNT_OF(row_fields),
};
