#include "record/timer_check.h"

#include <math.h>

bool tsw_timer_check_agrees(const tsw_timer_check_t *check)
{
    const double off_ns = fabs(check->off_ns);
    return off_ns <= 500 || off_ns <= 0.02 * check->cupti_ns;
}
