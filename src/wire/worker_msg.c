#include "wire/worker_msg.h"

#include "base/mem.h"
#include "wire/wire.h"

void tsw_put_msg_init(tsw_buf_t *out, const tsw_msg_init_t *msg)
{
    tsw_put_text(out, msg->kind);
    tsw_put_i64(out, msg->place);
    tsw_put_text(out, msg->model);
    tsw_put_u32(out, msg->id);
    tsw_put_text(out, msg->node);
    tsw_put_u64(out, msg->seed);
    tsw_put_u32(out, msg->arch);
    tsw_put_u32(out, msg->locked_mhz);
    tsw_put_u8(out, msg->check_timer);
    tsw_put_text(out, msg->scenario);
    tsw_put_fileset(out, &msg->snapshot);
}

tsw_status_t tsw_get_msg_init(const void *body, size_t size, tsw_msg_init_t *msg_p, tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_msg_init_t msg = {0};
    tsw_get_text_into(&in, msg.kind, sizeof(msg.kind));
    msg.place = tsw_get_i64(&in);
    tsw_get_text_into(&in, msg.model, sizeof(msg.model));
    msg.id = tsw_get_u32(&in);
    tsw_get_text_into(&in, msg.node, sizeof(msg.node));
    msg.seed = tsw_get_u64(&in);
    msg.arch = tsw_get_u32(&in);
    msg.locked_mhz = tsw_get_u32(&in);
    msg.check_timer = tsw_get_bool(&in);
    msg.scenario = tsw_get_text(&in);
    tsw_status_t status = tsw_get_fileset(&in, &msg.snapshot, err);
    if (status == TSW_OK)
        status = tsw_msg_done(&in, "init", err);
    if (status == TSW_OK)
        *msg_p = msg;
    else
        tsw_msg_init_fini(&msg);
    return status;
}

void tsw_msg_init_fini(tsw_msg_init_t *msg)
{
    tsw_free(msg->scenario);
    tsw_fileset_fini(&msg->snapshot);
    *msg = (tsw_msg_init_t){0};
}

void tsw_put_timer_check(tsw_buf_t *out, const tsw_timer_check_t *check)
{
    tsw_put_u32(out, check->config_index);
    tsw_put_u32(out, check->launches);
    tsw_put_f64(out, check->own_ns);
    tsw_put_f64(out, check->cupti_ns);
    tsw_put_f64(out, check->off_ns);
}

tsw_status_t tsw_get_timer_check(const void *body, size_t size, tsw_timer_check_t *check_p,
                                 tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    check_p->config_index = tsw_get_u32(&in);
    check_p->launches = tsw_get_u32(&in);
    check_p->own_ns = tsw_get_f64(&in);
    check_p->cupti_ns = tsw_get_f64(&in);
    check_p->off_ns = tsw_get_f64(&in);
    return tsw_msg_done(&in, "timer", err);
}

void tsw_put_msg_lock(tsw_buf_t *out, const tsw_msg_lock_t *msg)
{
    tsw_put_text(out, msg->uuid);
    tsw_put_u32(out, msg->mhz);
}

tsw_status_t tsw_get_msg_lock(const void *body, size_t size, tsw_msg_lock_t *msg_p, tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_get_text_into(&in, msg_p->uuid, sizeof(msg_p->uuid));
    msg_p->mhz = tsw_get_u32(&in);
    return tsw_msg_done(&in, "lock", err);
}

void tsw_put_msg_begin(tsw_buf_t *out, const tsw_msg_begin_t *msg)
{
    tsw_put_u32(out, msg->pack);
    tsw_put_u32(out, msg->dtype);
    for (int i = 0; i < TSW_MSG_FLAG_MAX; i++)
        tsw_put_u32(out, msg->flags[i]);
    for (int i = 0; i < TSW_MSG_DIM_MAX; i++) {
        tsw_put_i64(out, msg->static_dims[i]);
        tsw_put_i64(out, msg->dims[i]);
    }
    tsw_put_u32(out, msg->arch);
    tsw_put_key(out, msg->cell_key);
    tsw_put_f64(out, msg->flops);
    tsw_put_f64(out, msg->bytes);
    tsw_put_i64(out, msg->max_tile);
    tsw_put_bytes(out, msg->reference, msg->reference_size);
}

tsw_status_t tsw_get_msg_begin(const void *body, size_t size, tsw_msg_begin_t *msg_p,
                               tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    msg_p->pack = tsw_get_u32(&in);
    msg_p->dtype = tsw_get_u32(&in);
    for (int i = 0; i < TSW_MSG_FLAG_MAX; i++)
        msg_p->flags[i] = tsw_get_u32(&in);
    for (int i = 0; i < TSW_MSG_DIM_MAX; i++) {
        msg_p->static_dims[i] = tsw_get_i64(&in);
        msg_p->dims[i] = tsw_get_i64(&in);
    }
    msg_p->arch = tsw_get_u32(&in);
    msg_p->cell_key = tsw_get_key(&in);
    msg_p->flops = tsw_get_f64(&in);
    msg_p->bytes = tsw_get_f64(&in);
    msg_p->max_tile = tsw_get_i64(&in);
    msg_p->reference = tsw_get_bytes(&in, &msg_p->reference_size);
    return tsw_msg_done(&in, "begin", err);
}

void tsw_put_msg_add(tsw_buf_t *out, const tsw_msg_add_t *msg)
{
    tsw_put_u32(out, msg->index);
    for (int i = 0; i < TSW_MSG_KNOB_MAX; i++)
        tsw_put_i64(out, msg->values[i]);
    tsw_put_key(out, msg->config_key);
    tsw_put_build_facts(out, &msg->facts);
    tsw_put_u8(out, msg->verified);
    tsw_put_bytes(out, msg->cubin, msg->cubin_size);
    tsw_put_u64(out, msg->recorded_count);
    for (size_t i = 0; i < msg->recorded_count; i++)
        tsw_put_u64(out, msg->recorded_ns[i]);
}

static void get_recorded(tsw_reader_t *in, tsw_msg_add_t *msg)
{
    size_t count = tsw_get_count(in, sizeof(uint64_t));
    if (count == 0)
        return;
    msg->recorded_ns = tsw_calloc(count, sizeof(*msg->recorded_ns));
    if (msg->recorded_ns == NULL) {
        in->failed = in->nomem = true;
        return;
    }
    msg->recorded_count = count;
    for (size_t i = 0; i < count; i++)
        msg->recorded_ns[i] = tsw_get_u64(in);
}

tsw_status_t tsw_get_msg_add(const void *body, size_t size, tsw_msg_add_t *msg_p, tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_msg_add_t msg = {.index = tsw_get_u32(&in)};
    for (int i = 0; i < TSW_MSG_KNOB_MAX; i++)
        msg.values[i] = tsw_get_i64(&in);
    msg.config_key = tsw_get_key(&in);
    tsw_get_build_facts(&in, &msg.facts);
    msg.verified = tsw_get_bool(&in);
    msg.cubin = tsw_get_bytes(&in, &msg.cubin_size);
    get_recorded(&in, &msg);
    tsw_status_t status = tsw_msg_done(&in, "add", err);
    if (status == TSW_OK)
        *msg_p = msg;
    else
        tsw_msg_add_fini(&msg);
    return status;
}

void tsw_msg_add_fini(tsw_msg_add_t *msg)
{
    tsw_free(msg->recorded_ns);
    *msg = (tsw_msg_add_t){0};
}

void tsw_put_msg_state(tsw_buf_t *out, const tsw_msg_state_t *msg)
{
    tsw_put_u32(out, msg->index);
    tsw_put_u32(out, (uint32_t)msg->outcome);
    tsw_put_text(out, msg->detail);
    tsw_put_u8(out, msg->has_verify);
    tsw_put_verify_facts(out, &msg->verify);
}

tsw_status_t tsw_get_msg_state(const void *body, size_t size, tsw_msg_state_t *msg_p,
                               tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    msg_p->index = tsw_get_u32(&in);
    msg_p->outcome = tsw_get_outcome(&in);
    tsw_get_text_into(&in, msg_p->detail, sizeof(msg_p->detail));
    msg_p->has_verify = tsw_get_bool(&in);
    tsw_get_verify_facts(&in, &msg_p->verify);
    return tsw_msg_done(&in, "state", err);
}

void tsw_put_msg_round(tsw_buf_t *out, const tsw_msg_round_t *msg)
{
    tsw_put_round(out, &msg->round);
    tsw_put_u64(out, msg->count);
    for (size_t i = 0; i < msg->count; i++) {
        tsw_put_u32(out, msg->indices[i]);
        tsw_put_sample(out, &msg->samples[i]);
    }
}

static void get_samples(tsw_reader_t *in, tsw_msg_round_t *msg)
{
    size_t count = tsw_get_count(in, 24);
    if (count == 0)
        return;
    msg->indices = tsw_calloc(count, sizeof(*msg->indices));
    msg->samples = tsw_calloc(count, sizeof(*msg->samples));
    if (msg->indices == NULL || msg->samples == NULL) {
        in->failed = in->nomem = true;
        return;
    }
    msg->count = count;
    for (size_t i = 0; i < count; i++) {
        msg->indices[i] = tsw_get_u32(in);
        msg->samples[i] = tsw_get_sample(in);
    }
}

tsw_status_t tsw_get_msg_round(const void *body, size_t size, tsw_msg_round_t *msg_p,
                               tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_msg_round_t msg = {0};
    msg.round = tsw_get_round(&in);
    get_samples(&in, &msg);
    tsw_status_t status = tsw_msg_done(&in, "round", err);
    if (status == TSW_OK)
        *msg_p = msg;
    else
        tsw_msg_round_fini(&msg);
    return status;
}

void tsw_msg_round_fini(tsw_msg_round_t *msg)
{
    tsw_free(msg->indices);
    tsw_free(msg->samples);
    *msg = (tsw_msg_round_t){0};
}

void tsw_put_msg_timed(tsw_buf_t *out, const tsw_msg_timed_t *msg)
{
    tsw_put_u64(out, msg->peak_bytes);
    tsw_put_usage(out, &msg->usage);
    tsw_put_i64(out, msg->pick);
    tsw_put_u64(out, msg->count);
    for (size_t i = 0; i < msg->count; i++) {
        tsw_put_u32(out, msg->indices[i]);
        tsw_put_u8(out, msg->fates[i]);
    }
}

static void get_fates(tsw_reader_t *in, tsw_msg_timed_t *msg)
{
    size_t count = tsw_get_count(in, 5);
    if (count == 0)
        return;
    msg->indices = tsw_calloc(count, sizeof(*msg->indices));
    msg->fates = tsw_calloc(count, sizeof(*msg->fates));
    if (msg->indices == NULL || msg->fates == NULL) {
        in->failed = in->nomem = true;
        return;
    }
    msg->count = count;
    for (size_t i = 0; i < count; i++) {
        msg->indices[i] = tsw_get_u32(in);
        msg->fates[i] = tsw_get_u8(in);
        in->failed = in->failed || msg->fates[i] >= TSW_FATE_COUNT;
    }
}

tsw_status_t tsw_get_msg_timed(const void *body, size_t size, tsw_msg_timed_t *msg_p,
                               tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_msg_timed_t msg = {0};
    msg.peak_bytes = tsw_get_u64(&in);
    tsw_get_usage(&in, &msg.usage);
    int64_t pick = tsw_get_i64(&in);
    msg.pick = (int32_t)pick;
    in.failed = in.failed || pick < -1 || pick > INT32_MAX;
    get_fates(&in, &msg);
    tsw_status_t status = tsw_msg_done(&in, "timed", err);
    if (status == TSW_OK)
        *msg_p = msg;
    else
        tsw_msg_timed_fini(&msg);
    return status;
}

void tsw_msg_timed_fini(tsw_msg_timed_t *msg)
{
    tsw_free(msg->indices);
    tsw_free(msg->fates);
    *msg = (tsw_msg_timed_t){0};
}
