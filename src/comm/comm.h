/* Ranks and typed messages between them: MPI when a launcher started us, one rank otherwise. */
#ifndef TSW_COMM_COMM_H
#define TSW_COMM_COMM_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

typedef struct tsw_comm tsw_comm_t;

/* MPI when a launcher shows in the environment (OMPI_COMM_WORLD_SIZE, PMIX_RANK, PMI_RANK..), else
 * the single body. SLURM_NTASKS > 1 while this rank is alone, or a launcher without MPI in this
 * build: TSW_ERR_ENV. Once per process. Collective. */
tsw_status_t tsw_comm_open(tsw_comm_t **comm_p, tsw_err_t *err);
/* Collective: all file work must be over. Frames still under way are dropped. NULL is fine. */
void tsw_comm_close(tsw_comm_t *comm);
_Noreturn void tsw_comm_abort(tsw_comm_t *comm, int exit_code); /* ends the whole job */

/* "Open MPI v4.1.4", or "none (one rank only)" in a build without MPI; returns out. Before or after
 * open. */
char *tsw_comm_library(char out[96]);

int tsw_comm_rank(const tsw_comm_t *comm);
int tsw_comm_size(const tsw_comm_t *comm);
int tsw_comm_node_rank(const tsw_comm_t *comm); /* among the ranks of this machine */

/* Collective, as are the next three. Rank 0's bytes to all, instead of what they had; untouched on
 * failure. TSW_ERR_NOMEM on all ranks when one has no memory, TSW_ERR_PEER when MPI fails. */
tsw_status_t tsw_comm_bcast(tsw_comm_t *comm, tsw_buf_t *bytes, tsw_err_t *err);
/* all: comm_size empty buffers on rank 0, filled in order of ranks; not used elsewhere (may be
 * NULL). Statuses as bcast. */
tsw_status_t tsw_comm_gather(tsw_comm_t *comm, const tsw_buf_t *mine, tsw_buf_t *all,
                             tsw_err_t *err);
/* *numbers_p (tsw_free): on rank 0 the count numbers of each rank, in order of ranks; elsewhere
 * none. count: above 0, the same on all ranks. Statuses as bcast. */
tsw_status_t tsw_comm_gather_numbers(tsw_comm_t *comm, const uint64_t *mine, size_t count,
                                     uint64_t **numbers_p, tsw_err_t *err);
/* The status of the lowest rank that has not TSW_OK, with its text in err on every rank; TSW_OK
 * when all have. err: that of mine when it failed. */
tsw_status_t tsw_comm_agree(tsw_comm_t *comm, tsw_status_t mine, tsw_err_t *err);

/* Queue a frame (wire/wire.h; here opaque bytes) for rank `to` (also to oneself); never blocks.
 * Takes over *frame (emptied). Frames to one rank arrive in order. TSW_ERR_BUG: no such rank;
 * TSW_ERR_NOMEM, also for a frame that failed; TSW_ERR_PEER. */
tsw_status_t tsw_comm_send(tsw_comm_t *comm, int to, tsw_buf_t *frame, tsw_err_t *err);
/* One whole frame if there is one: true, its sender and bytes (caller's, tsw_buf_fini). Also makes
 * progress on sends. false and *status_p: TSW_OK when there is none now, else what failed. */
bool tsw_comm_poll(tsw_comm_t *comm, int *from_p, tsw_buf_t *frame_p, tsw_status_t *status_p,
                   tsw_err_t *err);
/* Frames that have not been met by their receiver, or wait for oneself. */
bool tsw_comm_sends_pending(tsw_comm_t *comm);

#endif
