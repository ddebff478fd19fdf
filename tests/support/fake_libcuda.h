/* A CUDA driver without a GPU, as a shared library: the real cuda body runs against it. "Device"
 * memory is host memory, the tool's kernels are run by their host twins, time is a counter.
 *
 * An image is "fake", or "fake:KIND" for a kernel that behaves so whatever its entry is called:
 *     fake_write     (uint8 *out, uint64 bytes): sets every byte to 1
 *     fake_half      the same for the first half only
 *     fake_overrun   the same and one byte more
 *     fake_nan       the last two bytes are 0x7e00, a NaN of f16
 *     fake_near      the last byte but one is 2
 *     fake_add       (const uint8 *in, uint8 *out, uint64 bytes): out = in + 1
 *     fake_dirty     the same, and in is changed
 *     fake_reverse   out = in + 1 from the other end: not fit for in-place use
 *     fake_symmetric the same values as fake_reverse, fit for it
 *     fake_grow      (uint8 *out, uint64 bytes): sets every byte that is not 1 to 1, others to 0x44
 *     fake_hang      never ends
 *     fake_lost      error 719, and all calls fail from then on
 *     fake_refused   cuLaunchKernel returns 701
 * TSW_LIBNVML may point here too. */
#ifndef TSW_TESTS_FAKE_LIBCUDA_H
#define TSW_TESTS_FAKE_LIBCUDA_H

/* Back to the start: no failure planned, nothing lost, counters zero. */
void fake_cuda_reset(void);
/* The n-th call from now of a function (1: the next) returns result. */
void fake_cuda_fail(const char *function, int n, int result);
/* Number of GPUs; 1 after a reset. */
void fake_cuda_set_devices(int count);
/* From the n-th reading of NVML's energy counter on (1: the next) it counts from 0 again; 0:
 * never. It grows by 1 J with each. */
void fake_cuda_reset_energy(int n);
/* The first so many queries of an event, each time that it was recorded, find it not ready. */
void fake_cuda_lag(int queries);
/* Memsets of twice the L2 leave it as it is. */
void fake_cuda_never_flush(void);

typedef struct {
    int contexts, streams, events, modules, memories, host_memories; /* alive now */
    int graphs;         /* alive now, also as they are launched */
    int graph_moves;    /* kernels of graphs that got other parameters */
    int late_moves;     /* of them, when the last command was to record an event */
    int graph_launches; /* each with all its kernels */
    int launches;       /* of kernels that are not the tool's */
    int flushes;        /* memsets of twice the L2 (4 KiB) to zero */
    int fills;          /* of the tool */
    int fills_behind;   /* queued while the last query found something not ready */
    int profilers;      /* starts minus stops */
    int most_queued;    /* commands since the last query, at most */
    int gates;
    int held;        /* commands that were queued behind the last gate before it was open */
    int held_graphs; /* of them, launches of graphs */
    int gate_waits;  /* queries while a gate was closed: nothing would come of them */
} fake_cuda_counts_t;

void fake_cuda_counts(fake_cuda_counts_t *counts_p);

#endif
