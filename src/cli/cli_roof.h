/* Calibrations in files: one per GPU, below the user's cache folder, named by UUID. */
#ifndef TSW_CLI_ROOF_H
#define TSW_CLI_ROOF_H

#include "base/buf.h"
#include "record/calibration.h"
#include "record/dataset.h"

#define TSW_CALIBRATION_FORMAT "tilesweep-calibration"
#define TSW_CALIBRATION_START  "{\n  \"format\": \"" TSW_CALIBRATION_FORMAT "\"" /* of a file */
#define TSW_CALIBRATION_SCHEMA 1

/* Where the calibration of a GPU is kept; heap, NULL when out of memory. TSW_CALIBRATIONS names
 * another folder. */
char *tsw_roof_path(const tsw_gpu_t *gpu);

/* Replaces the file atomically; its folder is made. */
tsw_status_t tsw_roof_write(const tsw_calibration_t *calibration, const char *path, tsw_err_t *err);
/* TSW_ERR_NOT_FOUND; TSW_ERR_CORRUPT and TSW_ERR_VERSION name the path and what is wrong. Fields
 * that the file does not have are unknown. */
tsw_status_t tsw_roof_read(const char *path, tsw_calibration_t *calibration_p, tsw_err_t *err);

/* The stored calibration of this GPU, or else of another of the same name and mode (the first by
 * UUID); false: none. A file that cannot be read is logged and passed over. */
bool tsw_roof_find(const tsw_gpu_t *gpu, tsw_calibration_t *calibration_p);

/* The calibrations for the devices of a dataset, each found one once; heap. */
tsw_status_t tsw_roof_gather(const tsw_dataset_t *dataset, tsw_calibration_t **list_p,
                             size_t *count_p, tsw_err_t *err);

/* What is lower by more than 3 % than it was, a line each, appended; returns how many. */
size_t tsw_roof_compare(const tsw_calibration_t *now, const tsw_calibration_t *before,
                        tsw_buf_t *out);

#endif
