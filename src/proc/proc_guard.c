/* A process that outlives this one, to clean up after it. */
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool keep_private(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

/* Nothing of ours stays open in it but the channel; it closes the rest itself. */
static int start(const char *path, char *const argv[], int channel, pid_t *pid_p)
{
    posix_spawn_file_actions_t actions;
    int result = posix_spawn_file_actions_init(&actions);
    if (result != 0)
        return result;
    for (int fd = 0; result == 0 && fd <= 2; fd++)
        result = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    if (result == 0)
        result = posix_spawn_file_actions_adddup2(&actions, channel, TSW_CHANNEL_FD);
    if (result == 0)
        result = posix_spawn(pid_p, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

tsw_status_t tsw_guard_spawn(const char *path, char *const argv[], tsw_guard_t *guard_p,
                             tsw_err_t *err)
{
    int ends[2] = {-1, -1};
    pid_t pid = 0;
    int result = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return tsw_err_set(err, TSW_ERR_ENV, "socketpair: %s", strerror(errno));
    /* dup2 onto itself would leave it to be closed. */
    int channel = ends[1] == TSW_CHANNEL_FD ? dup(ends[1]) : ends[1];
    if (!keep_private(ends[0]) || !keep_private(ends[1]) || channel < 0 || !keep_private(channel))
        result = errno;
    if (result == 0)
        result = start(path, argv, channel, &pid);
    if (channel >= 0 && channel != ends[1])
        close(channel);
    close(ends[1]);
    if (result != 0) {
        close(ends[0]);
        return tsw_err_set(err, TSW_ERR_ENV, "cannot start %s: %s", path, strerror(result));
    }
    *guard_p = (tsw_guard_t){.pid = (long)pid, .fd = ends[0]};
    return TSW_OK;
}

/* Something to read, or the end: within so many ms. */
static bool await(int fd, int timeout_ms, short *events_p)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int count = 0;
    do
        count = poll(&poll_fd, 1, timeout_ms);
    while (count < 0 && errno == EINTR);
    *events_p = poll_fd.revents;
    return count > 0;
}

tsw_status_t tsw_guard_read(tsw_guard_t *guard, int timeout_ms, uint32_t *type_p, tsw_buf_t *body_p,
                            tsw_err_t *err)
{
    short events = 0;
    tsw_inbox_t in = TSW_INBOX_INIT;
    if (!await(guard->fd, timeout_ms, &events))
        return tsw_err_set(err, TSW_ERR_TIMEOUT, "no answer within %d s", timeout_ms / 1000);
    tsw_status_t status = tsw_channel_read(guard->fd, &in, type_p, body_p, err);
    tsw_inbox_fini(&in);
    return status;
}

bool tsw_guard_is_alive(const tsw_guard_t *guard)
{
    short events = 0;
    return !await(guard->fd, 0, &events) || (events & (POLLHUP | POLLERR)) == 0;
}

bool tsw_guard_end(tsw_guard_t *guard, int timeout_ms)
{
    int code = 0;
    short events = 0;
    shutdown(guard->fd, SHUT_WR);
    bool ended = await(guard->fd, timeout_ms, &events);
    close(guard->fd);
    pid_t pid = ended ? waitpid((pid_t)guard->pid, &code, 0) : -1;
    *guard = (tsw_guard_t)TSW_GUARD_NONE;
    return pid > 0 && WIFEXITED(code) && WEXITSTATUS(code) == 0;
}
