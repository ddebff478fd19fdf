/* Winners, ties, and at most 8 configs per pack and arch. A pure function of the set of results. */
#ifndef TSW_REDUCE_REDUCE_H
#define TSW_REDUCE_REDUCE_H

#include "record/dataset.h"
#include "stats/stats.h"

typedef struct {
    const char *config; /* canonical text; borrowed from the dataset */
    tsw_outcome_t outcome;
    const char *detail;
    tsw_summary_t time_ns;  /* per launch, decisive rounds only */
    double ci_low_ns, ci_high_ns, ci_confidence;
    tsw_paired_t vs_best;     /* log(this / winner) over paired rounds */
    tsw_paired_t vs_baseline; /* log(this / baseline) */
    double regret;            /* against the winner; 0 inside the tie set */
    bool in_tie_set;
    const tsw_record_t *record; /* borrowed */
} tsw_config_result_t;

typedef struct {
    const tsw_cell_result_t *cell; /* borrowed */
    tsw_config_result_t *configs;
    size_t config_count;
    int32_t winner; /* index; -1: no usable config */
    int32_t baseline;
    double speedup; /* baseline / winner, paired; 0 when either is missing */
    double speedup_low, speedup_high;
    double roof_ratio; /* 0: no roof known */
} tsw_cell_summary_t;

/* The choice of one table: a pack on an arch (over all its dtypes and flags unless the pack
 * declares separate tables). */
typedef struct {
    const char *pack;
    uint32_t arch;
    const char *variant;   /* NULL: all variants of the pack */
    const char **selected; /* canonical texts, baseline first; at most max_configs */
    size_t selected_count;
    size_t candidate_count;
    double mean_regret, worst_regret;   /* of the selected set over the cells, weighted mean */
    double full_mean_regret, full_worst_regret; /* of the whole space: 0 by construction, or the
                                                   regret of ties */
    double baseline_mean_regret, baseline_worst_regret;
    const tsw_cell_summary_t **cells; /* borrowed */
    size_t cell_count;
    uint32_t *choice; /* per cell: index in selected */
    double *choice_regret;
    size_t dropped_winner_count; /* winners of a cell that did not fit */
} tsw_group_t;

typedef struct {
    tsw_cell_summary_t *cells;
    size_t cell_count;
    tsw_group_t *groups;
    size_t group_count;
    tsw_key_t digest; /* of the record set */
} tsw_reduction_t;

typedef struct {
    size_t max_configs;   /* 8 */
    double indifference;  /* 0.005: inside it configs are ties */
    double confidence;    /* 0.95 */
} tsw_reduce_options_t;

/* dataset must be canonical; it must outlive the reduction. separate: packs (by name) whose
 * variants get tables of their own; NULL-terminated, may be NULL. */
tsw_status_t tsw_reduce(const tsw_dataset_t *dataset, const tsw_reduce_options_t *options,
                        const char *const *separate, tsw_reduction_t **reduction_p,
                        tsw_err_t *err);
void tsw_reduction_free(tsw_reduction_t *reduction);

#endif
