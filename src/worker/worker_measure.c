#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "measure/calibrate.h"
#include "measure/measure.h"
#include "proc/proc.h"
#include "wire/child_msg.h"
#include "wire/wire.h"
#include "wire/worker_msg.h"
#include "worker/worker.h"
#include "worker/worker_ahead.h"
#include "worker/worker_cell.h"
#include "worker/worker_post.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(TSW_MSG_DIM_MAX == TSW_DIM_MAX, "dims of a cell");
_Static_assert(TSW_MSG_FLAG_MAX == TSW_FLAG_MAX, "flags of a variant");
_Static_assert(TSW_MSG_KNOB_MAX == TSW_KNOB_MAX, "knobs of a config");

typedef struct {
    int fd;
    tsw_inbox_t in;
    tsw_buf_t body, out;
    tsw_post_t post;
    tsw_ahead_t ahead;
    bool is_heir; /* of a worker that died in the cell in hand: does nothing ahead */
    tsw_job_t *job;
    tsw_device_t *dev;
    uint32_t locked_mhz; /* its SM clock is; 0: free */
    bool check_timer;
    tsw_buf_t tool; /* the cubin of its own kernels */
    tsw_worker_cell_t cells[2];
    unsigned now;        /* the one in hand; the other may have been prepared */
    tsw_watch_t watch;   /* from the device on; its account begins when all is ready */
    uint64_t **recorded; /* samples of a replay, kept until the cell ends */
    size_t recorded_count, recorded_capacity;
} worker_t;

/* In hand. */
static tsw_worker_cell_t *cell_of(worker_t *worker)
{
    return &worker->cells[worker->now];
}

/* Once it matters that the rank hears it: tsw_post_send. */
static void say(worker_t *worker, uint32_t type)
{
    tsw_post_put(&worker->post, type, &worker->out);
}

static void say_failed(worker_t *worker, uint32_t type, tsw_status_t status, const char *text)
{
    tsw_put_msg_failed(&worker->out, status, text);
    say(worker, type);
}

/* The last word. No cleanup: the context may be lost, and freeing in it may hang. A context that is
 * lost may be the kernel's fault or the GPU's. */
static _Noreturn void give_up(worker_t *worker, tsw_status_t status, const char *text)
{
    tsw_health_t health;
    char reason[TSW_DETAIL_MAX];
    if (worker->dev != NULL && (status == TSW_ERR_DEVICE_LOST || status == TSW_ERR_TIMEOUT)) {
        worker->dev->ops->health(worker->dev, true, &health);
        if (tsw_health_is_unfit(&health, reason, sizeof(reason))) {
            status = TSW_ERR_DEVICE_UNFIT;
            text = reason;
        }
    }
    say_failed(worker, TSW_CHILD_FAILED, status, text);
    tsw_post_send(&worker->post);
    _exit(TSW_POST_EXIT_LOST);
}

/* ---- what measure tells ---- */

static void tell_state(void *user, uint32_t index, tsw_outcome_t outcome, const char *detail,
                       const tsw_verify_facts_t *verify)
{
    worker_t *worker = user;
    tsw_msg_state_t msg = {.index = index, .outcome = outcome, .has_verify = verify != NULL};
    snprintf(msg.detail, sizeof(msg.detail), "%s", detail != NULL ? detail : "");
    if (verify != NULL)
        msg.verify = *verify;
    tsw_put_msg_state(&worker->out, &msg);
    say(worker, TSW_CHILD_STATE);
}

static void tell_busy(void *user, int32_t index)
{
    worker_t *worker = user;
    tsw_put_i64(&worker->out, index);
    say(worker, TSW_CHILD_BUSY);
    if (index != TSW_MEASURE_BUSY_NONE) /* it may be the end of us */
        tsw_post_send(&worker->post);
}

static void tell_round(void *user, const tsw_round_t *round, const uint32_t *indices,
                       const tsw_sample_t *samples, size_t count)
{
    worker_t *worker = user;
    tsw_msg_round_t msg = {.round = *round, .count = count};
    /* The message's arrays are the reader's to write; packing only reads them. */
    memcpy(&msg.indices, &indices, sizeof(msg.indices));
    memcpy(&msg.samples, &samples, sizeof(msg.samples));
    tsw_put_msg_round(&worker->out, &msg);
    say(worker, TSW_CHILD_ROUND);
    tsw_post_send_old(&worker->post, tsw_clock_now_ns());
}

/* What it dies of while it works ahead would be taken for a fault of the cell in hand: so a second
 * worker does not. */
static bool work_ahead(void *user)
{
    worker_t *worker = user;
    tsw_post_send(&worker->post);
    return !worker->is_heir &&
           tsw_ahead_work(&worker->ahead, worker->fd, &worker->in, worker->job, worker->dev);
}

/* The cell that comes next; a large one waits for its turn. Protocols of others are to find the GPU
 * as they left it. */
static void prepare_next(void *user, const tsw_msg_begin_t *msg)
{
    worker_t *worker = user;
    tsw_worker_cell_t *next = &worker->cells[!worker->now];
    const tsw_protocol_t protocol = worker->job->policy.protocol;
    if (next->measure == NULL &&
        (protocol == TSW_PROTOCOL_RACE || protocol == TSW_PROTOCOL_ROUNDS) &&
        tsw_worker_cell_describe(next, worker->job, msg, NULL) == TSW_OK)
        next->measure = tsw_measure_prepare(worker->dev, &next->about);
}

static void tell_timer(void *user, const tsw_timer_check_t *check)
{
    worker_t *worker = user;
    tsw_put_timer_check(&worker->out, check);
    say(worker, TSW_CHILD_TIMER);
}

/* ---- the frames ---- */

static tsw_status_t open_device(worker_t *worker, tsw_msg_init_t *msg, tsw_err_t *err)
{
    tsw_device_spec_t spec = {.place = (int)msg->place,
                              .id = msg->id,
                              .seed = msg->seed,
                              .arch = msg->arch,
                              .scenario = msg->scenario[0] != '\0' ? msg->scenario : NULL};
    snprintf(spec.kind, sizeof(spec.kind), "%s", msg->kind);
    snprintf(spec.model, sizeof(spec.model), "%s", msg->model);
    snprintf(spec.node, sizeof(spec.node), "%s", msg->node);
    worker->locked_mhz = msg->locked_mhz;
    worker->check_timer = msg->check_timer;
    tsw_status_t status = tsw_job_read(&msg->snapshot, &worker->job, err);
    if (status == TSW_OK)
        status = tsw_device_open(&spec, &worker->dev, err);
    if (status == TSW_OK && worker->check_timer)
        status = worker->dev->ops->trace_find(worker->dev, err);
    if (status == TSW_OK && worker->job->policy.objective == TSW_OBJECTIVE_ENERGY) {
        status = worker->dev->ops->energy_find(worker->dev, err);
        if (status != TSW_OK)
            tsw_err_wrap(err, "objective energy");
    }
    return status;
}

static tsw_status_t on_init(worker_t *worker, tsw_err_t *err)
{
    if (worker->dev != NULL)
        return tsw_err_set(err, TSW_ERR_BUG, "a second device for one worker");
    tsw_msg_init_t msg = {0};
    tsw_status_t status = tsw_get_msg_init(worker->body.data, worker->body.size, &msg, err);
    if (status == TSW_OK)
        status = open_device(worker, &msg, err);
    tsw_msg_init_fini(&msg);
    if (status == TSW_OK) {
        tsw_watch_start(&worker->watch, worker->dev, TSW_USE_OTHER);
        tsw_put_gpu(&worker->out, worker->dev->ops->gpu(worker->dev));
        say(worker, TSW_CHILD_HELLO);
    }
    return status;
}

static tsw_status_t on_tool(worker_t *worker, tsw_err_t *err)
{
    tsw_device_t *dev = worker->dev;
    tsw_status_t status = dev->ops->load_tool(dev, worker->body.data, worker->body.size, err);
    if (status == TSW_OK)
        status = dev->ops->canary(dev, err);
    if (status != TSW_OK)
        return status;
    tsw_buf_clear(&worker->tool);
    tsw_buf_append(&worker->tool, worker->body.data, worker->body.size);
    if (!tsw_buf_ok(&worker->tool))
        return tsw_err_nomem(err);
    say(worker, TSW_CHILD_READY);
    tsw_post_send(&worker->post);
    tsw_watch_start(&worker->watch, dev, TSW_USE_OTHER);
    return TSW_OK;
}

static tsw_status_t on_calibrate(worker_t *worker, tsw_err_t *err)
{
    if (worker->tool.size == 0 || cell_of(worker)->measure != NULL)
        return tsw_err_set(err, TSW_ERR_BUG, "calibrate: no tool, or amid a cell");
    tsw_calibration_t calibration;
    const bool is_real = strcmp(worker->dev->ops->gpu(worker->dev)->mode, "cuda") == 0;
    tsw_status_t status = tsw_calibrate(worker->dev, worker->tool.data, worker->tool.size,
                                        is_real ? 1 : 0, &calibration, err);
    if (status != TSW_OK)
        return status;
    tsw_put_calibration(&worker->out, &calibration);
    say(worker, TSW_CHILD_CALIBRATED);
    tsw_watch_start(&worker->watch, worker->dev, TSW_USE_OTHER);
    return TSW_OK;
}

static void end_cell(worker_t *worker)
{
    tsw_worker_cell_end(cell_of(worker));
    for (size_t i = 0; i < worker->recorded_count; i++)
        tsw_free(worker->recorded[i]);
    worker->recorded_count = 0;
    worker->is_heir = false;
}

/* The device lives, this cell does not. */
static bool is_refusal(tsw_status_t status)
{
    return status == TSW_ERR_DEVICE || status == TSW_ERR_DEVICE_MEMORY || status == TSW_ERR_INPUT ||
           status == TSW_ERR_OVERFLOW || status == TSW_ERR_UNSUPPORTED;
}

/* The cell of a message; it becomes the one in hand. What was prepared for it is used. */
static tsw_status_t begin(worker_t *worker, const tsw_msg_begin_t *msg, tsw_err_t *err)
{
    const tsw_measure_sink_t sink = {worker,     tell_state, tell_busy,
                                     tell_round, work_ahead, tell_timer};
    if (worker->cells[!worker->now].measure != NULL)
        worker->now = !worker->now;
    tsw_worker_cell_t *cell = cell_of(worker);
    if (cell->measure != NULL && !tsw_key_equal(cell->about.cell_key, msg->cell_key))
        tsw_worker_cell_end(cell);
    tsw_status_t status = tsw_worker_cell_describe(cell, worker->job, msg, err);
    cell->about.locked_mhz = worker->locked_mhz;
    cell->about.watch = &worker->watch;
    if (status != TSW_OK)
        return status;
    if (cell->measure == NULL)
        return tsw_measure_begin(worker->dev, &cell->about, &sink, &cell->measure, err);
    status = tsw_measure_begin_prepared(cell->measure, &cell->about, &sink, err);
    if (status != TSW_OK)
        cell->measure = NULL;
    return status;
}

/* A cell that cannot begin is refused; its configs and its start are ignored then. When the device
 * went with it, the end of this process says so. */
static tsw_status_t on_begin(worker_t *worker, tsw_err_t *err)
{
    end_cell(worker);
    tsw_msg_begin_t msg;
    tsw_status_t status = tsw_get_msg_begin(worker->body.data, worker->body.size, &msg, err);
    if (status != TSW_OK)
        return status;
    status = begin(worker, &msg, err);
    if (!is_refusal(status))
        return status;
    say_failed(worker, TSW_CHILD_REFUSED, status, err->text);
    return TSW_OK;
}

static tsw_status_t keep_recorded(worker_t *worker, tsw_msg_add_t *msg, tsw_err_t *err)
{
    if (msg->recorded_ns == NULL)
        return TSW_OK;
    if (!TSW_GROW(worker->recorded, worker->recorded_capacity, worker->recorded_count))
        return tsw_err_nomem(err);
    worker->recorded[worker->recorded_count++] = msg->recorded_ns;
    return TSW_OK;
}

static tsw_status_t on_add(worker_t *worker, tsw_err_t *err)
{
    tsw_msg_add_t msg = {0};
    tsw_status_t status = tsw_get_msg_add(worker->body.data, worker->body.size, &msg, err);
    if (status != TSW_OK)
        return status;
    if (cell_of(worker)->measure == NULL) {
        tsw_msg_add_fini(&msg);
        return TSW_OK;
    }
    worker->is_heir = worker->is_heir || msg.verified;
    status = keep_recorded(worker, &msg, err);
    if (status != TSW_OK) {
        tsw_msg_add_fini(&msg);
        return status;
    }
    tsw_measure_config_t config = {.index = msg.index,
                                   .config = {.key = msg.config_key},
                                   .cubin = msg.cubin,
                                   .size = msg.cubin_size,
                                   .facts = msg.facts,
                                   .verified = msg.verified,
                                   .recorded_ns = msg.recorded_ns,
                                   .recorded_count = msg.recorded_count};
    memcpy(config.config.values, msg.values, sizeof(msg.values));
    return tsw_measure_add(cell_of(worker)->measure, &config, err);
}

static tsw_status_t say_timed(worker_t *worker, tsw_err_t *err)
{
    const tsw_measure_t *measure = cell_of(worker)->measure;
    size_t count = tsw_measure_config_count(measure);
    tsw_msg_timed_t timed = {.peak_bytes = tsw_measure_peak_bytes(measure),
                             .usage = tsw_watch_take(&worker->watch, worker->dev),
                             .pick = tsw_measure_pick(measure),
                             .indices = tsw_calloc(count, sizeof(*timed.indices)),
                             .fates = tsw_calloc(count, sizeof(*timed.fates)),
                             .count = count};
    tsw_status_t status = TSW_OK;
    if (timed.indices == NULL || timed.fates == NULL)
        status = tsw_err_nomem(err);
    for (size_t i = 0; status == TSW_OK && i < count; i++)
        timed.fates[i] = (uint8_t)tsw_measure_fate(measure, i, &timed.indices[i]);
    if (status == TSW_OK) {
        tsw_put_msg_timed(&worker->out, &timed);
        say(worker, TSW_CHILD_TIMED);
        tsw_post_send(&worker->post);
    }
    tsw_msg_timed_fini(&timed);
    return status;
}

/* The times are good whether CUPTI works or not; only what ends the process is an error. */
static tsw_status_t check_timer(worker_t *worker, tsw_err_t *err)
{
    tsw_status_t status = tsw_measure_check_timer(cell_of(worker)->measure, err);
    if (status != TSW_ERR_DEVICE && status != TSW_ERR_ENV)
        return status;
    tsw_log(TSW_LOG_ERROR, "%s", err->text);
    tsw_err_clear(err);
    return TSW_OK;
}

static tsw_status_t on_time(worker_t *worker, tsw_err_t *err)
{
    if (cell_of(worker)->measure == NULL)
        return TSW_OK;
    tsw_reader_t in = tsw_reader(worker->body.data, worker->body.size);
    uint32_t first_round = tsw_get_u32(&in);
    tsw_status_t status = tsw_msg_done(&in, "time", err);
    tsw_post_send(&worker->post); /* in rounds we are busy with no config by itself */
    if (status == TSW_OK)
        status = tsw_measure_time(cell_of(worker)->measure, first_round, err);
    if (status == TSW_OK && worker->check_timer)
        status = check_timer(worker, err);
    if (status != TSW_OK)
        return status;
    status = say_timed(worker, err);
    end_cell(worker);
    return status;
}

/* The next frame. */
static tsw_status_t listen(worker_t *worker, uint32_t *type_p, tsw_err_t *err)
{
    if (!tsw_channel_has(&worker->in)) /* it may take a while */
        tsw_post_send(&worker->post);
    if (worker->dev != NULL)
        tsw_watch_turn(&worker->watch, worker->dev,
                       cell_of(worker)->measure != NULL ? TSW_USE_WAIT : TSW_USE_IDLE);
    tsw_status_t status = tsw_channel_read(worker->fd, &worker->in, type_p, &worker->body, err);
    if (status == TSW_OK)
        tsw_ahead_taken(&worker->ahead, TSW_FRAME_HEADER_SIZE + worker->body.size);
    if (worker->dev != NULL)
        tsw_watch_turn(&worker->watch, worker->dev, TSW_USE_OTHER);
    return status;
}

static tsw_status_t serve(worker_t *worker, uint32_t type, tsw_err_t *err)
{
    if (type != TSW_CHILD_INIT && worker->dev == NULL)
        return tsw_err_set(err, TSW_ERR_BUG, "message %u before a device", type);
    switch (type) {
    case TSW_CHILD_INIT:
        return on_init(worker, err);
    case TSW_CHILD_TOOL:
        return on_tool(worker, err);
    case TSW_CHILD_CALIBRATE:
        return on_calibrate(worker, err);
    case TSW_CHILD_BEGIN:
        return on_begin(worker, err);
    case TSW_CHILD_ADD:
        return on_add(worker, err);
    case TSW_CHILD_TIME:
        return on_time(worker, err);
    default:
        return tsw_err_set(err, TSW_ERR_CORRUPT, "message %u is none for a measure worker", type);
    }
}

int tsw_worker_measure(int fd)
{
    worker_t worker = {.fd = fd, .post = {.fd = fd}};
    worker.ahead = (tsw_ahead_t){.prepare = prepare_next, .user = &worker};
    for (;;) {
        uint32_t type = 0;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = listen(&worker, &type, &err);
        if (status == TSW_ERR_PEER)
            break;
        if (status == TSW_OK)
            status = serve(&worker, type, &err);
        if (status != TSW_OK)
            give_up(&worker, status, err.text);
    }
    end_cell(&worker);
    tsw_free(worker.recorded);
    for (size_t i = 0; i < 2; i++)
        tsw_worker_cell_fini(&worker.cells[i]);
    if (worker.dev != NULL)
        tsw_device_close(worker.dev);
    tsw_job_free(worker.job);
    tsw_buf_fini(&worker.tool);
    tsw_inbox_fini(&worker.in);
    tsw_buf_fini(&worker.body);
    tsw_buf_fini(&worker.out);
    tsw_buf_fini(&worker.post.frames);
    return 0;
}
