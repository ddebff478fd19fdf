#include "wire/child_msg.h"

#include "base/mem.h"

tsw_status_t tsw_msg_done(const tsw_reader_t *in, const char *what, tsw_err_t *err)
{
    tsw_status_t status = tsw_reader_check(in, what, err);
    if (status == TSW_OK && !tsw_reader_done(in))
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "%s: longer than its fields", what);
    return status;
}

static bool get_bool(tsw_reader_t *in)
{
    return tsw_get_u8(in) != 0;
}

static tsw_outcome_t get_outcome(tsw_reader_t *in)
{
    uint32_t value = tsw_get_u32(in);
    if (value >= TSW_OUTCOME_COUNT) {
        in->failed = true;
        return TSW_OUTCOME_OK;
    }
    return (tsw_outcome_t)value;
}

static void put_texts(tsw_buf_t *out, const tsw_msg_texts_t *texts)
{
    tsw_put_u64(out, texts->count);
    for (size_t i = 0; i < texts->count; i++)
        tsw_put_text(out, texts->items[i]);
}

static void texts_fini(tsw_msg_texts_t *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        tsw_free(texts->items[i]);
    tsw_free(texts->items);
    *texts = (tsw_msg_texts_t){0};
}

static void get_texts(tsw_reader_t *in, tsw_msg_texts_t *texts)
{
    size_t count = tsw_get_count(in, 1);
    if (count == 0)
        return;
    texts->items = tsw_calloc(count, sizeof(*texts->items));
    if (texts->items == NULL) {
        in->failed = in->nomem = true;
        return;
    }
    texts->count = count;
    for (size_t i = 0; i < count; i++)
        texts->items[i] = tsw_get_text(in);
}

/* ---- BUILD ---- */

void tsw_put_msg_build(tsw_buf_t *out, const tsw_msg_build_t *msg)
{
    tsw_put_text(out, msg->root);
    tsw_put_text(out, msg->nvrtc);
    tsw_put_text(out, msg->tileiras);
    tsw_put_text(out, msg->toolchain);
    tsw_put_key(out, msg->toolchain_key);
    tsw_put_text(out, msg->work_dir);
    tsw_put_u32(out, msg->language);
    tsw_put_text(out, msg->source);
    tsw_put_text(out, msg->entry);
    put_texts(out, &msg->defines);
    put_texts(out, &msg->options);
    tsw_put_u32(out, (uint32_t)msg->arch_count);
    for (size_t i = 0; i < msg->arch_count; i++)
        tsw_put_u32(out, msg->archs[i]);
    tsw_put_u8(out, msg->arch_dependent);
    tsw_put_f64(out, msg->cpu_limit_s);
    tsw_put_fileset(out, &msg->files);
}

tsw_status_t tsw_get_msg_build(const void *body, size_t size, tsw_msg_build_t *msg_p,
                               tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_msg_build_t msg = {0};
    msg.root = tsw_get_text(&in);
    msg.nvrtc = tsw_get_text(&in);
    msg.tileiras = tsw_get_text(&in);
    msg.toolchain = tsw_get_text(&in);
    msg.toolchain_key = tsw_get_key(&in);
    msg.work_dir = tsw_get_text(&in);
    msg.language = tsw_get_u32(&in);
    msg.source = tsw_get_text(&in);
    msg.entry = tsw_get_text(&in);
    get_texts(&in, &msg.defines);
    get_texts(&in, &msg.options);
    msg.arch_count = tsw_get_u32(&in);
    if (msg.arch_count > TSW_MSG_ARCH_MAX) {
        msg.arch_count = 0;
        in.failed = true;
    }
    for (size_t i = 0; i < msg.arch_count; i++)
        msg.archs[i] = tsw_get_u32(&in);
    msg.arch_dependent = get_bool(&in);
    msg.cpu_limit_s = tsw_get_f64(&in);
    tsw_status_t status = tsw_get_fileset(&in, &msg.files, err);
    if (status == TSW_OK)
        status = tsw_msg_done(&in, "build", err);
    if (status == TSW_OK)
        *msg_p = msg;
    else
        tsw_msg_build_fini(&msg);
    return status;
}

void tsw_msg_build_fini(tsw_msg_build_t *msg)
{
    tsw_free(msg->root);
    tsw_free(msg->nvrtc);
    tsw_free(msg->tileiras);
    tsw_free(msg->toolchain);
    tsw_free(msg->work_dir);
    tsw_free(msg->source);
    tsw_free(msg->entry);
    texts_fini(&msg->defines);
    texts_fini(&msg->options);
    tsw_fileset_fini(&msg->files);
    *msg = (tsw_msg_build_t){0};
}

/* ---- BUILT, FAILED ---- */

void tsw_put_msg_artifact(tsw_buf_t *out, const tsw_msg_artifact_t *artifact)
{
    tsw_put_u32(out, (uint32_t)artifact->outcome);
    tsw_put_text(out, artifact->detail);
    tsw_put_build_facts(out, &artifact->facts);
    tsw_put_bytes(out, artifact->cubin, artifact->cubin_size);
}

void tsw_get_msg_artifact(tsw_reader_t *in, tsw_msg_artifact_t *artifact_p)
{
    artifact_p->outcome = get_outcome(in);
    tsw_get_text_into(in, artifact_p->detail, sizeof(artifact_p->detail));
    tsw_get_build_facts(in, &artifact_p->facts);
    artifact_p->cubin = tsw_get_bytes(in, &artifact_p->cubin_size);
}

void tsw_put_msg_built(tsw_buf_t *out, const tsw_msg_built_t *msg)
{
    tsw_put_u32(out, (uint32_t)msg->count);
    for (size_t i = 0; i < msg->count; i++)
        tsw_put_msg_artifact(out, &msg->artifacts[i]);
    tsw_put_bytes(out, msg->log, msg->log_size);
}

tsw_status_t tsw_get_msg_built(const void *body, size_t size, tsw_msg_built_t *msg_p,
                               tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    size_t count = tsw_get_u32(&in);
    if (count > TSW_MSG_ARCH_MAX) {
        count = 0;
        in.failed = true;
    }
    *msg_p = (tsw_msg_built_t){.count = count};
    for (size_t i = 0; i < count; i++)
        tsw_get_msg_artifact(&in, &msg_p->artifacts[i]);
    msg_p->log = tsw_get_bytes(&in, &msg_p->log_size);
    return tsw_msg_done(&in, "built", err);
}

void tsw_put_msg_failed(tsw_buf_t *out, tsw_status_t status, const char *text)
{
    tsw_put_i64(out, status);
    tsw_put_text(out, text);
}

tsw_status_t tsw_get_msg_failed(const void *body, size_t size, tsw_msg_failed_t *msg_p,
                                tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    int64_t value = tsw_get_i64(&in);
    if (value >= 0 || value < TSW_ERR_DEVICE_UNFIT)
        in.failed = true;
    msg_p->status = (tsw_status_t)value;
    tsw_get_text_into(&in, msg_p->text, sizeof(msg_p->text));
    return tsw_msg_done(&in, "failed", err);
}

/* ---- INIT ---- */

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
    msg.check_timer = tsw_get_u8(&in) != 0;
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

/* ---- TIMER ---- */

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

/* ---- LOCK ---- */

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

/* ---- BEGIN, ADD ---- */

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
    msg.verified = get_bool(&in);
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

/* ---- STATE, ROUND, TIMED ---- */

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
    msg_p->outcome = get_outcome(&in);
    tsw_get_text_into(&in, msg_p->detail, sizeof(msg_p->detail));
    msg_p->has_verify = get_bool(&in);
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
