/* What `calibrate` found out about one GPU, as plain data. */
#ifndef TSW_RECORD_CALIBRATION_H
#define TSW_RECORD_CALIBRATION_H

#include "record/record.h"

/* Every number is a double; NaN: not known. The fields are listed in calibration.c too, which is
 * all that files, messages and the docs are made from. */
typedef struct {
    /* The timer and the queue. */
    double timer_step_ns;   /* smallest difference seen between two intervals */
    double empty_launch_ns; /* interval around a kernel that does nothing */
    double enqueue_ns;      /* of the host, per launch */
    double queue_depth;     /* launches that wait before the host must; 0: more than were tried */
    /* One kernel that reads read_bytes, a part of the L2. */
    double read_bytes;
    double read_hot_ns, read_flushed_ns, read_rotated_ns;
    /* One config against itself. */
    double paired_ratio; /* median of the ratio within rounds, less 1 */
    double paired_sigma; /* spread of that ratio */
    double window_ratio; /* medians of two windows one after the other, their ratio less 1 */
    /* From idle to steady under load. */
    double idle_mhz, steady_mhz, ramp_ns;
    /* What can be achieved: bytes read and written, and dense products of matrices. */
    double copy_bytes_per_s;
    double f16_flops_per_s, bf16_flops_per_s, e4m3_flops_per_s;
} tsw_calibration_values_t;

typedef struct {
    tsw_gpu_t gpu;
    uint64_t wall_ns; /* since 1970 */
    tsw_calibration_values_t values;
    char absent[TSW_DETAIL_MAX]; /* which values are missing, and why; "" when none is */
} tsw_calibration_t;

typedef struct {
    const char *name;
    size_t offset; /* in tsw_calibration_values_t */
    const char *meaning;
} tsw_calibration_field_t;

/* Static; *count_p fields. */
const tsw_calibration_field_t *tsw_calibration_fields(size_t *count_p);
double tsw_calibration_get(const tsw_calibration_values_t *values, size_t field);
void tsw_calibration_set(tsw_calibration_values_t *values, size_t field, double value);
tsw_calibration_values_t tsw_calibration_unknown(void); /* all NaN */

/* One more reason why a value is missing, as far as there is room. */
void tsw_calibration_add_absent(tsw_calibration_t *calibration, const char *reason);
/* Takes out what cannot be, and says so in absent: no bandwidth of the copy, or more than twice the
 * nominal one of a device that is known. */
void tsw_calibration_check(tsw_calibration_t *calibration);

/* Whether it speaks for results of this device: the same UUID, or else the same name and mode; and
 * the same lock of the clock. */
bool tsw_calibration_fits(const tsw_calibration_t *calibration, const tsw_gpu_t *gpu, bool exact);

/* Time in ns that a launch needs at least by what was achieved: the copy's bandwidth for its bytes,
 * the products' rate for its flops. variant: "dtype=f16 ..". 0: not known, as for many flops in a
 * type whose rate was not measured. */
double tsw_calibration_roof_ns(const tsw_calibration_t *calibration, const char *variant,
                               double flops, double bytes);

#endif
