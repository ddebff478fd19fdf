#include "record/calibration.h"

#include "record/roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below so many flops a byte a launch is bound by memory on every GPU that there is, in any type.
 */
static const double memory_bound_intensity = 4.0;

#define FIELD(_name, _meaning)                                                                     \
    {                                                                                              \
#_name, offsetof(tsw_calibration_values_t, _name), _meaning                                \
    }

static const tsw_calibration_field_t fields[] = {
    FIELD(timer_step_ns, "smallest difference between two intervals of the device's timer"),
    FIELD(empty_launch_ns, "interval around a kernel that does nothing"),
    FIELD(enqueue_ns, "time of the host to queue one launch"),
    FIELD(queue_depth, "launches that wait before the host must; 0: more than were tried"),
    FIELD(read_bytes, "bytes that the kernel of the next three reads"),
    FIELD(read_hot_ns, "the same bytes again and again"),
    FIELD(read_flushed_ns, "after a flush of the L2"),
    FIELD(read_rotated_ns, "other bytes each time, 3 x L2 in turn"),
    FIELD(paired_ratio, "one kernel against itself within rounds: median ratio less 1"),
    FIELD(paired_sigma, "spread of that ratio (1.4826 MAD)"),
    FIELD(window_ratio, "one kernel in two windows in a row: ratio of the medians less 1"),
    FIELD(idle_mhz, "SM clock when idle"),
    FIELD(steady_mhz, "SM clock under load"),
    FIELD(ramp_ns, "from the first launch to 98 % of the steady clock"),
    FIELD(copy_bytes_per_s, "bytes read plus bytes written by a copy within the device"),
    FIELD(f16_flops_per_s, "best f16 matmul"),
    FIELD(bf16_flops_per_s, "best bf16 matmul"),
    FIELD(e4m3_flops_per_s, "best e4m3 matmul"),
};
enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]) };

_Static_assert(sizeof(tsw_calibration_values_t) == FIELD_COUNT * sizeof(double), "every field");

const tsw_calibration_field_t *tsw_calibration_fields(size_t *count_p)
{
    *count_p = FIELD_COUNT;
    return fields;
}

double tsw_calibration_get(const tsw_calibration_values_t *values, size_t field)
{
    double value;
    memcpy(&value, (const char *)values + fields[field].offset, sizeof(value));
    return value;
}

void tsw_calibration_set(tsw_calibration_values_t *values, size_t field, double value)
{
    memcpy((char *)values + fields[field].offset, &value, sizeof(value));
}

tsw_calibration_values_t tsw_calibration_unknown(void)
{
    tsw_calibration_values_t values;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        tsw_calibration_set(&values, i, (double)NAN);
    return values;
}

void tsw_calibration_add_absent(tsw_calibration_t *calibration, const char *reason)
{
    const size_t size = sizeof(calibration->absent);
    const size_t used = strlen(calibration->absent);
    snprintf(calibration->absent + used, size - used, "%s%s", used > 0 ? "; " : "", reason);
}

void tsw_calibration_check(tsw_calibration_t *calibration)
{
    double *copy = &calibration->values.copy_bytes_per_s;
    const double nominal = tsw_roofline_memory_bytes_per_s(&calibration->gpu);
    char reason[128];
    if (isnan(*copy)) {
        tsw_calibration_add_absent(calibration, "copy: twice the bytes took no longer");
    } else if (nominal > 0 && *copy > 2 * nominal) {
        snprintf(reason, sizeof(reason), "copy: failed, %.4g GB/s where the device has %.4g",
                 *copy / 1e9, nominal / 1e9);
        tsw_calibration_add_absent(calibration, reason);
        *copy = (double)NAN;
    }
}

bool tsw_calibration_fits(const tsw_calibration_t *calibration, const tsw_gpu_t *gpu, bool exact)
{
    const tsw_gpu_t *own = &calibration->gpu;
    if (strcmp(own->mode, gpu->mode) != 0 || own->locked_mhz != gpu->locked_mhz)
        return false;
    return exact ? strcmp(own->uuid, gpu->uuid) == 0 : strcmp(own->name, gpu->name) == 0;
}

/* The rate for "dtype=f16 ..", NaN for a type without one. */
static double rate_of(const tsw_calibration_values_t *values, const char *variant)
{
    const struct {
        const char *word;
        double rate;
    } rates[] = {
        {"dtype=f16", values->f16_flops_per_s},
        {"dtype=bf16", values->bf16_flops_per_s},
        {"dtype=e4m3", values->e4m3_flops_per_s},
        {"dtype=e5m2", values->e4m3_flops_per_s},
    };
    const size_t length = strcspn(variant, " ");
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        if (strlen(rates[i].word) == length && memcmp(variant, rates[i].word, length) == 0)
            return rates[i].rate;
    return (double)NAN;
}

double tsw_calibration_roof_ns(const tsw_calibration_t *calibration, const char *variant,
                               double flops, double bytes)
{
    const tsw_calibration_values_t *values = &calibration->values;
    const double memory_ns = bytes / values->copy_bytes_per_s * 1e9;
    const double compute_ns = flops / rate_of(values, variant) * 1e9;
    if (!(memory_ns > 0) || !isfinite(memory_ns))
        return 0;
    if (isfinite(compute_ns))
        return compute_ns > memory_ns ? compute_ns : memory_ns;
    return flops <= memory_bound_intensity * bytes ? memory_ns : 0;
}
