/* Child processes on a libuv loop: spawn, framed messages over one descriptor, deadlines, and the
 * end of a whole process group. All functions are local and belong to the loop's thread. */
#ifndef TSW_PROC_PROC_H
#define TSW_PROC_PROC_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define TSW_CHILD_LINE_MAX 4096 /* longer lines of a child arrive in pieces */
#define TSW_CHANNEL_FD     3    /* the frames' descriptor in a child */

typedef struct tsw_loop tsw_loop_t; /* the event loop of a rank */
typedef struct tsw_child tsw_child_t;

/* Ignores SIGPIPE for the whole process: a write to a dead child is seen as its end.
 * TSW_ERR_ENV, TSW_ERR_NOMEM. */
tsw_status_t tsw_loop_new(tsw_loop_t **loop_p, tsw_err_t *err);
/* Kills the children that are left, waits for them, and calls none of their callbacks. */
void tsw_loop_free(tsw_loop_t *loop);
/* Call fn after at most interval_ms again and again until it returns false; and after every event
 * of a child. TSW_ERR_BUG: libuv refuses the timer. */
typedef bool (*tsw_loop_tick_fn_t)(void *user);
tsw_status_t tsw_loop_run(tsw_loop_t *loop, uint32_t (*interval_ms)(void *user),
                          tsw_loop_tick_fn_t tick, void *user, tsw_err_t *err);
size_t tsw_loop_children(const tsw_loop_t *loop); /* that have not ended */

typedef struct {
    bool exited; /* else killed by signal */
    int exit_code;
    int signo;
    bool killed_by_us;
    bool bad_frames; /* it wrote something that is no frame of ours, and was killed for it */
} tsw_child_end_t;

/* None of them may be NULL. */
typedef struct {
    void *user;
    /* A whole frame from the child; body borrowed. */
    void (*frame)(void *user, tsw_child_t *child, uint32_t type, const uint8_t *body, size_t size);
    /* A line the child wrote to standard output or error (for the log), without newline. */
    void (*line)(void *user, tsw_child_t *child, const char *line);
    /* Exit and end of all its pipes were seen; its process group is dead. The child is freed after
     * this call. */
    void (*ended)(void *user, tsw_child_t *child, const tsw_child_end_t *end);
    /* The deadline passed; the callee decides (mostly tsw_child_kill). */
    void (*deadline)(void *user, tsw_child_t *child);
} tsw_child_callbacks_t;

/* path and argv (NULL-terminated); env NULL: inherited. Own session and process group, standard
 * input from /dev/null, output and errors to `line`, frames on descriptor 3 (a socket). libuv runs
 * nothing of ours between fork and exec, so a program of ours begins with tsw_child_begin and the
 * pid of its parent from argv: that closes the race with a parent that died meanwhile. Niceness
 * is the child's own affair too. TSW_ERR_ENV: path cannot be started. */
tsw_status_t tsw_child_spawn(tsw_loop_t *loop, const char *path, char *const argv[],
                             char *const env[], const tsw_child_callbacks_t *callbacks,
                             tsw_child_t **child_p, tsw_err_t *err);
/* Queue a frame; takes over *body (emptied, also on failure). Errors show as the end of the
 * child. */
tsw_status_t tsw_child_send(tsw_child_t *child, uint32_t type, tsw_buf_t *body, tsw_err_t *err);
/* From now; 0 switches it off. */
void tsw_child_set_deadline(tsw_child_t *child, double seconds);
void tsw_child_kill(tsw_child_t *child); /* KILL to the group */
long tsw_child_pid(const tsw_child_t *child);

/* Frames that were read and not yet taken, and maybe more in front of them. */
typedef struct {
    tsw_buf_t bytes;
    size_t taken; /* of them */
} tsw_inbox_t;
#define TSW_INBOX_INIT                                                                             \
    {                                                                                              \
        .taken = 0                                                                                 \
    }
void tsw_inbox_fini(tsw_inbox_t *inbox);

/* The child's side of descriptor 3: blocking. `in` holds what was read ahead between calls. *body_p
 * is replaced (caller's). TSW_ERR_PEER at end of file; TSW_ERR_CORRUPT, TSW_ERR_VERSION as
 * tsw_frame_next. */
tsw_status_t tsw_channel_read(int fd, tsw_inbox_t *in, uint32_t *type_p, tsw_buf_t *body_p,
                              tsw_err_t *err);
/* Looks at what tsw_channel_read is yet to yield, without waiting: the frame *at_p bytes behind
 * what was taken; *at_p moves behind it. Its body is borrowed until the next call with `in`. False:
 * it is not there as a whole, or damaged, or the other side is gone. */
bool tsw_channel_peek(int fd, tsw_inbox_t *in, size_t *at_p, uint32_t *type_p,
                      const uint8_t **body_p, size_t *size_p);
/* Whether tsw_channel_read would return at once, with a frame that `in` holds. */
bool tsw_channel_has(const tsw_inbox_t *in);
/* Frames that tsw_frame_put made; emptied, also on failure. TSW_ERR_PEER: the other side is gone.
 */
tsw_status_t tsw_channel_send(int fd, tsw_buf_t *frames, tsw_err_t *err);
/* One frame. */
tsw_status_t tsw_channel_write(int fd, uint32_t type, const tsw_buf_t *body, tsw_err_t *err);

/* A process that outlives this one, to clean up after it: nothing kills it with us, and its channel
 * (descriptor TSW_CHANNEL_FD there) ends whichever way we end. No child of a loop; one thread. */
typedef struct {
    long pid;
    int fd; /* our end of its channel; -1: none */
} tsw_guard_t;
#define TSW_GUARD_NONE                                                                             \
    {                                                                                              \
        .pid = 0, .fd = -1                                                                         \
    }

/* argv as in tsw_child_spawn; it begins with tsw_child_begin, death_signo -1. TSW_ERR_ENV. */
tsw_status_t tsw_guard_spawn(const char *path, char *const argv[], tsw_guard_t *guard_p,
                             tsw_err_t *err);
/* One frame, as tsw_channel_read; TSW_ERR_TIMEOUT. */
tsw_status_t tsw_guard_read(tsw_guard_t *guard, int timeout_ms, uint32_t *type_p, tsw_buf_t *body_p,
                            tsw_err_t *err);
bool tsw_guard_is_alive(const tsw_guard_t *guard);
/* Ends the channel and waits for its end; true when it exited with 0. *guard is none then. One that
 * takes longer is left to itself. */
bool tsw_guard_end(tsw_guard_t *guard, int timeout_ms);

#endif
