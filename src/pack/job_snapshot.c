/* The I/O of a job: its file, CSV files and pack folders into a set of files. */
#include "base/file.h"
#include "base/mem.h"
#include "pack/job_read.h"
#include "pack/job_shapes.h"

#include <string.h>

typedef struct {
    const char *label;   /* the job file in messages */
    char *dir;           /* that holds the job file */
    const char *kernels; /* where bare names are looked up */
    tsw_fileset_t files;
} snapshot_t;

static char *dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return tsw_strdup(".");
    char *dir = tsw_strdup(path);
    if (dir != NULL)
        dir[slash == path ? 1 : slash - path] = '\0';
    return dir;
}

/* Where a path of the job file is: absolute, or relative to the job file. */
static char *resolve(const snapshot_t *snapshot, const char *path)
{
    return path[0] == '/' ? tsw_strdup(path) : tsw_path_join(snapshot->dir, path);
}

static tsw_status_t no_pack(const snapshot_t *snapshot, const tsw_node_t *ref, const char *path,
                            tsw_err_t *err)
{
    if (strchr(ref->text, '/') != NULL)
        return tsw_place_err(err, TSW_ERR_NOT_FOUND, ref->place, "there is no pack folder '%.200s'",
                             ref->text);
    tsw_names_t names = {0};
    char hint[96] = "";
    if (tsw_dir_list(snapshot->kernels, &names, NULL) == TSW_OK)
        tsw_name_hint(ref->text, (const char *const *)names.names, names.count, hint);
    tsw_names_fini(&names);
    return tsw_place_err(err, TSW_ERR_NOT_FOUND, ref->place,
                         "there is no pack '%.60s' (looked for %.300s)%s", ref->text, path, hint);
}

static tsw_status_t append(tsw_fileset_t *set, const tsw_fileset_t *more, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < more->count; i++)
        status = tsw_fileset_add(set, more->items[i].name, more->items[i].bytes,
                                 more->items[i].size, err);
    return status;
}

static bool is_same(const tsw_fileset_t *a, const tsw_fileset_t *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const tsw_fileset_item_t *item = tsw_fileset_find(b, a->items[i].name);
        same = item != NULL && item->size == a->items[i].size &&
               memcmp(item->bytes, a->items[i].bytes, item->size) == 0;
    }
    return same;
}

/* The folder of a pack as "packs/<name>/...". A name that is there already must be the same pack.
 */
static tsw_status_t add_pack(snapshot_t *snapshot, const tsw_node_t *ref, const char *name,
                             const char *path, tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_fileset_t plain = TSW_FILESET_INIT;
    tsw_fileset_t before = TSW_FILESET_INIT;
    tsw_buf_t prefix = TSW_BUF_INIT;
    tsw_buf_printf(&prefix, "packs/%s/", name);
    tsw_status_t status = tsw_buf_ok(&prefix) ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_fileset_add_dir(&files, tsw_buf_text(&prefix), path, err);
    if (status == TSW_OK)
        status = tsw_fileset_subset(&files, tsw_buf_text(&prefix), &plain, err);
    if (status == TSW_OK)
        status = tsw_fileset_subset(&snapshot->files, tsw_buf_text(&prefix), &before, err);
    if (status == TSW_OK && before.count == 0)
        status = append(&snapshot->files, &files, err);
    else if (status == TSW_OK && !is_same(&plain, &before))
        status = tsw_place_err(err, TSW_ERR_INPUT, ref->place,
                               "two different folders are called '%s'", name);
    tsw_buf_fini(&prefix);
    tsw_fileset_fini(&files);
    tsw_fileset_fini(&plain);
    tsw_fileset_fini(&before);
    return status;
}

static tsw_status_t take_pack(snapshot_t *snapshot, const tsw_node_t *ref, tsw_err_t *err)
{
    char *name = NULL;
    tsw_status_t status = tsw_job_pack_name(ref, &name, err);
    if (status != TSW_OK)
        return status;
    char *path = strchr(ref->text, '/') != NULL ? resolve(snapshot, ref->text)
                                                : tsw_path_join(snapshot->kernels, ref->text);
    char *yaml = path != NULL ? tsw_path_join(path, "kernel.yaml") : NULL;
    if (yaml == NULL)
        status = tsw_err_nomem(err);
    else if (!tsw_path_is_dir(path))
        status = no_pack(snapshot, ref, path, err);
    else if (!tsw_path_exists(yaml))
        status = tsw_place_err(err, TSW_ERR_INPUT, ref->place,
                               "the folder '%.200s' has no kernel.yaml", ref->text);
    else
        status = add_pack(snapshot, ref, name, path, err);
    tsw_free(name);
    tsw_free(path);
    tsw_free(yaml);
    return status;
}

/* A file beside the job as `name`, which is taken over; the same file may come twice. */
static tsw_status_t take_file(snapshot_t *snapshot, const tsw_node_t *ref, char *name,
                              tsw_err_t *err)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    char *path = resolve(snapshot, ref->text);
    tsw_status_t status = path != NULL && name != NULL ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK && !tsw_path_exists(path))
        status = tsw_place_err(err, TSW_ERR_NOT_FOUND, ref->place,
                               "there is no file '%.200s' beside the job", ref->text);
    else if (status == TSW_OK && tsw_path_is_dir(path))
        status = tsw_place_err(err, TSW_ERR_INPUT, ref->place, "'%.200s' is a folder", ref->text);
    if (status == TSW_OK)
        status = tsw_file_read(path, &bytes, err);
    const tsw_fileset_item_t *before =
        status == TSW_OK ? tsw_fileset_find(&snapshot->files, name) : NULL;
    if (status == TSW_OK && before == NULL)
        status = tsw_fileset_add(&snapshot->files, name, bytes.data, bytes.size, err);
    else if (status == TSW_OK &&
             (before->size != bytes.size ||
              (bytes.size > 0 && memcmp(before->bytes, bytes.data, bytes.size) != 0)))
        status = tsw_place_err(err, TSW_ERR_INPUT, ref->place,
                               "two different files are called '%s'", strchr(name, '/') + 1);
    tsw_buf_fini(&bytes);
    tsw_free(path);
    tsw_free(name);
    return status;
}

static tsw_status_t take_entry(snapshot_t *snapshot, tsw_view_t entry, tsw_err_t *err)
{
    tsw_status_t status = take_pack(snapshot, tsw_view_node(entry, "pack"), err);
    size_t count = tsw_view_count(entry, "shapes");
    for (size_t i = 0; status == TSW_OK && i < count; i++) {
        tsw_view_t shape = tsw_view_item(entry, "shapes", i);
        const tsw_node_t *csv = tsw_view_node(shape, "csv");
        if (csv != NULL)
            status = take_file(snapshot, csv, tsw_shapes_csv_name(csv->text), err);
    }
    tsw_view_t probe = tsw_view_map(entry, "probe");
    const tsw_node_t *ref = NULL;
    for (size_t i = 0; status == TSW_OK && (ref = tsw_job_verdict_ref(probe, i)) != NULL; i++)
        status = take_file(snapshot, ref, tsw_job_verdict_name(ref->text), err);
    return status;
}

static tsw_status_t take_all(snapshot_t *snapshot, const tsw_buf_t *bytes, tsw_err_t *err)
{
    tsw_node_t *document = NULL;
    tsw_view_t view = {NULL, NULL};
    tsw_status_t status = tsw_node_read(snapshot->label, bytes->data, bytes->size, &document, err);
    if (status == TSW_OK)
        status = tsw_view_open(TSW_SCHEMA_JOB, document, &view, err);
    if (status == TSW_OK)
        status = tsw_fileset_add(&snapshot->files, TSW_JOB_FILE, bytes->data, bytes->size, err);
    size_t count = status == TSW_OK ? tsw_view_count(view, "packs") : 0;
    for (size_t i = 0; status == TSW_OK && i < count; i++)
        status = take_entry(snapshot, tsw_view_item(view, "packs", i), err);
    tsw_node_free(document);
    return status;
}

/* All that can be wrong is found here, where the job file's own name is known. */
static tsw_status_t check(const snapshot_t *snapshot, tsw_err_t *err)
{
    tsw_job_t *job = NULL;
    tsw_status_t status = tsw_job_parse(&snapshot->files, snapshot->label, &job, err);
    tsw_job_free(job);
    return status;
}

tsw_status_t tsw_job_snapshot(const char *job_path, const char *kernels_dir,
                              tsw_fileset_t *snapshot_p, tsw_err_t *err)
{
    const char *slash = strrchr(job_path, '/');
    tsw_buf_t bytes = TSW_BUF_INIT;
    snapshot_t snapshot = {.label = slash != NULL ? slash + 1 : job_path,
                           .dir = dir_of(job_path),
                           .kernels = kernels_dir,
                           .files = TSW_FILESET_INIT};
    tsw_status_t status = snapshot.dir != NULL ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK && tsw_path_is_dir(job_path))
        status = tsw_err_set(err, TSW_ERR_INPUT, "%s is a folder, wanted a job file", job_path);
    if (status == TSW_OK)
        status = tsw_file_read_start(job_path, TSW_NODE_BYTES_MAX + 1, &bytes, err);
    if (status == TSW_OK)
        status = take_all(&snapshot, &bytes, err);
    if (status == TSW_OK)
        status = check(&snapshot, err);
    if (status == TSW_OK) {
        *snapshot_p = snapshot.files;
        snapshot.files = (tsw_fileset_t)TSW_FILESET_INIT;
    }
    tsw_fileset_fini(&snapshot.files);
    tsw_free(snapshot.dir);
    tsw_buf_fini(&bytes);
    return status;
}
