/* CUPTI, opened at run time with our own prototypes: when kernels ran as the profiler's hardware
 * sees it. Private to device. */
#ifndef TSW_DEVICE_CUPTI_H
#define TSW_DEVICE_CUPTI_H

#include "device/device.h"

typedef struct tsw_cupti tsw_cupti_t;

/* libcupti.so.13 or .12, or the file that TSW_LIBCUPTI names. TSW_ERR_ENV: it is absent, or lacks
 * something. It slows launches from its first use on. */
tsw_status_t tsw_cupti_open(tsw_cupti_t **cupti_p, tsw_err_t *err);
void tsw_cupti_close(tsw_cupti_t *cupti); /* NULL is fine */
/* Kernels that run between the two are seen; the caller has waited for the last. One at a time in a
 * process: its callbacks know no owner. *spans_p: of each, by their starts, heap. TSW_ERR_DEVICE.
 */
tsw_status_t tsw_cupti_begin(tsw_cupti_t *cupti, tsw_err_t *err);
tsw_status_t tsw_cupti_end(tsw_cupti_t *cupti, tsw_span_t **spans_p, size_t *count_p,
                           tsw_err_t *err);

#endif
