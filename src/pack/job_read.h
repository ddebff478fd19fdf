/* Steps of reading a job that its files share. Private to pack. */
#ifndef TSW_PACK_JOB_READ_H
#define TSW_PACK_JOB_READ_H

#include "pack/job.h"
#include "pack/view.h"

#define TSW_JOB_FILE "job.yaml"

/* The job of a snapshot; label stands for the job file in messages and places (borrowed). The
 * snapshot itself is not taken over. */
tsw_status_t tsw_job_parse(const tsw_fileset_t *snapshot, const char *label, tsw_job_t **job_p,
                           tsw_err_t *err);

/* One entry of `packs`, whose pack is known, into a zeroed entry; purpose and archs of the job are
 * known. */
tsw_status_t tsw_job_entry_fill(const tsw_job_t *job, tsw_view_t view,
                                const tsw_fileset_t *snapshot, tsw_job_entry_t *entry,
                                tsw_err_t *err);
void tsw_job_entry_fini(tsw_job_entry_t *entry);

/* The last part of a pack's name or path, without slashes at the end; heap. TSW_ERR_INPUT when it
 * names no folder: empty, "." or "..". */
tsw_status_t tsw_job_pack_name(const tsw_node_t *ref, char **name_p, tsw_err_t *err);

/* The index-th table that a probe names as its verdict; NULL: there are no more. */
const tsw_node_t *tsw_job_verdict_ref(tsw_view_t probe, size_t index);
/* Where a snapshot keeps it; heap, or NULL. */
char *tsw_job_verdict_name(const char *path);
/* On every arch that is measured the tables must say that the entry's pack needs a probe, of the
 * files that it has now; notes whether they come from GPUs. TSW_ERR_INPUT, TSW_ERR_NOT_FOUND. */
tsw_status_t tsw_job_verdict_check(const tsw_job_t *job, tsw_view_t probe,
                                   const tsw_fileset_t *snapshot, tsw_job_entry_t *entry,
                                   tsw_err_t *err);

#endif
