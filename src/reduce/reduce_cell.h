/* One cell: times, winner, ties, regrets. */
#ifndef TSW_REDUCE_REDUCE_CELL_H
#define TSW_REDUCE_REDUCE_CELL_H

#include "reduce/reduce.h"

/* objective: "median", "p90", "p99", "mean", "energy"; NULL or "": the median.
 * TSW_ERR_UNSUPPORTED: another. The summary borrows from cell; free with tsw_reduce_cell_fini. */
tsw_status_t tsw_reduce_cell(const tsw_cell_result_t *cell, const tsw_reduce_options_t *options,
                             const char *objective, tsw_cell_summary_t *summary_p, tsw_err_t *err);
void tsw_reduce_cell_fini(tsw_cell_summary_t *summary);
/* False: that would find none of the cell's configs suspect. Takes one look at each sample. */
bool tsw_reduce_may_suspect(const tsw_cell_result_t *cell);

#endif
