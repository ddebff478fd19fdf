#define _GNU_SOURCE
#include "base/linux.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPU_GRACE_S 2 /* between SIGXCPU and SIGKILL */

void tsw_cpus_of_process(tsw_cpus_t *cpus_p)
{
    *cpus_p = (tsw_cpus_t){0};
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        cpus_p->words[0] = 1;
        return;
    }
    for (unsigned i = 0; i < TSW_CPU_MAX && i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &set))
            cpus_p->words[i / 64] |= (uint64_t)1 << (i % 64);
    }
}

int tsw_cpus_count(const tsw_cpus_t *cpus)
{
    int count = 0;
    for (size_t i = 0; i < TSW_CPU_WORDS; i++)
        count += __builtin_popcountll(cpus->words[i]);
    return count;
}

void tsw_cpus_merge(tsw_cpus_t *into, const tsw_cpus_t *from)
{
    for (size_t i = 0; i < TSW_CPU_WORDS; i++)
        into->words[i] |= from->words[i];
}

int tsw_cpus_online(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

void tsw_node_name(char *out, size_t size)
{
    if (size == 0)
        return;
    if (gethostname(out, size) != 0)
        snprintf(out, size, "unknown");
    out[size - 1] = '\0';
    char *dot = strchr(out, '.');
    if (dot != NULL)
        *dot = '\0';
}

bool tsw_process_open_standard(void)
{
    int fd = -1;
    do
        fd = open("/dev/null", O_RDWR); /* takes the lowest number that is free */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

void tsw_process_nice(int by)
{
    (void)!nice(by); /* at worst it competes as before */
}

static void close_from(int first_fd)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first_fd, ~0u, 0u) == 0)
        return;
#endif
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return;
    int own = dirfd(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        int fd = atoi(entry->d_name);
        if (fd >= first_fd && fd != own)
            close(fd);
    }
    closedir(dir);
}

static void limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit old;
    if (getrlimit(resource, &old) != 0)
        return;
    if (old.rlim_max != RLIM_INFINITY && hard > old.rlim_max)
        hard = old.rlim_max;
    struct rlimit wanted = {.rlim_cur = soft < hard ? soft : hard, .rlim_max = hard};
    setrlimit(resource, &wanted);
}

void tsw_process_prompt(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
}

void tsw_process_limit(uint64_t cpu_s)
{
    limit(RLIMIT_CORE, 0, 0);
    if (cpu_s > 0)
        limit(RLIMIT_CPU, cpu_s, cpu_s + CPU_GRACE_S);
}

bool tsw_child_begin(long parent_pid, int death_signo, int first_fd)
{
    const int signo = death_signo != 0 ? death_signo : SIGKILL;
    prctl(PR_SET_PDEATHSIG, signo > 0 ? signo : 0);
    if ((long)getppid() != parent_pid)
        return false;
    static const int ignored[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
    close_from(first_fd);
    return true;
}

char *tsw_path_real(const char *path)
{
    char *found = realpath(path, NULL);
    char *copy = found != NULL ? tsw_strdup(found) : NULL;
    free(found); /* of the C library */
    return copy;
}
