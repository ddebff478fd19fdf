/* Job x space -> cells and builds with stable keys. Pure: the same on every rank. */
#ifndef TSW_PLAN_PLAN_H
#define TSW_PLAN_PLAN_H

#include "pack/job.h"
#include "record/dataset.h"
#include "space/space.h"

#define TSW_PLAN_ARCH_MAX 32

typedef enum { TSW_BUILD_TOOL, TSW_BUILD_REFERENCE, TSW_BUILD_CONFIG } tsw_build_kind_t;

/* One source + one config -> one cubin per arch. Leased whole. */
typedef struct {
    uint32_t id; /* index in plan->builds */
    tsw_build_kind_t kind;
    uint32_t variant;   /* index; unused for tool builds */
    uint32_t config;    /* index in the variant's configs; config builds only */
    uint32_t arch_mask; /* bit i: for job->archs[i]; archs whose cells need it */
    tsw_key_t key;      /* pack folder, kind, variant, config: without toolchain and arch */
} tsw_build_t;

/* All that shares sources and configs: pack, dtype, flags, static dims. */
typedef struct {
    tsw_variant_t id;
    size_t entry;          /* of the job: the first that asks for it */
    tsw_key_t key;         /* of the pack's bytes, dtype, flags, static dims */
    tsw_config_t *configs; /* union over archs, [0] is the baseline of the first */
    size_t config_count;
    uint32_t *config_builds;  /* build id per config; UINT32_MAX: no live cell needs it */
    uint32_t reference_build; /* UINT32_MAX: no live cell */
    tsw_space_t spaces[TSW_PLAN_ARCH_MAX]; /* per arch of the job; count 0: dtype not there */
} tsw_plan_variant_t;

/* One (pack, dtype, flags, shape, arch) with all its configs. */
typedef struct {
    uint32_t id; /* index in plan->cells */
    uint32_t variant;
    uint32_t arch_index; /* in job->archs */
    int64_t dims[TSW_DIM_MAX];
    double weight;
    tsw_key_t key;     /* of the variant, arch, dims and configs */
    uint32_t *configs; /* indices in the variant's; [0] is the baseline. NULL when skipped */
    uint32_t *order; /* of building and verifying: the indices of configs, the baseline first, then
                        those that are expected to compile longest */
    size_t config_count;
    double flops, bytes; /* of one launch */
    double cost_ns;      /* expected device time, for order and progress */
    char *skip_reason;   /* "empty", "no f16..": never leased; NULL: live */
    bool compile_only;
    bool is_searched;           /* too many configs for the job's budget: some are chosen */
    tsw_coverage_t coverage;    /* of a generation's cell; zero: all configs */
    tsw_key_t whole_key;        /* the key of the cell with all its configs */
    tsw_filter_report_t report; /* shape filters */
} tsw_cell_t;

typedef struct tsw_plan tsw_plan_t;
struct tsw_plan {
    const tsw_job_t *job; /* borrowed */
    tsw_plan_variant_t *variants;
    size_t variant_count;
    tsw_build_t *builds; /* tool build first, then in the order in which cells need them */
    size_t build_count;
    tsw_cell_t *cells; /* largest expected cost first within each arch */
    size_t cell_count;
    size_t duplicate_count; /* cells that the job asks for again; dropped */
    tsw_key_t key; /* digest of all that makes results: equal on every rank and for a resume, and
                      for any order of the entries of a job */
    char *inputs;  /* what the key says, as text to compare: record/inputs.h */
    const tsw_plan_t *whole; /* of a generation: the plan whose variants and builds these are */
};

/* TSW_ERR_INPUT with the place in the job file: a space too large (with the counts of the filters),
 * a shape that is negative, or with a buffer over 64 bits or over the pack's largest element count,
 * no cell left because no arch has the dtype. A shape with a 0 is a skipped cell, so is a cell
 * whose dtype the arch lacks. The same cell twice is planned once, with the larger weight. */
tsw_status_t tsw_plan_make(const tsw_job_t *job, tsw_plan_t **plan_p, tsw_err_t *err);
void tsw_plan_free(tsw_plan_t *plan);

/* ---- generations of a search ---- */

/* True when a cell of the plan has more configs than its job may build. */
bool tsw_plan_is_searched(const tsw_plan_t *plan);

/* What a generation measures in one cell of the whole plan. */
typedef struct {
    uint32_t cell;           /* of the whole plan */
    const uint32_t *configs; /* of the variant, in any order; the baseline is always in */
    size_t count;
    tsw_coverage_t coverage;
} tsw_plan_choice_t;

/* The plan of one generation: a cell for each choice and, if with_rest, the cells of the whole plan
 * that are not searched. Variants and builds, and so their ids, are those of whole, which must
 * outlive it; configs keep the order of the whole cell. TSW_ERR_NOMEM. */
tsw_status_t tsw_plan_make_generation(const tsw_plan_t *whole, const tsw_plan_choice_t *choices,
                                      size_t choice_count, bool with_rest, tsw_plan_t **plan_p,
                                      tsw_err_t *err);

/* A share of a job's cells, for jobs that run apart and are merged afterwards. */
typedef struct {
    uint32_t number; /* 1 to count */
    uint32_t count;  /* 0: not shared out, all cells */
} tsw_plan_part_t;

/* "2/8". TSW_ERR_ARG. */
tsw_status_t tsw_plan_part_parse(const char *text, tsw_plan_part_t *part_p, tsw_err_t *err);

/* Leaves the cells of one part; key and builds stay those of the whole. The parts of plans with one
 * key are always a partition: the cells of each arch are dealt in the order of their keys.
 * TSW_ERR_ARG: the part has no cell. */
tsw_status_t tsw_plan_keep_part(tsw_plan_t *plan, tsw_plan_part_t part, tsw_err_t *err);

/* For each cell whether the dataset holds its complete result, so that a resume may skip it: every
 * config has a record and none is to be tried again. The dataset must be canonical; done has
 * plan->cell_count entries. */
void tsw_plan_resume(const tsw_plan_t *plan, const tsw_dataset_t *dataset, bool *done);

/* What a live cell would take were it the only one: its builds on one core without a cache, then
 * its device time. A searched one builds what its job allows. In ns; 0: it is skipped. */
double tsw_plan_cell_alone_ns(const tsw_plan_t *plan, const tsw_cell_t *cell);

/* The plan for people (`plan`) and for files (plan.json); appended. */
void tsw_plan_print(const tsw_plan_t *plan, tsw_buf_t *out);
void tsw_plan_json(const tsw_plan_t *plan, tsw_buf_t *out);

/* Builds that a live cell needs: the tool build, its reference, one per config in the cell's order;
 * of a compile-only cell the configs alone. Calls fn for each. */
void tsw_plan_cell_builds(const tsw_plan_t *plan, const tsw_cell_t *cell,
                          void (*fn)(void *user, uint32_t build), void *user);

#endif
