/* A job that a command makes in memory and runs in a temporary folder: bench, verify, calibrate. */
#ifndef TSW_CLI_ONCE_H
#define TSW_CLI_ONCE_H

#include "pack/arch.h"
#include "record/dataset.h"
#include "run/run.h"

/* Arch of "auto", "cuda" or "sim:NAME". TSW_ERR_ENV: no usable GPU; TSW_ERR_ARG: no such device. */
tsw_status_t tsw_once_arch(const char *device, tsw_arch_t *arch_p, tsw_err_t *err);

/* Files of a pack: a bare word is looked up among the shipped ones (kernels: their folder, may be
 * NULL), all else is a folder. TSW_ERR_NOT_FOUND names the nearest. */
tsw_status_t tsw_once_pack_files(const char *word, const char *kernels, tsw_fileset_t *files,
                                 tsw_err_t *err);

/* The snapshot of a job with one pack. */
tsw_status_t tsw_once_snapshot(const char *job_text, const tsw_fileset_t *files,
                               const char *pack_name, tsw_fileset_t *snapshot, tsw_err_t *err);

/* Runs it with one rank; *dataset_p gets what came out, the caller's to free; run_dir of the
 * options is made here. Takes over the snapshot. TSW_ERR_CANCELED: a signal ended it. */
tsw_status_t tsw_once_run(tsw_fileset_t *snapshot, const tsw_run_options_t *options,
                          tsw_dataset_t *dataset_p, tsw_run_summary_t *summary_p, tsw_err_t *err);

#endif
