/* The segments of a run folder. Inside store only. */
#ifndef TSW_STORE_STORE_FOLDER_H
#define TSW_STORE_STORE_FOLDER_H

#include "base/err.h"
#include "base/file.h"
#include "record/dataset.h"

/* Paths of RUN/parts/aNNNN-rNNNN/NNNNNN.h5, in order of attempt, rank and number; unfinished files
 * are left out. A folder without parts has none. Free with tsw_names_fini. */
tsw_status_t tsw_folder_segments(const char *run_dir, tsw_names_t *paths_p, tsw_err_t *err);

/* TSW_ERR_CORRUPT: a folder, a pipe or a link to nothing is where a segment should be; reading it
 * would fail, or wait for ever. A path that is not there is fine: reading tells. */
tsw_status_t tsw_folder_expect_file(const char *path, tsw_err_t *err);

/* Append the cells of from (emptied) to into. */
tsw_status_t tsw_dataset_move_cells(tsw_dataset_t *into, tsw_dataset_t *from, tsw_err_t *err);

#endif
