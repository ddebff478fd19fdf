#include "base/log.h"
#include "base/mem.h"
#include "proc/proc_internal.h"
#include "wire/wire.h"

#include <signal.h>
#include <string.h>

/* A descendant that left the process group survives the kill and may hold the pipes: after an exit
 * we wait that long, twice, for their end, then close them ourselves. Twice, since a loop that was
 * busy elsewhere sees its timers before the bytes that came meanwhile. */
#define PIPE_GRACE_MS 500
#define READ_SIZE     65536

enum { STREAM_OUT, STREAM_ERR, STREAM_FRAMES, STREAM_COUNT };

typedef struct {
    uv_pipe_t pipe;
    bool open;    /* its end was not seen */
    tsw_buf_t in; /* read, not yet delivered */
} stream_t;

struct tsw_child {
    tsw_loop_t *loop;
    tsw_child_t *next;
    tsw_child_callbacks_t callbacks;
    bool silent; /* no callbacks any more */
    uv_process_t process;
    long pid;
    bool running; /* its exit was not seen */
    bool ended;
    stream_t streams[STREAM_COUNT];
    uv_timer_t deadline;
    uv_timer_t grace;
    bool grace_extended;
    unsigned open_handles;
    tsw_child_end_t end;
    char read_buf[READ_SIZE];
};

typedef struct {
    uv_write_t request;
    tsw_buf_t frame;
} write_t;

static void handle_closed(uv_handle_t *handle)
{
    tsw_child_t *child = handle->data;
    if (--child->open_handles > 0)
        return;
    tsw_child_t **link = &child->loop->children;
    while (*link != child)
        link = &(*link)->next;
    *link = child->next;
    for (int i = 0; i < STREAM_COUNT; i++)
        tsw_buf_fini(&child->streams[i].in);
    tsw_free(child);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, handle_closed);
}

/* The child is freed once the last of its handles is closed. */
static void close_all(tsw_child_t *child)
{
    close_handle((uv_handle_t *)&child->process);
    for (int i = 0; i < STREAM_COUNT; i++)
        close_handle((uv_handle_t *)&child->streams[i].pipe);
    close_handle((uv_handle_t *)&child->deadline);
    close_handle((uv_handle_t *)&child->grace);
}

static void check_ended(tsw_child_t *child)
{
    if (child->ended || child->running)
        return;
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (child->streams[i].open)
            return;
    }
    child->ended = true;
    child->loop->child_count--;
    uv_timer_stop(&child->deadline);
    if (!child->silent)
        child->callbacks.ended(child->callbacks.user, child, &child->end);
    close_all(child);
}

static void deliver_line(tsw_child_t *child, stream_t *stream, size_t length)
{
    char line[TSW_CHILD_LINE_MAX + 1];
    memcpy(line, stream->in.data, length);
    line[length] = '\0';
    if (!child->silent)
        child->callbacks.line(child->callbacks.user, child, line);
}

static void deliver_lines(tsw_child_t *child, stream_t *stream, bool at_end)
{
    while (stream->in.size > 0) {
        size_t window = stream->in.size < TSW_CHILD_LINE_MAX ? stream->in.size : TSW_CHILD_LINE_MAX;
        const uint8_t *newline = memchr(stream->in.data, '\n', window);
        if (newline != NULL) {
            size_t length = (size_t)(newline - stream->in.data);
            deliver_line(child, stream, length);
            tsw_buf_consume(&stream->in, length + 1);
        } else if (window == TSW_CHILD_LINE_MAX || at_end) {
            deliver_line(child, stream, window);
            tsw_buf_consume(&stream->in, window);
        } else {
            return;
        }
    }
}

static void stream_failed(tsw_child_t *child, stream_t *stream, const char *why)
{
    tsw_log(TSW_LOG_WARN, "child %ld: %s", child->pid, why);
    child->end.bad_frames = true;
    tsw_buf_clear(&stream->in);
    tsw_child_kill(child);
}

static void deliver_frames(tsw_child_t *child, stream_t *stream)
{
    while (!child->end.bad_frames && !child->silent) {
        uint32_t type = 0;
        const uint8_t *body = NULL;
        size_t body_size = 0;
        size_t size = 0;
        tsw_err_t err = TSW_ERR_INIT;
        if (tsw_frame_next(&stream->in, &type, &body, &body_size, &size, &err) != TSW_OK) {
            stream_failed(child, stream, err.text);
            return;
        }
        if (size == 0)
            return;
        child->callbacks.frame(child->callbacks.user, child, type, body, body_size);
        tsw_buf_consume(&stream->in, size);
    }
    tsw_buf_clear(&stream->in);
}

static void close_stream(tsw_child_t *child, stream_t *stream)
{
    if (!stream->open)
        return;
    stream->open = false;
    uv_read_stop((uv_stream_t *)&stream->pipe);
    if (stream != &child->streams[STREAM_FRAMES])
        deliver_lines(child, stream, true);
}

static void give_read_buf(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    tsw_child_t *child = handle->data;
    *buf = uv_buf_init(child->read_buf, READ_SIZE);
}

static void have_read(uv_stream_t *uv_stream, ssize_t count, const uv_buf_t *buf)
{
    tsw_child_t *child = uv_stream->data;
    stream_t *stream = NULL;
    for (int i = 0; i < STREAM_COUNT; i++) {
        if ((uv_stream_t *)&child->streams[i].pipe == uv_stream)
            stream = &child->streams[i];
    }
    if (count < 0) {
        close_stream(child, stream);
        check_ended(child);
        return;
    }
    tsw_buf_append(&stream->in, buf->base, (size_t)count);
    if (!tsw_buf_ok(&stream->in))
        stream_failed(child, stream, "out of memory for its output");
    else if (stream == &child->streams[STREAM_FRAMES])
        deliver_frames(child, stream);
    else
        deliver_lines(child, stream, false);
}

static void grace_over(uv_timer_t *timer)
{
    tsw_child_t *child = timer->data;
    if (!child->grace_extended) {
        child->grace_extended = true;
        uv_timer_start(timer, grace_over, PIPE_GRACE_MS, 0);
        return;
    }
    for (int i = 0; i < STREAM_COUNT; i++)
        close_stream(child, &child->streams[i]);
    check_ended(child);
}

static void have_exited(uv_process_t *process, int64_t exit_status, int term_signal)
{
    tsw_child_t *child = process->data;
    child->running = false;
    child->end.exited = term_signal == 0;
    child->end.exit_code = (int)exit_status;
    child->end.signo = term_signal;
    /* What it started and left behind goes with it, also after a normal exit. */
    kill(-(pid_t)child->pid, SIGKILL);
    uv_timer_start(&child->grace, grace_over, PIPE_GRACE_MS, 0);
    check_ended(child);
}

static void deadline_passed(uv_timer_t *timer)
{
    tsw_child_t *child = timer->data;
    if (!child->silent && !child->ended)
        child->callbacks.deadline(child->callbacks.user, child);
}

static void init_handles(tsw_child_t *child)
{
    uv_loop_t *uv = &child->loop->uv;
    for (int i = 0; i < STREAM_COUNT; i++) {
        uv_pipe_init(uv, &child->streams[i].pipe, 0);
        child->streams[i].pipe.data = child;
    }
    uv_timer_init(uv, &child->deadline);
    uv_timer_init(uv, &child->grace);
    child->deadline.data = child;
    child->grace.data = child;
    child->process.data = child;
    child->open_handles = STREAM_COUNT + 3;
}

static int start_process(tsw_child_t *child, const char *path, char *const argv[],
                         char *const env[])
{
    uv_stdio_container_t stdio[4] = {{.flags = UV_IGNORE}};
    for (int i = 0; i < STREAM_COUNT; i++) {
        stdio[i + 1].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
        stdio[i + 1].data.stream = (uv_stream_t *)&child->streams[i].pipe;
    }
    stdio[TSW_CHANNEL_FD].flags |= UV_READABLE_PIPE;
    uv_process_options_t options = {
        .exit_cb = have_exited,
        .file = path,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 4,
        .stdio = stdio,
    };
    /* libuv's type lacks const; it does not write. */
    memcpy(&options.args, &argv, sizeof(options.args));
    memcpy(&options.env, &env, sizeof(options.env));
    return uv_spawn(&child->loop->uv, &child->process, &options);
}

tsw_status_t tsw_child_spawn(tsw_loop_t *loop, const char *path, char *const argv[],
                             char *const env[], const tsw_child_callbacks_t *callbacks,
                             tsw_child_t **child_p, tsw_err_t *err)
{
    tsw_child_t *child = tsw_calloc(1, sizeof(*child));
    if (child == NULL)
        return tsw_err_nomem(err);
    child->loop = loop;
    child->callbacks = *callbacks;
    child->next = loop->children;
    loop->children = child;
    init_handles(child);
    int rc = start_process(child, path, argv, env);
    if (rc != 0) {
        child->ended = true;
        close_all(child);
        return tsw_err_set_vendor(err, TSW_ERR_ENV, rc, "cannot start %s: %s", path,
                                  uv_strerror(rc));
    }
    child->pid = child->process.pid;
    child->running = true;
    loop->child_count++;
    for (int i = 0; i < STREAM_COUNT; i++) {
        child->streams[i].open = true;
        uv_read_start((uv_stream_t *)&child->streams[i].pipe, give_read_buf, have_read);
    }
    *child_p = child;
    return TSW_OK;
}

static void have_written(uv_write_t *request, int status)
{
    (void)status; /* a dead reader shows as the end of the child */
    write_t *write = (write_t *)request;
    tsw_buf_fini(&write->frame);
    tsw_free(write);
}

tsw_status_t tsw_child_send(tsw_child_t *child, uint32_t type, tsw_buf_t *body, tsw_err_t *err)
{
    write_t *write = tsw_calloc(1, sizeof(*write));
    if (write != NULL)
        tsw_frame_put(&write->frame, type, body);
    bool ok = write != NULL && tsw_buf_ok(body) && tsw_buf_ok(&write->frame);
    tsw_buf_fini(body);
    if (ok && !child->ended && child->streams[STREAM_FRAMES].open) {
        uv_buf_t buf = {.base = (char *)write->frame.data, .len = write->frame.size};
        if (uv_write(&write->request, (uv_stream_t *)&child->streams[STREAM_FRAMES].pipe, &buf, 1,
                     have_written) == 0)
            return TSW_OK;
    }
    if (write != NULL)
        tsw_buf_fini(&write->frame);
    tsw_free(write);
    return ok ? TSW_OK : tsw_err_nomem(err);
}

void tsw_child_set_deadline(tsw_child_t *child, double seconds)
{
    if (child->ended)
        return;
    uv_update_time(&child->loop->uv); /* a deadline counts from now */
    if (seconds <= 0)
        uv_timer_stop(&child->deadline);
    else
        uv_timer_start(&child->deadline, deadline_passed, (uint64_t)(seconds * 1e3), 0);
}

void tsw_child_kill(tsw_child_t *child)
{
    if (child->ended || !child->running)
        return;
    child->end.killed_by_us = true;
    kill(-(pid_t)child->pid, SIGKILL);
}

long tsw_child_pid(const tsw_child_t *child)
{
    return child->pid;
}

void tsw_child_silence(tsw_child_t *child)
{
    child->silent = true;
    tsw_child_kill(child);
}
