#include "cli/cli_input.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "pack/job.h"
#include "record/parts.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

bool tsw_cli_is_pack_dir(const char *dir)
{
    char *yaml = tsw_path_join(dir, "kernel.yaml");
    bool is_pack = yaml != NULL && tsw_path_is_dir(dir) && tsw_path_exists(yaml);
    tsw_free(yaml);
    return is_pack;
}

tsw_status_t tsw_cli_list_packs(const char *kernels, tsw_names_t *names_p, tsw_err_t *err)
{
    tsw_names_t names = {0};
    size_t count = 0;
    tsw_status_t status = tsw_dir_list(kernels, &names, err);
    if (status != TSW_OK)
        return status;
    for (size_t i = 0; i < names.count; i++) {
        char *dir = tsw_path_join(kernels, names.names[i]);
        if (dir == NULL)
            status = tsw_err_nomem(err);
        else if (tsw_cli_is_pack_dir(dir)) {
            char *name = names.names[count];
            names.names[count++] = names.names[i];
            names.names[i] = name;
        }
        tsw_free(dir);
    }
    for (size_t i = count; i < names.count; i++)
        tsw_free(names.names[i]);
    names.count = count;
    if (status == TSW_OK)
        *names_p = names;
    else
        tsw_names_fini(&names);
    return status;
}

const char *tsw_cli_autotune_off(void)
{
    static const char *const names[] = {"DISABLE_AUTOTUNE", "TILEGYM_DISABLE_AUTOTUNE"};
    static const char *const off[] = {"", "0", "false", "no", "off"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        bool is_set = value != NULL;
        for (size_t k = 0; k < sizeof(off) / sizeof(off[0]); k++)
            is_set = is_set && strcasecmp(value, off[k]) != 0;
        if (is_set)
            return names[i];
    }
    return NULL;
}

tsw_status_t tsw_cli_name_job(tsw_err_t *err, tsw_status_t status, const char *job_path)
{
    static const char prefix[] = "job.yaml:";
    char text[TSW_ERR_TEXT_MAX];
    const char *rest = err != NULL ? err->text + sizeof(prefix) - 1 : "";
    if (status == TSW_OK || err == NULL || !tsw_text_starts_with(err->text, prefix) ||
        *rest < '0' || *rest > '9')
        return status;
    if (job_path != NULL) {
        const char *slash = strrchr(job_path, '/');
        snprintf(text, sizeof(text), "%.200s:%.1800s", slash != NULL ? slash + 1 : job_path, rest);
    } else {
        rest += strspn(rest, "0123456789:");
        snprintf(text, sizeof(text), "%s", rest + strspn(rest, " "));
    }
    memcpy(err->text, text, sizeof(text));
    return status;
}

tsw_status_t tsw_cli_snapshot(const char *job_path, const char *kernels_option,
                              tsw_fileset_t *snapshot, tsw_err_t *err)
{
    char *kernels = NULL;
    tsw_status_t status = tsw_cli_kernels_dir(kernels_option, &kernels, err);
    if (status == TSW_OK)
        status = tsw_job_snapshot(job_path, kernels, snapshot, err);
    if (status == TSW_OK && tsw_cli_autotune_off() != NULL)
        status = tsw_job_override_fixed(snapshot, err);
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

/* Several inputs on their way into one dataset. */
typedef struct {
    tsw_dataset_t all;
    tsw_parts_t parts;
    bool has_whole;          /* an input that is no part of a job ... */
    uint64_t cells_of_whole; /* ... and what it has to do */
    uint64_t cells_of_parts; /* that there are to do */
} joined_t;

/* Which parts are there now, and how many cells they should have. */
static tsw_status_t note_parts(joined_t *joined, const tsw_run_meta_t *meta, const char *path,
                               tsw_err_t *err)
{
    uint32_t twice = 0;
    if (meta->parts[0] == '\0') {
        joined->has_whole = true;
        joined->cells_of_whole = meta->cells;
        return TSW_OK;
    }
    tsw_status_t status = tsw_parts_add(&joined->parts, meta->parts, &twice, err);
    if (status != TSW_OK)
        return tsw_err_wrap(err, "%s", path);
    if (twice == 0)
        joined->cells_of_parts += meta->cells;
    else
        tsw_log(TSW_LOG_WARN, "%s: part %u of %u is there already: of each cell one result is kept",
                path, twice, joined->parts.count);
    return TSW_OK;
}

/* Moves all of an input to the others; all must belong to one plan. */
static tsw_status_t join(joined_t *joined, tsw_dataset_t *from, bool first, const char *path,
                         tsw_err_t *err)
{
    tsw_status_t status = note_parts(joined, &from->meta, path, err);
    if (status == TSW_OK && first) {
        joined->all = *from;
        *from = (tsw_dataset_t){0};
        return TSW_OK;
    }
    if (status == TSW_OK) {
        status = tsw_run_meta_compatible(&joined->all.meta, &from->meta, err);
        if (status != TSW_OK)
            tsw_err_wrap(err, "%s does not go with the first input", path);
    }
    for (size_t i = 0; status == TSW_OK && i < from->cell_count; i++)
        status = tsw_dataset_add(&joined->all, &from->cells[i], err);
    return status;
}

/* What all the inputs together are. */
static tsw_status_t note_whole(joined_t *joined, tsw_err_t *err)
{
    tsw_run_meta_t *meta = &joined->all.meta;
    tsw_free(meta->parts);
    meta->parts = joined->has_whole ? tsw_strdup("") : tsw_parts_text(&joined->parts);
    meta->cells = joined->has_whole ? joined->cells_of_whole : joined->cells_of_parts;
    return meta->parts != NULL ? TSW_OK : tsw_err_nomem(err);
}

tsw_status_t tsw_cli_read(const char *const *paths, size_t count, tsw_dataset_t *dataset_p,
                          tsw_err_t *err)
{
    joined_t joined = {.has_whole = false};
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < count; i++) {
        tsw_dataset_t one = {0};
        status = read_one(paths[i], &one, err);
        if (status == TSW_OK)
            status = join(&joined, &one, i == 0, paths[i], err);
        tsw_dataset_fini(&one);
    }
    if (status == TSW_OK)
        status = note_whole(&joined, err);
    tsw_parts_fini(&joined.parts);
    if (status != TSW_OK) {
        tsw_dataset_fini(&joined.all);
        return status;
    }
    tsw_dataset_canonicalise(&joined.all);
    *dataset_p = joined.all;
    return TSW_OK;
}

size_t tsw_cli_missing(const tsw_dataset_t *dataset, tsw_buf_t *out)
{
    const tsw_run_meta_t *meta = &dataset->meta;
    tsw_parts_t parts = {0};
    tsw_buf_t list = TSW_BUF_INIT;
    uint32_t twice = 0;
    size_t missing = 0, complete = 0;
    if (meta->parts[0] != '\0' && tsw_parts_add(&parts, meta->parts, &twice, NULL) == TSW_OK)
        missing = tsw_parts_missing(&parts, &list);
    if (missing > 0)
        tsw_buf_printf(out, "part%s %s of %u %s missing\n", missing > 1 ? "s" : "",
                       tsw_buf_text(&list), parts.count, missing > 1 ? "are" : "is");
    for (size_t i = 0; i < dataset->cell_count; i++)
        complete += dataset->cells[i].complete;
    if (complete < meta->cells)
        tsw_buf_printf(out, "%zu of %zu cells are not done\n", (size_t)meta->cells - complete,
                       (size_t)meta->cells);
    missing += complete < meta->cells;
    tsw_buf_fini(&list);
    tsw_parts_fini(&parts);
    return missing;
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
