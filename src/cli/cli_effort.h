/* What tuning takes, from what was measured: builds on one core, and timing. */
#ifndef TSW_CLI_EFFORT_H
#define TSW_CLI_EFFORT_H

#include "base/buf.h"
#include "record/dataset.h"
#include "reduce/reduce.h"

/* Appends what tuning the dearest shape anew takes, with the chosen configs and with all, and what
 * of it is too long (docs/rules.md#tuning-is-slow). Nothing where builds came from a cache, since
 * what they took is not known. */
void tsw_cli_effort_print(const tsw_dataset_t *dataset, const tsw_group_t *group, tsw_buf_t *out);

#endif
