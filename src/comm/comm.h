/* Ranks and typed messages between them: MPI when a launcher started us, one rank otherwise. */
#ifndef TSW_COMM_COMM_H
#define TSW_COMM_COMM_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

typedef struct tsw_comm tsw_comm_t;

/* MPI_Init_thread when OMPI_/PMIX_/PMI_ is in the environment, else the single body. More
 * SLURM_NTASKS than ranks: TSW_ERR_ENV. Collective. */
tsw_status_t tsw_comm_open(tsw_comm_t **comm_p, tsw_err_t *err);
/* Collective: all file work must be over. */
void tsw_comm_close(tsw_comm_t *comm);
_Noreturn void tsw_comm_abort(tsw_comm_t *comm, int exit_code); /* ends the whole job */

int tsw_comm_rank(const tsw_comm_t *comm);
int tsw_comm_size(const tsw_comm_t *comm);
int tsw_comm_node_rank(const tsw_comm_t *comm); /* among the ranks of this machine */
int tsw_comm_node(const tsw_comm_t *comm);      /* number of this machine, 0.. */

/* Collective. Rank 0's bytes to all. */
tsw_status_t tsw_comm_bcast(tsw_comm_t *comm, tsw_buf_t *bytes, tsw_err_t *err);
/* Collective. all: size comm_size on rank 0 (untouched elsewhere), in order of ranks. */
tsw_status_t tsw_comm_gather(tsw_comm_t *comm, const tsw_buf_t *mine, tsw_buf_t *all,
                             tsw_err_t *err);
/* Collective. The worst status of all (the lowest rank's, with its text on every rank). */
tsw_status_t tsw_comm_agree(tsw_comm_t *comm, tsw_status_t mine, tsw_err_t *err);

/* Queue a frame (wire/wire.h) for rank `to` (also to oneself); never blocks. Takes over *frame. */
tsw_status_t tsw_comm_send(tsw_comm_t *comm, int to, tsw_buf_t *frame, tsw_err_t *err);
/* One whole frame if there is one: true, its sender and bytes (caller's, tsw_buf_fini). Also makes
 * progress on sends. */
bool tsw_comm_poll(tsw_comm_t *comm, int *from_p, tsw_buf_t *frame_p, tsw_status_t *status_p,
                   tsw_err_t *err);
bool tsw_comm_sends_pending(tsw_comm_t *comm);

#endif
