/* Configs: which ones a pack has on an arch, why others were removed, and their identity. */
#ifndef TSW_SPACE_SPACE_H
#define TSW_SPACE_SPACE_H

#include "base/buf.h"
#include "pack/job.h"

#include <stdbool.h>
#include <stdint.h>

/* Limits of the rules: up to 30 for a release, 30 to 100 for a probe. */
#define TSW_SPACE_MAX_RELEASE 30
#define TSW_SPACE_MIN_PROBE   30
#define TSW_SPACE_MAX_PROBE   100

typedef struct {
    int64_t values[TSW_KNOB_MAX]; /* in the order of the pack's knobs */
    tsw_key_t key;                /* of the names and values */
} tsw_config_t;

/* What one filter did, for messages and plan. */
typedef struct {
    char *name; /* "dtype", "power_of_two", "hint_range", "cluster", a constraint's, "duplicate";
                   "size_guard" for a shape */
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
    size_t listed;        /* before the filters, baseline in */
    bool baseline_listed; /* the list itself had the baseline */
    tsw_filter_report_t report;
} tsw_space_t;

/* A build's identity besides its config. */
typedef struct {
    const tsw_pack_t *pack;
    tsw_dtype_t dtype;
    uint32_t flags[TSW_FLAG_MAX];
    int64_t static_dims[TSW_DIM_MAX]; /* 0 where the dim is not static */
} tsw_variant_t;

/* The space of a variant on an arch: the rows' products in order, then the filters dtype,
 * power_of_two, hint_range, cluster, fp8_block (T6), the pack's constraints that need no shape,
 * duplicate. Config 0 is the baseline and survives all of them, also when the list lacks it or has
 * it elsewhere. The rows are the entry's own, else (entry NULL or without rows) those of the pack's
 * list. Purpose fixed: the baseline alone. A dtype that the arch lacks: TSW_OK and an empty space
 * whose report says so. TSW_ERR_INPUT, with the counts of every filter: more configs than the
 * purpose allows, no list, a probe that tsw_space_probe_check refuses, a release of what
 * tsw_space_forbid_check refuses. eval is used and left with variables of its own. */
tsw_status_t tsw_space_make(const tsw_variant_t *variant, tsw_arch_t arch, tsw_purpose_t purpose,
                            const tsw_job_entry_t *entry, tsw_eval_t *eval, tsw_space_t *space_p,
                            tsw_err_t *err);
void tsw_space_fini(tsw_space_t *space);
/* True when filters took everything but the baseline. */
bool tsw_space_only_baseline(const tsw_space_t *space);

/* Shape filters: keep[i] for every config; keep[0] is always true. size_guard removes a tile larger
 * than the dim that it tiles, unless the space has no smaller value of that tile; then come the
 * constraints that use dims. Filters that removed something are added to report.
 * TSW_ERR_INPUT: an expression without a value there; TSW_ERR_NOMEM. */
tsw_status_t tsw_space_filter_shape(const tsw_space_t *space, const tsw_variant_t *variant,
                                    tsw_arch_t arch, const int64_t dims[TSW_DIM_MAX],
                                    tsw_eval_t *eval, bool *keep, tsw_filter_report_t *report,
                                    tsw_err_t *err);

/* The kept configs in the order to try them, into order[0..*count_p): the baseline, those whose
 * grid is a multiple of num_ctas, the others; each group in the order of the space. A grid that
 * cannot be evaluated counts as no multiple. TSW_ERR_NOMEM. */
tsw_status_t tsw_space_order_shape(const tsw_space_t *space, const tsw_variant_t *variant,
                                   tsw_arch_t arch, const int64_t dims[TSW_DIM_MAX],
                                   tsw_eval_t *eval, const bool *keep, uint32_t *order,
                                   size_t *count_p, tsw_err_t *err);

/* Copies name and reason. TSW_ERR_NOMEM. */
tsw_status_t tsw_filter_report_add(tsw_filter_report_t *report, const char *name,
                                   const char *reason, size_t in, size_t removed, tsw_err_t *err);
void tsw_filter_report_fini(tsw_filter_report_t *report);
/* "filter size_guard: 12 in, 4 removed (tile beyond the dim)" lines, each after indent. */
void tsw_filter_report_print(const tsw_filter_report_t *report, const char *indent, tsw_buf_t *out);

/* Canonical text "TILE_M=128 TILE_N=64 occupancy=2": knobs in pack order, injective. */
void tsw_config_format(const tsw_pack_t *pack, const tsw_config_t *config, tsw_buf_t *out);
/* Reads it back, keys in any order, all present; sets the key. TSW_ERR_ARG names the word. */
tsw_status_t tsw_config_parse(const tsw_pack_t *pack, const char *text, tsw_config_t *config_p,
                              tsw_err_t *err);
tsw_config_t tsw_config_baseline(const tsw_pack_t *pack, tsw_arch_t arch);
void tsw_config_set_key(const tsw_pack_t *pack, tsw_config_t *config);

/* "dtype=f16 causal=1 D=128": dtype, flags, static dims. */
void tsw_variant_format(const tsw_variant_t *variant, tsw_buf_t *out);
/* The same without static dims. */
void tsw_variant_format_flags(const tsw_variant_t *variant, tsw_buf_t *out);
/* "M=4096 N=4096 K=4096" */
void tsw_shape_format(const tsw_pack_t *pack, const int64_t dims[TSW_DIM_MAX], tsw_buf_t *out);

/* Multiprocessors of the largest common device of an arch: for plans, where no device is known. */
int64_t tsw_space_nominal_sms(tsw_arch_t arch);

/* What a launch of a config looks like on a device with num_sm multiprocessors. */
typedef struct {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
} tsw_geometry_t;

/* Makes dims, flags (indices of values), ELEM_BYTES of the dtype, knobs and NUM_SM the variables of
 * eval, and no others. dims may be NULL: the static ones of the variant only. config may be NULL
 * (reference, sizes of arguments): no knobs. */
tsw_status_t tsw_variant_bind(const tsw_variant_t *variant, const int64_t dims[TSW_DIM_MAX],
                              const tsw_config_t *config, int64_t num_sm, tsw_eval_t *eval,
                              tsw_err_t *err);
/* After tsw_variant_bind. An absent expression is 1 (shared memory: 0). TSW_ERR_OVERFLOW: beyond
 * the limits of a launch (grid 2^31-1 x 65535 x 65535, block 1024 x 1024 x 64 and 1024 threads,
 * all at least 1), names which. */
tsw_status_t tsw_geometry_of(const tsw_launch_spec_t *spec, tsw_eval_t *eval,
                             tsw_geometry_t *geometry_p, tsw_err_t *err);

#endif
