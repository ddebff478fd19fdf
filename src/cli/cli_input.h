/* What commands read: jobs with their packs, runs and sweeps. */
#ifndef TSW_CLI_INPUT_H
#define TSW_CLI_INPUT_H

#include "base/fileset.h"
#include "base/file.h"
#include "record/dataset.h"

/* The folder with the shipped packs: option, TSW_KERNELS, beside the program's build folder, below
 * its install prefix. *dir_p: heap. TSW_ERR_NOT_FOUND names what was looked for. */
tsw_status_t tsw_cli_kernels_dir(const char *option, char **dir_p, tsw_err_t *err);
/* Whether the folder has a kernel.yaml. */
bool tsw_cli_is_pack_dir(const char *dir);
/* The names of the packs in a folder of packs; what is no pack is passed over. */
tsw_status_t tsw_cli_list_packs(const char *kernels, tsw_names_t *names_p, tsw_err_t *err);

/* The variable of the environment that switches tuning off, DISABLE_AUTOTUNE or
 * TILEGYM_DISABLE_AUTOTUNE; NULL: none is set, or to nothing, 0, false, no or off. Static. */
const char *tsw_cli_autotune_off(void);

/* In place of the "job.yaml:" that begins an error of a snapshot's job: the name of the file that
 * the user gave. NULL: there is no such file, and the place goes too. Returns the error's code. */
tsw_status_t tsw_cli_name_job(tsw_err_t *err, tsw_status_t status, const char *job_path);

/* tsw_job_snapshot with the packs' folder looked up; of purpose fixed where tuning is switched off.
 */
tsw_status_t tsw_cli_snapshot(const char *job_path, const char *kernels_option,
                              tsw_fileset_t *snapshot, tsw_err_t *err);

/* Runs and sweeps as one canonical dataset; what a torn segment loses is logged. TSW_ERR_ARG when
 * they do not belong together. */
tsw_status_t tsw_cli_read(const char *const *paths, size_t count, tsw_dataset_t *dataset_p,
                          tsw_err_t *err);

/* Appends a line for parts of the job and one for cells that the dataset lacks; returns how many
 * lines. */
size_t tsw_cli_missing(const tsw_dataset_t *dataset, tsw_buf_t *out);

/* True for results that no real device gave: "sim", "replay". */
bool tsw_cli_is_simulated(const tsw_dataset_t *dataset);

/* "mode": the line that opens every output of simulated or replayed results; "" for measured ones.
 * Borrowed, static. */
const char *tsw_cli_mark(const char *mode);

#endif
