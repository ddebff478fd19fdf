/* What a rank tells its measure worker. */
#include "run/run_state.h"
#include "wire/worker_msg.h"

#include <string.h>

#define FRAME_LIMIT_S  180.0 /* besides the launches of a frame; a reference may take long */
#define EXTRA_LAUNCHES 20    /* of one frame: references, verification, warm-up */

static void send_frame(tsw_run_t *run, uint32_t type, tsw_buf_t *body)
{
    tsw_run_worker_t *worker = &run->worker;
    tsw_err_t err = TSW_ERR_INIT;
    if (worker->child == NULL) { /* its end is on the way to the lane */
        tsw_buf_fini(body);
        return;
    }
    tsw_status_t status = tsw_child_send(worker->child, type, body, &err);
    if (status != TSW_OK)
        tsw_run_fail(run, status, &err);
}

void tsw_run_worker_rearm(tsw_run_worker_t *worker)
{
    double limit_s = 0;
    if (worker->timing)
        limit_s = worker->task.round_limit_s;
    else if (worker->task.awaits >= 0)
        limit_s = worker->task.add_limit_s;
    if (worker->child != NULL && worker->hello)
        tsw_child_set_deadline(worker->child, limit_s);
}

static bool is_due(const tsw_run_worker_t *worker)
{
    return worker->timing || worker->task.awaits >= 0;
}

void tsw_run_worker_try_ready(tsw_run_t *run)
{
    tsw_run_worker_t *worker = &run->worker;
    if (!worker->wanted || worker->told || !worker->hello)
        return;
    /* Before the tool build is there the first cells must be asked for. */
    if (worker->tool_sent && !worker->ready)
        return;
    worker->told = true;
    TSW_RUN_LANE(run, tsw_lane_worker_ready, &run->gpu);
}

void tsw_run_worker_tool(tsw_run_t *run)
{
    tsw_run_worker_t *worker = &run->worker;
    if (worker->child == NULL || !worker->hello || worker->tool_sent || run->arch_index < 0)
        return;
    const tsw_artifact_t *tool = tsw_run_artifact(run, 0, (uint32_t)run->arch_index);
    if (tool == NULL || tool->outcome != TSW_OUTCOME_OK)
        return;
    worker->tool_sent = true;
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_buf_append(&body, tool->cubin.data, tool->cubin.size);
    tsw_child_set_deadline(worker->child, FRAME_LIMIT_S);
    send_frame(run, TSW_CHILD_TOOL, &body);
    if (run->options->calibration_p != NULL && !run->calibration_asked) {
        run->calibration_asked = true; /* once: it may have been the end of a worker */
        send_frame(run, TSW_CHILD_CALIBRATE, &body);
    }
}

void tsw_run_worker_begin(tsw_run_t *run, uint32_t cell_id)
{
    const tsw_cell_t *cell = &run->plan->cells[cell_id];
    const tsw_plan_variant_t *variant = &run->plan->variants[cell->variant];
    const tsw_artifact_t *reference =
        tsw_run_artifact(run, variant->reference_build, cell->arch_index);
    TSW_ASSERT(reference != NULL);
    tsw_run_worker_tool(run);
    tsw_msg_begin_t msg = {.dtype = (uint32_t)variant->id.dtype,
                           .arch = run->job->archs[cell->arch_index],
                           .cell_key = cell->key,
                           .flops = cell->flops,
                           .bytes = cell->bytes,
                           .max_tile = tsw_run_max_tile(run, cell),
                           .reference = reference->cubin.data,
                           .reference_size = reference->cubin.size};
    while (run->job->packs[msg.pack] != variant->id.pack)
        msg.pack++;
    memcpy(msg.flags, variant->id.flags, sizeof(msg.flags));
    memcpy(msg.static_dims, variant->id.static_dims, sizeof(msg.static_dims));
    memcpy(msg.dims, cell->dims, sizeof(msg.dims));
    double launch_s = run->job->policy.launch_timeout_s;
    tsw_run_task_t task = {.begun = true, .cell = cell_id, .awaits = -1};
    task.add_limit_s = FRAME_LIMIT_S + launch_s * EXTRA_LAUNCHES;
    task.round_limit_s = task.add_limit_s + launch_s * (double)cell->config_count;
    if (run->worker.timing) {
        run->worker.ahead = task;
    } else {
        run->worker.task = task;
        run->worker.busy = -1;
    }
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_begin(&body, &msg);
    send_frame(run, TSW_CHILD_BEGIN, &body);
}

void tsw_run_worker_add(tsw_run_t *run, const tsw_lane_action_t *action)
{
    const tsw_cell_t *cell = &run->plan->cells[action->cell];
    const tsw_plan_variant_t *variant = &run->plan->variants[cell->variant];
    uint32_t config = cell->configs[action->config_index];
    const tsw_artifact_t *artifact =
        tsw_run_artifact(run, variant->config_builds[config], cell->arch_index);
    TSW_ASSERT(artifact != NULL);
    tsw_msg_add_t msg = {.index = action->config_index,
                         .config_key = variant->configs[config].key,
                         .facts = artifact->facts,
                         .verified = action->verified,
                         .cubin = artifact->cubin.data,
                         .cubin_size = artifact->cubin.size};
    memcpy(msg.values, variant->configs[config].values, sizeof(msg.values));
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_run_recorded_samples(run, cell, action->config_index,
                                                   &msg.recorded_ns, &msg.recorded_count, &err);
    if (status != TSW_OK) {
        tsw_run_fail(run, status, &err);
        return;
    }
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_msg_add(&body, &msg);
    tsw_msg_add_fini(&msg);
    bool was_due = is_due(&run->worker);
    tsw_run_task_t *task = &run->worker.task;
    if (run->worker.ahead.begun && run->worker.ahead.cell == action->cell)
        task = &run->worker.ahead;
    if (!action->verified)
        task->awaits = action->config_index;
    if (!was_due)
        tsw_run_worker_rearm(&run->worker);
    send_frame(run, TSW_CHILD_ADD, &body);
}

void tsw_run_worker_time(tsw_run_t *run, uint32_t first_round)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_put_u32(&body, first_round);
    run->worker.timing = true;
    tsw_run_worker_rearm(&run->worker);
    send_frame(run, TSW_CHILD_TIME, &body);
}
