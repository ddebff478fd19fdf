/* A reduction for people. */
#ifndef TSW_CLI_CHOICE_H
#define TSW_CLI_CHOICE_H

#include "base/buf.h"
#include "cli/cli_verdict.h"
#include "reduce/reduce.h"

#include <stdbool.h>

/* tsw_reduce by tsw_reduce_options, with the roofs of the calibrations that are stored for the
 * devices of the dataset. *reduction_p: tsw_reduction_free, before the dataset. */
tsw_status_t tsw_cli_reduce_with_roofs(const tsw_dataset_t *dataset, size_t max_configs,
                                       tsw_reduction_t **reduction_p, tsw_err_t *err);

/* Appends a block per pack and arch: the verdict, the chosen configs, and a row per shape. Cells
 * where nothing worked follow with what happened. Starts with the mark of simulated results. */
tsw_status_t tsw_cli_choice_print(const tsw_dataset_t *dataset, const tsw_reduction_t *reduction,
                                  const tsw_cli_verdicts_t *verdicts, tsw_buf_t *out,
                                  tsw_err_t *err);

/* The result of the config chosen for the index-th cell of a group; NULL when none is usable. */
const tsw_config_result_t *tsw_cli_chosen(const tsw_group_t *group, size_t index);

/* How many times as fast as the baseline; NaN when they have no round in common. */
double tsw_cli_speedup(const tsw_config_result_t *config);

/* Measuring was asked for, and no config has a time. */
bool tsw_cli_is_unusable(const tsw_cell_summary_t *cell);

#endif
