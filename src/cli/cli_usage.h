/* What the measure workers of a sweep did with their time, for people. */
#ifndef TSW_CLI_USAGE_H
#define TSW_CLI_USAGE_H

#include "base/buf.h"
#include "record/dataset.h"

/* Appends one line, the largest parts first: what they measured with, and what else they did.
 * Nothing when nothing was counted. */
void tsw_cli_usage_format(const tsw_usage_t *usage, tsw_buf_t *out);
/* Both, for a sweep whose time was real: simulated time is no share of anything. */
void tsw_cli_usage_print(const tsw_dataset_t *dataset, tsw_buf_t *out);

#endif
