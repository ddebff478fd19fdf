/* From readings of a counter that moves in steps, the mean power of what runs meanwhile: over a
 * time that begins and ends at a step, so that the steps' size does not matter. A reading sees a
 * step late by less than the time since the one before: such gaps at both ends are to be at most 1
 * % of the time, unless that took over 2 s. Pure. Private to device. */
#ifndef TSW_DEVICE_ENERGY_WINDOW_H
#define TSW_DEVICE_ENERGY_WINDOW_H

#include "device/device.h"

typedef enum {
    TSW_ENERGY_RUNNING, /* more readings are wanted */
    TSW_ENERGY_DONE,
    TSW_ENERGY_BROKEN, /* the counter went back, or stood still for 2 s */
} tsw_energy_step_t;

/* All zero: not begun. */
typedef struct {
    bool has_begun, is_open;
    uint64_t begin_ns;             /* of the first reading */
    uint64_t read_ns;              /* of the last one */
    uint64_t first_gap_ns;         /* before the reading that opened it */
    uint64_t first_ns, first_mj;   /* the step that opened it */
    uint64_t newest_ns, newest_mj; /* the last step */
} tsw_energy_window_t;

/* A reading, in order of time. The first 100 ms are a run-up: the power follows the load late. */
tsw_energy_step_t tsw_energy_window_add(tsw_energy_window_t *window, uint64_t now_ns, uint64_t mj);
/* Once it is done; else 0. */
double tsw_energy_window_watts(const tsw_energy_window_t *window);
/* What so many launches took, which ran for so long. */
tsw_energy_t tsw_energy_of(const tsw_energy_window_t *window, uint64_t launches,
                           uint64_t interval_ns);

#endif
