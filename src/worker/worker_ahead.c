#include "worker/worker_ahead.h"

#include "wire/child_msg.h"

/* Of frames that wait, in memory. */
static const size_t most_bytes = 2 << 20;

static void load(tsw_device_t *dev, const void *cubin, size_t size, const char *entry)
{
    tsw_kernel_t *kernel = NULL;
    tsw_kernel_model_t model = {.flops = 0};
    if (dev->ops->kernel_load(dev, cubin, size, entry, &model, &kernel, NULL) == TSW_OK)
        dev->ops->kernel_unload(dev, kernel);
}

static void look_at_begin(tsw_ahead_t *ahead, const uint8_t *body, size_t size,
                          const tsw_job_t *job, tsw_device_t *dev)
{
    tsw_msg_begin_t msg;
    ahead->pack = NULL;
    if (tsw_get_msg_begin(body, size, &msg, NULL) != TSW_OK || msg.pack >= job->pack_count)
        return;
    ahead->pack = job->packs[msg.pack];
    if (ahead->prepare != NULL)
        ahead->prepare(ahead->user, &msg);
    load(dev, msg.reference, msg.reference_size, ahead->pack->reference.entry);
}

static void look_at_add(const tsw_ahead_t *ahead, const uint8_t *body, size_t size,
                        tsw_device_t *dev)
{
    tsw_msg_add_t msg;
    if (ahead->pack == NULL || tsw_get_msg_add(body, size, &msg, NULL) != TSW_OK)
        return;
    load(dev, msg.cubin, msg.cubin_size, ahead->pack->kernel.entry);
    tsw_msg_add_fini(&msg);
}

bool tsw_ahead_work(tsw_ahead_t *ahead, int fd, tsw_inbox_t *in, const tsw_job_t *job,
                    tsw_device_t *dev)
{
    const uint8_t *body = NULL;
    size_t size = 0;
    uint32_t type = 0;
    if (ahead->at >= most_bytes || !tsw_channel_peek(fd, in, &ahead->at, &type, &body, &size))
        return false;
    if (type == TSW_CHILD_BEGIN)
        look_at_begin(ahead, body, size, job, dev);
    else if (type == TSW_CHILD_ADD)
        look_at_add(ahead, body, size, dev);
    return true;
}

void tsw_ahead_taken(tsw_ahead_t *ahead, size_t bytes)
{
    ahead->at -= bytes < ahead->at ? bytes : ahead->at;
}
