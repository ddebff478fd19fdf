/* The choice of one table. Private to reduce. */
#ifndef TSW_REDUCE_REDUCE_GROUP_H
#define TSW_REDUCE_REDUCE_GROUP_H

#include "reduce/reduce.h"

/* Chooses for a group whose cells are known: what is selected, and what each cell gets by that.
 * TSW_ERR_NOMEM; what is in the group then is the caller's to free, as ever. */
tsw_status_t tsw_reduce_group(tsw_group_t *group, const tsw_reduce_options_t *options,
                              tsw_err_t *err);

#endif
