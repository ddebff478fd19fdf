/* A folder that nodes share may show to one what another has written only after a while, and one
 * that they do not share never does. So rank 0 asks how much there should be, before it reads. */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <stdio.h>

#define DEFAULT_PATIENCE_S 120.0
#define LOOK_NS            50000000 /* between two looks */

/* The newest segment of a rank: it stays, also when older ones become one. */
static bool is_visible(const tsw_run_t *run, int rank, uint32_t number, char *name, size_t size)
{
    tsw_buf_t path = TSW_BUF_INIT;
    uint64_t bytes = 0;
    snprintf(name, size, "parts/a%04u-r%04d/%06u.h5", run->attempt, rank, number);
    tsw_buf_printf(&path, "%s/%s", run->options->run_dir, name);
    bool there = tsw_buf_ok(&path) && tsw_file_size(tsw_buf_text(&path), &bytes);
    tsw_buf_fini(&path);
    return there;
}

static tsw_status_t await(tsw_run_t *run, int rank, uint32_t number, uint64_t until_ns,
                          tsw_err_t *err)
{
    char name[64];
    while (!is_visible(run, rank, number, name, sizeof(name))) {
        if (tsw_clock_now_ns() > until_ns)
            return tsw_err_set(
                err, TSW_ERR_ENV,
                "%s/%s, which rank %d on %s has sealed, cannot be seen by rank 0: do "
                "all nodes share that folder? If not, use --local DIR",
                run->options->run_dir, name, rank, run->hellos[rank].node);
        if (tsw_run_drain_requested())
            return TSW_OK;
        tsw_run_progress_tick(run);
        tsw_clock_sleep(LOOK_NS);
    }
    return TSW_OK;
}

tsw_status_t tsw_run_await_segments(tsw_run_t *run, tsw_err_t *err)
{
    double given_s = run->options->patience_s;
    double patience_s = given_s > 0 ? given_s : DEFAULT_PATIENCE_S;
    uint64_t until_ns = tsw_clock_now_ns() + (uint64_t)(patience_s * 1e9);
    bool shared = run->outbox == NULL && run->segments != NULL;
    const uint64_t mine = shared ? tsw_segments_sealed(run->segments) : 0;
    uint64_t *sealed = NULL;
    tsw_status_t status = tsw_comm_gather_numbers(run->comm, &mine, 1, &sealed, err);
    /* When draining nothing is merged, and there may be no time. */
    int awaited = run->rank == 0 && !run->draining ? run->size : 0;
    for (int i = 0; status == TSW_OK && i < awaited; i++)
        if (sealed[i] > 0)
            status = await(run, i, (uint32_t)sealed[i], until_ns, err);
    tsw_free(sealed);
    return status;
}

tsw_status_t tsw_run_check_results(const tsw_run_t *run, const tsw_dataset_t *results,
                                   tsw_err_t *err)
{
    size_t missing = 0;
    for (size_t i = 0; i < run->plan->cell_count; i++) {
        const tsw_cell_result_t *result = tsw_dataset_find(results, run->plan->cells[i].key);
        missing += result == NULL || !result->complete;
    }
    if (missing == 0)
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_ENV,
                       "%s lacks %zu cells that were sealed there: segments are torn or gone, or "
                       "the file system shows an old folder; go on with --resume",
                       run->options->run_dir, missing);
}
