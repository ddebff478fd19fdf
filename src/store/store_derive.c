#include "store/store_tables.h"

#include "stats/stats.h"

#include <math.h>

void tsw_derive_columns(const tsw_sample_t *samples, size_t count, double *scratch,
                        tsw_record_row_t *row)
{
    size_t decisive = 0;
    row->n_warmup = 0;
    row->launches = 0;
    for (size_t i = 0; i < count; i++) {
        if (samples[i].stage == TSW_STAGE_WARMUP)
            row->n_warmup++;
        if (samples[i].stage != TSW_STAGE_ENERGY)
            row->launches = samples[i].launches;
        if (tsw_stage_decides((tsw_stage_t)samples[i].stage) && samples[i].launches > 0)
            scratch[decisive++] = tsw_sample_ns(&samples[i]);
    }
    row->median_ns = row->q1_ns = row->q3_ns = NAN;
    row->min_ns = row->max_ns = row->mean_ns = row->std_ns = NAN;
    if (decisive == 0)
        return;
    tsw_summary_t summary = tsw_stats_summary(scratch, decisive);
    row->median_ns = summary.median;
    row->q1_ns = summary.q1;
    row->q3_ns = summary.q3;
    row->min_ns = summary.min;
    row->max_ns = summary.max;
    row->mean_ns = summary.mean;
    row->std_ns = summary.std;
}
