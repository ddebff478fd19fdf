/* Results as plain data: what a cell yields, and what a sweep file holds. */
#ifndef TSW_RECORD_RECORD_H
#define TSW_RECORD_RECORD_H

#include "base/err.h"
#include "base/hash.h"
#include "record/outcome.h"
#include "record/usage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSW_DETAIL_MAX 256 /* why an outcome is what it is; cut */
#define TSW_UUID_SIZE  48  /* "GPU-xxxxxxxx-...." or "sim:h200:0" */
#define TSW_NAME_SIZE  64

typedef enum {
    TSW_STAGE_WARMUP, /* kept, never decides */
    TSW_STAGE_ROUND,
    TSW_STAGE_FIXED,   /* bench --fixed */
    TSW_STAGE_EARLY,   /* single launches that only drop the hopeless: compared among themselves */
    TSW_STAGE_FINAL,   /* rounds of the last few; decides as rounds do */
    TSW_STAGE_CONTROL, /* a second sample of the leader in a final round: kept, never decides */
    TSW_STAGE_VERIFY,  /* the launches that were verified: a race drops what took far too long */
    TSW_STAGE_ENERGY,  /* launched back to back while the energy counter ran: decides by it */
    TSW_STAGE_COUNT,
} tsw_stage_t;

/* Whether the times of the stage decide the winner. All stages but warm-up and verify share one
 * numbering: a round has one stage (control besides final). */
bool tsw_stage_decides(tsw_stage_t stage);
/* Before all rounds that count: warm-up and verify. */
bool tsw_stage_is_first(tsw_stage_t stage);
const char *tsw_stage_name(tsw_stage_t stage); /* "warmup"; "?": none */

/* How intervals found the L2. Times of different states are never compared. */
typedef enum {
    TSW_CACHE_STATE_COLD_FLUSH,    /* overwritten before the interval */
    TSW_CACHE_STATE_HOT,           /* as the launch before left it */
    TSW_CACHE_STATE_COLD_ROTATION, /* filled by launches over other buffers */
    TSW_CACHE_STATE_COUNT
} tsw_cache_state_t;

/* "cold_flush", "hot", "cold_rotation"; "?": none. */
const char *tsw_cache_state_name(tsw_cache_state_t state);

/* One timed interval of `launches` launches of one config. */
typedef struct {
    uint64_t interval_ns;
    uint32_t round;
    uint32_t launches;
    uint16_t stage; /* tsw_stage_t */
    uint16_t slot;  /* position within the round */
    /* Stage energy: what the board took in this time; 0: the counter stood still, or went back.
     */
    uint32_t energy_mj;
} tsw_sample_t;

/* Time per launch; 0 when the sample has no launches. */
double tsw_sample_ns(const tsw_sample_t *sample);
/* Energy per launch; 0 when there is none. */
double tsw_sample_joules(const tsw_sample_t *sample);

/* Why the protocol stopped measuring a config. Values are stored: append only. */
typedef enum {
    TSW_FATE_NONE,       /* never measured, or the worker died first */
    TSW_FATE_MEASURED,   /* got all that the protocol gives */
    TSW_FATE_HOPELESS,   /* far slower in the first launches */
    TSW_FATE_ELIMINATED, /* slower than the leader with confidence */
    TSW_FATE_NOT_FINAL,  /* not told apart from the leader, yet not among the last few */
    TSW_FATE_TIED,       /* in the final, not told apart from the winner */
    TSW_FATE_BEATEN,     /* in the final, slower than the winner */
    TSW_FATE_WINNER,     /* the protocol's pick */
    TSW_FATE_BUDGET,     /* the budget of the cell ended first */
    TSW_FATE_SUSPECT,    /* faster than the device can be, or a time of zero */
    TSW_FATE_COUNT,
} tsw_fate_t;

const char *tsw_fate_name(tsw_fate_t fate); /* "hopeless"; "?": none */

/* What the compiler made; read from the cubin without a GPU. */
typedef struct {
    uint32_t registers;    /* per thread */
    uint32_t shared_bytes; /* static */
    uint32_t spill_bytes;  /* local frame per thread */
    uint32_t threads;      /* required per block; 0: not fixed by the cubin */
    uint32_t cluster;      /* CTAs per cluster, 1: none */
    uint32_t cubin_bytes;
    uint64_t compile_cpu_ns; /* NVRTC share and tileiras; 0 when from a cache */
    uint64_t compile_wall_ns;
    uint8_t from_cache;
    tsw_key_t cubin_key; /* of its bytes */
} tsw_build_facts_t;

/* How close the output came to the reference. */
typedef struct {
    uint64_t elements;
    uint64_t mismatches;
    uint64_t nans;      /* NaN where the reference has none */
    uint64_t unwritten; /* poison left */
    double max_abs;
    double max_rel;
} tsw_verify_facts_t;

/* GPU state of one round. Zero or NaN where it cannot be read. */
typedef struct {
    uint32_t round;
    uint16_t stage;
    uint32_t sm_clock_mhz;
    uint32_t mem_clock_mhz;
    float power_w;
    float temperature_celsius;
    uint64_t throttle_reasons; /* NVML bit mask */
    uint8_t cache_state;       /* tsw_cache_state_t */
    uint8_t is_unstable;       /* its clock was off or others were on the GPU, no redo was left */
    uint32_t foreign_processes;
    uint32_t ecc_corrected, ecc_uncorrected; /* new errors since the round before */
    uint32_t xid;                            /* new in the driver's log; 0: none */
    uint64_t start_ns;                       /* since the cell's start, device or virtual time */
    uint64_t duration_ns;
} tsw_round_t;

/* One config of one cell. */
typedef struct {
    tsw_key_t cell_key;
    tsw_key_t config_key;
    uint32_t config_index; /* in the cell; 0 is the baseline */
    tsw_outcome_t outcome;
    char detail[TSW_DETAIL_MAX];
    tsw_fate_t fate;
    uint8_t unstable;  /* why its times may not stand still: bits of tsw_unstable_t */
    uint32_t alias_of; /* config_index, for outcome alias */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_shared_bytes;
    tsw_build_facts_t build;
    tsw_verify_facts_t verify;
    tsw_sample_t *samples; /* heap */
    size_t sample_count;
    size_t sample_capacity;
} tsw_record_t;

void tsw_record_fini(tsw_record_t *record);
/* Copies it to the end. TSW_ERR_NOMEM. */
tsw_status_t tsw_record_add_sample(tsw_record_t *record, const tsw_sample_t *sample,
                                   tsw_err_t *err);

/* The device that measured. */
typedef struct {
    char uuid[TSW_UUID_SIZE];
    char name[TSW_NAME_SIZE];
    uint32_t arch;
    uint32_t sm_count;
    uint64_t memory_bytes;
    uint64_t l2_bytes;
    uint32_t driver_version;         /* 13000 is 13.0 */
    char driver_text[TSW_NAME_SIZE]; /* "580.159.04" */
    char mode[16];                   /* "cuda", "sim", "replay" */
    char mig_profile[32];            /* "1g.18gb" for an instance of MIG, else "" */
    uint32_t locked_mhz;             /* the SM clock; 0: free */
    char unreadable[256];            /* what NVML does not tell, and why; "" when it tells all */
} tsw_gpu_t;

#define TSW_UNTRIED_MAX 192

/* How much of a space that was searched, not swept, a cell stands for. All zero: the whole space.
 */
typedef struct {
    uint32_t generation;           /* of the search, from 1 on; the highest of a shape decides */
    uint32_t space_configs;        /* in the space of its variant and arch */
    uint32_t built_configs;        /* of them, built up to this generation */
    char untried[TSW_UNTRIED_MAX]; /* "TILE_M=512 occupancy=16,32": values never tried; cut */
} tsw_coverage_t;

/* All results of one cell on one GPU. */
typedef struct {
    tsw_key_t key;
    char pack[TSW_NAME_SIZE];
    tsw_key_t pack_key;
    char variant[256];       /* "dtype=f16 causal=1" */
    uint8_t separate_tables; /* the pack wants a list of configs for each variant */
    char shape[256];         /* "M=4096 N=4096 K=4096" */
    double weight;
    uint32_t arch;
    double flops, bytes;
    uint8_t cache_mode; /* tsw_cache_state_t of the rounds that decide */
    uint32_t attempt;   /* of the run */
    uint8_t complete;   /* every config has its final outcome */
    tsw_coverage_t coverage;
    int32_t rank;
    char node[TSW_NAME_SIZE];
    tsw_gpu_t gpu;
    int32_t
        pick; /* config_index that the protocol itself chose; -1: none, or it leaves that open */
    uint64_t peak_memory_bytes; /* device memory that the cell held */
    uint64_t start_wall_ns;     /* since 1970 */
    uint64_t wall_ns;
    uint64_t busy_ns;    /* of it, spent measuring */
    tsw_usage_t usage;   /* of the workers' time, up to the end of this cell */
    char **config_texts; /* canonical, one per record */
    tsw_record_t *records;
    size_t record_count;
    tsw_round_t *rounds;
    size_t round_count;
    size_t round_capacity;
} tsw_cell_result_t;

void tsw_cell_result_fini(tsw_cell_result_t *result);

#endif
