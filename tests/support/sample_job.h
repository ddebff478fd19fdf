/* Jobs in static memory, for tests of what comes after reading. */
#ifndef TSW_TESTS_SAMPLE_JOB_H
#define TSW_TESTS_SAMPLE_JOB_H

#include "pack/job.h"

enum { SAMPLE_ENTRIES = 4, SAMPLE_SHAPES = 16, SAMPLE_ARCHS = 4 };

typedef struct {
    tsw_job_t job;
    tsw_job_entry_t entries[SAMPLE_ENTRIES];
    tsw_shape_t shapes[SAMPLE_ENTRIES][SAMPLE_SHAPES];
    uint32_t flag_sets[SAMPLE_ENTRIES][2][TSW_FLAG_MAX];
    tsw_arch_t archs[SAMPLE_ARCHS];
    bool compile_only[SAMPLE_ARCHS];
} sample_job_t;

/* A release on sm_90 and sm_80 without entries: 20 rounds after 2 to warm up, cold. */
void sample_job_init(sample_job_t *s);
/* f16, first value of every flag, no shapes; place job.yaml:<10 + index>:5. */
tsw_job_entry_t *sample_job_entry(sample_job_t *s, const tsw_pack_t *pack);
/* To the last entry, weight 1. */
void sample_job_shape(sample_job_t *s, int64_t a, int64_t b, int64_t c);

#endif
