/* What the bodies of comm share: one table of functions each. Internal to comm. */
#ifndef TSW_COMM_COMM_BODY_H
#define TSW_COMM_COMM_BODY_H

#include "comm/comm.h"

/* As the functions of comm.h; send is never called for the rank itself, poll has no inbox. */
typedef struct {
    void (*close)(tsw_comm_t *comm);
    void (*abort)(tsw_comm_t *comm, int exit_code);
    tsw_status_t (*bcast)(tsw_comm_t *comm, tsw_buf_t *bytes, tsw_err_t *err);
    tsw_status_t (*gather)(tsw_comm_t *comm, const tsw_buf_t *mine, tsw_buf_t *all, tsw_err_t *err);
    tsw_status_t (*agree)(tsw_comm_t *comm, tsw_status_t mine, tsw_err_t *err);
    tsw_status_t (*send)(tsw_comm_t *comm, int to, tsw_buf_t *frame, tsw_err_t *err);
    bool (*poll)(tsw_comm_t *comm, int *from_p, tsw_buf_t *frame_p, tsw_status_t *status_p,
                 tsw_err_t *err);
    bool (*sends_pending)(tsw_comm_t *comm);
} tsw_comm_ops_t;

/* The first member of each body. */
struct tsw_comm {
    const tsw_comm_ops_t *ops;
    int rank, size;
    int node_rank;    /* among the ranks of this machine */
    tsw_buf_t *inbox; /* frames to oneself, in order */
    size_t inbox_count, inbox_capacity;
    bool inbox_is_next; /* poll looks at both sides in turn */
    size_t chunk_bytes; /* of one message; larger frames travel in pieces */
};

/* TSW_ERR_NOMEM. */
tsw_status_t tsw_comm_single_open(tsw_comm_t **comm_p, tsw_err_t *err);
/* Collective. Only with TSW_WITH_MPI. TSW_ERR_PEER: MPI does not start; TSW_ERR_NOMEM. */
tsw_status_t tsw_comm_mpi_open(tsw_comm_t **comm_p, tsw_err_t *err);

/* Name and version of the MPI library. Only with TSW_WITH_MPI. */
void tsw_comm_mpi_library(char out[96]);

#endif
