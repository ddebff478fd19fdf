#include "wire/keeper_msg.h"

#include "base/mem.h"

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
    msg.arch_dependent = tsw_get_bool(&in);
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

void tsw_put_msg_artifact(tsw_buf_t *out, const tsw_msg_artifact_t *artifact)
{
    tsw_put_u32(out, (uint32_t)artifact->outcome);
    tsw_put_text(out, artifact->detail);
    tsw_put_build_facts(out, &artifact->facts);
    tsw_put_bytes(out, artifact->cubin, artifact->cubin_size);
}

void tsw_get_msg_artifact(tsw_reader_t *in, tsw_msg_artifact_t *artifact_p)
{
    artifact_p->outcome = tsw_get_outcome(in);
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
