/* Configs: which ones a pack has on an arch, why others were removed, and their identity. */
#ifndef TSW_SPACE_SPACE_H
#define TSW_SPACE_SPACE_H

#include "base/buf.h"
#include "pack/job.h"

/* Limits of the rules: 30 for a release, 100 for a probe. */
#define TSW_SPACE_MAX_RELEASE 30
#define TSW_SPACE_MAX_PROBE   100

typedef struct {
    int64_t values[TSW_KNOB_MAX]; /* in the order of the pack's knobs */
    tsw_key_t key;                /* of the canonical text */
} tsw_config_t;

/* What one filter did, for messages and plan. */
typedef struct {
    char *name; /* "arch", "cluster", "power_of_two", "size_guard", "duplicate" or a constraint's */
    char *reason;
    size_t in;
    size_t removed;
} tsw_filter_t;

typedef struct {
    tsw_filter_t *filters;
    size_t count;
    size_t capacity;
} tsw_filter_report_t;

typedef struct {
    tsw_config_t *configs; /* [0] is the baseline; unique */
    size_t count;
    tsw_filter_report_t report;
} tsw_space_t;

/* A build's identity besides its config. */
typedef struct {
    const tsw_pack_t *pack;
    tsw_dtype_t dtype;
    uint32_t flags[TSW_FLAG_MAX];
    int64_t static_dims[TSW_DIM_MAX]; /* 0 where the dim is not static */
} tsw_variant_t;

/* The space of a variant on an arch, after arch filters, baseline first, duplicates out. rows: the
 * job's own space, or NULL for the pack's list. Too many configs for the purpose, a probe whose
 * fixed dimensions vary: TSW_ERR_INPUT with the counts of every filter. */
tsw_status_t tsw_space_make(const tsw_variant_t *variant, tsw_arch_t arch, tsw_purpose_t purpose,
                            const tsw_job_entry_t *entry, tsw_eval_t *eval, tsw_space_t *space_p,
                            tsw_err_t *err);
void tsw_space_fini(tsw_space_t *space);
void tsw_filter_report_fini(tsw_filter_report_t *report);

/* Shape filters: keep[i] for every config; keep[0] is always true. Adds to report. */
tsw_status_t tsw_space_filter_shape(const tsw_space_t *space, const tsw_variant_t *variant,
                                    tsw_arch_t arch, const int64_t dims[TSW_DIM_MAX],
                                    tsw_eval_t *eval, bool *keep, tsw_filter_report_t *report,
                                    tsw_err_t *err);

/* "filter size_guard: 12 in, 4 removed (tile beyond the dim)" lines. */
void tsw_filter_report_print(const tsw_filter_report_t *report, tsw_buf_t *out);

/* Canonical text "TILE_M=128 TILE_N=64 occupancy=2": knobs in pack order, injective. */
void tsw_config_format(const tsw_pack_t *pack, const tsw_config_t *config, tsw_buf_t *out);
/* Reads it back, keys in any order, all present; sets the key. TSW_ERR_ARG names the word. */
tsw_status_t tsw_config_parse(const tsw_pack_t *pack, const char *text, tsw_config_t *config_p,
                              tsw_err_t *err);
tsw_config_t tsw_config_baseline(const tsw_pack_t *pack);
void tsw_config_set_key(const tsw_pack_t *pack, tsw_config_t *config);

/* "dtype=f16 causal=1 D=128": dtype, flags, static dims. */
void tsw_variant_format(const tsw_variant_t *variant, tsw_buf_t *out);
/* "M=4096 N=4096 K=4096" */
void tsw_shape_format(const tsw_pack_t *pack, const int64_t dims[TSW_DIM_MAX], tsw_buf_t *out);

/* What a launch of a config looks like on a device with num_sm multiprocessors. */
typedef struct {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
} tsw_geometry_t;

/* Sets dims, flags, dtype sizes (ELEM_BYTES), knobs and NUM_SM as variables of eval. config may be
 * NULL (reference, sizes of arguments). */
tsw_status_t tsw_variant_bind(const tsw_variant_t *variant, const int64_t dims[TSW_DIM_MAX],
                              const tsw_config_t *config, int64_t num_sm, tsw_eval_t *eval,
                              tsw_err_t *err);
/* After tsw_variant_bind. TSW_ERR_OVERFLOW: beyond the limits of a launch, names which. */
tsw_status_t tsw_geometry_of(const tsw_launch_spec_t *spec, tsw_eval_t *eval,
                             tsw_geometry_t *geometry_p, tsw_err_t *err);

#endif
