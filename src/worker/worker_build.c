#include "base/linux.h"
#include "build/build.h"
#include "proc/proc.h"
#include "wire/child_msg.h"
#include "wire/keeper_msg.h"
#include "worker/worker.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(TSW_MSG_ARCH_MAX == TSW_PLAN_ARCH_MAX, "archs of a build");

/* NVRTC runs in this process: its CPU time ends in SIGXCPU, and a crash leaves no core file. */
static void limit_self(const tsw_msg_build_t *msg)
{
    bool per_arch = msg->arch_dependent || msg->language == TSW_LANGUAGE_CUDA;
    double runs = per_arch ? (double)msg->arch_count : 1;
    tsw_process_limit(msg->cpu_limit_s > 0 ? (uint64_t)(msg->cpu_limit_s * runs + 1) : 0);
}

/* The message's memory becomes the request's. */
static void take_request(tsw_msg_build_t *msg, tsw_build_request_t *request)
{
    *request = (tsw_build_request_t){
        .language = (tsw_language_t)msg->language,
        .files = msg->files,
        .source = msg->source,
        .entry = msg->entry,
        .defines = msg->defines.items,
        .define_count = msg->defines.count,
        .options = msg->options.items,
        .option_count = msg->options.count,
        .arch_count = msg->arch_count,
        .arch_dependent = msg->arch_dependent,
        .cpu_limit_s = msg->cpu_limit_s,
    };
    for (size_t i = 0; i < msg->arch_count; i++)
        request->archs[i] = (tsw_arch_t)msg->archs[i];
    msg->files = (tsw_fileset_t)TSW_FILESET_INIT;
    msg->source = NULL;
    msg->entry = NULL;
    msg->defines = (tsw_msg_texts_t){0};
    msg->options = (tsw_msg_texts_t){0};
}

static void put_result(tsw_buf_t *body, const tsw_build_result_t *result)
{
    tsw_msg_built_t msg = {
        .count = result->arch_count, .log = result->log.data, .log_size = result->log.size};
    for (size_t i = 0; i < result->arch_count; i++) {
        const tsw_artifact_t *from = &result->artifacts[i];
        tsw_msg_artifact_t *to = &msg.artifacts[i];
        to->outcome = from->outcome;
        memcpy(to->detail, from->detail, sizeof(to->detail));
        to->facts = from->facts;
        to->cubin = from->cubin.data;
        to->cubin_size = from->cubin.size;
    }
    tsw_put_msg_built(body, &msg);
}

static tsw_status_t compile(tsw_msg_build_t *msg, tsw_buf_t *body, tsw_err_t *err)
{
    tsw_toolchain_t toolchain = {.found = true,
                                 .root = msg->root,
                                 .nvrtc = msg->nvrtc,
                                 .tileiras = msg->tileiras[0] != '\0' ? msg->tileiras : NULL,
                                 .text = msg->toolchain,
                                 .key = msg->toolchain_key};
    tsw_build_request_t request;
    take_request(msg, &request);
    tsw_build_result_t result = {0};
    tsw_status_t status = tsw_build_run(&toolchain, &request, msg->work_dir, &result, err);
    if (status == TSW_OK)
        put_result(body, &result);
    tsw_build_result_fini(&result);
    tsw_build_request_fini(&request);
    return status;
}

int tsw_worker_build(int fd)
{
    tsw_inbox_t in = TSW_INBOX_INIT;
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_msg_build_t msg = {0};
    tsw_err_t err = TSW_ERR_INIT;
    uint32_t type = 0;
    tsw_status_t status = tsw_channel_read(fd, &in, &type, &body, &err);
    if (status == TSW_OK && type != TSW_CHILD_BUILD)
        status = tsw_err_set(&err, TSW_ERR_CORRUPT, "message %u instead of a build", type);
    if (status == TSW_OK)
        status = tsw_get_msg_build(body.data, body.size, &msg, &err);
    tsw_buf_clear(&body);
    if (status == TSW_OK) {
        limit_self(&msg);
        setenv("TMPDIR", msg.work_dir, 1);
        status = compile(&msg, &body, &err);
    }
    tsw_status_t sent = TSW_OK;
    if (status == TSW_OK) {
        sent = tsw_channel_write(fd, TSW_CHILD_BUILT, &body, NULL);
    } else {
        tsw_buf_clear(&body);
        tsw_put_msg_failed(&body, status, err.text);
        sent = tsw_channel_write(fd, TSW_CHILD_FAILED, &body, NULL);
    }
    tsw_msg_build_fini(&msg);
    tsw_buf_fini(&body);
    tsw_inbox_fini(&in);
    return status == TSW_OK && sent == TSW_OK ? 0 : 1;
}
