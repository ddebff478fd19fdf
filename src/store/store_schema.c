#include "store/store_schema.h"

#include <stddef.h>

#define COLUMN(_row, _name, _field, _type, _unit)                                                  \
    {                                                                                              \
        .name = (_name), .type = TSW_COLUMN_##_type, .offset = offsetof(_row, _field),             \
        .unit = (_unit)                                                                            \
    }
/* Zero when the file is older than the column. */
#define OPTIONAL(_row, _name, _field, _type, _unit)                                                \
    {                                                                                              \
        .name = (_name), .type = TSW_COLUMN_##_type, .offset = offsetof(_row, _field),             \
        .unit = (_unit), .is_optional = true                                                       \
    }
#define OPTIONAL_TEXT(_row, _name, _field)                                                         \
    {                                                                                              \
        .name = (_name), .type = TSW_COLUMN_TEXT, .offset = offsetof(_row, _field),                \
        .size = sizeof(((_row *)0)->_field), .is_optional = true                                   \
    }
#define TEXT(_row, _name, _field)                                                                  \
    {                                                                                              \
        .name = (_name), .type = TSW_COLUMN_TEXT, .offset = offsetof(_row, _field),                \
        .size = sizeof(((_row *)0)->_field)                                                        \
    }
#define OPTIONAL_TEXT(_row, _name, _field)                                                         \
    {                                                                                              \
        .name = (_name), .type = TSW_COLUMN_TEXT, .offset = offsetof(_row, _field),                \
        .size = sizeof(((_row *)0)->_field), .is_optional = true                                   \
    }
#define SCHEMA(_table, _row)                                                                       \
    const tsw_schema_t tsw_schema_##_table = {.name = #_table,                                     \
                                              .columns = _table##_columns,                         \
                                              .column_count = sizeof(_table##_columns) /           \
                                                              sizeof(_table##_columns[0]),         \
                                              .row_size = sizeof(_row)}

static const tsw_column_t kernels_columns[] = {
    TEXT(tsw_kernel_row_t, "pack", pack),
    TEXT(tsw_kernel_row_t, "pack_key", pack_key),
    TEXT(tsw_kernel_row_t, "variant", variant),
    OPTIONAL(tsw_kernel_row_t, "separate_tables", separate_tables, U8, NULL),
};
SCHEMA(kernels, tsw_kernel_row_t);

static const tsw_column_t shapes_columns[] = {
    TEXT(tsw_shape_row_t, "shape", shape),
};
SCHEMA(shapes, tsw_shape_row_t);

static const tsw_column_t configs_columns[] = {
    TEXT(tsw_config_row_t, "key", key),
    COLUMN(tsw_config_row_t, "config", config, TAIL, NULL),
};
SCHEMA(configs, tsw_config_row_t);

static const tsw_column_t gpus_columns[] = {
    TEXT(tsw_gpu_t, "uuid", uuid),
    TEXT(tsw_gpu_t, "name", name),
    COLUMN(tsw_gpu_t, "arch", arch, U32, NULL),
    COLUMN(tsw_gpu_t, "sm_count", sm_count, U32, NULL),
    COLUMN(tsw_gpu_t, "memory_bytes", memory_bytes, U64, "byte"),
    COLUMN(tsw_gpu_t, "l2_bytes", l2_bytes, U64, "byte"),
    COLUMN(tsw_gpu_t, "driver_version", driver_version, U32, NULL),
    TEXT(tsw_gpu_t, "driver_text", driver_text),
    TEXT(tsw_gpu_t, "mode", mode),
    OPTIONAL_TEXT(tsw_gpu_t, "mig_profile", mig_profile),
    OPTIONAL(tsw_gpu_t, "locked_mhz", locked_mhz, U32, "MHz"),
    OPTIONAL_TEXT(tsw_gpu_t, "unreadable", unreadable),
};
SCHEMA(gpus, tsw_gpu_t);

static const tsw_column_t nodes_columns[] = {
    TEXT(tsw_node_row_t, "node", name),
};
SCHEMA(nodes, tsw_node_row_t);

static const tsw_column_t cells_columns[] = {
    TEXT(tsw_cell_row_t, "key", key),
    COLUMN(tsw_cell_row_t, "kernel", kernel, U32, NULL),
    COLUMN(tsw_cell_row_t, "shape", shape, U32, NULL),
    COLUMN(tsw_cell_row_t, "gpu", gpu, U32, NULL),
    COLUMN(tsw_cell_row_t, "node", node, U32, NULL),
    COLUMN(tsw_cell_row_t, "rank", rank, I32, NULL),
    COLUMN(tsw_cell_row_t, "arch", arch, U32, NULL),
    COLUMN(tsw_cell_row_t, "attempt", attempt, U32, NULL),
    COLUMN(tsw_cell_row_t, "complete", complete, U8, NULL),
    COLUMN(tsw_cell_row_t, "cache_mode", cache_mode, U8, NULL),
    {.name = "pick",
     .type = TSW_COLUMN_I32,
     .offset = offsetof(tsw_cell_row_t, pick),
     .is_optional = true,
     .fill = 0xff}, /* -1 */
    OPTIONAL(tsw_cell_row_t, "generation", coverage.generation, U32, NULL),
    OPTIONAL(tsw_cell_row_t, "space_configs", coverage.space_configs, U32, NULL),
    OPTIONAL(tsw_cell_row_t, "built_configs", coverage.built_configs, U32, NULL),
    OPTIONAL_TEXT(tsw_cell_row_t, "untried", coverage.untried),
    COLUMN(tsw_cell_row_t, "weight", weight, F64, NULL),
    COLUMN(tsw_cell_row_t, "flops", flops, F64, "flop"),
    COLUMN(tsw_cell_row_t, "bytes", bytes, F64, "byte"),
    COLUMN(tsw_cell_row_t, "peak_memory_bytes", peak_memory_bytes, U64, "byte"),
    COLUMN(tsw_cell_row_t, "start_wall_ns", start_wall_ns, U64, "ns since 1970-01-01T00:00:00Z"),
    COLUMN(tsw_cell_row_t, "wall_ns", wall_ns, U64, "ns"),
    COLUMN(tsw_cell_row_t, "busy_ns", busy_ns, U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "idle_ns", usage.ns[TSW_USE_IDLE], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "wait_ns", usage.ns[TSW_USE_WAIT], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "allocate_ns", usage.ns[TSW_USE_ALLOCATE], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "fill_ns", usage.ns[TSW_USE_FILL], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "reference_ns", usage.ns[TSW_USE_REFERENCE], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "load_ns", usage.ns[TSW_USE_LOAD], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "verify_ns", usage.ns[TSW_USE_VERIFY], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "graph_ns", usage.ns[TSW_USE_GRAPH], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "wave_ns", usage.ns[TSW_USE_WAVE], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "clock_ns", usage.ns[TSW_USE_CLOCK], U64, "ns"),
    OPTIONAL(tsw_cell_row_t, "other_ns", usage.ns[TSW_USE_OTHER], U64, "ns"),
    COLUMN(tsw_cell_row_t, "first_record", first_record, U64, NULL),
    COLUMN(tsw_cell_row_t, "n_records", n_records, U64, NULL),
    COLUMN(tsw_cell_row_t, "first_round", first_round, U64, NULL),
    COLUMN(tsw_cell_row_t, "n_rounds", n_rounds, U64, NULL),
};
SCHEMA(cells, tsw_cell_row_t);

static const tsw_column_t records_columns[] = {
    COLUMN(tsw_record_row_t, "cell", cell, U32, NULL),
    COLUMN(tsw_record_row_t, "config", config, U32, NULL),
    COLUMN(tsw_record_row_t, "config_index", config_index, U32, NULL),
    COLUMN(tsw_record_row_t, "outcome", outcome, U8, NULL),
    OPTIONAL(tsw_record_row_t, "fate", fate, U8, NULL),
    OPTIONAL(tsw_record_row_t, "unstable", unstable, U8, NULL),
    COLUMN(tsw_record_row_t, "alias_of", alias_of, U32, NULL),
    COLUMN(tsw_record_row_t, "launches", launches, U32, NULL),
    COLUMN(tsw_record_row_t, "first_sample", first_sample, U64, NULL),
    COLUMN(tsw_record_row_t, "n_samples", n_samples, U64, NULL),
    COLUMN(tsw_record_row_t, "n_warmup", n_warmup, U64, NULL),
    COLUMN(tsw_record_row_t, "median_ns", median_ns, F64, "ns per launch"),
    COLUMN(tsw_record_row_t, "q1_ns", q1_ns, F64, "ns per launch"),
    COLUMN(tsw_record_row_t, "q3_ns", q3_ns, F64, "ns per launch"),
    COLUMN(tsw_record_row_t, "min_ns", min_ns, F64, "ns per launch"),
    COLUMN(tsw_record_row_t, "max_ns", max_ns, F64, "ns per launch"),
    COLUMN(tsw_record_row_t, "mean_ns", mean_ns, F64, "ns per launch"),
    COLUMN(tsw_record_row_t, "std_ns", std_ns, F64, "ns per launch"),
    COLUMN(tsw_record_row_t, "grid_x", grid[0], U32, NULL),
    COLUMN(tsw_record_row_t, "grid_y", grid[1], U32, NULL),
    COLUMN(tsw_record_row_t, "grid_z", grid[2], U32, NULL),
    COLUMN(tsw_record_row_t, "block_x", block[0], U32, NULL),
    COLUMN(tsw_record_row_t, "block_y", block[1], U32, NULL),
    COLUMN(tsw_record_row_t, "block_z", block[2], U32, NULL),
    COLUMN(tsw_record_row_t, "dynamic_shared_bytes", dynamic_shared_bytes, U32, "byte"),
    COLUMN(tsw_record_row_t, "registers", build.registers, U32, NULL),
    COLUMN(tsw_record_row_t, "static_shared_bytes", build.shared_bytes, U32, "byte"),
    COLUMN(tsw_record_row_t, "spill_bytes", build.spill_bytes, U32, "byte"),
    COLUMN(tsw_record_row_t, "threads", build.threads, U32, NULL),
    COLUMN(tsw_record_row_t, "cluster", build.cluster, U32, NULL),
    COLUMN(tsw_record_row_t, "cubin_bytes", build.cubin_bytes, U32, "byte"),
    COLUMN(tsw_record_row_t, "compile_cpu_ns", build.compile_cpu_ns, U64, "ns"),
    COLUMN(tsw_record_row_t, "compile_wall_ns", build.compile_wall_ns, U64, "ns"),
    COLUMN(tsw_record_row_t, "from_cache", build.from_cache, U8, NULL),
    TEXT(tsw_record_row_t, "cubin_key", cubin_key),
    COLUMN(tsw_record_row_t, "verify_elements", verify.elements, U64, NULL),
    COLUMN(tsw_record_row_t, "verify_mismatches", verify.mismatches, U64, NULL),
    COLUMN(tsw_record_row_t, "verify_nans", verify.nans, U64, NULL),
    COLUMN(tsw_record_row_t, "verify_unwritten", verify.unwritten, U64, NULL),
    COLUMN(tsw_record_row_t, "verify_max_abs", verify.max_abs, F64, NULL),
    COLUMN(tsw_record_row_t, "verify_max_rel", verify.max_rel, F64, NULL),
    TEXT(tsw_record_row_t, "detail", detail),
};
SCHEMA(records, tsw_record_row_t);

static const tsw_column_t rounds_columns[] = {
    COLUMN(tsw_round_row_t, "cell", cell, U32, NULL),
    COLUMN(tsw_round_row_t, "round", round.round, U32, NULL),
    COLUMN(tsw_round_row_t, "stage", round.stage, U16, NULL),
    COLUMN(tsw_round_row_t, "sm_clock_mhz", round.sm_clock_mhz, U32, "MHz"),
    COLUMN(tsw_round_row_t, "mem_clock_mhz", round.mem_clock_mhz, U32, "MHz"),
    COLUMN(tsw_round_row_t, "power_w", round.power_w, F32, "W"),
    COLUMN(tsw_round_row_t, "temperature_celsius", round.temperature_celsius, F32,
           "degree Celsius"),
    COLUMN(tsw_round_row_t, "throttle_reasons", round.throttle_reasons, U64, NULL),
    OPTIONAL(tsw_round_row_t, "cache_state", round.cache_state, U8, NULL),
    OPTIONAL(tsw_round_row_t, "is_unstable", round.is_unstable, U8, NULL),
    OPTIONAL(tsw_round_row_t, "foreign_processes", round.foreign_processes, U32, NULL),
    OPTIONAL(tsw_round_row_t, "ecc_corrected", round.ecc_corrected, U32, NULL),
    OPTIONAL(tsw_round_row_t, "ecc_uncorrected", round.ecc_uncorrected, U32, NULL),
    OPTIONAL(tsw_round_row_t, "xid", round.xid, U32, NULL),
    COLUMN(tsw_round_row_t, "start_ns", round.start_ns, U64, "ns"),
    COLUMN(tsw_round_row_t, "duration_ns", round.duration_ns, U64, "ns"),
};
SCHEMA(rounds, tsw_round_row_t);
