/* tilesweep-worker build|measure|clocks PARENT_PID: started by tilesweep, never by hand. */
#include "base/linux.h"
#include "base/log.h"
#include "base/text.h"
#include "proc/proc.h"
#include "worker/worker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE  2
#define EXIT_ORPHAN 3
#define BUILD_NICE  10

/* A keeper outlives its parent by the time to take its compilers along. */
static void kill_group(int signo)
{
    (void)signo;
    kill(0, SIGKILL);
}

int main(int argc, char **argv)
{
    int64_t parent = 0;
    bool build = argc == 3 && strcmp(argv[1], "build") == 0;
    bool measure = argc == 3 && strcmp(argv[1], "measure") == 0;
    bool clocks = argc == 3 && strcmp(argv[1], "clocks") == 0;
    if ((!build && !measure && !clocks) || !tsw_text_parse_i64(argv[2], &parent)) {
        fprintf(stderr, "tilesweep-worker is started by tilesweep; there is no other use for it\n");
        return EXIT_USAGE;
    }
    if (build)
        signal(SIGPWR, kill_group);
    if (!tsw_child_begin((long)parent, clocks ? -1 : build ? SIGPWR : SIGKILL, TSW_CHANNEL_FD + 1))
        return EXIT_ORPHAN;
    if (clocks) {
        setsid(); /* who kills the group of its parent does not kill it */
        return tsw_worker_clocks(TSW_CHANNEL_FD);
    }
    tsw_log_setup(TSW_LOG_INFO, -1, build ? "build" : "measure");
    if (measure) {
        tsw_process_prompt();
        return tsw_worker_measure(TSW_CHANNEL_FD);
    }
    tsw_process_nice(BUILD_NICE);
    return tsw_worker_build(TSW_CHANNEL_FD);
}
