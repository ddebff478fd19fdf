#include "wire/rank_msg.h"

void tsw_put_msg_hello(tsw_buf_t *out, const tsw_msg_hello_t *msg)
{
    tsw_put_text(out, msg->node);
    for (int i = 0; i < TSW_CPU_WORDS; i++)
        tsw_put_u64(out, msg->cpus.words[i]);
    tsw_put_u8(out, msg->toolchain_found);
    tsw_put_key(out, msg->toolchain_key);
    tsw_put_text(out, msg->toolchain);
    tsw_put_key(out, msg->plan_key);
    tsw_put_u8(out, msg->has_gpu);
    tsw_put_gpu(out, &msg->gpu);
}

tsw_status_t tsw_get_msg_hello(const void *body, size_t size, tsw_msg_hello_t *msg_p,
                               tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_get_text_into(&in, msg_p->node, sizeof(msg_p->node));
    for (int i = 0; i < TSW_CPU_WORDS; i++)
        msg_p->cpus.words[i] = tsw_get_u64(&in);
    msg_p->toolchain_found = tsw_get_bool(&in);
    msg_p->toolchain_key = tsw_get_key(&in);
    tsw_get_text_into(&in, msg_p->toolchain, sizeof(msg_p->toolchain));
    msg_p->plan_key = tsw_get_key(&in);
    msg_p->has_gpu = tsw_get_bool(&in);
    tsw_get_gpu(&in, &msg_p->gpu);
    return tsw_msg_done(&in, "hello", err);
}

void tsw_put_msg_lease(tsw_buf_t *out, const tsw_msg_lease_t *msg)
{
    tsw_put_u32(out, msg->cell);
    tsw_put_u32(out, msg->attempt);
}

tsw_status_t tsw_get_msg_lease(const void *body, size_t size, tsw_msg_lease_t *msg_p,
                               tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    msg_p->cell = tsw_get_u32(&in);
    msg_p->attempt = tsw_get_u32(&in);
    return tsw_msg_done(&in, "lease", err);
}

void tsw_put_msg_piece(tsw_buf_t *out, const tsw_msg_piece_t *msg)
{
    tsw_put_text(out, msg->name);
    tsw_put_u64(out, msg->size);
    tsw_put_u64(out, msg->offset);
    tsw_put_key(out, msg->key);
    tsw_put_bytes(out, msg->bytes, msg->count);
}

tsw_status_t tsw_get_msg_piece(const void *body, size_t size, tsw_msg_piece_t *msg_p,
                               tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_get_text_into(&in, msg_p->name, sizeof(msg_p->name));
    msg_p->size = tsw_get_u64(&in);
    msg_p->offset = tsw_get_u64(&in);
    msg_p->key = tsw_get_key(&in);
    msg_p->bytes = tsw_get_bytes(&in, &msg_p->count);
    return tsw_msg_done(&in, "piece", err);
}

void tsw_put_msg_receipt(tsw_buf_t *out, const tsw_msg_receipt_t *msg)
{
    tsw_put_text(out, msg->name);
    tsw_put_u64(out, msg->next);
    tsw_put_u8(out, msg->refused);
}

tsw_status_t tsw_get_msg_receipt(const void *body, size_t size, tsw_msg_receipt_t *msg_p,
                                 tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    tsw_get_text_into(&in, msg_p->name, sizeof(msg_p->name));
    msg_p->next = tsw_get_u64(&in);
    msg_p->refused = tsw_get_bool(&in);
    return tsw_msg_done(&in, "receipt", err);
}

void tsw_put_msg_u32(tsw_buf_t *out, uint32_t value)
{
    tsw_put_u32(out, value);
}

tsw_status_t tsw_get_msg_u32(const void *body, size_t size, uint32_t *value_p, tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    *value_p = tsw_get_u32(&in);
    return tsw_msg_done(&in, "number", err);
}

void tsw_put_msg_artifacts(tsw_buf_t *out, const tsw_msg_artifacts_t *msg)
{
    tsw_put_u32(out, msg->build);
    tsw_put_u32(out, (uint32_t)msg->count);
    for (size_t i = 0; i < msg->count; i++) {
        tsw_put_u32(out, msg->arch_index[i]);
        tsw_put_msg_artifact(out, &msg->artifacts[i]);
    }
}

tsw_status_t tsw_get_msg_artifacts(const void *body, size_t size, tsw_msg_artifacts_t *msg_p,
                                   tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    *msg_p = (tsw_msg_artifacts_t){.build = tsw_get_u32(&in)};
    size_t count = tsw_get_u32(&in);
    if (count > TSW_MSG_ARCH_MAX) {
        count = 0;
        in.failed = true;
    }
    msg_p->count = count;
    for (size_t i = 0; i < count; i++) {
        msg_p->arch_index[i] = tsw_get_u32(&in);
        if (msg_p->arch_index[i] >= TSW_MSG_ARCH_MAX)
            in.failed = true;
        tsw_get_msg_artifact(&in, &msg_p->artifacts[i]);
    }
    return tsw_msg_done(&in, "artifacts", err);
}

void tsw_put_msg_cell_done(tsw_buf_t *out, const tsw_msg_cell_done_t *msg)
{
    tsw_put_u32(out, msg->cell);
    tsw_put_u32(out, msg->attempt);
    tsw_put_u8(out, msg->usable);
    tsw_put_u32(out, msg->configs_failed);
    tsw_put_u64(out, msg->busy_ns);
    tsw_put_u64(out, msg->wall_ns);
}

tsw_status_t tsw_get_msg_cell_done(const void *body, size_t size, tsw_msg_cell_done_t *msg_p,
                                   tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    msg_p->cell = tsw_get_u32(&in);
    msg_p->attempt = tsw_get_u32(&in);
    msg_p->usable = tsw_get_bool(&in);
    msg_p->configs_failed = tsw_get_u32(&in);
    msg_p->busy_ns = tsw_get_u64(&in);
    msg_p->wall_ns = tsw_get_u64(&in);
    return tsw_msg_done(&in, "cell done", err);
}
