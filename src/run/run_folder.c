/* The output folder: may we have it, what is in it already, and our place in it. */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "run/run_state.h"

#include "tsw_version.h"

#include <unistd.h>

/* Something else that has the name of a file or a folder of ours would stop the run at its end, or
 * hold it for ever when it is a pipe. */
static tsw_status_t check_names(const char *dir, tsw_err_t *err)
{
    static const struct {
        const char *name;
        bool is_dir;
    } ours[] = {{"job.yaml", false},    {"plan.json", false}, {"seeds.txt", false},
                {"status.json", false}, {"id", false},        {"retired.txt", false},
                {"sweep.h5", false},    {"attempts", true},   {"packs", true},
                {"parts", true},        {"tables", true}};
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < sizeof(ours) / sizeof(ours[0]); i++) {
        char *path = tsw_path_join(dir, ours[i].name);
        if (path == NULL)
            status = tsw_err_nomem(err);
        else if (ours[i].is_dir ? tsw_path_exists(path) && !tsw_path_is_dir(path)
                                : !tsw_path_is_plain(path))
            status = tsw_err_set(err, TSW_ERR_ENV, "%s is no %s, as a run has it: move it away",
                                 path, ours[i].is_dir ? "folder" : "file");
        tsw_free(path);
    }
    return status;
}

tsw_status_t tsw_run_check_folder(tsw_run_t *run, tsw_err_t *err)
{
    const char *dir = run->options->run_dir;
    if (run->rank != 0 || !tsw_path_exists(dir))
        return TSW_OK;
    if (!tsw_path_is_dir(dir))
        return tsw_err_set(err, TSW_ERR_ENV, "output %s is not a folder", dir);
    if (access(dir, W_OK) != 0)
        return tsw_err_set(err, TSW_ERR_ENV, "output folder %s is not writable", dir);
    tsw_names_t names = {0};
    tsw_status_t status = tsw_dir_list(dir, &names, err);
    size_t count = names.count;
    tsw_names_fini(&names);
    if (status != TSW_OK || count == 0)
        return status;
    if (run->options->resume)
        return check_names(dir, err);
    return tsw_err_set(err, TSW_ERR_ENV,
                       "output folder %s is not empty: choose another, or go on with it by "
                       "--resume",
                       dir);
}

static tsw_status_t write_in(const char *dir, const char *name, const void *bytes, size_t size,
                             tsw_err_t *err)
{
    char *path = tsw_path_join(dir, name);
    if (path == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_file_write_atomic(path, bytes, size, err);
    tsw_free(path);
    return status;
}

static tsw_status_t write_inputs(const tsw_run_t *run, tsw_err_t *err)
{
    const char *dir = run->options->run_dir;
    const tsw_fileset_item_t *job = tsw_fileset_find(&run->job->snapshot, "job.yaml");
    tsw_status_t status = TSW_OK;
    if (job != NULL)
        status = write_in(dir, "job.yaml", job->bytes, job->size, err);
    if (status == TSW_OK)
        status = tsw_run_write_packs(run, err);
    const tsw_fileset_item_t *seeds = tsw_fileset_find(&run->job->snapshot, TSW_JOB_SEEDS);
    if (status == TSW_OK && seeds != NULL)
        status = write_in(dir, "seeds.txt", seeds->bytes, seeds->size, err);
    tsw_buf_t json = TSW_BUF_INIT;
    tsw_plan_json(run->plan, &json);
    if (status == TSW_OK && !tsw_buf_ok(&json))
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = write_in(dir, "plan.json", json.data, json.size, err);
    tsw_buf_fini(&json);
    return status;
}

/* "2/8"; "" for the whole job. */
static char *format_part(tsw_plan_part_t part)
{
    tsw_buf_t text = TSW_BUF_INIT;
    if (part.count > 1)
        tsw_buf_printf(&text, "%u/%u", part.number, part.count);
    return tsw_buf_take_text(&text);
}

static char *clocks_text(uint32_t locked_mhz)
{
    tsw_buf_t text = TSW_BUF_INIT;
    if (locked_mhz == 0)
        return tsw_strdup("free");
    tsw_buf_printf(&text, "locked:%u", locked_mhz);
    return tsw_buf_take_text(&text);
}

static tsw_status_t fill_meta(tsw_run_t *run, tsw_err_t *err)
{
    const tsw_fileset_item_t *job = tsw_fileset_find(&run->job->snapshot, "job.yaml");
    const char *invocation = run->options->invocation;
    tsw_run_meta_t *meta = &run->meta;
    meta->job_name = tsw_strdup(run->job->name);
    meta->job_text = tsw_strdup(job != NULL ? (const char *)job->bytes : "");
    meta->job_key = run->job->key;
    meta->plan_key = run->plan->key;
    meta->purpose = tsw_strdup(tsw_purpose_name(run->job->purpose));
    meta->toolchain = tsw_strdup(run->toolchain_text);
    meta->tool = tsw_strdup("tilesweep " TSW_VERSION);
    meta->mode = tsw_strdup(run->spec.kind[0] != '\0' ? run->spec.kind : "none");
    meta->clocks = clocks_text(run->options->locked_mhz);
    meta->protocol = tsw_strdup(tsw_protocol_name(run->job->policy.protocol));
    meta->objective = tsw_strdup(tsw_objective_name(run->job->policy.objective));
    meta->invocation = tsw_strdup(invocation != NULL ? invocation : "");
    meta->inputs = tsw_strdup(run->plan->inputs);
    meta->parts = format_part(run->options->part);
    meta->cells = run->plan->cell_count;
    meta->seed = run->job->policy.seed;
    meta->start_wall_ns = tsw_clock_wall_ns();
    bool ok = meta->job_name != NULL && meta->job_text != NULL && meta->purpose != NULL &&
              meta->toolchain != NULL && meta->tool != NULL && meta->mode != NULL &&
              meta->clocks != NULL && meta->protocol != NULL && meta->objective != NULL &&
              meta->invocation != NULL && meta->inputs != NULL && meta->parts != NULL;
    return ok ? TSW_OK : tsw_err_nomem(err);
}

/* What the file system refuses is the environment's fault; a full disk keeps its own name. */
static tsw_status_t as_env(tsw_status_t status, const char *dir, tsw_err_t *err)
{
    if (status != TSW_ERR_IO && status != TSW_ERR_NOT_FOUND)
        return status;
    tsw_err_wrap(err, "output folder %s", dir);
    return tsw_err_turn(err, TSW_ERR_ENV);
}

static tsw_status_t take_attempt(tsw_run_t *run, tsw_err_t *err)
{
    const char *dir = run->options->run_dir;
    if (run->options->resume)
        return tsw_store_next_attempt(dir, &run->attempt, err);
    run->attempt = 1;
    tsw_status_t status = tsw_store_first_attempt(dir, err);
    if (status == TSW_ERR_EXISTS)
        status = tsw_err_set(err, TSW_ERR_ENV,
                             "output folder %s: another run has begun there at the same time", dir);
    return status;
}

tsw_status_t tsw_run_open_folder(tsw_run_t *run, tsw_err_t *err)
{
    tsw_status_t status = fill_meta(run, err);
    if (status != TSW_OK || run->rank != 0)
        return status;
    const char *dir = run->options->run_dir;
    run->done = tsw_calloc(run->plan->cell_count, sizeof(*run->done));
    if (run->done == NULL)
        return tsw_err_nomem(err);
    status = tsw_dir_make(dir, err);
    if (status == TSW_OK && run->options->resume)
        status = tsw_run_resume(run, err);
    if (status == TSW_OK)
        status = take_attempt(run, err);
    if (status == TSW_OK)
        status = write_inputs(run, err);
    return as_env(status, dir, err);
}

/* Number, start and edition of the attempt: the same in the segments of all ranks. */
tsw_status_t tsw_run_share_attempt(tsw_run_t *run, tsw_err_t *err)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_put_u32(&bytes, run->attempt);
    tsw_put_u64(&bytes, run->meta.start_wall_ns);
    tsw_put_u64(&bytes, run->meta.edition);
    tsw_status_t status = tsw_comm_bcast(run->comm, &bytes, err);
    if (status == TSW_OK) {
        tsw_reader_t in = tsw_reader(bytes.data, bytes.size);
        run->attempt = tsw_get_u32(&in);
        run->meta.start_wall_ns = tsw_get_u64(&in);
        run->meta.edition = tsw_get_u64(&in);
        status = tsw_msg_done(&in, "attempt", err);
    }
    tsw_buf_fini(&bytes);
    return status;
}

tsw_status_t tsw_run_open_segments(tsw_run_t *run, tsw_err_t *err)
{
    const char *dir = run->outbox != NULL ? run->local_dir : run->options->run_dir;
    tsw_status_t status =
        tsw_segments_open(dir, run->attempt, run->rank, &run->meta, &run->segments, err);
    if (status == TSW_OK && run->outbox != NULL)
        tsw_segments_keep_apart(run->segments);
    if (status == TSW_OK && run->options->seal_s > 0)
        tsw_segments_set_interval(run->segments, run->options->seal_s);
    if (status == TSW_OK)
        status = tsw_run_rehearsal_open(run, err);
    return as_env(status, dir, err);
}

/* Cells that the plan skips are results too: rank 0 writes them, once. */
tsw_status_t tsw_run_store_skipped(tsw_run_t *run, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (uint32_t i = 0; run->rank == 0 && status == TSW_OK && i < run->plan->cell_count; i++) {
        if (run->plan->cells[i].skip_reason == NULL || run->done[i])
            continue;
        tsw_cell_result_t result = {0};
        status = tsw_lane_skipped(run->plan, i, run->rank, run->node, &result, err);
        result.attempt = run->attempt;
        result.start_wall_ns = tsw_clock_wall_ns();
        if (status == TSW_OK)
            status = tsw_segments_add(run->segments, &result, err);
        tsw_cell_result_fini(&result);
    }
    return status;
}
