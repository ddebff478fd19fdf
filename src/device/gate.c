#include "device/gate.h"

#include <math.h>

/* By which the host may be slower than before, and a moment in which it does nothing. */
static const double slack = 1.5, pause_ns = 60000.0;

/* What the device does for a shot besides its launches: measured 3.9 us on an H200. */
static const double around_ns = 3000.0;

size_t tsw_gate_commands(const tsw_shot_t *shot)
{
    return 5 + (size_t)shot->repeat;
}

static double device_ns(const tsw_shot_t *shot)
{
    return shot->expected_ns > 0 ? around_ns + (double)shot->expected_ns : 0.0;
}

static double host_ns(const tsw_shot_t *shot, double command_ns)
{
    return slack * command_ns * (double)tsw_gate_commands(shot);
}

/* Two graphs: while one runs the next but one is queued. */
static size_t limit_of(const tsw_shot_t *shots, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (shots[i].graph != NULL)
            return i + 2;
    return count;
}

size_t tsw_gate_opens_after(const tsw_shot_t *shots, size_t count, double command_ns)
{
    double ahead_ns = 0.0, needed_ns = 0.0;
    const size_t limit = limit_of(shots, count);
    if (!(command_ns > 0.0))
        return limit;
    /* From the back: what must be in the stream before a shot, so that none behind it is late. */
    size_t first = count;
    for (size_t i = 0; i < count; i++)
        ahead_ns += device_ns(&shots[i]);
    while (first > 1) {
        const tsw_shot_t *shot = &shots[first - 1];
        ahead_ns -= device_ns(shot);
        needed_ns = host_ns(shot, command_ns) + fmax(needed_ns - device_ns(shot), 0.0);
        if (ahead_ns < needed_ns + pause_ns)
            break;
        first--;
    }
    return first < limit ? first : limit;
}
