/* Mishaps of this rank that the scenario of its simulated device asks for. */
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_ABORTED 70

/* ---- who plays ---- */

/* A config that some rank loads and launches. */
static bool is_measured(const tsw_run_t *run, const tsw_plan_variant_t *variant, size_t config)
{
    const uint32_t build = variant->config_builds[config];
    for (size_t a = 0; build != UINT32_MAX && a < run->job->arch_count; a++) {
        if ((run->whole->builds[build].arch_mask >> a & 1) != 0 && !run->job->compile_only[a])
            return true;
    }
    return false;
}

/* Every config once; the texts are parts of `texts`. */
static tsw_status_t list_configs(const tsw_run_t *run, tsw_buf_t *texts,
                                 tsw_sim_subject_t **configs_p, size_t *count_p, tsw_err_t *err)
{
    size_t count = 0, capacity = 0;
    tsw_sim_subject_t *configs = NULL;
    for (size_t v = 0; v < run->whole->variant_count; v++) {
        const tsw_plan_variant_t *variant = &run->whole->variants[v];
        for (size_t i = 0; i < variant->config_count; i++) {
            if (!is_measured(run, variant, i))
                continue;
            if (!TSW_GROW(configs, capacity, count)) {
                tsw_free(configs);
                return tsw_err_nomem(err);
            }
            configs[count++].key = variant->configs[i].key;
            tsw_config_format(variant->id.pack, &variant->configs[i], texts);
            tsw_buf_append(texts, "", 1);
        }
    }
    const char *at = tsw_buf_text(texts);
    for (size_t i = 0; tsw_buf_ok(texts) && i < count; i++) {
        configs[i].text = at;
        at += strlen(at) + 1;
    }
    *configs_p = configs;
    *count_p = count;
    return tsw_buf_ok(texts) ? TSW_OK : tsw_err_nomem(err);
}

static tsw_status_t list_gpus(const tsw_run_t *run, uint32_t **gpus_p, tsw_err_t *err)
{
    uint32_t *gpus = tsw_calloc((size_t)run->size, sizeof(*gpus));
    if (gpus == NULL)
        return tsw_err_nomem(err);
    for (int i = 0; i < run->size; i++)
        gpus[i] = tsw_run_sim_gpu(run, i);
    *gpus_p = gpus;
    return TSW_OK;
}

/* The configs of a calibration are none of the user's. On fewer ranks a resume has fewer GPUs. */
static tsw_status_t check_parts(const tsw_run_t *run, tsw_err_t *err)
{
    tsw_buf_t texts = TSW_BUF_INIT;
    tsw_sim_subject_t *configs = NULL;
    uint32_t *gpus = NULL;
    tsw_sim_cast_t cast = {.rank_count = run->size, .attempt = run->options->resume ? 0 : 1};
    tsw_status_t status = TSW_OK;
    if (run->options->calibration_p == NULL)
        status = list_configs(run, &texts, &configs, &cast.config_count, err);
    if (status == TSW_OK && !run->options->resume) {
        status = list_gpus(run, &gpus, err);
        cast.gpu_count = (size_t)run->size;
    }
    cast.configs = configs;
    cast.gpus = gpus;
    if (status == TSW_OK)
        status = tsw_sim_scenario_check(run->spec.scenario, &cast, err);
    tsw_free(gpus);
    tsw_free(configs);
    tsw_buf_fini(&texts);
    return status;
}

/* ---- the mishaps ---- */

static tsw_status_t in_file(tsw_status_t status, tsw_err_t *err)
{
    if (status == TSW_ERR_INPUT)
        tsw_err_wrap(err, "%s", getenv("TSW_SIM_SCENARIO"));
    return status;
}

tsw_status_t tsw_run_rehearsal_read(tsw_run_t *run, tsw_err_t *err)
{
    tsw_status_t status =
        tsw_sim_scenario_parse_rank(run->spec.scenario, run->rank, &run->rehearsal, err);
    if (status == TSW_OK && run->rank == 0)
        status = check_parts(run, err);
    return in_file(status, err);
}

tsw_status_t tsw_run_rehearsal_open(tsw_run_t *run, tsw_err_t *err)
{
    const tsw_sim_cast_t cast = {.rank_count = run->size, .attempt = run->attempt};
    tsw_status_t status = tsw_sim_scenario_check(run->spec.scenario, &cast, err);
    for (size_t i = 0; status == TSW_OK && i < run->rehearsal.count; i++) {
        uint64_t write = run->rehearsal.rules[i].from;
        if (tsw_sim_rank_event(&run->rehearsal, TSW_FAULT_FULL, run->attempt, write))
            tsw_segments_set_full(run->segments, write);
    }
    return in_file(status, err);
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
