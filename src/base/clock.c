#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t tsw_clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t tsw_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void tsw_clock_sleep(uint64_t ns)
{
    uint64_t until = tsw_clock_now_ns() + ns;
    struct timespec t = {.tv_sec = (time_t)(until / 1000000000u),
                         .tv_nsec = (long)(until % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        continue;
}

void tsw_clock_nap(uint64_t *ns, uint64_t longest_ns)
{
    tsw_clock_sleep(*ns);
    *ns = *ns < longest_ns / 2 ? 2 * *ns : longest_ns;
}

char *tsw_clock_format_utc(uint64_t wall_ns, char out[32])
{
    time_t seconds = (time_t)(wall_ns / 1000000000u);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        memcpy(out, "?", 2);
    return out;
}
