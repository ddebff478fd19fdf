/* One cell on one device: allocate and fill, run the reference, verify each config once, then all
 * configs in interleaved shuffled rounds. Used by the measure worker. */
#ifndef TSW_MEASURE_MEASURE_H
#define TSW_MEASURE_MEASURE_H

#include "device/device.h"
#include "measure/watch.h"
#include "pack/job.h"
#include "record/timer_check.h"

typedef struct tsw_measure tsw_measure_t; /* the cell in hand */

typedef struct {
    const tsw_variant_t *variant; /* borrowed until _end */
    tsw_arch_t arch;
    int64_t dims[TSW_DIM_MAX];
    tsw_key_t cell_key;
    tsw_policy_t policy;
    double flops, bytes;
    uint32_t locked_mhz;         /* of the SM clock; 0: free */
    int64_t max_tile;            /* largest tile value among the configs: width of the fences */
    const void *reference_cubin; /* borrowed during _begin */
    size_t reference_size;
    /* Bytes for dataset fills, one per argument of the pack, borrowed until _end; NULL: none. */
    const void *const *fill_data;
    const size_t *fill_sizes;
    tsw_watch_t *watch; /* borrowed until _end; NULL: one of its own */
    tsw_eval_t *eval;   /* the same: it knows the expressions of cells before */
} tsw_measure_cell_t;

typedef struct {
    uint32_t index;
    tsw_config_t config;
    const void *cubin; /* borrowed during _add */
    size_t size;
    tsw_build_facts_t facts;
    bool verified; /* known good: load only */
    const uint64_t *recorded_ns;
    size_t recorded_count;
} tsw_measure_config_t;

#define TSW_MEASURE_BUSY_NONE      (-1)
#define TSW_MEASURE_BUSY_REFERENCE (-2)

/* What measure tells while it works; all calls come from within its functions. */
typedef struct {
    void *user;
    /* A config changed state: verified (ok) or ended. fatal: the process must go afterwards. */
    void (*config_state)(void *user, uint32_t index, tsw_outcome_t outcome, const char *detail,
                         const tsw_verify_facts_t *verify);
    /* About to run config index, or one of TSW_MEASURE_BUSY_*, so that a death can be blamed. */
    void (*busy)(void *user, int32_t index);
    void (*round)(void *user, const tsw_round_t *round, const uint32_t *indices,
                  const tsw_sample_t *samples, size_t count);
    /* The device is busy and the host is not: false when there is nothing to do for it. It may
     * load kernels. NULL: there never is. */
    bool (*idle)(void *user);
    /* Only for tsw_measure_check_timer. */
    void (*timer)(void *user, const tsw_timer_check_t *check);
} tsw_measure_sink_t;

/* TSW_ERR_DEVICE_MEMORY when the buffers do not fit; TSW_ERR_INPUT or TSW_ERR_OVERFLOW when an
 * argument or the reference kernel is bad. Other statuses as the device port's. Protocol fixed runs
 * no reference and verifies nothing. */
tsw_status_t tsw_measure_begin(tsw_device_t *dev, const tsw_measure_cell_t *cell,
                               const tsw_measure_sink_t *sink, tsw_measure_t **measure_p,
                               tsw_err_t *err);
/* For the cell that comes next, while a wave of another runs: takes a little memory, and queues
 * what fills it behind the wave. Nothing waits. Needs an eval of its own. NULL:
 * that is not possible, and the cell begins like any other. */
tsw_measure_t *tsw_measure_prepare(tsw_device_t *dev, const tsw_measure_cell_t *cell);
/* As _begin, once the cell before has ended. cell: the same, whose pointers may be others by now.
 * Ends it on failure. */
tsw_status_t tsw_measure_begin_prepared(tsw_measure_t *measure, const tsw_measure_cell_t *cell,
                                        const tsw_measure_sink_t *sink, tsw_err_t *err);
/* Load and verify one config; the outcome goes to the sink (a config that was verified before is
 * launched once and tells only a failure). A status other than TSW_OK means that the process must
 * go (context lost, time-out) or host memory ran out. */
tsw_status_t tsw_measure_add(tsw_measure_t *measure, const tsw_measure_config_t *config,
                             tsw_err_t *err);
/* The warm-up rounds, then the rounds over the configs that are ok, from first_round on (rounds are
 * counted within their stage); then every config's last launch is verified, and the in-place check
 * made for inout arguments. A failure goes to the sink, also for a config that has samples. */
tsw_status_t tsw_measure_time(tsw_measure_t *measure, uint32_t first_round, tsw_err_t *err);
/* After _time, for the baseline and the pick, or both of two configs: our timer against CUPTI's. No
 * times may be taken in this process afterwards. TSW_ERR_ENV: no CUPTI. Others as the device
 * port's.
 */
tsw_status_t tsw_measure_check_timer(tsw_measure_t *measure, tsw_err_t *err);
/* After _time: the config that the protocol chose, -1: none; and why it left each. */
int32_t tsw_measure_pick(const tsw_measure_t *measure);
size_t tsw_measure_config_count(const tsw_measure_t *measure);
tsw_fate_t tsw_measure_fate(const tsw_measure_t *measure, size_t at, uint32_t *index_p);
/* Of the watch, since its account was taken. */
uint64_t tsw_measure_busy_ns(const tsw_measure_t *measure);
uint64_t tsw_measure_peak_bytes(const tsw_measure_t *measure);
void tsw_measure_end(tsw_measure_t *measure);

#endif
