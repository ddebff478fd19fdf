/* Mishaps of this rank that the scenario of its simulated device asks for. */
#include "base/log.h"
#include "run/run_state.h"

#include <signal.h>
#include <unistd.h>

#define EXIT_ABORTED 70

tsw_status_t tsw_run_rehearsal_read(tsw_run_t *run, tsw_err_t *err)
{
    tsw_sim_scenario_t of_gpu = {.rules = NULL}; /* only looked at: the worker reads it again */
    tsw_status_t status = tsw_sim_scenario_parse(run->spec.scenario, run->spec.id, &of_gpu, err);
    tsw_sim_scenario_fini(&of_gpu);
    if (status == TSW_OK)
        status = tsw_sim_scenario_parse_rank(run->spec.scenario, run->rank, &run->rehearsal, err);
    return status;
}

void tsw_run_rehearsal_open(tsw_run_t *run)
{
    for (size_t i = 0; i < run->rehearsal.count; i++) {
        uint64_t write = run->rehearsal.rules[i].from;
        if (tsw_sim_rank_event(&run->rehearsal, TSW_FAULT_FULL, run->attempt, write))
            tsw_segments_set_full(run->segments, write);
    }
}

static bool is_due(tsw_run_t *run, tsw_fault_t fault)
{
    return tsw_sim_rank_event(&run->rehearsal, fault, run->attempt, run->cells_finished);
}

void tsw_run_rehearsal_cell(tsw_run_t *run)
{
    run->cells_finished++;
    if (is_due(run, TSW_FAULT_DIE)) {
        tsw_log(TSW_LOG_WARN, "rehearsal: this rank is lost");
        raise(SIGKILL);
    }
    if (is_due(run, TSW_FAULT_ABORT)) {
        tsw_log(TSW_LOG_WARN, "rehearsal: this rank gives up the job");
        tsw_comm_abort(run->comm, EXIT_ABORTED);
    }
    if (is_due(run, TSW_FAULT_KILL) && run->worker.child != NULL) {
        tsw_log(TSW_LOG_WARN, "rehearsal: the measure worker is killed");
        kill((pid_t)tsw_child_pid(run->worker.child), SIGKILL);
    }
}
