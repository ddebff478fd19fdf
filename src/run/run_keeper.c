/* One build being made: what the cache has, then a keeper process for the rest. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The wall cap of a build: so many times its CPU limit, and more, as a limit of one second says
 * nothing of how busy the machine is. */
#define WALL_PER_CPU 10.0
#define WALL_MORE_S  60.0
#define LINES_MAX    200 /* of one keeper that go to the log */

struct tsw_run_keeper {
    tsw_run_keeper_t *next;
    tsw_run_t *run;
    tsw_child_t *child;
    tsw_build_request_t request;       /* of the archs that are missing */
    size_t missing[TSW_PLAN_ARCH_MAX]; /* their places in msg */
    tsw_msg_artifacts_t msg;           /* the whole build; cubins borrowed from artifacts */
    tsw_artifact_t artifacts[TSW_PLAN_ARCH_MAX];
    char *work_dir;
    size_t lines;
    bool alone;
    bool built; /* its result is here */
    bool late;  /* killed at the wall cap */
    bool failed;
    tsw_msg_failed_t failure;
};

static void keeper_free(tsw_run_keeper_t *keeper)
{
    tsw_build_request_fini(&keeper->request);
    for (size_t i = 0; i < TSW_PLAN_ARCH_MAX; i++)
        tsw_buf_fini(&keeper->artifacts[i].cubin);
    if (keeper->work_dir != NULL)
        tsw_dir_remove(keeper->work_dir, NULL);
    tsw_free(keeper->work_dir);
    tsw_free(keeper);
}

/* Artifact i of the build is known: the message shows it. */
static void show(tsw_run_keeper_t *keeper, size_t i)
{
    const tsw_artifact_t *from = &keeper->artifacts[i];
    tsw_msg_artifact_t *to = &keeper->msg.artifacts[i];
    to->outcome = from->outcome;
    memcpy(to->detail, from->detail, sizeof(to->detail));
    to->facts = from->facts;
    to->cubin = from->cubin.data;
    to->cubin_size = from->cubin.size;
}

/* ---- cache ---- */

static tsw_status_t look_in_cache(tsw_run_keeper_t *keeper, tsw_err_t *err)
{
    tsw_run_t *run = keeper->run;
    tsw_build_request_t *request = &keeper->request;
    size_t left = 0;
    for (size_t i = 0; i < keeper->msg.count; i++) {
        tsw_arch_t arch = request->archs[i];
        tsw_status_t status = TSW_ERR_NOT_FOUND;
        if (run->cache != NULL)
            status =
                tsw_cache_get(run->cache, tsw_cache_key(request, arch), &keeper->artifacts[i], err);
        if (status == TSW_OK) {
            keeper->artifacts[i].facts.from_cache = 1;
            show(keeper, i);
        } else if (status == TSW_ERR_NOT_FOUND) {
            keeper->missing[left] = i;
            request->archs[left++] = arch;
        } else {
            return status;
        }
    }
    request->arch_count = left;
    return TSW_OK;
}

static void put_in_cache(tsw_run_keeper_t *keeper, size_t i)
{
    tsw_run_t *run = keeper->run;
    const tsw_artifact_t *artifact = &keeper->artifacts[keeper->missing[i]];
    tsw_err_t err = TSW_ERR_INIT;
    if (run->cache == NULL)
        return;
    tsw_key_t key = tsw_cache_key(&keeper->request, keeper->request.archs[i]);
    if (tsw_cache_put(run->cache, key, artifact, &err) != TSW_OK)
        tsw_log(TSW_LOG_WARN, "build %u is not cached: %s", keeper->msg.build, err.text);
}

/* ---- what the keeper says ---- */

static tsw_status_t take_built(tsw_run_keeper_t *keeper, const uint8_t *body, size_t size,
                               tsw_err_t *err)
{
    tsw_msg_built_t msg;
    tsw_status_t status = tsw_get_msg_built(body, size, &msg, err);
    if (status != TSW_OK)
        return status;
    if (msg.count != keeper->request.arch_count || keeper->built)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "%zu artifacts instead of %zu", msg.count,
                           keeper->request.arch_count);
    for (size_t i = 0; i < msg.count; i++) {
        const tsw_msg_artifact_t *from = &msg.artifacts[i];
        tsw_artifact_t *to = &keeper->artifacts[keeper->missing[i]];
        to->outcome = from->outcome;
        memcpy(to->detail, from->detail, sizeof(to->detail));
        to->facts = from->facts;
        tsw_buf_append(&to->cubin, from->cubin, from->cubin_size);
        if (!tsw_buf_ok(&to->cubin))
            return tsw_err_nomem(err);
    }
    if (msg.log_size > 0)
        tsw_log(TSW_LOG_DEBUG, "build %u: %.*s", keeper->msg.build, (int)msg.log_size,
                (const char *)msg.log);
    keeper->built = true;
    return TSW_OK;
}

static void on_frame(void *user, tsw_child_t *child, uint32_t type, const uint8_t *body,
                     size_t size)
{
    tsw_run_keeper_t *keeper = user;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = TSW_OK;
    if (type == TSW_CHILD_BUILT)
        status = take_built(keeper, body, size, &err);
    else if (type == TSW_CHILD_FAILED)
        status = tsw_get_msg_failed(body, size, &keeper->failure, &err);
    else
        status = tsw_err_set(&err, TSW_ERR_CORRUPT, "message %u is none of a keeper", type);
    if (status == TSW_OK) {
        keeper->failed = type == TSW_CHILD_FAILED;
        return;
    }
    keeper->failed = true;
    keeper->failure.status = status;
    snprintf(keeper->failure.text, sizeof(keeper->failure.text), "%s", err.text);
    tsw_child_kill(child);
}

static void on_line(void *user, tsw_child_t *child, const char *line)
{
    (void)child;
    tsw_run_keeper_t *keeper = user;
    if (keeper->lines++ < LINES_MAX)
        tsw_log(TSW_LOG_DEBUG, "build %u: %s", keeper->msg.build, line);
}

static void on_deadline(void *user, tsw_child_t *child)
{
    tsw_run_keeper_t *keeper = user;
    keeper->late = true;
    tsw_child_kill(child);
}

/* ---- its end ---- */

/* All that is missing ended the same way, and not because of what the source says. */
static void end_all(tsw_run_keeper_t *keeper, tsw_outcome_t outcome, const char *detail)
{
    for (size_t i = 0; i < keeper->request.arch_count; i++) {
        tsw_artifact_t *artifact = &keeper->artifacts[keeper->missing[i]];
        tsw_buf_clear(&artifact->cubin);
        artifact->outcome = outcome;
        snprintf(artifact->detail, sizeof(artifact->detail), "%s", detail);
    }
}

static double wall_cap_s(const tsw_run_keeper_t *keeper)
{
    const tsw_build_request_t *request = &keeper->request;
    return WALL_MORE_S + WALL_PER_CPU * request->cpu_limit_s * (double)request->arch_count;
}

static void judge_death(tsw_run_keeper_t *keeper, const tsw_child_end_t *end)
{
    char detail[TSW_DETAIL_MAX];
    double limit = keeper->request.cpu_limit_s;
    if (keeper->late) {
        snprintf(detail, sizeof(detail), "not done after %.0f s", wall_cap_s(keeper));
        end_all(keeper, TSW_OUTCOME_COMPILE_TIMEOUT, detail);
    } else if (end->signo == SIGXCPU) {
        snprintf(detail, sizeof(detail), "NVRTC used more than %.0f s of CPU time", limit);
        end_all(keeper, TSW_OUTCOME_COMPILE_TIMEOUT, detail);
    } else if (end->signo == SIGKILL) {
        end_all(keeper, TSW_OUTCOME_OUT_OF_MEMORY,
                "killed twice by the system, the second time alone: out of memory");
    } else {
        snprintf(detail, sizeof(detail), "the compiler died of signal %d", end->signo);
        end_all(keeper, TSW_OUTCOME_COMPILE_FAILED, detail);
    }
}

static void unlink_keeper(tsw_run_keeper_t *keeper)
{
    tsw_run_builds_t *builds = &keeper->run->builds;
    tsw_run_keeper_t **link = &builds->keepers;
    while (*link != keeper)
        link = &(*link)->next;
    *link = keeper->next;
    builds->running--;
    if (keeper->alone)
        builds->alone_running = false;
}

static void report(tsw_run_keeper_t *keeper, bool cacheable)
{
    for (size_t i = 0; i < keeper->request.arch_count; i++) {
        if (cacheable)
            put_in_cache(keeper, i);
        show(keeper, keeper->missing[i]);
    }
    tsw_run_builds_report(keeper->run, &keeper->msg);
}

/* Another try by itself, without others that need memory too. */
static void try_alone(tsw_run_keeper_t *keeper)
{
    uint32_t build = keeper->msg.build;
    tsw_log(TSW_LOG_WARN, "build %u was killed from outside: tried once more, alone", build);
    keeper->run->builds.alone[build] = true;
    tsw_run_builds_lease(keeper->run, build);
}

static bool lacked_memory(const tsw_run_keeper_t *keeper)
{
    for (size_t i = 0; i < keeper->request.arch_count; i++)
        if (keeper->artifacts[keeper->missing[i]].outcome == TSW_OUTCOME_OUT_OF_MEMORY)
            return true;
    return false;
}

static void on_ended(void *user, tsw_child_t *child, const tsw_child_end_t *end)
{
    (void)child;
    tsw_run_keeper_t *keeper = user;
    tsw_run_t *run = keeper->run;
    uint32_t build = keeper->msg.build;
    tsw_err_t err = TSW_ERR_INIT;
    unlink_keeper(keeper);
    bool killed = !keeper->built && !end->exited && end->signo == SIGKILL && !end->killed_by_us;
    if (run->draining || run->stopped) {
        /* interrupted: no result */
    } else if ((killed || (keeper->built && lacked_memory(keeper))) && !keeper->alone) {
        try_alone(keeper);
    } else if (keeper->built) {
        run->builds.made++;
        report(keeper, true);
    } else if (keeper->failed) {
        tsw_run_fail(
            run,
            tsw_err_set(&err, keeper->failure.status, "build %u: %s", build, keeper->failure.text),
            &err);
    } else if (end->exited) {
        tsw_run_fail(run,
                     tsw_err_set(&err, TSW_ERR_PEER, "build %u: the keeper exited with code %d",
                                 build, end->exit_code),
                     &err);
    } else {
        judge_death(keeper, end);
        report(keeper, false);
    }
    keeper_free(keeper);
}

void tsw_run_keepers_kill(tsw_run_t *run)
{
    for (tsw_run_keeper_t *keeper = run->builds.keepers; keeper != NULL; keeper = keeper->next)
        tsw_child_kill(keeper->child);
}

/* ---- its begin ---- */

static tsw_status_t make_work_dir(tsw_run_keeper_t *keeper, tsw_err_t *err)
{
    char name[32];
    snprintf(name, sizeof(name), "b%u", keeper->msg.build);
    keeper->work_dir = tsw_path_join(keeper->run->builds.work_root, name);
    if (keeper->work_dir == NULL)
        return tsw_err_nomem(err);
    return tsw_dir_make(keeper->work_dir, err);
}

static tsw_status_t send_request(tsw_run_keeper_t *keeper, tsw_err_t *err)
{
    const tsw_toolchain_t *toolchain = &keeper->run->toolchain;
    const tsw_build_request_t *request = &keeper->request;
    char none[] = "";
    tsw_msg_build_t msg = {
        .root = toolchain->root,
        .nvrtc = toolchain->nvrtc,
        .tileiras = toolchain->tileiras != NULL ? toolchain->tileiras : none,
        .toolchain = toolchain->text,
        .toolchain_key = toolchain->key,
        .work_dir = keeper->work_dir,
        .language = (uint32_t)request->language,
        .files = request->files,
        .source = request->source,
        .entry = request->entry,
        .defines = {.items = request->defines, .count = request->define_count},
        .options = {.items = request->options, .count = request->option_count},
        .arch_count = request->arch_count,
        .arch_dependent = request->arch_dependent,
        .cpu_limit_s = request->cpu_limit_s,
    };
    for (size_t i = 0; i < request->arch_count; i++)
        msg.archs[i] = (uint32_t)request->archs[i];
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_build(&body, &msg);
    return tsw_child_send(keeper->child, TSW_CHILD_BUILD, &body, err);
}

static tsw_status_t start(tsw_run_keeper_t *keeper, tsw_err_t *err)
{
    tsw_run_t *run = keeper->run;
    tsw_run_builds_t *builds = &run->builds;
    if (!run->toolchain.found)
        return tsw_err_set(err, TSW_ERR_ENV,
                           "build %u is not in the cache (any more) and there is no toolchain: %s",
                           keeper->msg.build, run->toolchain.text);
    tsw_status_t status = make_work_dir(keeper, err);
    if (status != TSW_OK)
        return status;
    tsw_child_callbacks_t callbacks = {keeper, on_frame, on_line, on_ended, on_deadline};
    status = tsw_run_spawn(run, "build", &callbacks, &keeper->child, err);
    if (status != TSW_OK)
        return status;
    keeper->alone = builds->alone[keeper->msg.build];
    keeper->next = builds->keepers;
    builds->keepers = keeper;
    builds->running++;
    builds->alone_running = builds->alone_running || keeper->alone;
    tsw_child_set_deadline(keeper->child, wall_cap_s(keeper));
    return send_request(keeper, err);
}

static void list_archs(tsw_run_keeper_t *keeper, const tsw_build_t *build)
{
    for (uint32_t i = 0; i < keeper->run->job->arch_count; i++) {
        if ((build->arch_mask >> i & 1) != 0)
            keeper->msg.arch_index[keeper->msg.count++] = i;
    }
}

void tsw_run_keeper_begin(tsw_run_t *run, uint32_t id)
{
    const tsw_build_t *build = &run->plan->builds[id];
    tsw_err_t err = TSW_ERR_INIT;
    tsw_run_keeper_t *keeper = tsw_calloc(1, sizeof(*keeper));
    if (keeper == NULL) {
        tsw_run_fail(run, tsw_err_nomem(&err), &err);
        return;
    }
    keeper->run = run;
    keeper->msg.build = id;
    list_archs(keeper, build);
    tsw_status_t status = tsw_build_request_make(run->plan, build, &keeper->request, &err);
    if (status == TSW_OK && keeper->request.arch_count != keeper->msg.count)
        status = tsw_err_set(&err, TSW_ERR_BUG, "build %u: its archs differ", id);
    if (status == TSW_OK)
        status = look_in_cache(keeper, &err);
    if (status == TSW_OK && keeper->request.arch_count == 0) {
        run->builds.cached++;
        tsw_run_builds_report(run, &keeper->msg);
        keeper_free(keeper);
        return;
    }
    if (status == TSW_OK)
        status = start(keeper, &err);
    if (status == TSW_OK)
        return;
    tsw_run_fail(run, status, &err);
    if (keeper->child != NULL)
        tsw_child_kill(keeper->child); /* freed when it has ended */
    else
        keeper_free(keeper);
}
