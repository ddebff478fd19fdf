#include "sample_job.h"

#include <string.h>

void sample_job_init(sample_job_t *s)
{
    static char name[] = "sample";
    memset(s, 0, sizeof(*s));
    s->archs[0] = 90;
    s->archs[1] = 80;
    s->job = (tsw_job_t){.name = name,
                         .purpose = TSW_PURPOSE_RELEASE,
                         .archs = s->archs,
                         .arch_count = 2,
                         .compile_only = s->compile_only,
                         .entries = s->entries,
                         .policy = {.warmup_rounds = 2, .rounds = 20, .seed = 1}};
}

tsw_job_entry_t *sample_job_entry(sample_job_t *s, const tsw_pack_t *pack)
{
    static char file[] = "job.yaml";
    size_t i = s->job.entry_count;
    TSW_ASSERT(i < SAMPLE_ENTRIES);
    s->entries[i] = (tsw_job_entry_t){.pack = pack,
                                      .flag_sets = s->flag_sets[i],
                                      .flag_set_count = 1,
                                      .shapes = s->shapes[i],
                                      .place = {.file = file, .line = 10 + (int)i, .column = 5}};
    s->entries[i].dtypes[TSW_DTYPE_F16] = true;
    s->job.entry_count++;
    return &s->entries[i];
}

void sample_job_shape(sample_job_t *s, int64_t a, int64_t b, int64_t c)
{
    tsw_job_entry_t *entry = &s->entries[s->job.entry_count - 1];
    TSW_ASSERT(entry->shape_count < SAMPLE_SHAPES);
    entry->shapes[entry->shape_count++] = (tsw_shape_t){.dims = {a, b, c}, .weight = 1.0};
}
