#include "record/timer_check.h"

#include <math.h>

bool tsw_timer_check_agrees(const tsw_timer_check_t *check)
{
    double off_ns = fabs(check->own_ns - check->cupti_ns);
    return off_ns <= 500 || off_ns <= 0.02 * check->cupti_ns;
}
