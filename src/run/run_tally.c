/* What is done, counted by arch and by rank, and how much of all. */
#include "base/mem.h"
#include "reduce/reduce_cell.h"
#include "run/run_state.h"

#include <string.h>

/* ---- verdicts ---- */

/* What is ok for whoever measured, and suspect for the reduction, has failed. */
static tsw_status_t move_suspects(const tsw_run_t *run, const tsw_cell_result_t *cell,
                                  tsw_run_verdict_t *verdict, tsw_err_t *err)
{
    const tsw_reduce_options_t options = tsw_reduce_options(8);
    const char *objective = tsw_objective_name(run->job->policy.objective);
    tsw_cell_summary_t summary = {0};
    uint32_t suspects = 0;
    const tsw_status_t status = tsw_reduce_cell(cell, &options, objective, &summary, err);
    if (status != TSW_OK)
        return status;
    for (size_t i = 0; i < summary.config_count; i++)
        suspects += summary.configs[i].outcome == TSW_OUTCOME_SUSPECT &&
                    cell->records[i].outcome == TSW_OUTCOME_OK;
    verdict->configs_ok -= suspects;
    verdict->configs_failed += suspects;
    if (suspects > 0)
        verdict->usable = summary.winner >= 0;
    tsw_reduce_cell_fini(&summary);
    return TSW_OK;
}

tsw_status_t tsw_run_verdict_of(const tsw_run_t *run, const tsw_cell_result_t *cell,
                                tsw_run_verdict_t *verdict_p, tsw_err_t *err)
{
    tsw_run_verdict_t verdict = {.usable = false};
    for (size_t i = 0; i < cell->record_count; i++) {
        verdict.configs_ok += tsw_outcome_is_usable(cell->records[i].outcome);
        verdict.configs_failed += tsw_outcome_is_fault(cell->records[i].outcome);
    }
    verdict.usable = verdict.configs_ok > 0;
    tsw_status_t status = TSW_OK;
    if (verdict.usable && tsw_reduce_may_suspect(cell))
        status = move_suspects(run, cell, &verdict, err);
    if (status == TSW_OK)
        *verdict_p = verdict;
    return status;
}

/* ---- counts ---- */

tsw_status_t tsw_run_tally_init(tsw_run_t *run, tsw_err_t *err)
{
    if (run->rank != 0)
        return TSW_OK;
    run->members = tsw_calloc((size_t)run->size, sizeof(*run->members));
    run->archs = tsw_calloc(run->job->arch_count, sizeof(*run->archs));
    if (run->members == NULL || run->archs == NULL)
        return tsw_err_nomem(err);
    for (int r = 0; r < run->size; r++)
        run->members[r].node = tsw_run_node_of(run, r);
    if (!tsw_run_searches(run)) /* else one generation after the other */
        tsw_run_tally_plan(run);
    return TSW_OK;
}

void tsw_run_tally_plan(tsw_run_t *run)
{
    for (size_t i = 0; i < run->plan->cell_count; i++) {
        const tsw_cell_t *cell = &run->plan->cells[i];
        if (cell->skip_reason != NULL)
            continue;
        run->archs[cell->arch_index].cells++;
        run->archs[cell->arch_index].configs += cell->config_count;
    }
}

void tsw_run_tally_fini(tsw_run_t *run)
{
    tsw_free(run->members);
    tsw_free(run->archs);
}

static void count(tsw_run_tally_t *tally, const tsw_cell_t *cell, tsw_run_verdict_t verdict)
{
    tally->cells++;
    tally->cells_failed += !verdict.usable;
    tally->configs += cell->config_count;
    tally->configs_failed += verdict.configs_failed;
}

tsw_status_t tsw_run_tally_before(tsw_run_t *run, const tsw_dataset_t *before, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < run->plan->cell_count; i++) {
        const tsw_cell_t *cell = &run->plan->cells[i];
        const tsw_cell_result_t *result = NULL;
        if (run->done[i] && cell->skip_reason == NULL)
            result = tsw_dataset_find(before, cell->key);
        if (result == NULL)
            continue;
        tsw_run_verdict_t verdict = {.usable = false};
        status = tsw_run_verdict_of(run, result, &verdict, err);
        if (status == TSW_OK)
            count(&run->archs[cell->arch_index].tally, cell, verdict);
    }
    return status;
}

void tsw_run_tally_cell(tsw_run_t *run, uint32_t rank, const tsw_msg_cell_done_t *msg)
{
    const tsw_cell_t *cell = &run->plan->cells[msg->cell];
    tsw_run_member_t *member = &run->members[rank];
    tsw_run_verdict_t verdict = {.usable = msg->usable, .configs_failed = msg->configs_failed};
    count(&run->archs[cell->arch_index].tally, cell, verdict);
    count(&member->tally, cell, verdict);
    member->busy_ns = msg->busy_ns;
    member->wall_ns = msg->wall_ns;
}

void tsw_run_tally_add(tsw_run_tally_t *sum, const tsw_run_tally_t *tally)
{
    sum->cells += tally->cells;
    sum->cells_failed += tally->cells_failed;
    sum->configs += tally->configs;
    sum->configs_failed += tally->configs_failed;
}

tsw_run_tally_t tsw_run_tally_all(const tsw_run_t *run)
{
    tsw_run_tally_t sum = {0};
    for (size_t i = 0; i < run->job->arch_count; i++)
        tsw_run_tally_add(&sum, &run->archs[i].tally);
    return sum;
}

double tsw_run_cells_per_min(const tsw_run_t *run, double elapsed_s)
{
    size_t cells = 0;
    for (int i = 0; i < run->size; i++)
        cells += run->members[i].tally.cells;
    return elapsed_s > 0 ? (double)cells * 60 / elapsed_s : 0;
}

double tsw_run_busy_ratio(const tsw_run_t *run)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; run->members != NULL && i < run->size; i++) {
        const tsw_run_member_t *member = &run->members[i];
        if (member->wall_ns == 0)
            continue;
        sum += (double)member->busy_ns / (double)member->wall_ns;
        count++;
    }
    /* Simulated time is no share of real time. */
    if (count == 0 || run->meta.mode == NULL || strcmp(run->meta.mode, "cuda") != 0)
        return 0;
    return sum / count;
}

/* ---- over generations ---- */

static tsw_coord_progress_t add_progress(tsw_coord_progress_t a, tsw_coord_progress_t b)
{
    a.cells_total += b.cells_total;
    a.cells_done += b.cells_done;
    a.cells_failed += b.cells_failed;
    a.cells_skipped += b.cells_skipped;
    a.cells_leased += b.cells_leased;
    a.builds_total += b.builds_total;
    a.builds_done += b.builds_done;
    a.cost_total_ns += b.cost_total_ns;
    a.cost_done_ns += b.cost_done_ns;
    return a;
}

tsw_coord_progress_t tsw_run_total_progress(const tsw_run_t *run)
{
    return add_progress(run->earlier, tsw_coord_progress(run->coord));
}
