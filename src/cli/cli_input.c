#include "cli/cli_input.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "pack/job.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* Relative to the folder of the program: in the build tree, and installed. */
static const char *const kernels_places[] = {"../../kernels", "../share/tilesweep/kernels"};
enum { PLACE_COUNT = sizeof(kernels_places) / sizeof(kernels_places[0]) };

tsw_status_t tsw_cli_kernels_dir(const char *option, char **dir_p, tsw_err_t *err)
{
    const char *named = option != NULL ? option : getenv("TSW_KERNELS");
    if (named != NULL) {
        if (!tsw_path_is_dir(named))
            return tsw_err_set(err, TSW_ERR_NOT_FOUND, "no folder of packs at '%s' (%s)", named,
                               option != NULL ? "--kernels" : "TSW_KERNELS");
        *dir_p = tsw_strdup(named);
        return *dir_p != NULL ? TSW_OK : tsw_err_nomem(err);
    }
    char *self = tsw_path_self_dir();
    char *found = NULL;
    for (size_t i = 0; self != NULL && found == NULL && i < PLACE_COUNT; i++) {
        char *place = tsw_path_join(self, kernels_places[i]);
        if (place != NULL && tsw_path_is_dir(place))
            found = place;
        else
            tsw_free(place);
    }
    tsw_free(self);
    if (found == NULL)
        return tsw_err_set(err, TSW_ERR_NOT_FOUND,
                           "no folder of packs beside the program; name one with --kernels or "
                           "TSW_KERNELS");
    *dir_p = found;
    return TSW_OK;
}

tsw_status_t tsw_cli_snapshot(const char *job_path, const char *kernels_option,
                              tsw_fileset_t *snapshot, tsw_err_t *err)
{
    char *kernels = NULL;
    tsw_status_t status = tsw_cli_kernels_dir(kernels_option, &kernels, err);
    if (status == TSW_OK)
        status = tsw_job_snapshot(job_path, kernels, snapshot, err);
    tsw_free(kernels);
    return status;
}

static tsw_status_t read_one(const char *path, tsw_dataset_t *dataset_p, tsw_err_t *err)
{
    char *skipped = NULL;
    tsw_status_t status = tsw_store_read(path, dataset_p, &skipped, err);
    if (status == TSW_OK && skipped != NULL && skipped[0] != '\0')
        tsw_log(TSW_LOG_WARN, "%s: segments that cannot be read are left out:\n%s", path, skipped);
    tsw_free(skipped);
    return status;
}

/* Moves the cells of from into the dataset, when both belong to one plan. */
static tsw_status_t join(tsw_dataset_t *dataset, tsw_dataset_t *from, const char *path,
                         tsw_err_t *err)
{
    tsw_status_t status = tsw_run_meta_compatible(&dataset->meta, &from->meta, err);
    if (status != TSW_OK) {
        tsw_err_wrap(err, "%s does not go with the first input", path);
        return status;
    }
    for (size_t i = 0; status == TSW_OK && i < from->cell_count; i++)
        status = tsw_dataset_add(dataset, &from->cells[i], err);
    return status;
}

tsw_status_t tsw_cli_read(const char *const *paths, size_t count, tsw_dataset_t *dataset_p,
                          tsw_err_t *err)
{
    tsw_dataset_t all = {0};
    tsw_status_t status = read_one(paths[0], &all, err);
    for (size_t i = 1; status == TSW_OK && i < count; i++) {
        tsw_dataset_t more = {0};
        status = read_one(paths[i], &more, err);
        if (status == TSW_OK)
            status = join(&all, &more, paths[i], err);
        tsw_dataset_fini(&more);
    }
    if (status != TSW_OK) {
        tsw_dataset_fini(&all);
        return status;
    }
    tsw_dataset_canonicalise(&all);
    *dataset_p = all;
    return TSW_OK;
}

bool tsw_cli_is_simulated(const tsw_dataset_t *dataset)
{
    return strcmp(dataset->meta.mode, "cuda") != 0;
}

const char *tsw_cli_mark(const char *mode)
{
    if (strcmp(mode, "sim") == 0)
        return "SIMULATED: real compilation; outcomes and times from a model of the device; not "
               "for release\n";
    if (strcmp(mode, "replay") == 0)
        return "REPLAYED: times drawn from an earlier recording; not for release\n";
    return "";
}
