/* Which device this rank has, and the first start of its measure worker. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "pack/place.h"
#include "run/run_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool measures_nothing(const tsw_job_t *job)
{
    for (size_t i = 0; i < job->arch_count; i++) {
        if (!job->compile_only[i])
            return false;
    }
    return true;
}

/* ---- cuda ---- */

/* Nobody looks for GPUs here: the worker does, and says what is missing. No GPU is an error, so
 * that no night is simulated by accident. */
static tsw_status_t choose_cuda(tsw_run_t *run, tsw_err_t *err)
{
    for (size_t i = 0; run->job->purpose == TSW_PURPOSE_PROBE && i < run->job->entry_count; i++) {
        const tsw_job_entry_t *entry = &run->job->entries[i];
        if (!entry->verdict_is_measured)
            return tsw_place_err(err, TSW_ERR_INPUT, entry->place,
                                 "probe: the verdict of pack %s is of simulated times; on a GPU a "
                                 "probe needs one of a GPU",
                                 entry->pack->name);
    }
    snprintf(run->spec.kind, sizeof(run->spec.kind), "cuda");
    run->spec.place = tsw_comm_node_rank(run->comm);
    run->has_device = true;
    return TSW_OK;
}

/* ---- sim ---- */

/* A scenario of faults for tests: TSW_SIM_SCENARIO names a file. */
static tsw_status_t read_scenario(tsw_run_t *run, tsw_err_t *err)
{
    const char *path = getenv("TSW_SIM_SCENARIO");
    if (path == NULL || path[0] == '\0')
        return TSW_OK;
    tsw_buf_t text = TSW_BUF_INIT;
    tsw_status_t status = tsw_file_read(path, &text, err);
    if (status != TSW_OK)
        tsw_err_wrap(err, "TSW_SIM_SCENARIO");
    else if ((run->spec.scenario = tsw_buf_take_text(&text)) == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_run_rehearsal_read(run, err);
    tsw_buf_fini(&text);
    return status;
}

static tsw_status_t choose_sim(tsw_run_t *run, const char *models, tsw_err_t *err)
{
    tsw_status_t status = tsw_run_sim_choose(models, run->rank, &run->spec, err);
    if (status != TSW_OK)
        return status;
    run->has_device = true;
    return read_scenario(run, err);
}

/* ---- replay ---- */

static tsw_status_t bcast_recorded(tsw_run_t *run, const char *file, tsw_err_t *err)
{
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_status_t status = TSW_OK;
    if (run->rank == 0) {
        char *skipped = NULL;
        if (tsw_run_is_foreign(file))
            status = tsw_run_read_foreign(run, file, err);
        else
            status = tsw_store_read(file, &run->recorded, &skipped, err);
        if (status == TSW_ERR_NOT_FOUND) {
            tsw_err_wrap(err, "--device replay");
            status = tsw_err_turn(err, TSW_ERR_INPUT);
        }
        tsw_free(skipped);
        tsw_put_text(&bytes, status == TSW_OK ? run->recorded.meta.toolchain : "");
        tsw_put_u64(&bytes, run->recorded.cell_count);
        for (size_t i = 0; i < run->recorded.cell_count; i++)
            tsw_put_cell_result(&bytes, &run->recorded.cells[i]);
    }
    tsw_status_t sent = tsw_comm_bcast(run->comm, &bytes, err);
    if (status == TSW_OK)
        status = sent;
    if (status == TSW_OK && run->rank != 0) {
        tsw_reader_t in = tsw_reader(bytes.data, bytes.size);
        run->recorded.meta.toolchain = tsw_get_text(&in);
        size_t count = tsw_get_count(&in, 1);
        for (size_t i = 0; status == TSW_OK && i < count; i++) {
            tsw_cell_result_t cell = {0};
            status = tsw_get_cell_result(&in, &cell, err);
            if (status == TSW_OK)
                status = tsw_dataset_add(&run->recorded, &cell, err);
            tsw_cell_result_fini(&cell);
        }
        if (status == TSW_OK)
            status = tsw_msg_done(&in, "recorded sweep", err);
    }
    tsw_buf_fini(&bytes);
    return status;
}

/* The i-th distinct device of the recorded cells of archs that the job measures, around and
 * around; NULL: none. */
static const tsw_gpu_t *pick_recorded(const tsw_run_t *run, int i)
{
    const tsw_gpu_t *distinct[TSW_MSG_ARCH_MAX];
    int count = 0;
    for (size_t c = 0; c < run->recorded.cell_count && count < TSW_MSG_ARCH_MAX; c++) {
        const tsw_cell_result_t *cell = &run->recorded.cells[c];
        bool wanted = cell->gpu.arch == cell->arch;
        for (int k = 0; k < count; k++)
            wanted = wanted && distinct[k]->arch != cell->arch;
        bool in_job = false;
        for (size_t k = 0; k < run->job->arch_count; k++)
            in_job = in_job || run->job->archs[k] == cell->arch;
        if (wanted && in_job)
            distinct[count++] = &cell->gpu;
    }
    return count > 0 ? distinct[i % count] : NULL;
}

tsw_status_t tsw_run_share_recorded(tsw_run_t *run, tsw_err_t *err)
{
    if (!run->replay)
        return TSW_OK;
    tsw_status_t status = bcast_recorded(run, run->options->device + strlen("replay:"), err);
    if (status != TSW_OK)
        return status;
    const tsw_gpu_t *gpu = pick_recorded(run, run->rank);
    if (gpu == NULL)
        return tsw_err_set(err, TSW_ERR_ENV,
                           "--device replay: the file has no cell of an arch of this job");
    run->spec.arch = gpu->arch;
    snprintf(run->spec.model, sizeof(run->spec.model), "%.31s", gpu->name);
    run->has_device = true;
    return TSW_OK;
}

/* ---- all ---- */

tsw_status_t tsw_run_choose_device(tsw_run_t *run, tsw_err_t *err)
{
    const char *device = run->options->device;
    tsw_node_name(run->node, sizeof(run->node));
    run->spec.seed = run->job->policy.seed;
    memcpy(run->spec.node, run->node, sizeof(run->spec.node));
    const bool is_auto = device == NULL || strcmp(device, "auto") == 0;
    if (is_auto && measures_nothing(run->job))
        return TSW_OK;
    if (is_auto || strcmp(device, "cuda") == 0)
        return choose_cuda(run, err);
    if (tsw_text_starts_with(device, "sim:"))
        return choose_sim(run, device + strlen("sim:"), err);
    if (tsw_text_starts_with(device, "replay:")) {
        run->replay = true;
        snprintf(run->spec.kind, sizeof(run->spec.kind), "replay");
        return TSW_OK;
    }
    return tsw_err_set(err, TSW_ERR_ARG,
                       "--device \"%s\": it is auto, cuda, sim:NAME[@GPU][,NAME..] or replay:FILE",
                       device);
}

static uint32_t start_interval_ms(void *user)
{
    (void)user;
    return 100;
}

static bool worker_is_starting(void *user)
{
    const tsw_run_t *run = user;
    return !run->worker.hello && !run->worker.failed;
}

tsw_status_t tsw_run_start_device(tsw_run_t *run, tsw_err_t *err)
{
    tsw_status_t status = tsw_loop_new(&run->loop, err);
    if (status == TSW_OK && run->has_device)
        status = tsw_run_worker_spawn(run, err);
    return status;
}

tsw_status_t tsw_run_await_device(tsw_run_t *run, tsw_err_t *err)
{
    if (!run->has_device)
        return TSW_OK;
    tsw_status_t status = tsw_loop_run(run->loop, start_interval_ms, worker_is_starting, run, err);
    if (status == TSW_OK && run->worker.hello && run->gpu.unreadable[0] != '\0')
        tsw_log_root(TSW_LOG_INFO, "not known of %s: %s", run->gpu.uuid, run->gpu.unreadable);
    if (status != TSW_OK || run->worker.hello)
        return status;
    const bool is_cuda = strcmp(run->spec.kind, "cuda") == 0;
    return tsw_err_set(err, TSW_ERR_ENV, "rank %d on %s has no %s: %s%s", run->rank, run->node,
                       is_cuda ? "usable GPU" : "device", run->worker.failure.text,
                       is_cuda ? "; to simulate, say so: --device sim:h200" : "");
}
