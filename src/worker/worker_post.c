#include "worker/worker_post.h"

#include "base/clock.h"
#include "base/log.h"
#include "proc/proc.h"
#include "wire/wire.h"

#include <unistd.h>

static const uint64_t most_wait_ns = 20000000;

void tsw_post_put(tsw_post_t *post, uint32_t type, tsw_buf_t *body)
{
    if (post->frames.size == 0)
        post->since_ns = tsw_clock_now_ns();
    tsw_frame_put(&post->frames, type, body);
    tsw_buf_clear(body);
}

void tsw_post_send(tsw_post_t *post)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_buf_ok(&post->frames) && post->frames.size == 0)
        return;
    if (tsw_channel_send(post->fd, &post->frames, &err) == TSW_OK)
        return;
    tsw_log(TSW_LOG_ERROR, "%s", err.text);
    _exit(TSW_POST_EXIT_LOST);
}

void tsw_post_send_old(tsw_post_t *post, uint64_t now_ns)
{
    if (post->frames.size > 0 && now_ns - post->since_ns >= most_wait_ns)
        tsw_post_send(post);
}
