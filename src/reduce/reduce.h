/* Winners, ties, and at most 8 configs per pack and arch. A pure function of the set of results:
 * the same for any order of records, rounds and samples. docs/reduction.md has the rules in full.
 *
 * Usable   outcome ok and at least one sample of stage round or final, or else of stage early; an
 *          alias has the values of the record that it names. Warm-up samples stand only for what
 *          they showed to be hopeless.
 * Suspect  a median below the floor of the device, or a time of zero: never usable.
 * Winner   lowest objective (median by default) among usable configs that are no alias, and that
 *          have decisive samples if any has; equal ones: the baseline, then the first canonical
 *          text.
 *          Objective energy: least joules per launch among those that were tried by energy.
 * Estimate a config without decisive samples: its time is the winner's times the ratio of the two
 *          over the rounds of the first stage that both have. It is in no tie set.
 * Tie set  configs whose paired log ratio to the winner (median over common rounds) is at most
 *          log(1 + indifference), and those whose interval of that ratio reaches 0 or below while
 *          the ratio is at most log(1 + 4 indifference). Without common rounds the ratio of the
 *          medians decides alone. The winner is in its tie set.
 *          Under another objective than the median its ratio decides alone.
 *          Under energy within 1 %, and whoever was not tried is none; its energy is taken to be
 *          to the winner's as its time is, and at least the indifference above it.
 * Regret   0 in the tie set, else exp(paired log ratio) - 1; infinite where a config is unusable.
 */
#ifndef TSW_REDUCE_REDUCE_H
#define TSW_REDUCE_REDUCE_H

#include "base/buf.h"
#include "record/calibration.h"
#include "record/dataset.h"
#include "stats/stats.h"

typedef struct {
    const char *config; /* canonical text; borrowed from the dataset */
    tsw_outcome_t outcome;
    bool usable; /* has times; the fields below are zero otherwise */
    bool is_alias;
    bool is_estimate; /* no sample decides: its time comes from early ones, by the ratio to the
                         winner */
    const char *detail;
    tsw_summary_t time_ns; /* per launch, decisive rounds only */
    /* Energy per launch over the blocks of stage energy, and its interval or range; the mean power
     * in them. NaN: not tried. */
    double joules, joules_low, joules_high, watts;
    double ci_low_ns, ci_high_ns; /* NaN: an estimate, or a single sample */
    double ci_confidence;
    /* Over paired rounds, of time or of energy, as the objective is; the interval is NaN where
     * these do not decide, or there is only one. */
    tsw_paired_t vs_best;     /* log(this / winner) */
    tsw_paired_t vs_baseline; /* log(this / baseline) */
    double regret;            /* against the winner; 0 inside the tie set; infinite: unusable */
    uint8_t unstable; /* why its times may not stand still: record/stability.h; an alias has the
                         mark of the record that it names */
    bool in_tie_set;
    const tsw_record_t *record; /* borrowed */
} tsw_config_result_t;

typedef struct {
    const tsw_cell_result_t *cell; /* borrowed */
    tsw_config_result_t *configs;
    size_t config_count;
    int32_t winner;                   /* index; -1: no usable config */
    int32_t baseline;                 /* index of config_index 0; -1: no such record */
    uint32_t tie_count;               /* configs in the tie set besides the winner */
    bool compile_only;                /* built, never timed: a winner was not to be expected */
    double speedup;                   /* baseline / winner, paired; 0 when either is missing */
    double speedup_low, speedup_high; /* NaN: no interval */
    double roof_ns;                   /* per launch, by the device's calibration; 0: not known */
    double roof_ratio; /* roof / winner, 1: as fast as can be achieved; 0: not known */
} tsw_cell_summary_t;

/* A winner that the selected set left out, although it costs. */
typedef struct {
    const char *config;  /* canonical text; borrowed */
    size_t cell_count;   /* cells that it won and that now pay */
    double worst_regret; /* of the choice in those cells */
} tsw_dropped_winner_t;

/* Baseline / best other config: the weighted geometric mean over the cells that have both, each
 * paired. Not above 1 where the baseline is the best. The interval takes the cells as independent;
 * one without an interval, or with a wider one, counts as 10 % either way. */
typedef struct {
    double ratio;      /* 0: no cell has both */
    double low, high;  /* NaN: no cell has an interval */
    size_t cell_count; /* that have both */
} tsw_speedup_t;

/* The choice of one table: a pack on an arch (over all its dtypes and flags unless the pack
 * declares separate tables). A cell without a usable config is in no group; a group has a cell. */
typedef struct {
    const char *pack;
    uint32_t arch;
    const char *variant;   /* NULL: all variants of the pack */
    const char **selected; /* canonical texts, baseline first, then by text; at most max_configs */
    size_t selected_count;
    size_t candidate_count;           /* configs usable in some cell */
    double mean_regret, worst_regret; /* of the selected set over the cells, weighted mean */
    double full_mean_regret, full_worst_regret;         /* of the whole space: 0 by construction */
    double baseline_mean_regret, baseline_worst_regret; /* infinite: unusable in some cell */
    const tsw_cell_summary_t **cells;                   /* borrowed */
    size_t cell_count;
    uint32_t *choice;      /* per cell: index in selected; UINT32_MAX: none of them is usable */
    double *choice_regret; /* per cell; infinite where there is no choice */
    tsw_dropped_winner_t *dropped_winners; /* by text */
    size_t dropped_winner_count;
    size_t close_count; /* configs left out, though within 5 % of the best on some shape */
    tsw_speedup_t gain; /* of the space, whatever was selected */
} tsw_group_t;

typedef struct {
    tsw_cell_summary_t *cells; /* but those that the plan skips */
    size_t cell_count;
    tsw_group_t *groups;
    size_t group_count;      /* by pack, arch, variant */
    size_t incomplete_count; /* cells left out, since not every config has its outcome */
    tsw_key_t digest;        /* of the record set */
} tsw_reduction_t;

typedef struct {
    size_t max_configs;  /* 8 */
    double indifference; /* 0.005: inside it configs are ties */
    double confidence;   /* 0.95 */
    /* For roofs: those of the same GPU, else of the same name; borrowed. They choose nothing. */
    const tsw_calibration_t *calibrations;
    size_t calibration_count;
} tsw_reduce_options_t;

#define TSW_REDUCE_CONFIDENCE 0.95

/* What every reduction of the tool goes by: ties within 0.5 %, intervals at 95 %; no roofs. */
tsw_reduce_options_t tsw_reduce_options(size_t max_configs);

/* dataset must be canonical; it must outlive the reduction. TSW_ERR_ARG: options out of range
 * (max_configs at least 1, indifference 0 or more, confidence between 0 and 1). */
tsw_status_t tsw_reduce(const tsw_dataset_t *dataset, const tsw_reduce_options_t *options,
                        tsw_reduction_t **reduction_p, tsw_err_t *err);
void tsw_reduction_free(tsw_reduction_t *reduction);

/* Appends "num_ctas=1": each tunable or hint of which the selected configs have one value, though
 * other usable ones have others; a dimension that the choice dropped. */
void tsw_reduce_dropped_dims(const tsw_group_t *group, tsw_buf_t *out);

/* What it would cost to have one value of a tunable or hint alone, all others free: a constant for
 * the arch. */
typedef struct {
    char text[64]; /* "BLOCK=1024" */
    size_t name_size;
    size_t name_index;                /* equal for values of one name */
    double mean_regret, worst_regret; /* over the cells; infinite: no usable config has it there */
} tsw_value_regret_t;

/* All values of all names of usable configs: names in the order of configs, of each the least mean
 * first. Nothing for more than 1000 candidates. *values_p: heap, the caller's.
 * TSW_ERR_NOMEM. */
tsw_status_t tsw_reduce_values(const tsw_group_t *group, tsw_value_regret_t **values_p,
                               size_t *count_p, tsw_err_t *err);

#endif
