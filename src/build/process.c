#include "build/process.h"

#include "base/clock.h"
#include "base/linux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ERROR_FD    3 /* where the child tells that it could not exec */
#define NAP_NS      1000000u
#define NAP_LAST_NS 20000000u

static void limit_files(uint64_t bytes)
{
    const struct rlimit wanted = {bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &wanted);
}

/* The child until exec; never returns. */
static _Noreturn void become(const tsw_process_t *process, long parent, int error_fd)
{
    int null = open("/dev/null", O_RDONLY);
    bool ok = null >= 0 && dup2(null, 0) >= 0 && dup2(process->output_fd, 1) >= 0 &&
              dup2(process->output_fd, 2) >= 0 &&
              (error_fd == ERROR_FD || dup2(error_fd, ERROR_FD) >= 0) &&
              fcntl(ERROR_FD, F_SETFD, FD_CLOEXEC) == 0;
    if (!ok || !tsw_child_begin(parent, SIGKILL, ERROR_FD + 1))
        _exit(127);
    signal(SIGXCPU, SIG_DFL);
    if (process->wall_limit_s > 0)
        setpgid(0, 0);
    if (process->output_limit > 0)
        limit_files(process->output_limit);
    tsw_process_limit((uint64_t)(process->cpu_limit_s + 0.999));
    if (process->dir == NULL || chdir(process->dir) == 0)
        execve(process->path, process->argv, process->env);
    int reason = errno;
    ssize_t written = write(ERROR_FD, &reason, sizeof(reason));
    _exit(written == (ssize_t)sizeof(reason) ? 127 : 126);
}

static uint64_t children_cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return 0;
    uint64_t s = (uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec;
    uint64_t us = (uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec;
    return s * 1000000000u + us * 1000u;
}

static bool wait_for(pid_t pid, int *state_p)
{
    pid_t got = -1;
    do {
        got = waitpid(pid, state_p, 0);
    } while (got < 0 && errno == EINTR);
    return got == pid;
}

/* Whether it has ended, or cannot be waited for, before the time is over. It is not reaped here. */
static bool ends_within(pid_t pid, double limit_s)
{
    const uint64_t end_ns = tsw_clock_now_ns() + (uint64_t)(limit_s * 1e9);
    uint64_t nap_ns = NAP_NS;
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR)
            return true;
        if (info.si_pid == pid)
            return true;
        if (tsw_clock_now_ns() >= end_ns)
            return false;
        tsw_clock_nap(&nap_ns, NAP_LAST_NS);
    }
}

/* Its group may not be there yet. */
static void kill_all(pid_t pid)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
}

/* The errno of a failed exec, or 0: the pipe closed because the exec worked. */
static int exec_error(int fd)
{
    int reason = 0;
    ssize_t n = -1;
    do {
        n = read(fd, &reason, sizeof(reason));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(reason) ? reason : 0;
}

static tsw_status_t watch(const tsw_process_t *process, pid_t pid, int error_fd,
                          tsw_process_end_t *end_p, tsw_err_t *err)
{
    uint64_t start_ns = tsw_clock_now_ns();
    uint64_t start_cpu_ns = children_cpu_ns();
    bool late = process->wall_limit_s > 0 && !ends_within(pid, process->wall_limit_s);
    int state = 0;
    if (late)
        kill_all(pid);
    int reason = exec_error(error_fd);
    if (!wait_for(pid, &state))
        return tsw_err_set_vendor(err, TSW_ERR_IO, errno, "cannot wait for %s: %s", process->path,
                                  strerror(errno));
    if (reason != 0)
        return tsw_err_set_vendor(err, TSW_ERR_ENV, reason, "cannot start %s: %s", process->path,
                                  strerror(reason));
    if (late)
        return tsw_err_set(err, TSW_ERR_TIMEOUT, "%s has not ended after %g s", process->path,
                           process->wall_limit_s);
    *end_p = (tsw_process_end_t){
        .exited = WIFEXITED(state),
        .exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 0,
        .signo = WIFSIGNALED(state) ? WTERMSIG(state) : 0,
        .cpu_ns = children_cpu_ns() - start_cpu_ns,
        .wall_ns = tsw_clock_now_ns() - start_ns,
    };
    return TSW_OK;
}

tsw_status_t tsw_process_run(const tsw_process_t *process, tsw_process_end_t *end_p, tsw_err_t *err)
{
    int pipe_fds[2];
    if (pipe(pipe_fds) != 0)
        return tsw_err_set_vendor(err, TSW_ERR_IO, errno, "cannot make a pipe: %s",
                                  strerror(errno));
    long parent = (long)getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(process, parent, pipe_fds[1]);
    int reason = errno;
    close(pipe_fds[1]);
    tsw_status_t status = TSW_OK;
    if (pid < 0)
        status = tsw_err_set_vendor(err, TSW_ERR_IO, reason, "cannot fork: %s", strerror(reason));
    else
        status = watch(process, pid, pipe_fds[0], end_p, err);
    close(pipe_fds[0]);
    return status;
}
