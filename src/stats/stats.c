#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void tsw_stats_sort(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare_doubles);
}

/* The value of rank k (Hoare's quickselect): those of lower ranks are moved before it. */
static double select_rank(double *values, size_t n, size_t k)
{
    size_t begin = 0, end = n;
    while (end - begin > 1) {
        double pivot = values[begin + (end - begin - 1) / 2];
        size_t i = begin, j = end - 1;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            double swap = values[i];
            values[i++] = values[j];
            values[j--] = swap;
        }
        if (k <= j)
            end = j + 1;
        else
            begin = j + 1;
    }
    return values[k];
}

double tsw_stats_median(double *values, size_t n)
{
    double upper = select_rank(values, n, n / 2), lower = values[0];
    if (n % 2 == 1)
        return upper;
    for (size_t i = 1; i < n / 2; i++)
        lower = values[i] > lower ? values[i] : lower;
    return 0.5 * (lower + upper);
}

double tsw_stats_hodges_lehmann(const double *values, size_t n, double *pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = n > 3 ? 0 : i; j <= i; j++)
            pairs[count++] = 0.5 * (values[i] + values[j]);
    return tsw_stats_median(pairs, count);
}

double tsw_stats_middle(const double *values, size_t n, double least, double *scratch,
                        double *pairs, double *se_p)
{
    double middle = tsw_stats_hodges_lehmann(values, n, pairs);
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(values[i] - middle);
    double sigma = 1.4826 * tsw_stats_median(scratch, n);
    *se_p = 1.0233 * fmax(sigma, least) / sqrt((double)n);
    return middle;
}

bool tsw_stats_is_off(const double *ratios, size_t n, double limit, double *scratch, double *pairs)
{
    const double least = 0.005, one_sided = 1.645;
    double se = 0.0;
    if (n == 0)
        return false;
    double middle = tsw_stats_middle(ratios, n, least, scratch, pairs, &se);
    return fabs(middle) - one_sided * se > limit;
}

double tsw_stats_trend(const double *values, size_t n)
{
    double sum = 0.0, count = (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            sum += (values[i] > values[j]) - (values[i] < values[j]);
    if (n < 3 || sum == 0.0)
        return 0.0;
    double deviation = sqrt(count * (count - 1.0) * (2.0 * count + 5.0) / 18.0);
    return (sum - copysign(1.0, sum)) / deviation; /* corrected for its steps */
}

double tsw_stats_slope(const double *values, size_t n, double *pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            pairs[count++] = (values[i] - values[j]) / (double)(i - j);
    return tsw_stats_median(pairs, count);
}

/* Type 7: linear between the two order statistics around (n - 1) p. */
double tsw_stats_quantile(const double *sorted, size_t n, double p)
{
    double position = (double)(n - 1) * p;
    size_t below = (size_t)position;
    if (below + 1 >= n)
        return sorted[n - 1];
    double share = position - (double)below;
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

static double mean_of(const double *values, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

static double std_of(const double *values, size_t n, double mean)
{
    if (n < 2)
        return 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sqrt(sum / (double)(n - 1));
}

tsw_summary_t tsw_stats_summary(double *values, size_t n)
{
    tsw_summary_t summary = {.n = n};
    if (n == 0)
        return summary;
    tsw_stats_sort(values, n);
    summary.min = values[0];
    summary.q1 = tsw_stats_quantile(values, n, 0.25);
    summary.median = tsw_stats_quantile(values, n, 0.5);
    summary.q3 = tsw_stats_quantile(values, n, 0.75);
    summary.max = values[n - 1];
    summary.mean = mean_of(values, n);
    summary.std = std_of(values, n, summary.mean);
    summary.p90 = tsw_stats_quantile(values, n, 0.9);
    summary.p99 = tsw_stats_quantile(values, n, 0.99);
    return summary;
}

/* P(B = k) for B binomial with n trials and p = 1/2; in logarithms, so that large n do not
 * underflow on the way. */
static double binomial_half(size_t n, size_t k)
{
    double choose =
        lgamma((double)n + 1.0) - lgamma((double)k + 1.0) - lgamma((double)(n - k) + 1.0);
    return exp(choose - (double)n * log(2.0));
}

bool tsw_stats_median_ci(const double *sorted, size_t n, double confidence, double *low_p,
                         double *high_p, double *confidence_p)
{
    *low_p = n > 0 ? sorted[0] : 0.0;
    *high_p = n > 0 ? sorted[n - 1] : 0.0;
    *confidence_p = 0.0;
    if (n == 0)
        return false;
    /* The interval between ranks r and n + 1 - r misses the median when fewer than r values lie on
     * one side of it: 2 P(B < r). Take the largest r that still covers enough. */
    double tail = binomial_half(n, 0);
    *confidence_p = 1.0 - 2.0 * tail > 0.0 ? 1.0 - 2.0 * tail : 0.0;
    if (*confidence_p < confidence)
        return false;
    for (size_t rank = 1; 2 * rank < n + 1; rank++) {
        double covered = 1.0 - 2.0 * tail;
        if (covered < confidence)
            break;
        *low_p = sorted[rank - 1];
        *high_p = sorted[n - rank];
        *confidence_p = covered;
        tail += binomial_half(n, rank);
    }
    return true;
}

/* log(a/b) of every common round; how many. */
static size_t pair_up(const tsw_round_value_t *a, size_t na, const tsw_round_value_t *b, size_t nb,
                      double *ratios)
{
    size_t n = 0;
    for (size_t i = 0, j = 0; i < na && j < nb;) {
        if (a[i].round < b[j].round) {
            i++;
        } else if (a[i].round > b[j].round) {
            j++;
        } else {
            ratios[n++] = log(a[i++].value / b[j++].value);
        }
    }
    return n;
}

tsw_paired_t tsw_stats_paired(const tsw_round_value_t *a, size_t na, const tsw_round_value_t *b,
                              size_t nb, double confidence, double *scratch)
{
    tsw_paired_t paired = {.n = pair_up(a, na, b, nb, scratch)};
    if (paired.n == 0)
        return paired;
    tsw_stats_sort(scratch, paired.n);
    paired.log_ratio = tsw_stats_quantile(scratch, paired.n, 0.5);
    tsw_stats_median_ci(scratch, paired.n, confidence, &paired.low, &paired.high,
                        &paired.confidence);
    return paired;
}
