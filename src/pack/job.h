/* A job: which packs, shapes, dtypes and archs to sweep, and how. docs/job-file.md describes every
 * key. */
#ifndef TSW_PACK_JOB_H
#define TSW_PACK_JOB_H

#include "pack/pack.h"

typedef enum {
    TSW_PURPOSE_RELEASE,  /* at most 30 configs per pack, dtype, flags and arch */
    TSW_PURPOSE_PROBE,    /* 30 to 100, directed; never in a release table */
    TSW_PURPOSE_RESEARCH, /* any size; never in a release table */
    TSW_PURPOSE_FIXED,    /* tuning is switched off: the baseline alone; never in a release table */
} tsw_purpose_t;

typedef enum { TSW_CACHE_COLD, TSW_CACHE_HOT } tsw_cache_mode_t;

typedef enum {
    TSW_PROTOCOL_RACE,   /* shuffled waves; what cannot win drops out */
    TSW_PROTOCOL_ROUNDS, /* a fixed number of shuffled rounds over all configs */
    TSW_PROTOCOL_CUTILE, /* as other tuners do it: measure/policy_peers.c */
    TSW_PROTOCOL_KT7,
    TSW_PROTOCOL_DO_BENCH,
    TSW_PROTOCOL_FI10,
    TSW_PROTOCOL_TUNABLE,
    TSW_PROTOCOL_FIXED, /* launches only, for profilers */
} tsw_protocol_t;

/* What the winner of a cell has least of. */
typedef enum {
    TSW_OBJECTIVE_MEDIAN,
    TSW_OBJECTIVE_P90,
    TSW_OBJECTIVE_P99,
    TSW_OBJECTIVE_MEAN,
    TSW_OBJECTIVE_ENERGY, /* per launch, of the whole board */
} tsw_objective_t;

typedef struct {
    tsw_protocol_t protocol;
    tsw_objective_t objective;
    uint32_t warmup_rounds; /* kept, flagged, never decide */
    uint32_t rounds;        /* rounds, fixed: so many; race: at most so many before its final */
    tsw_cache_mode_t cache;
    double launch_timeout_s; /* one launch, then run_timeout */
    double cell_budget_s;    /* device time of a cell's timed rounds; 0: none */
    uint64_t seed;
} tsw_policy_t;

typedef struct {
    int64_t dims[TSW_DIM_MAX]; /* in the order of the pack's dims */
    double weight;             /* of this shape in reductions, 1 by default */
} tsw_shape_t;

typedef struct {
    char *pack_ref;         /* as written: a name below kernels/, or a folder */
    char *pack_name;        /* key of the pack's files in the snapshot: "packs/<pack_name>/" */
    const tsw_pack_t *pack; /* borrowed from the job's packs */
    bool dtypes[TSW_DTYPE_COUNT];
    uint32_t (*flag_sets)[TSW_FLAG_MAX]; /* value index per flag; at least one set */
    size_t flag_set_count;
    tsw_shape_t *shapes;
    size_t shape_count;
    tsw_config_row_t *rows; /* the job's own space (probe, research); NULL: the pack's lists */
    size_t row_count;
    char *fixed[TSW_KNOB_MAX]; /* probe: dimensions held fixed ... */
    size_t fixed_count;
    char *varied[TSW_KNOB_MAX]; /* ... and varied */
    size_t varied_count;
    bool verdict_is_measured; /* the table that lets the probe be run comes from GPUs */
    tsw_place_t place;
} tsw_job_entry_t;

/* When research has more configs than it builds. docs/search.md. */
typedef struct {
    bool given;              /* by the job, else by default */
    uint32_t builds;         /* configs built at most, for each variant and arch */
    uint32_t per_generation; /* chosen at a time */
    char **seed_from;        /* runs and sweeps, relative to the job file */
    size_t seed_count;
} tsw_search_t;

enum {
    TSW_SEARCH_SWEPT = 4096, /* without `search`, so many configs are all built */
    TSW_SEARCH_BUILDS = 512, /* and of more than that so many */
    TSW_SEARCH_PER_GENERATION = 64
};

/* The file of a snapshot in which rank 0 notes what older sweeps suggest: lines of pack, variant,
 * arch, shape and config with tabs between them, the best of each shape first. */
#define TSW_JOB_SEEDS "search/seeds"

typedef struct {
    char *name;
    tsw_purpose_t purpose;
    tsw_arch_t *archs;
    size_t arch_count;
    bool *compile_only; /* per arch: build, never measure */
    tsw_job_entry_t *entries;
    size_t entry_count;
    tsw_policy_t policy;
    tsw_search_t search;
    double compile_cpu_s; /* CPU time of one config's build per arch */
    double budget_s;      /* of the whole run; 0: none */
    tsw_pack_t **packs;   /* each once */
    size_t pack_count;
    tsw_fileset_t snapshot; /* job.yaml, its CSV files, packs/<name>/...: all that defines it */
    tsw_key_t key;          /* over the snapshot */
} tsw_job_t;

/* Read a job file and the packs that it names into a snapshot (I/O; rank 0 only). A pack that is a
 * bare name is looked up in kernels_dir, a path is relative to the job file. TSW_ERR_INPUT with
 * "file:line:column:", TSW_ERR_NOT_FOUND. */
tsw_status_t tsw_job_snapshot(const char *job_path, const char *kernels_dir,
                              tsw_fileset_t *snapshot, tsw_err_t *err);

/* The job from a snapshot: pure, the same on every rank. Takes over *snapshot (emptied).
 * TSW_ERR_INPUT with "file:line:column:". */
tsw_status_t tsw_job_read(tsw_fileset_t *snapshot, tsw_job_t **job_p, tsw_err_t *err);
void tsw_job_free(tsw_job_t *job);

/* Where a snapshot keeps the numbers of a dataset fill as raw little-endian bytes, once rank 0 has
 * read them: "data/<pack>/<file>:<dataset>". Heap, or NULL. */
char *tsw_job_data_name(const tsw_pack_t *pack, const tsw_fill_t *fill);

/* True when a space of so many configs is searched, not swept. */
bool tsw_job_searches(const tsw_job_t *job, size_t config_count);

const char *tsw_purpose_name(tsw_purpose_t purpose);
const char *tsw_protocol_name(tsw_protocol_t protocol);
const char *tsw_objective_name(tsw_objective_t objective);
/* NULL-terminated. */
extern const char *const tsw_protocol_names[];

/* Puts another protocol in place of the job file's, as a part of the snapshot. TSW_ERR_ARG: no such
 * protocol. */
tsw_status_t tsw_job_override_protocol(tsw_fileset_t *snapshot, const char *protocol,
                                       tsw_err_t *err);

/* Switches tuning off, as a part of the snapshot: whatever the job says, its purpose becomes fixed.
 * TSW_ERR_NOMEM. */
tsw_status_t tsw_job_override_fixed(tsw_fileset_t *snapshot, tsw_err_t *err);

#endif
