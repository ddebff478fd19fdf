/* What series of measurements say about a device. Pure functions; ns, MHz, bytes. NaN where the
 * series says nothing. Private to measure. */
#ifndef TSW_MEASURE_CALIBRATE_SERIES_H
#define TSW_MEASURE_CALIBRATE_SERIES_H

#include <stddef.h>

/* Median; sorts values. NaN of none. */
double tsw_series_median(double *values, size_t count);
/* Smallest difference between two different values; sorts them. NaN when all are equal. */
double tsw_series_step(double *values, size_t count);
/* One thing against itself, pair by pair: the median of b/a less 1, and its spread as a normal
 * sigma. a and b are used up. */
void tsw_series_paired(double *a, double *b, size_t count, double *ratio_p, double *sigma_p);

/* Clock over time since the load began. *steady_p: median of the last quarter; *ramp_p: when it
 * came within 2 % of it for good. */
void tsw_series_ramp(const double *at_ns, const double *mhz, size_t count, double *steady_p,
                     double *ramp_p);
/* Bytes a second from the times of a copy of `bytes` and one of half as many: what both cost
 * besides drops out. A copy reads and writes. */
double tsw_series_bandwidth(double bytes, double whole_ns, double half_ns);

#endif
