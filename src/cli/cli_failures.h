/* What did not work, for people: outcomes with their first detail, and where docs/rules.md goes
 * on. */
#ifndef TSW_CLI_FAILURES_H
#define TSW_CLI_FAILURES_H

#include "base/buf.h"
#include "reduce/reduce.h"

/* Appends "  3 x wrong_result, first: DETAIL" for each outcome of one cell, whatever it is. */
void tsw_cli_failures_of_cell(const tsw_cell_summary_t *cell, tsw_buf_t *out);

/* The same for a group, whose other configs do work: only of faults, and with the config and the
 * shape of the first. Nothing where there is none. */
void tsw_cli_failures_of_group(const tsw_group_t *group, tsw_buf_t *out);

#endif
