/* The one file that needs more than POSIX. */
#ifndef TSW_BASE_LINUX_H
#define TSW_BASE_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSW_CPU_MAX   1024
#define TSW_CPU_WORDS (TSW_CPU_MAX / 64)

typedef struct {
    uint64_t words[TSW_CPU_WORDS]; /* bit n of word n / 64: core n */
} tsw_cpus_t;

void tsw_cpus_of_process(tsw_cpus_t *cpus_p); /* affinity mask of this process */
int tsw_cpus_count(const tsw_cpus_t *cpus);
void tsw_cpus_merge(tsw_cpus_t *into, const tsw_cpus_t *from);
int tsw_cpus_online(void); /* cores of the machine */

/* Name of this node (gethostname, first label), at most size - 1 characters. */
void tsw_node_name(char *out, size_t size);

/* Opens /dev/null in place of each of the descriptors 0, 1 and 2 that the caller of this program
 * closed, so that no file or pipe of ours gets its number. False: it cannot be opened. */
bool tsw_process_open_standard(void);

/* Lower this process's priority, and that of what it starts, by 0..19. */
void tsw_process_nice(int by);

/* Naps of this thread end on time, not up to 50 us later, when the kernel has gathered some. */
void tsw_process_prompt(void);

/* No core file of this process, and SIGXCPU after so many seconds of CPU time, KILL 2 s later (0:
 * no limit). A limit that cannot be set is left as it was. May be called between fork and exec. */
void tsw_process_limit(uint64_t cpu_s);

/* First acts of every child: die (KILL, or death_signo; -1: do not) with the parent whose pid is
 * given, ignore the signals that launchers send to whole jobs (USR1 USR2 TERM INT HUP), close all
 * descriptors from first_fd on. Returns false when the parent is gone already: then exit at once.
 */
bool tsw_child_begin(long parent_pid, int death_signo, int first_fd);

/* The file behind all links of a path; heap. NULL: there is none, or no memory. */
char *tsw_path_real(const char *path);

#endif
