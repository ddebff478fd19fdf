/* The port to a device: what measure needs, and no more. Bodies: cuda, sim, replay. All functions
 * are local, for one thread. Statuses: TSW_ERR_DEVICE (this call failed, the context lives),
 * TSW_ERR_DEVICE_LOST (sticky: the process must go), TSW_ERR_TIMEOUT (a launch did not end in
 * time: the process must go), TSW_ERR_DEVICE_MEMORY. */
#ifndef TSW_DEVICE_DEVICE_H
#define TSW_DEVICE_DEVICE_H

#include "pack/pack.h"
#include "record/record.h"
#include "space/space.h"

typedef struct tsw_device tsw_device_t;
typedef struct tsw_kernel tsw_kernel_t; /* a loaded entry */
typedef struct tsw_graph tsw_graph_t;   /* many launches as one command */

/* Device memory with fences: usable bytes between two guards of fence_bytes at least. The first
 * usable byte is aligned to 256 bytes or the fence's own power of two; the back fence starts right
 * behind the last usable byte. */
typedef struct {
    uint64_t address; /* of the first usable byte; virtual for sim */
    uint64_t bytes;
    uint64_t fence_bytes;
    uint64_t base, total; /* the whole allocation */
} tsw_memory_t;

/* Dependent loads of a small buffer, each: while the L2 holds it, and after a flush. */
typedef struct {
    double hot_ns, cold_ns;
} tsw_flush_proof_t;

/* Stretches of poison within one memory, all alike. */
typedef struct {
    uint64_t offset; /* of the first one, from the start of the usable bytes */
    uint64_t bytes;  /* of each */
    uint64_t period; /* from one to the next, a multiple of 8 */
    uint64_t count;
} tsw_gaps_t;

#define TSW_PARAM_MAX 32

/* A launch, ready to go: kernel parameters by value. */
typedef struct {
    const tsw_kernel_t *kernel;
    tsw_geometry_t geometry;
    uint64_t params[TSW_PARAM_MAX]; /* each parameter's bytes, little-endian, at its start */
    uint32_t param_count;
    uint32_t config_index; /* for sim and replay: whose time this is */
} tsw_launch_t;

/* One timed interval: `repeat` launches of one config, in turn over a ring of buffer sets. */
typedef struct {
    const tsw_launch_t *launches; /* one per set, alike but for the pointers */
    uint32_t set_count;
    uint32_t first_set;   /* of the first launch */
    uint32_t repeat;      /* launches in the interval, at least 1 */
    tsw_graph_t *graph;   /* made for such a shot; NULL: launched one by one */
    bool flush;           /* overwrite the L2 before the interval */
    uint64_t expected_ns; /* what the interval takes at least, about; 0: not known */
} tsw_shot_t;

/* What sim needs to tell the time of a kernel, and replay to find its samples. */
typedef struct {
    double flops, bytes;
    tsw_dtype_t dtype;
    tsw_key_t cell_key;
    tsw_key_t config_key;    /* all zero: the reference */
    const char *config_text; /* canonical; NULL: the reference; borrowed until unload */
    tsw_build_facts_t facts;
    const uint64_t *recorded_ns; /* replay: samples of this config; borrowed until unload */
    size_t recorded_count;
} tsw_kernel_model_t;

typedef struct {
    uint64_t elements, mismatches, nans, unwritten;
    uint64_t first_bad; /* element index, valid when mismatches > 0 */
    double max_abs, max_rel;
} tsw_compare_t;

/* What became of a memory. */
typedef struct {
    const tsw_memory_t *memory;
    bool with_sum; /* of the contents too */
    /* What the contents are compared with, as compare does; NULL: with nothing. */
    const tsw_memory_t *want;
    tsw_dtype_t dtype;
    uint64_t elements;
    double atol, rtol;
    uint64_t damaged;      /* out, as check_fences says */
    int64_t first;         /* out, the same */
    uint64_t sum;          /* out, as checksum says; untouched without with_sum */
    tsw_compare_t compare; /* out; untouched without want */
} tsw_inspection_t;

typedef struct {
    uint32_t sm_clock_mhz, mem_clock_mhz;
    float power_w, temperature_celsius;
    uint64_t throttle_reasons;
    uint32_t max_sm_clock_mhz; /* the highest possible */
    uint64_t read_ns;          /* when, as now_ns */
} tsw_telemetry_t;

/* What became of the GPU since the look before, and who else is on it. Zero where it cannot be
 * seen. */
typedef struct {
    uint32_t foreign_processes;              /* that compute on it, besides this one */
    uint32_t ecc_corrected, ecc_uncorrected; /* new errors */
    uint32_t xid; /* of the driver's error log: the first new fatal one, else the last; 0: none */
    bool is_gone; /* it does not answer any more */
} tsw_health_t;

/* Of launches back to back. */
typedef struct {
    uint32_t energy_mj; /* 0: the counter stood still, or went back */
    uint32_t launches;
    uint64_t interval_ns; /* of them all */
} tsw_energy_t;

/* What runs beside the shots of a wave. */
typedef struct {
    /* Runs first, untimed: the place behind it is like any other. NULL: the shots and nothing else
     * run on the device, for profilers. */
    const tsw_shot_t *lead;
    double timeout_s; /* for each shot */
    /* Called while the device is busy with shots and the host is not, until it has nothing to do
     * (false). It may load kernels. NULL: nothing. */
    bool (*idle)(void *user);
    void *user;
    uint32_t round;     /* of the first shot, seeds sim's noise */
    uint32_t per_round; /* shots; 0: all are of one */
} tsw_wave_plan_t;

/* When a kernel ran, on a clock of the device's. */
typedef struct {
    uint64_t start_ns, end_ns;
} tsw_span_t;

typedef struct tsw_device_ops {
    const char *name;
    void (*close)(tsw_device_t *dev);
    const tsw_gpu_t *(*gpu)(const tsw_device_t *dev);
    /* The tool's own kernels (fill, compare, canary) for this arch; once, before the rest. */
    tsw_status_t (*load_tool)(tsw_device_t *dev, const void *cubin, size_t size, tsw_err_t *err);
    /* A trivial kernel runs and yields the right number. */
    tsw_status_t (*canary)(tsw_device_t *dev, tsw_err_t *err);
    tsw_status_t (*memory_new)(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                               tsw_memory_t *memory_p, tsw_err_t *err);
    void (*memory_free)(tsw_device_t *dev, tsw_memory_t *memory);
    /* The same for a cell that comes after the one in hand, while that runs: it takes little, and
     * waits for nothing. TSW_ERR_DEVICE_MEMORY: it had better be taken when the cell begins. */
    tsw_status_t (*memory_ahead)(tsw_device_t *dev, uint64_t bytes, uint64_t fence_bytes,
                                 tsw_memory_t *memory_p, tsw_err_t *err);
    /* Fill `elements` of dtype, seeded; lo/hi: evaluated bounds of index-like fills. Data: bytes
     * of a dataset fill. May return once it is queued, as copy. */
    tsw_status_t (*fill)(tsw_device_t *dev, const tsw_memory_t *memory, tsw_dtype_t dtype,
                         uint64_t elements, const tsw_fill_t *fill, int64_t lo, int64_t hi,
                         uint64_t seed, const void *data, size_t data_size, tsw_err_t *err);
    /* Usable bytes and fences to the poison pattern / fences only. */
    tsw_status_t (*poison)(tsw_device_t *dev, const tsw_memory_t *memory, bool fences_only,
                           tsw_err_t *err);
    /* Returns once it is queued: what comes after it on the device waits for it, the host does
     * not. */
    tsw_status_t (*copy)(tsw_device_t *dev, const tsw_memory_t *to, const tsw_memory_t *from,
                         tsw_err_t *err);
    /* *damaged_p: bytes of the fences that changed; *first_p: offset of the first of them from
     * the start of the usable bytes (negative: before). */
    tsw_status_t (*check_fences)(tsw_device_t *dev, const tsw_memory_t *memory, uint64_t *damaged_p,
                                 int64_t *first_p, tsw_err_t *err);
    /* *damaged_p: bytes of these gaps that changed. */
    tsw_status_t (*check_gaps)(tsw_device_t *dev, const tsw_memory_t *memory,
                               const tsw_gaps_t *gaps, uint64_t *damaged_p, tsw_err_t *err);
    tsw_status_t (*compare)(tsw_device_t *dev, const tsw_memory_t *got, const tsw_memory_t *want,
                            tsw_dtype_t dtype, uint64_t elements, double atol, double rtol,
                            tsw_compare_t *compare_p, tsw_err_t *err);
    /* Key of the contents: inputs must stay unchanged. */
    tsw_status_t (*checksum)(tsw_device_t *dev, const tsw_memory_t *memory, uint64_t *sum_p,
                             tsw_err_t *err);
    /* Fences and contents of many memories, in one go; those without bytes and fences are whole. */
    tsw_status_t (*inspect)(tsw_device_t *dev, tsw_inspection_t *items, size_t count,
                            tsw_err_t *err);
    tsw_status_t (*kernel_load)(tsw_device_t *dev, const void *cubin, size_t size,
                                const char *entry, const tsw_kernel_model_t *model,
                                tsw_kernel_t **kernel_p, tsw_err_t *err);
    void (*kernel_unload)(tsw_device_t *dev, tsw_kernel_t *kernel);
    /* Launch and wait; TSW_ERR_TIMEOUT after timeout_s. */
    tsw_status_t (*run)(tsw_device_t *dev, const tsw_launch_t *launch, double timeout_s,
                        tsw_err_t *err);
    /* The shot's launches made into one command: for it, and for shots with another first_set. */
    tsw_status_t (*graph_new)(tsw_device_t *dev, const tsw_shot_t *shot, tsw_graph_t **graph_p,
                              tsw_err_t *err);
    void (*graph_free)(tsw_device_t *dev, tsw_graph_t *graph); /* NULL is fine */
    /* One wave: each shot once, in this order, each timed by itself. interval_ns[i] for shots[i],
     * the whole interval, 0 when the timer did not move; *finished_p shots ended: on an error
     * shots[*finished_p] is the culprit. Behind a lead every kernel must have run before: a first
     * launch may wait for the device, and so for its own queue. */
    tsw_status_t (*wave)(tsw_device_t *dev, const tsw_shot_t *shots, size_t count,
                         const tsw_wave_plan_t *plan, uint64_t *interval_ns, size_t *finished_p,
                         tsw_err_t *err);
    /* Launches behind one that waits for the host: *depth_p are queued before a call blocks, 0 when
     * `tried` did not; *enqueue_ns_p is what the host needs for each. */
    tsw_status_t (*queue_depth)(tsw_device_t *dev, const tsw_launch_t *launch, uint32_t tried,
                                uint32_t *depth_p, double *enqueue_ns_p, tsw_err_t *err);
    /* What a flush of the L2 does; measured once. */
    tsw_status_t (*prove_flush)(tsw_device_t *dev, tsw_flush_proof_t *proof_p, tsw_err_t *err);
    /* The reading nearest to the middle of that time (as now_ns), from within it if there is one;
     * never waits. There is one about every 20 ms. Zero when nothing can be read. */
    void (*telemetry)(tsw_device_t *dev, uint64_t from_ns, uint64_t to_ns,
                      tsw_telemetry_t *telemetry_p);
    /* Up to the last look, at most 250 ms ago; never waits. `now`: up to this moment, and waits for
     * that. What happened is told once. */
    void (*health)(tsw_device_t *dev, bool now, tsw_health_t *health_p);
    /* CUPTI's word on when kernels ran: whether it can be had (TSW_ERR_ENV), and the launches of
     * all shots of the one wave in between, in their order, heap; not those of its lead. It slows
     * launches from the first trace_begin on. */
    tsw_status_t (*trace_find)(tsw_device_t *dev, tsw_err_t *err);
    tsw_status_t (*trace_begin)(tsw_device_t *dev, tsw_err_t *err);
    tsw_status_t (*trace_end)(tsw_device_t *dev, tsw_span_t **spans_p, size_t *count_p,
                              tsw_err_t *err);
    /* Whether the GPU counts the energy that it takes: TSW_ERR_ENV says what is missing. */
    tsw_status_t (*energy_find)(tsw_device_t *dev, tsw_err_t *err);
    /* The shot again and again, its sets in turn and without any flush, until the counter tells the
     * power: for 0.6 s at least, timeout_s for each. round seeds sim's noise. TSW_ERR_DEVICE_UNFIT:
     * the counter was lost. */
    tsw_status_t (*energy)(tsw_device_t *dev, const tsw_shot_t *shot, uint32_t round,
                           double timeout_s, tsw_energy_t *energy_p, tsw_err_t *err);
    uint64_t (*now_ns)(const tsw_device_t *dev); /* host clock; virtual time for sim */
    tsw_status_t (*profiler)(tsw_device_t *dev, bool on, tsw_err_t *err);
} tsw_device_ops_t;

/* Bodies embed this at their start. */
struct tsw_device {
    const tsw_device_ops_t *ops;
};

typedef struct {
    char kind[16];            /* "cuda", "sim", "replay" */
    int place;                /* cuda: among the visible ones, around and around */
    char model[32];           /* sim: "h200"; replay: model or "" */
    uint32_t id;              /* sim: virtual GPU id, seeds its effects */
    char node[TSW_NAME_SIZE]; /* sim: seeds its effects */
    uint64_t seed;
    uint32_t arch;  /* replay */
    char *scenario; /* sim: text of a scenario of faults; NULL: none */
} tsw_device_spec_t;

/* TSW_ERR_ENV: no driver, no such device, with what is missing. */
tsw_status_t tsw_device_open(const tsw_device_spec_t *spec, tsw_device_t **dev_p, tsw_err_t *err);
void tsw_device_close(tsw_device_t *dev);

/* Pure. After some errors nothing that the GPU computes can be trusted: the reason in words. */
bool tsw_health_is_unfit(const tsw_health_t *health, char *reason, size_t size);
bool tsw_xid_is_fatal(uint32_t xid);

/* The lock of a GPU's SM clock, without a context, until it is given back: whoever takes it must
 * see to that. Statuses as tsw_nvml_lock has them: TSW_ERR_ARG names the nearest clock, TSW_ERR_ENV
 * what is missing. */
typedef struct tsw_clocks tsw_clocks_t;
tsw_status_t tsw_clocks_lock(const char *uuid, uint32_t mhz, tsw_clocks_t **clocks_p,
                             tsw_err_t *err);
tsw_status_t tsw_clocks_unlock(tsw_clocks_t *clocks, tsw_err_t *err); /* frees, whatever happens */

/* Names and archs of the sim models: "a100" "l40s" "h100" "h200" "b200" "rtx5090". */
bool tsw_sim_arch(const char *model, tsw_arch_t *arch_p);
void tsw_sim_models(const char *const **names_p, size_t *count_p);

/* Devices of this machine without a context (NVML, or the driver API), for `devices` and binding.
 * TSW_OK with *count_p == 0 and a text in *missing_p (heap) says what is missing. */
tsw_status_t tsw_device_list(tsw_gpu_t **gpus_p, size_t *count_p, char **missing_p, tsw_err_t *err);

/* Source of the tool's own device kernels, plain CUDA C++, for the tool build. */
const char *tsw_tool_source(void);
extern const char tsw_tool_entry[]; /* one of its symbols, for the cubin reader */

#endif
