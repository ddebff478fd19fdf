#include "proc/proc.h"
#include "wire/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void tsw_inbox_fini(tsw_inbox_t *inbox)
{
    tsw_buf_fini(&inbox->bytes);
    inbox->taken = 0;
}

/* Append what there is; TSW_ERR_PEER at the end. flags: as for recv. */
static tsw_status_t read_some(int fd, int flags, tsw_inbox_t *in, tsw_err_t *err)
{
    uint8_t chunk[65536];
    ssize_t count = 0;
    do {
        count = recv(fd, chunk, sizeof(chunk), flags);
    } while (count < 0 && errno == EINTR);
    if (count == 0 || (count < 0 && errno == ECONNRESET))
        return tsw_err_set(err, TSW_ERR_PEER, "the parent closed the channel");
    if (count < 0)
        return tsw_err_set_vendor(err, TSW_ERR_IO, errno, "channel: %s", strerror(errno));
    if (in->taken > in->bytes.size / 2) { /* few enough are left that moving them is cheap */
        tsw_buf_consume(&in->bytes, in->taken);
        in->taken = 0;
    }
    tsw_buf_append(&in->bytes, chunk, (size_t)count);
    return tsw_buf_ok(&in->bytes) ? TSW_OK : tsw_err_nomem(err);
}

/* The frame at the start of what is left, or so many bytes behind that. *size_p 0: not there. */
static tsw_status_t look(const tsw_inbox_t *in, size_t at, uint32_t *type_p, const uint8_t **body_p,
                         size_t *body_size_p, size_t *size_p, tsw_err_t *err)
{
    *size_p = 0;
    if (in->bytes.size <= in->taken + at)
        return TSW_OK;
    const tsw_buf_t left = {.data = in->bytes.data + in->taken + at,
                            .size = in->bytes.size - in->taken - at};
    return tsw_frame_next(&left, type_p, body_p, body_size_p, size_p, err);
}

tsw_status_t tsw_channel_read(int fd, tsw_inbox_t *in, uint32_t *type_p, tsw_buf_t *body_p,
                              tsw_err_t *err)
{
    for (;;) {
        uint32_t type = 0;
        const uint8_t *body = NULL;
        size_t body_size = 0;
        size_t size = 0;
        tsw_status_t status = look(in, 0, &type, &body, &body_size, &size, err);
        if (status != TSW_OK)
            return status;
        if (size > 0) {
            tsw_buf_clear(body_p);
            tsw_buf_append(body_p, body, body_size);
            if (!tsw_buf_ok(body_p))
                return tsw_err_nomem(err);
            in->taken += size;
            *type_p = type;
            return TSW_OK;
        }
        status = read_some(fd, 0, in, err);
        if (status != TSW_OK)
            return status;
    }
}

/* False: no whole frame. */
static bool find_frame(const tsw_inbox_t *in, size_t *at_p, uint32_t *type_p,
                       const uint8_t **body_p, size_t *size_p)
{
    size_t size = 0;
    if (look(in, *at_p, type_p, body_p, size_p, &size, NULL) != TSW_OK || size == 0)
        return false;
    *at_p += size;
    return true;
}

bool tsw_channel_peek(int fd, tsw_inbox_t *in, size_t *at_p, uint32_t *type_p,
                      const uint8_t **body_p, size_t *size_p)
{
    while (!find_frame(in, at_p, type_p, body_p, size_p))
        if (read_some(fd, MSG_DONTWAIT, in, NULL) != TSW_OK)
            return false;
    return true;
}

bool tsw_channel_has(const tsw_inbox_t *in)
{
    uint32_t type = 0;
    const uint8_t *body = NULL;
    size_t at = 0, size = 0;
    return find_frame(in, &at, &type, &body, &size);
}

tsw_status_t tsw_channel_send(int fd, tsw_buf_t *frames, tsw_err_t *err)
{
    tsw_status_t status = tsw_buf_ok(frames) ? TSW_OK : tsw_err_nomem(err);
    for (size_t at = 0; status == TSW_OK && at < frames->size;) {
        ssize_t count = send(fd, frames->data + at, frames->size - at, MSG_NOSIGNAL);
        if (count >= 0)
            at += (size_t)count;
        else if (errno == EPIPE || errno == ECONNRESET)
            status = tsw_err_set(err, TSW_ERR_PEER, "the parent closed the channel");
        else if (errno != EINTR)
            status = tsw_err_set_vendor(err, TSW_ERR_IO, errno, "channel: %s", strerror(errno));
    }
    tsw_buf_clear(frames);
    return status;
}

tsw_status_t tsw_channel_write(int fd, uint32_t type, const tsw_buf_t *body, tsw_err_t *err)
{
    tsw_buf_t frame = TSW_BUF_INIT;
    tsw_frame_put(&frame, type, body);
    tsw_status_t status = tsw_channel_send(fd, &frame, err);
    tsw_buf_fini(&frame);
    return status;
}
