/* One child process, run to its end: the compilers that this module starts. */
#ifndef TSW_BUILD_PROCESS_H
#define TSW_BUILD_PROCESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *path;
    char *const *argv;     /* NULL-terminated */
    char *const *env;      /* NULL-terminated, the whole environment */
    const char *dir;       /* working folder; NULL: the caller's */
    int output_fd;         /* gets standard output and standard error */
    double cpu_limit_s;    /* soft RLIMIT_CPU of the child and of all it starts, each; 0: none. The
                              hard one is two seconds later. */
    double wall_limit_s;   /* then it is killed, with what it started; 0: none */
    uint64_t output_limit; /* largest file, in bytes, that it can write; 0: any */
} tsw_process_t;

typedef struct {
    bool exited; /* else killed by signo */
    int exit_code;
    int signo;
    uint64_t cpu_ns; /* user and system, of the child and of all that it waited for */
    uint64_t wall_ns;
} tsw_process_end_t;

/* Start, in the caller's process group (with a wall_limit_s: in its own), and wait. The child dies
 * with its parent, ignores the signals that launchers send to jobs, has no standard input and no
 * descriptor but 0, 1 and 2, and leaves no core file. Local; the caller must not reap other
 * children meanwhile. TSW_ERR_ENV: it could not be started, with the path and the reason;
 * TSW_ERR_TIMEOUT: killed after wall_limit_s; TSW_ERR_IO: no pipe or no process. */
tsw_status_t tsw_process_run(const tsw_process_t *process, tsw_process_end_t *end_p,
                             tsw_err_t *err);

#endif
