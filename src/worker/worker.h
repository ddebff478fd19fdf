/* The two processes that do what may crash, hang or be killed: a keeper that compiles one config,
 * and a worker that owns a GPU. Both talk to their rank over descriptor 3 (wire/child_msg.h) and
 * return the exit code of the process. */
#ifndef TSW_WORKER_WORKER_H
#define TSW_WORKER_WORKER_H

/* Reads one BUILD from fd, compiles, writes BUILT or FAILED. When the parent dies its whole process
 * group is killed. 0: it wrote BUILT. */
int tsw_worker_build(int fd);

/* Serves cells until fd ends (0), or until the device is lost or a launch timed out: then it writes
 * FAILED and is gone at once, without any cleanup that could hang. */
int tsw_worker_measure(int fd);

/* Holds the lock of a GPU's clock for its rank. */
int tsw_worker_clocks(int fd);

#endif
