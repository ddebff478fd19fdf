/* The gate before a wave: a kernel that waits for the host, so that the device finds a queue and
 * never waits in the middle of an interval. It need not stay closed until all is queued: once the
 * device has enough to do for the host to stay ahead of it, both work at the same time. Pure. */
#ifndef TSW_DEVICE_GATE_H
#define TSW_DEVICE_GATE_H

#include "device/device.h"

/* Commands in the stream that a shot takes, at most. */
size_t tsw_gate_commands(const tsw_shot_t *shot);

/* After how many of the shots the gate may open (1..count; count: when all are queued). The device
 * then has work for as long as the host needs to queue the next shot, and so on to the last, were
 * the host slower by half; and some to spare. command_ns: what the host needs for a command; 0: not
 * known, as are shots without expected_ns: all are queued first. No more than two shots with graphs
 * wait behind it, since only the driver knows how much of its queue they fill. */
size_t tsw_gate_opens_after(const tsw_shot_t *shots, size_t count, double command_ns);

#endif
