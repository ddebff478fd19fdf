/* The tables of a file as rows in memory. docs/file-format.md describes each column; the lists in
 * store_schema.c hold names and units. Inside store only. */
#ifndef TSW_STORE_STORE_SCHEMA_H
#define TSW_STORE_STORE_SCHEMA_H

#include "base/hash.h"
#include "record/record.h"

typedef enum {
    TSW_COLUMN_U8,
    TSW_COLUMN_U16,
    TSW_COLUMN_U32,
    TSW_COLUMN_I32,
    TSW_COLUMN_U64,
    TSW_COLUMN_F32,
    TSW_COLUMN_F64,
    TSW_COLUMN_TEXT, /* fixed size, zero-terminated */
    TSW_COLUMN_TAIL, /* text at the end of the row, as wide as the file's longest */
} tsw_column_type_t;

typedef struct {
    const char *name;
    tsw_column_type_t type;
    size_t offset;
    size_t size;      /* TEXT only */
    const char *unit; /* NULL: none */
    bool is_optional; /* not in every file of this major version ... */
    uint8_t fill;     /* ... there all its bytes are this */
} tsw_column_t;

typedef struct {
    const char *name;
    const tsw_column_t *columns;
    size_t column_count;
    size_t row_size; /* without a tail */
} tsw_schema_t;

typedef struct {
    char pack[TSW_NAME_SIZE];
    char pack_key[TSW_KEY_TEXT_SIZE];
    char variant[256];
    uint8_t separate_tables;
} tsw_kernel_row_t;

typedef struct {
    char shape[256];
} tsw_shape_row_t;

typedef struct {
    char key[TSW_KEY_TEXT_SIZE];
    char config[]; /* the tail */
} tsw_config_row_t;

typedef struct {
    char name[TSW_NAME_SIZE];
} tsw_node_row_t;

typedef struct {
    char key[TSW_KEY_TEXT_SIZE];
    uint32_t kernel, shape, gpu, node; /* rows of those tables */
    int32_t rank;
    uint32_t arch;
    uint32_t attempt;
    uint8_t complete;
    uint8_t cache_mode;
    int32_t pick;
    tsw_coverage_t coverage;
    double weight;
    double flops, bytes;
    uint64_t peak_memory_bytes;
    uint64_t start_wall_ns, wall_ns, busy_ns;
    tsw_usage_t usage;
    uint64_t first_record, n_records;
    uint64_t first_round, n_rounds;
} tsw_cell_row_t;

typedef struct {
    uint32_t cell, config; /* rows of those tables */
    uint32_t config_index;
    uint8_t outcome;
    uint8_t fate;
    uint8_t unstable;
    uint32_t alias_of;
    uint32_t launches;
    uint64_t first_sample, n_samples, n_warmup;
    double median_ns, q1_ns, q3_ns, min_ns, max_ns, mean_ns, std_ns;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_shared_bytes;
    tsw_build_facts_t build; /* without cubin_key, which follows as text */
    char cubin_key[TSW_KEY_TEXT_SIZE];
    tsw_verify_facts_t verify;
    char detail[TSW_DETAIL_MAX];
} tsw_record_row_t;

typedef struct {
    uint32_t cell;
    tsw_round_t round;
} tsw_round_row_t;

extern const tsw_schema_t tsw_schema_kernels;
extern const tsw_schema_t tsw_schema_shapes;
extern const tsw_schema_t tsw_schema_configs;
extern const tsw_schema_t tsw_schema_gpus; /* rows are tsw_gpu_t */
extern const tsw_schema_t tsw_schema_nodes;
extern const tsw_schema_t tsw_schema_cells;
extern const tsw_schema_t tsw_schema_records;
extern const tsw_schema_t tsw_schema_rounds;

#endif
