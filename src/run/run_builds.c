/* Builds that this rank holds a lease for, and the artifacts that are here. */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/run_state.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- work folders ---- */

/* Folders of processes that are no more: a killed rank cannot tidy up. */
static void remove_dead(const char *dir)
{
    tsw_names_t names = {0};
    if (tsw_dir_list(dir, &names, NULL) != TSW_OK)
        return;
    for (size_t i = 0; i < names.count; i++) {
        int64_t pid = 0;
        if (!tsw_text_parse_i64(names.names[i], &pid) || pid <= 1 || pid > INT32_MAX)
            continue;
        if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        char *path = tsw_path_join(dir, names.names[i]);
        if (path != NULL)
            tsw_dir_remove(path, NULL);
        tsw_free(path);
    }
    tsw_names_fini(&names);
}

/* By node: TMPDIR may be shared by many, and process ids mean something on one node only. Absolute,
 * since compilers work inside. */
static tsw_status_t make_work_root(tsw_run_builds_t *builds, const char *node, tsw_err_t *err)
{
    const char *tmp = getenv("TMPDIR");
    char *base = tsw_path_absolute(tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
    if (base == NULL)
        return tsw_err_nomem(err);
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_buf_printf(&text, "%s/tilesweep-%lu-%s", base, (unsigned long)getuid(), node);
    tsw_free(base);
    remove_dead(tsw_buf_text(&text));
    tsw_buf_printf(&text, "/%ld", (long)getpid());
    builds->work_root = tsw_buf_take_text(&text);
    if (builds->work_root == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_dir_make(builds->work_root, err);
    if (status == TSW_OK || status == TSW_ERR_FULL || status == TSW_ERR_NOMEM)
        return status;
    tsw_err_wrap(err, "work folder for builds (TMPDIR)");
    return tsw_err_turn(err, TSW_ERR_ENV);
}

/* ---- artifacts ---- */

static tsw_artifact_t **slot_of(const tsw_run_t *run, uint32_t build, uint32_t arch_index)
{
    return &run->builds.artifacts[build * run->job->arch_count + arch_index];
}

const tsw_artifact_t *tsw_run_artifact(const tsw_run_t *run, uint32_t build, uint32_t arch_index)
{
    return *slot_of(run, build, arch_index);
}

static void artifact_free(tsw_artifact_t *artifact)
{
    if (artifact != NULL)
        tsw_buf_fini(&artifact->cubin);
    tsw_free(artifact);
}

tsw_status_t tsw_run_artifact_keep(tsw_run_t *run, uint32_t build, uint32_t arch_index,
                                   const tsw_msg_artifact_t *from, tsw_err_t *err)
{
    if (build >= run->plan->build_count || arch_index >= run->job->arch_count)
        return tsw_err_set(err, TSW_ERR_BUG, "artifact of build %u, arch %u that cannot be", build,
                           arch_index);
    tsw_artifact_t **slot = slot_of(run, build, arch_index);
    if (*slot != NULL)
        return TSW_OK;
    tsw_artifact_t *artifact = tsw_calloc(1, sizeof(*artifact));
    if (artifact == NULL)
        return tsw_err_nomem(err);
    artifact->outcome = from->outcome;
    artifact->facts = from->facts;
    memcpy(artifact->detail, from->detail, sizeof(artifact->detail));
    tsw_buf_append(&artifact->cubin, from->cubin, from->cubin_size);
    if (!tsw_buf_ok(&artifact->cubin)) {
        artifact_free(artifact);
        return tsw_err_nomem(err);
    }
    *slot = artifact;
    return TSW_OK;
}

tsw_status_t tsw_run_builds_init(tsw_run_t *run, tsw_err_t *err)
{
    tsw_run_builds_t *builds = &run->builds;
    size_t count = run->plan->build_count;
    builds->artifacts = tsw_calloc(count * run->job->arch_count, sizeof(*builds->artifacts));
    builds->alone = tsw_calloc(count, sizeof(*builds->alone));
    if (builds->artifacts == NULL || builds->alone == NULL)
        return tsw_err_nomem(err);
    return run->replay ? TSW_OK : make_work_root(builds, run->node, err);
}

void tsw_run_builds_fini(tsw_run_t *run)
{
    tsw_run_builds_t *builds = &run->builds;
    if (builds->artifacts != NULL) {
        for (size_t i = 0; i < run->plan->build_count * run->job->arch_count; i++)
            artifact_free(builds->artifacts[i]);
    }
    tsw_free(builds->artifacts);
    tsw_free(builds->alone);
    tsw_free(builds->queue);
    if (builds->work_root != NULL)
        tsw_dir_remove(builds->work_root, NULL);
    tsw_free(builds->work_root);
    *builds = (tsw_run_builds_t){0};
}

/* ---- leases ---- */

void tsw_run_builds_lease(tsw_run_t *run, uint32_t build)
{
    tsw_run_builds_t *builds = &run->builds;
    tsw_err_t err = TSW_ERR_INIT;
    if (run->draining || run->stopped)
        return;
    if (build >= run->plan->build_count) {
        tsw_run_break(run, tsw_err_set(&err, TSW_ERR_BUG, "there is no build %u", build), &err);
        return;
    }
    if (!TSW_GROW(builds->queue, builds->queue_capacity, builds->queue_count)) {
        tsw_run_fail(run, tsw_err_nomem(&err), &err);
        return;
    }
    builds->queue[builds->queue_count++] = build;
}

uint32_t tsw_run_builds_room(const tsw_run_t *run)
{
    const bool is_lent = run->builds.lends_core && !run->worker.timing;
    return run->builds.slots + (is_lent ? 1 : 0);
}

/* A build that died of a kill gets the node's memory for itself: nothing beside it. */
static bool may_begin(const tsw_run_t *run, uint32_t build)
{
    const tsw_run_builds_t *builds = &run->builds;
    if (builds->running == 0)
        return true;
    return builds->running < tsw_run_builds_room(run) && !builds->alone[build] &&
           !builds->alone_running;
}

void tsw_run_builds_pump(tsw_run_t *run)
{
    tsw_run_builds_t *builds = &run->builds;
    while (builds->queue_count > 0 && !run->draining && may_begin(run, builds->queue[0])) {
        uint32_t build = builds->queue[0];
        builds->queue_count--;
        memmove(builds->queue, builds->queue + 1, builds->queue_count * sizeof(*builds->queue));
        if (run->replay)
            tsw_run_replay_build(run, build);
        else
            tsw_run_keeper_begin(run, build);
    }
}

void tsw_run_builds_stop(tsw_run_t *run)
{
    run->builds.queue_count = 0;
    tsw_run_keepers_kill(run);
}

void tsw_run_builds_report(tsw_run_t *run, const tsw_msg_artifacts_t *msg)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_artifacts(&body, msg);
    tsw_run_send(run, 0, TSW_RANK_BUILT, &body);
}
