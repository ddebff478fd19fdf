#include "run/run.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

/* What must be true before work starts. Every rank enters every stage and all agree after each, so
 * that one rank's trouble is the trouble of all and nobody waits for ever. */
static const struct stage {
    const char *name; /* for a trace of what a start takes */
    tsw_status_t (*enter)(tsw_run_t *run, tsw_err_t *err);
} stages[] = {
    {"check folder", tsw_run_check_folder},
    {"read fills", tsw_run_read_fills},
    {"share snapshot", tsw_run_share_snapshot},
    {"make plan", tsw_run_make_plan},
    {"choose device", tsw_run_choose_device},
    {"share recorded", tsw_run_share_recorded},
    {"start device", tsw_run_start_device},
    {"find toolchain", tsw_run_find_toolchain},
    {"await device", tsw_run_await_device},
    {"exchange hellos", tsw_run_exchange_hellos},
    {"check hellos", tsw_run_check_hellos},
    {"lock clocks", tsw_run_lock_clocks},
    {"begin tally", tsw_run_tally_init},
    {"open local", tsw_run_open_local},
    {"gather leftovers", tsw_run_gather_leftovers},
    {"open folder", tsw_run_open_folder},
    {"share attempt", tsw_run_share_attempt},
    {"open segments", tsw_run_open_segments},
    {"store kept", tsw_run_store_kept},
    {"first generation", tsw_run_first_generation},
    {"store skipped", tsw_run_store_skipped},
    {"begin builds", tsw_run_builds_init},
    {"begin lane", tsw_run_lane_init},
    {"begin coordinator", tsw_run_coord_init},
};

/* A signal does not wait for the plan of a million cells: until the attempt begins there is nothing
 * to lose, and nothing to tell but this. Later the loop obeys it. */
static tsw_status_t enter(tsw_run_t *run, const struct stage *stage, tsw_err_t *err)
{
    tsw_status_t status = stage->enter(run, err);
    if (status == TSW_OK && run->attempt == 0 && tsw_run_drain_requested())
        status = tsw_err_set(err, TSW_ERR_CANCELED, "stopped before any work; --resume goes on");
    return status;
}

static tsw_status_t prepare(tsw_run_t *run, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < sizeof(stages) / sizeof(stages[0]); i++) {
        const uint64_t start_ns = tsw_clock_now_ns();
        status = tsw_comm_agree(run->comm, enter(run, &stages[i], err), err);
        tsw_log(TSW_LOG_TRACE, "%s: %.1f ms", stages[i].name,
                (double)(tsw_clock_now_ns() - start_ns) * 1e-6);
    }
    return status;
}

/* The state or the messages of a rank cannot be trusted: what is measured is saved, then the whole
 * job ends, since the others would wait for this rank. */
static void end_broken(tsw_run_t *run)
{
    tsw_run_seal(run);
    tsw_loop_free(run->loop);
    tsw_log(TSW_LOG_ERROR, "giving up the job: %s", run->err.text);
    tsw_run_abort(run->comm, run->status);
}

/* Once work has begun, what is not found is no fault of the input: the folder was removed or
 * renamed under the run. */
static tsw_status_t as_env(tsw_status_t status, tsw_err_t *err)
{
    if (status != TSW_ERR_NOT_FOUND)
        return status;
    return tsw_err_turn(err, TSW_ERR_ENV);
}

static void run_fini(tsw_run_t *run)
{
    tsw_loop_free(run->loop);
    tsw_run_unlock_clocks(run);
    if (run->segments != NULL)
        tsw_segments_close(run->segments, NULL);
    tsw_outbox_close(run->outbox);
    tsw_free(run->local_dir);
    tsw_coord_free(run->coord);
    tsw_coord_actions_fini(&run->coord_actions);
    tsw_lane_free(run->lane);
    tsw_lane_actions_fini(&run->lane_actions);
    tsw_eval_free(run->eval);
    tsw_run_builds_fini(run);
    tsw_cache_close(run->cache);
    tsw_toolchain_fini(&run->toolchain);
    tsw_dataset_fini(&run->recorded);
    tsw_dataset_fini(&run->kept);
    tsw_run_meta_fini(&run->meta);
    tsw_free(run->toolchain_text);
    tsw_free(run->spec.scenario);
    tsw_sim_scenario_fini(&run->rehearsal);
    tsw_free(run->hellos);
    tsw_free(run->retired);
    tsw_run_tally_fini(run);
    tsw_free(run->done);
    tsw_search_run_free(run->search);
    if (run->plan != run->whole)
        tsw_plan_free(run->plan);
    tsw_plan_free(run->whole);
    tsw_job_free(run->job);
}

tsw_status_t tsw_run(tsw_comm_t *comm, tsw_fileset_t *snapshot, const tsw_run_options_t *options,
                     tsw_run_summary_t *summary_p, tsw_err_t *err)
{
    tsw_err_t ignored = TSW_ERR_INIT;
    tsw_err_t *e = err != NULL ? err : &ignored;
    tsw_run_t *run = tsw_calloc(1, sizeof(*run));
    if (run == NULL)
        tsw_run_abort(comm, TSW_ERR_NOMEM); /* the others would wait for this rank */
    run->start_ns = tsw_clock_now_ns();
    run->comm = comm;
    run->rank = tsw_comm_rank(comm);
    run->size = tsw_comm_size(comm);
    run->options = options;
    run->snapshot = snapshot;
    run->arch_index = -1;
    run->guard = (tsw_guard_t)TSW_GUARD_NONE;
    run->worker = tsw_run_worker_none;
    tsw_status_t status = prepare(run, e);
    if (status == TSW_OK) {
        status = tsw_run_loop(run, e);
        if (!run->broken)
            status = tsw_run_other_generations(run, status, e);
        if (run->broken)
            end_broken(run);
        status = as_env(tsw_run_finish(run, status, summary_p, e), e);
    }
    run_fini(run);
    tsw_free(run);
    tsw_run_forget_drain(); /* served; a later run starts afresh */
    if (tsw_comm_rank(comm) == 0)
        tsw_fileset_fini(snapshot);
    return status;
}
