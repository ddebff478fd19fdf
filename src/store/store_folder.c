#include "store/store_folder.h"

#include "base/mem.h"
#include "base/text.h"
#include "store/store.h"

/* How often a folder is listed again because a segment was merged meanwhile: a rank does that once
 * in half an hour. */
#define LIST_TRIES 5

static tsw_status_t add_segments_of(const char *dir, tsw_names_t *paths, size_t *capacity,
                                    tsw_err_t *err)
{
    tsw_names_t names = {0};
    tsw_status_t status = tsw_dir_list(dir, &names, err);
    for (size_t i = 0; status == TSW_OK && i < names.count; i++) {
        if (!tsw_text_ends_with(names.names[i], ".h5"))
            continue;
        char *path = tsw_path_join(dir, names.names[i]);
        if (path == NULL || !TSW_GROW(paths->names, *capacity, paths->count)) {
            tsw_free(path);
            status = tsw_err_nomem(err);
        } else {
            paths->names[paths->count++] = path;
        }
    }
    tsw_names_fini(&names);
    return status;
}

static tsw_status_t list_parts(const char *parts_dir, tsw_names_t *paths, tsw_err_t *err)
{
    tsw_names_t ranks = {0};
    size_t capacity = 0;
    tsw_status_t status = tsw_dir_list(parts_dir, &ranks, err);
    for (size_t i = 0; status == TSW_OK && i < ranks.count; i++) {
        char *dir = tsw_path_join(parts_dir, ranks.names[i]);
        if (dir == NULL)
            status = tsw_err_nomem(err);
        else if (tsw_path_is_dir(dir))
            status = add_segments_of(dir, paths, &capacity, err);
        tsw_free(dir);
    }
    tsw_names_fini(&ranks);
    return status;
}

tsw_status_t tsw_folder_segments(const char *run_dir, tsw_names_t *paths_p, tsw_err_t *err)
{
    tsw_names_t paths = {0};
    char *parts_dir = tsw_path_join(run_dir, "parts");
    if (parts_dir == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_OK;
    if (tsw_path_is_dir(parts_dir))
        status = list_parts(parts_dir, &paths, err);
    tsw_free(parts_dir);
    if (status == TSW_OK)
        *paths_p = paths;
    else
        tsw_names_fini(&paths);
    return status;
}

tsw_status_t tsw_folder_expect_file(const char *path, tsw_err_t *err)
{
    if (tsw_path_is_file(path) || !tsw_path_is_taken(path))
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_CORRUPT, "%s: not a file", path);
}

tsw_status_t tsw_dataset_move_cells(tsw_dataset_t *into, tsw_dataset_t *from, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < from->cell_count; i++)
        status = tsw_dataset_add(into, &from->cells[i], err);
    return status;
}

/* The dataset becomes an empty one with the meta of a segment. */
static void start_over(tsw_dataset_t *dataset, tsw_dataset_t *segment)
{
    tsw_dataset_fini(dataset);
    dataset->meta = segment->meta;
    segment->meta = (tsw_run_meta_t){0};
}

/* Adds one segment. The first one, *from_p, gives the meta; the others must fit to it. Of several
 * editions the newest counts: older segments are superseded. */
static tsw_status_t add_segment(const char *path, tsw_dataset_t *dataset, const char **from_p,
                                tsw_err_t *err)
{
    tsw_dataset_t segment = {0};
    tsw_status_t status = tsw_folder_expect_file(path, err);
    if (status == TSW_OK)
        status = tsw_store_read_file(path, &segment, err);
    if (status != TSW_OK)
        return status;
    if (*from_p == NULL || segment.meta.edition > dataset->meta.edition) {
        start_over(dataset, &segment);
        *from_p = path;
    } else if (segment.meta.edition < dataset->meta.edition) {
        tsw_dataset_fini(&segment);
        return TSW_OK;
    } else {
        status = tsw_run_meta_compatible(&dataset->meta, &segment.meta, err);
        if (status != TSW_OK)
            tsw_err_wrap(err,
                         "%s does not go with %s; move the one that is not of this run (job \"%s\" "
                         "and job \"%s\") out of the folder",
                         path, *from_p, segment.meta.job_name, dataset->meta.job_name);
    }
    if (status == TSW_OK)
        status = tsw_dataset_move_cells(dataset, &segment, err);
    tsw_dataset_fini(&segment);
    return status;
}

/* A segment that is torn costs its own records only. TSW_ERR_NOT_FOUND: none could be read.
 * *vanished_p: a segment went away after the folder was listed, as its rank has merged it. */
static tsw_status_t read_segments(const tsw_names_t *paths, tsw_dataset_t *dataset,
                                  tsw_buf_t *skipped, bool *vanished_p, tsw_err_t *err)
{
    const char *from = NULL;
    for (size_t i = 0; i < paths->count; i++) {
        tsw_err_t why = TSW_ERR_INIT;
        tsw_status_t status = add_segment(paths->names[i], dataset, &from, &why);
        if (status == TSW_ERR_CORRUPT) {
            tsw_buf_printf(skipped, "%s\n", why.text);
        } else if (status == TSW_ERR_NOT_FOUND) {
            *vanished_p = true;
        } else if (status != TSW_OK) {
            if (err != NULL)
                *err = why;
            return status;
        }
    }
    return from == NULL ? TSW_ERR_NOT_FOUND : TSW_OK;
}

/* All segments of a folder in which a job may be at work. */
static tsw_status_t read_parts(const char *run_dir, tsw_dataset_t *dataset, tsw_buf_t *skipped,
                               tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    bool vanished = true;
    for (int i = 0; status == TSW_OK && vanished && i < LIST_TRIES; i++) {
        tsw_names_t paths = {0};
        vanished = false;
        tsw_dataset_fini(dataset);
        tsw_buf_clear(skipped);
        status = tsw_folder_segments(run_dir, &paths, err);
        if (status == TSW_OK)
            status = read_segments(&paths, dataset, skipped, &vanished, err);
        if (status == TSW_ERR_NOT_FOUND && vanished)
            status = TSW_OK;
        tsw_names_fini(&paths);
    }
    if (status == TSW_OK && vanished)
        status = tsw_err_set(err, TSW_ERR_IO, "%s: its segments change faster than they are read",
                             run_dir);
    return status;
}

static tsw_status_t read_folder(const char *run_dir, tsw_dataset_t *dataset, tsw_buf_t *skipped,
                                tsw_err_t *err)
{
    tsw_names_t names = {0};
    tsw_status_t status = tsw_dir_list(run_dir, &names, err);
    tsw_names_fini(&names);
    if (status != TSW_OK) /* a folder that may not be looked into is no empty one */
        return status;
    status = read_parts(run_dir, dataset, skipped, err);
    if (status != TSW_ERR_NOT_FOUND)
        return status;
    char *sweep = tsw_path_join(run_dir, "sweep.h5");
    if (sweep == NULL)
        status = tsw_err_nomem(err);
    else if (!tsw_path_is_plain(sweep))
        status = tsw_folder_expect_file(sweep, err);
    else if (tsw_path_exists(sweep))
        status = tsw_store_read_file(sweep, dataset, err);
    else
        tsw_err_set(err, status,
                    "%s: no results: neither parts/*/*.h5 that can be read nor sweep.h5", run_dir);
    tsw_free(sweep);
    return status;
}

tsw_status_t tsw_store_read(const char *path, tsw_dataset_t *dataset_p, char **skipped_p,
                            tsw_err_t *err)
{
    tsw_dataset_t dataset = {0};
    tsw_buf_t skipped = TSW_BUF_INIT;
    char *skipped_text = NULL;
    tsw_status_t status = tsw_path_is_dir(path) ? read_folder(path, &dataset, &skipped, err)
                                                : tsw_store_read_file(path, &dataset, err);
    if (status == TSW_OK && skipped_p != NULL &&
        (skipped_text = tsw_buf_take_text(&skipped)) == NULL)
        status = tsw_err_nomem(err);
    tsw_buf_fini(&skipped);
    if (status != TSW_OK) {
        tsw_dataset_fini(&dataset);
        return status;
    }
    tsw_dataset_canonicalise(&dataset);
    *dataset_p = dataset;
    if (skipped_p != NULL)
        *skipped_p = skipped_text;
    return TSW_OK;
}

static char *attempt_path(const char *run_dir, uint32_t attempt)
{
    tsw_buf_t path = TSW_BUF_INIT;
    tsw_buf_printf(&path, "%s/attempts/%04u", run_dir, attempt);
    return tsw_buf_take_text(&path);
}

/* One more than the highest number in attempts/. */
static tsw_status_t guess_attempt(const char *dir, uint32_t *attempt_p, tsw_err_t *err)
{
    tsw_names_t names = {0};
    uint32_t attempt = 1;
    tsw_status_t status = tsw_dir_list(dir, &names, err);
    for (size_t i = 0; i < names.count; i++) {
        int64_t number = 0;
        if (tsw_text_parse_i64(names.names[i], &number) && number >= attempt && number < UINT32_MAX)
            attempt = (uint32_t)number + 1;
    }
    tsw_names_fini(&names);
    if (status == TSW_OK)
        *attempt_p = attempt;
    return status;
}

/* TSW_ERR_EXISTS: somebody else was quicker. */
static tsw_status_t claim_attempt(const char *run_dir, uint32_t attempt, tsw_err_t *err)
{
    char *path = attempt_path(run_dir, attempt);
    tsw_status_t status = path != NULL ? tsw_dir_make_exclusive(path, err) : tsw_err_nomem(err);
    tsw_free(path);
    return status;
}

tsw_status_t tsw_store_first_attempt(const char *run_dir, tsw_err_t *err)
{
    char *dir = tsw_path_join(run_dir, "attempts");
    tsw_status_t status = dir != NULL ? tsw_dir_make(dir, err) : tsw_err_nomem(err);
    tsw_free(dir);
    return status == TSW_OK ? claim_attempt(run_dir, 1, err) : status;
}

tsw_status_t tsw_store_next_attempt(const char *run_dir, uint32_t *attempt_p, tsw_err_t *err)
{
    uint32_t attempt = 0;
    char *dir = tsw_path_join(run_dir, "attempts");
    if (dir == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_dir_make(dir, err);
    if (status == TSW_OK)
        status = guess_attempt(dir, &attempt, err);
    tsw_free(dir);
    if (status == TSW_OK)
        status = claim_attempt(run_dir, attempt, err);
    while (status == TSW_ERR_EXISTS) {
        tsw_err_clear(err);
        status = claim_attempt(run_dir, ++attempt, err);
    }
    if (status == TSW_OK)
        *attempt_p = attempt;
    return status;
}
