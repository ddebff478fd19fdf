/* Reductions for tests of reduce. */
#ifndef TSW_TESTS_REDUCED_H
#define TSW_TESTS_REDUCED_H

#include "reduce/reduce.h"

/* By the tool's options; makes the dataset canonical. Fails the test instead of returning an error;
 * tsw_reduction_free. */
tsw_reduction_t *reduced(tsw_dataset_t *dataset, size_t max_configs);

void assert_near(double value, double wanted, double within);

#endif
