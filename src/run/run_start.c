/* From a snapshot to a plan, its toolchain and its cache: the same on every rank. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <stdlib.h>

/* Rank 0's fileset to all, then into a job. */
tsw_status_t tsw_run_share_snapshot(tsw_run_t *run, tsw_err_t *err)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_fileset_t set = TSW_FILESET_INIT;
    if (run->rank == 0)
        tsw_put_fileset(&bytes, run->snapshot);
    tsw_status_t status = tsw_comm_bcast(run->comm, &bytes, err);
    if (status == TSW_OK) {
        tsw_reader_t in = tsw_reader(bytes.data, bytes.size);
        status = tsw_get_fileset(&in, &set, err);
    }
    if (status == TSW_OK)
        status = tsw_job_read(&set, &run->job, err);
    tsw_fileset_fini(&set);
    tsw_buf_fini(&bytes);
    return status;
}

tsw_status_t tsw_run_make_plan(tsw_run_t *run, tsw_err_t *err)
{
    if (run->job->arch_count > TSW_MSG_ARCH_MAX)
        return tsw_err_set(err, TSW_ERR_INPUT, "%zu archs in one job; at most %d",
                           run->job->arch_count, TSW_MSG_ARCH_MAX);
    tsw_status_t status = tsw_plan_make(run->job, &run->whole, err);
    if (status == TSW_OK)
        status = tsw_plan_keep_part(run->whole, run->options->part, err);
    run->plan = run->whole;
    return status;
}

bool tsw_run_searches(const tsw_run_t *run)
{
    return tsw_plan_is_searched(run->whole);
}

/* --cache, TSW_CACHE, then where caches are kept. NULL: out of memory. */
static char *cache_dir(const tsw_run_options_t *options)
{
    const char *given = options->cache_dir != NULL ? options->cache_dir : getenv("TSW_CACHE");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (given != NULL && given[0] != '\0')
        return tsw_strdup(given);
    if (xdg != NULL && xdg[0] == '/')
        return tsw_path_join(xdg, "tilesweep");
    if (home != NULL && home[0] == '/')
        return tsw_path_join(home, ".cache/tilesweep");
    return tsw_strdup("/tmp/tilesweep-cache");
}

static tsw_status_t open_cache(tsw_run_t *run, const char *dir, tsw_err_t *err)
{
    char *text = NULL;
    tsw_status_t status = tsw_cache_open(dir, &run->toolchain, run->plan, &run->cache, &text, err);
    if (status != TSW_OK && run->toolchain.found && status != TSW_ERR_NOMEM) {
        /* The cache only serves later runs. */
        tsw_log(TSW_LOG_WARN, "no cache in %s: %s", dir, err->text);
        tsw_err_clear(err);
        status = TSW_OK;
    }
    if (status == TSW_OK)
        run->toolchain_text =
            tsw_strdup(run->toolchain.found || text == NULL ? run->toolchain.text : text);
    if (status == TSW_OK && run->toolchain_text == NULL)
        status = tsw_err_nomem(err);
    tsw_free(text);
    return status;
}

tsw_status_t tsw_run_find_toolchain(tsw_run_t *run, tsw_err_t *err)
{
    if (run->replay) {
        run->toolchain_text = tsw_strdup(run->recorded.meta.toolchain);
        return run->toolchain_text != NULL ? TSW_OK : tsw_err_nomem(err);
    }
    char *dir = cache_dir(run->options);
    if (dir == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_toolchain_find(run->options->toolchain, dir, &run->toolchain, err);
    if (status == TSW_OK)
        status = open_cache(run, dir, err);
    tsw_free(dir);
    return status;
}
