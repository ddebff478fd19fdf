#include "measure/calibrate_series.h"

#include "stats/stats.h"

#include <math.h>

double tsw_series_median(double *values, size_t count)
{
    return count > 0 ? tsw_stats_summary(values, count).median : (double)NAN;
}

double tsw_series_step(double *values, size_t count)
{
    double step = (double)NAN;
    tsw_stats_summary(values, count); /* sorts */
    for (size_t i = 1; i < count; i++) {
        const double difference = values[i] - values[i - 1];
        if (difference > 0 && !(difference >= step))
            step = difference;
    }
    return step;
}

void tsw_series_paired(double *a, double *b, size_t count, double *ratio_p, double *sigma_p)
{
    const double mad_to_sigma = 1.4826;
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] = log(b[i] / a[i]);
    const double median = tsw_series_median(a, count);
    for (size_t i = 0; i < count; i++)
        b[i] = fabs(b[i] - median);
    *ratio_p = expm1(median);
    *sigma_p = mad_to_sigma * tsw_series_median(b, count);
}

void tsw_series_ramp(const double *at_ns, const double *mhz, size_t count, double *steady_p,
                     double *ramp_p)
{
    const double share = 0.98;
    double last[64];
    const size_t room = sizeof(last) / sizeof(last[0]);
    size_t quarter = (count + 3) / 4;
    quarter = quarter < room ? quarter : room;
    for (size_t i = 0; i < quarter; i++)
        last[i] = mhz[count - quarter + i];
    *steady_p = tsw_series_median(last, quarter);
    *ramp_p = (double)NAN;
    for (size_t i = count; i > 0 && mhz[i - 1] >= share * *steady_p; i--)
        *ramp_p = at_ns[i - 1];
    if (!(*steady_p > 0)) /* the clock cannot be read */
        *steady_p = *ramp_p = (double)NAN;
}

double tsw_series_bandwidth(double bytes, double whole_ns, double half_ns)
{
    const double ns = whole_ns - half_ns;
    return ns > 0 ? bytes / ns * 1e9 : (double)NAN; /* half of them, read and written */
}
