#include "device/energy_window.h"

#include <math.h>

static const uint64_t runup_ns = 100000000, least_ns = 500000000, enough_ns = 2000000000;
static const uint64_t longest_step_ns = 2000000000;
static const uint64_t gap_share = 100;

tsw_energy_step_t tsw_energy_window_add(tsw_energy_window_t *window, uint64_t now_ns, uint64_t mj)
{
    if (!window->has_begun) {
        *window = (tsw_energy_window_t){.has_begun = true,
                                        .begin_ns = now_ns,
                                        .read_ns = now_ns,
                                        .newest_ns = now_ns,
                                        .newest_mj = mj};
        return TSW_ENERGY_RUNNING;
    }
    uint64_t gap_ns = now_ns - window->read_ns;
    window->read_ns = now_ns;
    if (mj < window->newest_mj || now_ns - window->newest_ns > longest_step_ns) {
        window->is_open = false;
        return TSW_ENERGY_BROKEN;
    }
    if (mj == window->newest_mj)
        return TSW_ENERGY_RUNNING;
    window->newest_ns = now_ns;
    window->newest_mj = mj;
    if (!window->is_open && now_ns - window->begin_ns >= runup_ns) {
        window->is_open = true;
        window->first_ns = now_ns;
        window->first_mj = mj;
        window->first_gap_ns = gap_ns;
    }
    uint64_t ns = window->is_open ? now_ns - window->first_ns : 0;
    bool is_sharp = ns >= gap_share * (window->first_gap_ns + gap_ns);
    bool is_done = ns >= enough_ns || (ns >= least_ns && is_sharp);
    return is_done ? TSW_ENERGY_DONE : TSW_ENERGY_RUNNING;
}

double tsw_energy_window_watts(const tsw_energy_window_t *window)
{
    uint64_t ns = window->newest_ns - window->first_ns;
    if (!window->is_open || ns < least_ns)
        return 0.0;
    return 1e6 * (double)(window->newest_mj - window->first_mj) / (double)ns;
}

tsw_energy_t tsw_energy_of(const tsw_energy_window_t *window, uint64_t launches,
                           uint64_t interval_ns)
{
    double mj = tsw_energy_window_watts(window) * (double)interval_ns * 1e-6;
    return (tsw_energy_t){
        .energy_mj = mj < UINT32_MAX ? (uint32_t)llround(mj) : 0,
        .launches = launches < UINT32_MAX ? (uint32_t)launches : UINT32_MAX,
        .interval_ns = interval_ns,
    };
}
