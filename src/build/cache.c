/* DIR/<toolchain key>/toolchain.txt names a toolchain; DIR/<toolchain key>/<2 digits>/<key> holds
 * its artifacts. Files appear whole, by rename in their own folder, and are never changed. */
#include "build/cache.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "build/cache_entry.h"

#include <string.h>
#include <sys/stat.h>

#define TOOLCHAIN_FILE "toolchain.txt"
#define KEY_VERSION    "tilesweep build 1" /* change it when tsw_build_run's own options change */

struct tsw_cache {
    char *dir; /* of one toolchain */
    bool writable;
};

tsw_key_t tsw_cache_key(const tsw_build_request_t *request, tsw_arch_t arch)
{
    tsw_key_t files = {0};
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL || tsw_fileset_key(&request->files, &files, NULL) != TSW_OK) {
        tsw_hash_free(hash);
        return (tsw_key_t){0};
    }
    tsw_hash_text(hash, KEY_VERSION);
    tsw_hash_i64(hash, request->language);
    tsw_hash_bytes(hash, &files, sizeof(files));
    tsw_hash_text(hash, request->source);
    tsw_hash_text(hash, request->entry);
    tsw_hash_i64(hash, (int64_t)request->define_count);
    for (size_t i = 0; i < request->define_count; i++)
        tsw_hash_text(hash, request->defines[i]);
    for (size_t i = 0; i < request->option_count; i++)
        tsw_hash_text(hash, request->options[i]);
    tsw_hash_i64(hash, request->arch_dependent);
    tsw_hash_i64(hash, arch);
    tsw_key_t key = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return key;
}

/* Path of an entry, or of its folder; heap, NULL when out of memory. */
static char *entry_path(const tsw_cache_t *cache, tsw_key_t key, bool folder)
{
    char digits[TSW_KEY_TEXT_SIZE];
    tsw_buf_t path = TSW_BUF_INIT;
    tsw_key_format(key, digits);
    tsw_buf_printf(&path, "%s/%.2s", cache->dir, digits);
    if (!folder)
        tsw_buf_printf(&path, "/%s", digits);
    char *taken = tsw_buf_take_text(&path);
    tsw_buf_fini(&path);
    return taken;
}

/* The all-zero key stands for "no key": nothing is kept under it. */
static bool is_no_key(tsw_key_t key)
{
    return key.hi == 0 && key.lo == 0;
}

tsw_status_t tsw_cache_get(tsw_cache_t *cache, tsw_key_t key, tsw_artifact_t *artifact_p,
                           tsw_err_t *err)
{
    char *path = entry_path(cache, key, false);
    tsw_buf_t bytes = TSW_BUF_INIT;
    if (path == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_ERR_NOT_FOUND;
    if (!is_no_key(key) && tsw_path_is_plain(path) && tsw_file_read(path, &bytes, NULL) == TSW_OK)
        status = tsw_cache_entry_get(bytes.data, bytes.size, key, artifact_p, err);
    if (status == TSW_OK) {
        artifact_p->facts.from_cache = 1;
        artifact_p->facts.compile_cpu_ns = 0;
        artifact_p->facts.compile_wall_ns = 0;
    } else if (status != TSW_ERR_NOMEM) {
        status = tsw_err_set(err, TSW_ERR_NOT_FOUND, "not in the cache");
    }
    tsw_buf_fini(&bytes);
    tsw_free(path);
    return status;
}

static tsw_status_t write_file(const char *path, const tsw_buf_t *bytes, tsw_err_t *err)
{
    if (!tsw_path_is_plain(path))
        return tsw_err_set(err, TSW_ERR_IO, "%s is no file", path);
    return tsw_file_write_atomic(path, bytes->data, bytes->size, err);
}

tsw_status_t tsw_cache_put(tsw_cache_t *cache, tsw_key_t key, const tsw_artifact_t *artifact,
                           tsw_err_t *err)
{
    if (!cache->writable || is_no_key(key) ||
        (artifact->outcome != TSW_OUTCOME_OK && artifact->outcome != TSW_OUTCOME_COMPILE_FAILED))
        return TSW_OK;
    tsw_buf_t bytes = TSW_BUF_INIT;
    char *folder = entry_path(cache, key, true);
    char *path = entry_path(cache, key, false);
    tsw_status_t status = TSW_OK;
    tsw_cache_entry_put(&bytes, key, artifact);
    if (folder == NULL || path == NULL || !tsw_buf_ok(&bytes))
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_dir_make(folder, err);
    if (status == TSW_OK)
        status = write_file(path, &bytes, err);
    tsw_free(path);
    tsw_free(folder);
    tsw_buf_fini(&bytes);
    return status;
}

void tsw_cache_close(tsw_cache_t *cache)
{
    if (cache == NULL)
        return;
    tsw_free(cache->dir);
    tsw_free(cache);
}

/* Takes over dir; NULL when out of memory. */
static tsw_cache_t *cache_new(char *dir, bool writable)
{
    tsw_cache_t *cache = dir != NULL ? tsw_calloc(1, sizeof(*cache)) : NULL;
    if (cache == NULL) {
        tsw_free(dir);
        return NULL;
    }
    *cache = (tsw_cache_t){.dir = dir, .writable = writable};
    return cache;
}

/* Make the folder of the toolchain and say whose it is. */
static tsw_status_t prepare(const char *dir, const char *text, tsw_err_t *err)
{
    tsw_status_t status = tsw_dir_make(dir, err);
    if (status != TSW_OK)
        return status;
    tsw_buf_t line = TSW_BUF_INIT;
    char *path = tsw_path_join(dir, TOOLCHAIN_FILE);
    tsw_buf_printf(&line, "%s\n", text);
    if (path == NULL || !tsw_buf_ok(&line))
        status = tsw_err_nomem(err);
    else
        status = write_file(path, &line, err);
    tsw_free(path);
    tsw_buf_fini(&line);
    return status;
}

static tsw_status_t open_own(const char *dir, const tsw_toolchain_t *toolchain,
                             tsw_cache_t **cache_p, char **text_p, tsw_err_t *err)
{
    char digits[TSW_KEY_TEXT_SIZE];
    tsw_err_t why = TSW_ERR_INIT;
    tsw_cache_t *cache =
        cache_new(tsw_path_join(dir, tsw_key_format(toolchain->key, digits)), true);
    char *text = tsw_strdup(toolchain->text);
    if (cache == NULL || text == NULL) {
        tsw_cache_close(cache);
        tsw_free(text);
        return tsw_err_nomem(err);
    }
    if (prepare(cache->dir, text, &why) != TSW_OK) {
        tsw_log_root(TSW_LOG_WARN, "the cache is not written: %s", why.text);
        cache->writable = false;
    }
    *cache_p = cache;
    *text_p = text;
    return TSW_OK;
}

/* How many artifacts of the plan the cache lacks. */
static tsw_status_t count_missing(tsw_cache_t *cache, const tsw_plan_t *plan, size_t *missing_p,
                                  tsw_err_t *err)
{
    size_t missing = 0;
    for (size_t i = 0; i < plan->build_count; i++) {
        tsw_build_request_t request;
        tsw_status_t status = tsw_build_request_make(plan, &plan->builds[i], &request, err);
        if (status != TSW_OK)
            return status;
        for (size_t a = 0; a < request.arch_count; a++) {
            tsw_artifact_t artifact = {.cubin = TSW_BUF_INIT};
            if (tsw_cache_get(cache, tsw_cache_key(&request, request.archs[a]), &artifact, NULL) !=
                TSW_OK)
                missing++;
            tsw_buf_fini(&artifact.cubin);
        }
        tsw_build_request_fini(&request);
    }
    *missing_p = missing;
    return TSW_OK;
}

/* A sub-folder of some toolchain. */
typedef struct {
    char *dir;
    char *text;
    int64_t written_ns; /* of its toolchain.txt */
} candidate_t;

static void candidate_fini(candidate_t *candidate)
{
    tsw_free(candidate->dir);
    tsw_free(candidate->text);
    *candidate = (candidate_t){.dir = NULL};
}

static bool candidate_read(const char *dir, const char *name, candidate_t *candidate)
{
    tsw_buf_t text = TSW_BUF_INIT;
    struct stat info;
    candidate->dir = tsw_path_join(dir, name);
    char *path = candidate->dir != NULL ? tsw_path_join(candidate->dir, TOOLCHAIN_FILE) : NULL;
    bool ok = path != NULL && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
              tsw_file_read(path, &text, NULL) == TSW_OK;
    if (ok) {
        candidate->written_ns =
            (int64_t)info.st_mtim.tv_sec * 1000000000 + (int64_t)info.st_mtim.tv_nsec;
        char *end = strchr(tsw_buf_text(&text), '\n');
        if (end != NULL)
            *end = '\0';
        candidate->text = tsw_strdup(tsw_buf_text(&text));
    }
    tsw_free(path);
    tsw_buf_fini(&text);
    if (candidate->text == NULL)
        candidate_fini(candidate);
    return candidate->text != NULL;
}

/* What is left when no toolchain is there: the newest sub-folder that covers the plan. best_missing
 * is 0 then, else the least that any of them lacks. */
typedef struct {
    candidate_t best;
    size_t best_missing;
    bool any;
} choice_t;

static tsw_status_t consider(choice_t *choice, candidate_t *candidate, const tsw_plan_t *plan,
                             tsw_err_t *err)
{
    size_t missing = 0;
    tsw_cache_t cache = {.dir = candidate->dir, .writable = false};
    tsw_status_t status = count_missing(&cache, plan, &missing, err);
    if (status != TSW_OK)
        return status;
    bool better =
        !choice->any || missing < choice->best_missing ||
        (missing == choice->best_missing && candidate->written_ns > choice->best.written_ns);
    if (better) {
        candidate_fini(&choice->best);
        *choice = (choice_t){.best = *candidate, .best_missing = missing, .any = true};
        *candidate = (candidate_t){.dir = NULL};
    }
    return TSW_OK;
}

static tsw_status_t choose(const char *dir, const tsw_plan_t *plan, choice_t *choice,
                           tsw_err_t *err)
{
    tsw_names_t names = {0};
    tsw_status_t status = TSW_OK;
    if (tsw_dir_list(dir, &names, NULL) != TSW_OK)
        return TSW_OK; /* no cache folder: nothing to choose from */
    for (size_t i = 0; status == TSW_OK && i < names.count; i++) {
        candidate_t candidate = {.dir = NULL};
        if (candidate_read(dir, names.names[i], &candidate))
            status = consider(choice, &candidate, plan, err);
        candidate_fini(&candidate);
    }
    tsw_names_fini(&names);
    return status;
}

static size_t count_artifacts(const tsw_plan_t *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->build_count; i++)
        count += (size_t)__builtin_popcount(plan->builds[i].arch_mask);
    return count;
}

static tsw_status_t open_newest(const char *dir, const tsw_toolchain_t *toolchain,
                                const tsw_plan_t *plan, tsw_cache_t **cache_p, char **text_p,
                                tsw_err_t *err)
{
    choice_t choice = {.any = false};
    tsw_status_t status = choose(dir, plan, &choice, err);
    const char *why = toolchain->text != NULL ? toolchain->text : "no CUDA toolchain";
    if (status == TSW_OK && !choice.any)
        status = tsw_err_set(err, TSW_ERR_ENV, "%s, and the cache %s is empty", why, dir);
    else if (status == TSW_OK && choice.best_missing > 0)
        status = tsw_err_set(err, TSW_ERR_ENV,
                             "%s, and the cache %s lacks %zu of the %zu cubins of this plan", why,
                             dir, choice.best_missing, count_artifacts(plan));
    if (status == TSW_OK) {
        tsw_cache_t *cache = cache_new(choice.best.dir, false);
        choice.best.dir = NULL;
        if (cache == NULL) {
            status = tsw_err_nomem(err);
        } else {
            *cache_p = cache;
            *text_p = choice.best.text;
            choice.best.text = NULL;
        }
    }
    candidate_fini(&choice.best);
    return status;
}

tsw_status_t tsw_cache_open(const char *dir, const tsw_toolchain_t *toolchain,
                            const tsw_plan_t *plan, tsw_cache_t **cache_p, char **text_p,
                            tsw_err_t *err)
{
    return toolchain->found ? open_own(dir, toolchain, cache_p, text_p, err)
                            : open_newest(dir, toolchain, plan, cache_p, text_p, err);
}
