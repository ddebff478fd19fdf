/* For LD_PRELOAD: a file system without a lock service, as some clusters have. Every request for a
 * lock fails, and is told on standard error. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse(const char *what)
{
    const char text[] = "no_locks: ";
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)!write(STDERR_FILENO, what, strlen(what));
    (void)!write(STDERR_FILENO, "\n", 1);
    errno = ENOLCK;
    return -1;
}

int flock(int fd, int operation)
{
    (void)fd;
    (void)operation;
    return refuse("flock");
}

int lockf(int fd, int command, off_t length)
{
    (void)fd;
    (void)command;
    (void)length;
    return refuse("lockf");
}

static int control(int fd, int command, long argument)
{
    switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return refuse("fcntl");
    default:
        return (int)syscall(SYS_fcntl, fd, command, argument);
    }
}

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    return control(fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    return control(fd, command, argument);
}
