/* A child with bad manners for the tests of proc: proc_helper MODE PARENT_PID. */
#include "base/linux.h"
#include "proc/proc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int echo(void)
{
    tsw_inbox_t in = TSW_INBOX_INIT;
    tsw_buf_t body = TSW_BUF_INIT;
    uint32_t type = 0;
    while (tsw_channel_read(TSW_CHANNEL_FD, &in, &type, &body, NULL) == TSW_OK && type != 99)
        tsw_channel_write(TSW_CHANNEL_FD, type, &body, NULL);
    tsw_inbox_fini(&in);
    tsw_buf_fini(&body);
    return type == 99 ? 7 : 1;
}

static void send_text(uint32_t type, const char *text)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_buf_append_text(&body, text);
    tsw_channel_write(TSW_CHANNEL_FD, type, &body, NULL);
    tsw_buf_fini(&body);
}

static _Noreturn void hang(void)
{
    send_text(1, "hanging");
    for (;;)
        pause();
}

static int ignore_signals(void)
{
    raise(SIGTERM);
    raise(SIGUSR1);
    raise(SIGINT);
    raise(SIGHUP);
    send_text(1, "alive");
    return 0;
}

static int leave_grandchild(bool escape)
{
    int ready[2];
    if (pipe(ready) != 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        if (escape)
            setsid();
        alarm(60);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    char byte = 0;
    (void)!read(ready[0], &byte, 1);
    char text[32];
    snprintf(text, sizeof(text), "%ld", (long)pid);
    send_text(1, text);
    return 0;
}

static int flood(void)
{
    char block[1000];
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 1000; i++)
        fwrite(block, 1, sizeof(block), stdout);
    fprintf(stderr, "short\n\nunfinished");
    return 0;
}

static _Noreturn void garbage(void)
{
    static const char bytes[64] = "this is no frame of ours, not in the least, and never will be";
    (void)!write(TSW_CHANNEL_FD, bytes, sizeof(bytes));
    hang();
}

static int half_frame(void)
{
    tsw_buf_t body = TSW_BUF_INIT;
    send_text(1, "whole");
    (void)!write(TSW_CHANNEL_FD, "TSW1", 4);
    tsw_buf_fini(&body);
    return 0;
}

static int report_descriptors(void)
{
    char text[64];
    snprintf(text, sizeof(text), "stdin %zd open %d leader %d", read(0, text, 1),
             dup2(TSW_CHANNEL_FD + 1, TSW_CHANNEL_FD + 2) >= 0, getpid() == getsid(0));
    send_text(1, text);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 || !tsw_child_begin(atol(argv[2]), SIGKILL, TSW_CHANNEL_FD + 1))
        return 99;
    const char *mode = argv[1];
    if (strcmp(mode, "echo") == 0)
        return echo();
    if (strcmp(mode, "die") == 0)
        raise(SIGKILL);
    if (strcmp(mode, "hang") == 0)
        hang();
    if (strcmp(mode, "signals") == 0)
        return ignore_signals();
    if (strcmp(mode, "grandchild") == 0)
        return leave_grandchild(false);
    if (strcmp(mode, "escape") == 0)
        return leave_grandchild(true);
    if (strcmp(mode, "flood") == 0)
        return flood();
    if (strcmp(mode, "garbage") == 0)
        garbage();
    if (strcmp(mode, "half") == 0)
        return half_frame();
    if (strcmp(mode, "descriptors") == 0)
        return report_descriptors();
    return 98;
}
