/* Stopping early, in an orderly way. */
#include "run/run_state.h"

/* First what is finished goes to disk, before any message: there may be one second left. */
void tsw_run_drain(tsw_run_t *run)
{
    if (run->draining)
        return;
    run->draining = true;
    if (run->bye_sent) /* all is over but for the good-byes: nobody listens to more than those */
        return;
    tsw_run_seal(run);
    tsw_run_builds_stop(run);
    tsw_run_lane_abandon(run);
    tsw_run_seal(run);
    tsw_run_send_empty(run, 0, TSW_RANK_DRAIN);
}
