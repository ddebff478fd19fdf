/* Datasets for tests, built by hand. Every failure is a TSW_ASSERT. */
#ifndef TSW_TESTS_SAMPLE_DATASET_H
#define TSW_TESTS_SAMPLE_DATASET_H

#include "record/dataset.h"

/* An empty dataset with filled meta (mode "sim", purpose "release"). */
tsw_dataset_t sample_dataset_new(void);

/* A complete cell without records; its key is that of pack, variant, shape and arch. */
tsw_cell_result_t *sample_dataset_cell(tsw_dataset_t *dataset, const char *pack,
                                       const char *variant, const char *shape, uint32_t arch);

/* A record with the next config index (0 is the baseline), no samples, one launch per sample. */
tsw_record_t *sample_dataset_record(tsw_cell_result_t *cell, const char *config,
                                    tsw_outcome_t outcome);

/* One sample. */
void sample_dataset_sample(tsw_record_t *record, tsw_stage_t stage, uint32_t round,
                           uint64_t interval_ns);

/* A record with outcome ok and 10 rounds of about time_ns, each off by up to 0.02 %, the same for
 * every config of a round. */
tsw_record_t *sample_dataset_timed(tsw_cell_result_t *cell, const char *config, uint64_t time_ns);

#endif
