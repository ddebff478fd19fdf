/* The packs of a run, as they were: what later commands hold results against. */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/run_state.h"

#include <string.h>

static tsw_status_t write_one(const char *dir, const tsw_fileset_item_t *item, tsw_err_t *err)
{
    char *path = tsw_path_join(dir, item->name);
    if (path == NULL)
        return tsw_err_nomem(err);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    tsw_status_t status = tsw_dir_make(path, err);
    *slash = '/';
    if (status == TSW_OK)
        status = tsw_file_write_atomic(path, item->bytes, item->size, err);
    tsw_free(path);
    return status;
}

tsw_status_t tsw_run_write_packs(const tsw_run_t *run, tsw_err_t *err)
{
    const tsw_fileset_t *files = &run->job->snapshot;
    char *packs = tsw_path_join(run->options->run_dir, "packs");
    if (packs == NULL)
        return tsw_err_nomem(err);
    /* An attempt that was killed while it wrote has left pieces, which would be files of a pack. */
    tsw_status_t status = tsw_dir_remove(packs, err);
    tsw_free(packs);
    for (size_t i = 0; status == TSW_OK && i < files->count; i++) {
        if (tsw_text_starts_with(files->items[i].name, "packs/"))
            status = write_one(run->options->run_dir, &files->items[i], err);
    }
    return status;
}
