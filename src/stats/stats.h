/* Statistics of latencies: pure functions. Sources are named at each. */
#ifndef TSW_STATS_STATS_H
#define TSW_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t n;
    double min, q1, median, q3, max; /* type-7 quantiles (Hyndman & Fan 1996) */
    double mean, std;                /* two-pass; std with n - 1, 0 for n < 2 */
    double p90, p99;
} tsw_summary_t;

/* Sorts values[0..n) in place, ascending. */
void tsw_stats_sort(double *values, size_t n);

/* The middle value, or the mean of the two in the middle; n > 0. Puts values in another order. */
double tsw_stats_median(double *values, size_t n);

/* Hodges-Lehmann: the median of the means of all pairs of values (each with itself too). As robust
 * as the median against few outliers, and of normal values nearly as precise as the mean (Hodges &
 * Lehmann 1963). Of three values the median, since one outlier would be in half of their pairs.
 * pairs: room for n (n + 1) / 2; n > 0. */
double tsw_stats_hodges_lehmann(const double *values, size_t n, double *pairs);

/* The same with its standard error for normal values, 1.0233 * 1.4826 * MAD / sqrt(n). A few values
 * may agree by chance, so their spread counts as `least` at least. scratch: room for n. */
double tsw_stats_middle(const double *values, size_t n, double least, double *scratch,
                        double *pairs, double *se_p);

/* Paired log ratios of a config to itself: their middle is off 0 by more than the limit, with a
 * confidence of 95 % (one-sided). Their spread counts as 0.5 % at least: that of intervals of 100
 * us is. Room as above; false for n = 0. */
bool tsw_stats_is_off(const double *ratios, size_t n, double limit, double *scratch, double *pairs);

/* Mann-Kendall test of a trend in values that came in this order (Mann 1945, Kendall 1975): about
 * standard normal where there is none, above 0 when they rise; 0 for n < 3. */
double tsw_stats_trend(const double *values, size_t n);
/* Theil-Sen: the median of the slopes of all pairs, per step; n > 1. pairs: room for n (n - 1) / 2.
 */
double tsw_stats_slope(const double *values, size_t n, double *pairs);

/* The p-quantile, type 7, of sorted[0..n) in ascending order; n > 0. */
double tsw_stats_quantile(const double *sorted, size_t n, double p);

/* Of values[0..n), any order; values are sorted in place. n == 0 yields zeros. */
tsw_summary_t tsw_stats_summary(double *values, size_t n);

/* Distribution-free interval of the median at >= confidence from order statistics (binomial; e.g.
 * Hahn & Meeker, Statistical Intervals, ch. 5). sorted ascending. False when n is too small for
 * the confidence: then the range is given and *confidence_p is what it covers. */
bool tsw_stats_median_ci(const double *sorted, size_t n, double confidence, double *low_p,
                         double *high_p, double *confidence_p);

/* Paired comparison of two configs over the rounds that both have: median of log(a_i / b_i), with
 * its order-statistic interval. n is the number of pairs; 0 pairs: all zero. */
typedef struct {
    size_t n;
    double log_ratio; /* median of log(a/b): > 0: a is slower */
    double low, high; /* interval at the confidence asked for, or the range */
    double confidence;
} tsw_paired_t;

typedef struct {
    uint32_t round;
    double value; /* > 0 */
} tsw_round_value_t;

/* a and b sorted by round, a round at most once in each. scratch: room for min(na, nb) doubles. */
tsw_paired_t tsw_stats_paired(const tsw_round_value_t *a, size_t na, const tsw_round_value_t *b,
                              size_t nb, double confidence, double *scratch);

#endif
