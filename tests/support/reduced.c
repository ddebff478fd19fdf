#include "reduced.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

tsw_reduction_t *reduced(tsw_dataset_t *dataset, size_t max_configs)
{
    const tsw_reduce_options_t options = tsw_reduce_options(max_configs);
    tsw_reduction_t *r = NULL;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_dataset_canonicalise(dataset);
    if (tsw_reduce(dataset, &options, &r, &err) != TSW_OK)
        fail_msg("%s", err.text);
    return r;
}

void assert_near(double value, double wanted, double within)
{
    if (!(fabs(value - wanted) <= within))
        fail_msg("%.17g is not %.17g", value, wanted);
}
