/* What tuning gained in a group. Private to reduce. */
#ifndef TSW_REDUCE_REDUCE_GAIN_H
#define TSW_REDUCE_REDUCE_GAIN_H

#include "reduce/reduce.h"

tsw_speedup_t tsw_reduce_gain(const tsw_group_t *group);

#endif
