/* The body of comm over MPI, and what its parts do for each other. Internal to comm. Two
 * communicators of our own: frames travel on one, collectives on the other, so that polling for any
 * frame never meets a collective. */
#ifndef TSW_COMM_MPI_BODY_H
#define TSW_COMM_MPI_BODY_H

#include "comm/comm_body.h"

#include <mpi.h>

/* The naps between two looks at MPI (tsw_clock_nap). */
#define TSW_MPI_NAP_FIRST_NS 10000u
#define TSW_MPI_NAP_LAST_NS  2000000u

typedef struct tsw_mpi_departure tsw_mpi_departure_t;
typedef struct tsw_mpi_arrival tsw_mpi_arrival_t;

typedef struct {
    tsw_comm_t base;
    MPI_Comm frames;
    MPI_Comm collective;
    tsw_mpi_departure_t **departures; /* frames on their way */
    size_t departure_count, departure_capacity;
    size_t next_test;            /* of departures */
    tsw_mpi_arrival_t *arrivals; /* in the order in which they were met */
    size_t arrival_count;
} tsw_mpi_comm_t;

/* ---- mpi_call.c ---- */

tsw_mpi_comm_t *tsw_mpi_body(tsw_comm_t *comm);
/* TSW_ERR_PEER, with MPI's words, unless rc is MPI_SUCCESS. */
tsw_status_t tsw_mpi_check(int rc, const char *call, tsw_err_t *err);
/* Bytes of the next message when so many are left. */
size_t tsw_mpi_piece(const tsw_mpi_comm_t *mpi, size_t left);

/* ---- mpi_collective.c: entries of the table ---- */

tsw_status_t tsw_mpi_bcast(tsw_comm_t *comm, tsw_buf_t *bytes, tsw_err_t *err);
tsw_status_t tsw_mpi_gather(tsw_comm_t *comm, const tsw_buf_t *mine, tsw_buf_t *all,
                            tsw_err_t *err);
tsw_status_t tsw_mpi_agree(tsw_comm_t *comm, tsw_status_t mine, tsw_err_t *err);

/* ---- mpi_frames.c: entries of the table, and their life ---- */

tsw_status_t tsw_mpi_send(tsw_comm_t *comm, int to, tsw_buf_t *frame, tsw_err_t *err);
bool tsw_mpi_poll(tsw_comm_t *comm, int *from_p, tsw_buf_t *frame_p, tsw_status_t *status_p,
                  tsw_err_t *err);
bool tsw_mpi_sends_pending(tsw_comm_t *comm);

/* Local. TSW_ERR_NOMEM. */
tsw_status_t tsw_mpi_frames_init(tsw_mpi_comm_t *mpi, tsw_err_t *err);
void tsw_mpi_frames_fini(tsw_mpi_comm_t *mpi);
/* Collective. Nothing may be under way at MPI_Finalize. A rank enters the barrier once all it sent
 * has been received; it goes on receiving until all have entered: then nothing is left to
 * receive. */
void tsw_mpi_settle(tsw_mpi_comm_t *mpi);

#endif
