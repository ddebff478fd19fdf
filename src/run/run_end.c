/* The end of a run: everything sealed, merged, counted. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <stdio.h>

/* ---- counts ---- */

static tsw_status_t count_cell(const tsw_run_t *run, const tsw_cell_result_t *cell,
                               tsw_run_summary_t *summary, tsw_err_t *err)
{
    tsw_run_verdict_t verdict = {.usable = false};
    tsw_status_t status = tsw_run_verdict_of(run, cell, &verdict, err);
    for (size_t i = 0; i < cell->record_count; i++)
        summary->configs_alias += cell->records[i].outcome == TSW_OUTCOME_ALIAS;
    summary->configs += cell->record_count;
    summary->configs_ok += verdict.configs_ok;
    summary->configs_failed += verdict.configs_failed;
    if (status != TSW_OK || !cell->complete)
        return status;
    summary->rounds += cell->round_count;
    for (size_t i = 0; i < cell->round_count; i++)
        summary->rounds_unstable += cell->rounds[i].is_unstable;
    if (cell->record_count == 0) /* as the plan says */
        summary->cells_skipped++;
    else if (verdict.usable)
        summary->cells_usable++;
    else
        summary->cells_unusable++;
    return TSW_OK;
}

static void count_plan(const tsw_run_t *run, tsw_run_summary_t *summary)
{
    tsw_coord_progress_t progress = tsw_run_total_progress(run);
    summary->cells = progress.cells_total;
    summary->builds = progress.builds_total;
    summary->cells_left = progress.cells_total - progress.cells_done - progress.cells_skipped;
    summary->wall_s = (double)(tsw_clock_now_ns() - run->progress.start_ns) * 1e-9;
    summary->gpu_busy_ratio = tsw_run_busy_ratio(run);
    summary->calibrated = run->calibrated;
    summary->stopped_early = run->draining || summary->cells_left > 0;
}

/* ---- rank 0's part ---- */

static tsw_status_t merge(const tsw_run_t *run, const tsw_dataset_t *dataset, tsw_err_t *err)
{
    char *path = tsw_path_join(run->options->run_dir, "sweep.h5");
    if (path == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = tsw_store_write(path, dataset, err);
    tsw_free(path);
    return status;
}

static tsw_status_t note_retired(const tsw_run_t *run, tsw_dataset_t *dataset,
                                 tsw_run_summary_t *summary, tsw_err_t *err)
{
    tsw_free(dataset->meta.retired);
    dataset->meta.retired = NULL;
    tsw_status_t status = tsw_run_read_retired(run->options->run_dir, &dataset->meta.retired, err);
    if (status == TSW_OK)
        snprintf(summary->retired, sizeof(summary->retired), "%s", dataset->meta.retired);
    return status;
}

/* All is sealed: whoever is asked to stop now merges when it is resumed. Between the steps of a
 * long end status.json tells that rank 0 is alive. */
static bool stops_before_merge(tsw_run_t *run, tsw_run_summary_t *summary)
{
    tsw_run_progress_tick(run);
    run->draining = run->draining || tsw_run_drain_requested();
    summary->stopped_early = summary->stopped_early || run->draining;
    return summary->stopped_early;
}

static tsw_status_t conclude(tsw_run_t *run, tsw_run_summary_t *summary, tsw_err_t *err)
{
    tsw_dataset_t dataset = {0};
    char *skipped = NULL;
    count_plan(run, summary);
    stops_before_merge(run, summary);
    tsw_status_t status = tsw_store_read(run->options->run_dir, &dataset, &skipped, err);
    if (status == TSW_ERR_NOT_FOUND && summary->stopped_early) { /* nothing was finished yet */
        tsw_err_clear(err);
        status = TSW_OK;
    }
    if (status == TSW_OK && skipped != NULL && skipped[0] != '\0')
        tsw_log_root(TSW_LOG_WARN, "left out, torn or foreign:\n%s", skipped);
    if (status == TSW_OK && !stops_before_merge(run, summary))
        status = tsw_run_check_results(run, &dataset, err);
    if (status == TSW_OK)
        status = note_retired(run, &dataset, summary, err);
    for (size_t i = 0; status == TSW_OK && i < dataset.cell_count; i++)
        status = count_cell(run, &dataset.cells[i], summary, err);
    tsw_run_warn_slow(&dataset);
    if (status == TSW_OK && !stops_before_merge(run, summary))
        status = merge(run, &dataset, err);
    if (status == TSW_OK && run->options->results_p != NULL && !summary->stopped_early) {
        *run->options->results_p = dataset;
        dataset = (tsw_dataset_t){0};
    }
    tsw_free(skipped);
    tsw_dataset_fini(&dataset);
    return status;
}

/* Builds made and found, of all ranks. Collective. */
static tsw_status_t gather_builds(tsw_run_t *run, tsw_run_summary_t *summary, tsw_err_t *err)
{
    const uint64_t mine[] = {run->builds.made, run->builds.cached};
    uint64_t *all = NULL;
    tsw_status_t status = tsw_comm_gather_numbers(run->comm, mine, 2, &all, err);
    for (int i = 0; status == TSW_OK && run->rank == 0 && i < run->size; i++) {
        summary->builds_made += all[2 * i];
        summary->builds_cached += all[2 * i + 1];
    }
    tsw_free(all);
    return status;
}

/* Seals what is left. */
static tsw_status_t seal_rest(tsw_run_t *run, tsw_err_t *err)
{
    return run->segments != NULL ? tsw_segments_seal(run->segments, err) : TSW_OK;
}

/* NULL: the folder is another attempt's now, and so is its status.json. */
static const char *end_state(const tsw_run_t *run, tsw_status_t status,
                             const tsw_run_summary_t *summary)
{
    if (status == TSW_OK)
        return summary->stopped_early ? "stopped" : "done";
    if (status == TSW_ERR_CANCELED)
        return run->status == TSW_ERR_CANCELED ? NULL : "stopped";
    return status == TSW_ERR_FULL ? "stopped" : "failed";
}

tsw_status_t tsw_run_finish(tsw_run_t *run, tsw_status_t status, tsw_run_summary_t *summary_p,
                            tsw_err_t *err)
{
    tsw_run_summary_t summary = {.stopped_early = run->draining};
    tsw_status_t sealed = seal_rest(run, status == TSW_OK ? err : NULL);
    if (status == TSW_OK)
        status = sealed;
    status = tsw_comm_agree(run->comm, status, err);
    tsw_status_t gathered = gather_builds(run, &summary, status == TSW_OK ? err : NULL);
    if (status == TSW_OK)
        status = tsw_comm_agree(run->comm, gathered, err);
    if (status == TSW_OK) /* on all ranks, or on none: agreed above */
        status = tsw_run_await_segments(run, err);
    if (status == TSW_OK && run->rank == 0)
        status = conclude(run, &summary, err);
    status = tsw_comm_agree(run->comm, status, err);
    if (run->rank == 0)
        tsw_run_progress_end(run, end_state(run, status, &summary), status == TSW_OK ? NULL : err);
    if (status == TSW_OK)
        *summary_p = summary;
    return status;
}
