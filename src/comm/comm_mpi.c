/* Many ranks over MPI (MPI-3.1 calls only). */
#include "base/mem.h"
#include "comm/mpi_body.h"

#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)1 << 30) /* counts of MPI are ints */

static void mpi_close(tsw_comm_t *comm)
{
    tsw_mpi_comm_t *mpi = tsw_mpi_body(comm);
    tsw_mpi_settle(mpi);
    MPI_Comm_free(&mpi->frames);
    MPI_Comm_free(&mpi->collective);
    tsw_mpi_frames_fini(mpi);
    tsw_free(mpi);
    MPI_Finalize();
}

static void mpi_abort(tsw_comm_t *comm, int exit_code)
{
    MPI_Abort(tsw_mpi_body(comm)->collective, exit_code);
}

static const tsw_comm_ops_t mpi_ops = {
    .close = mpi_close,
    .abort = mpi_abort,
    .bcast = tsw_mpi_bcast,
    .gather = tsw_mpi_gather,
    .agree = tsw_mpi_agree,
    .send = tsw_mpi_send,
    .poll = tsw_mpi_poll,
    .sends_pending = tsw_mpi_sends_pending,
};

static tsw_status_t duplicate_world(MPI_Comm *comm_p, tsw_err_t *err)
{
    tsw_status_t status = tsw_mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, comm_p), "MPI_Comm_dup", err);
    if (status == TSW_OK)
        status = tsw_mpi_check(MPI_Comm_set_errhandler(*comm_p, MPI_ERRORS_RETURN),
                               "MPI_Comm_set_errhandler", err);
    return status;
}

static tsw_status_t find_node_rank(tsw_mpi_comm_t *mpi, tsw_err_t *err)
{
    MPI_Comm machine = MPI_COMM_NULL;
    tsw_status_t status =
        tsw_mpi_check(MPI_Comm_split_type(mpi->collective, MPI_COMM_TYPE_SHARED, mpi->base.rank,
                                          MPI_INFO_NULL, &machine),
                      "MPI_Comm_split_type", err);
    if (status != TSW_OK)
        return status;
    MPI_Comm_rank(machine, &mpi->base.node_rank);
    MPI_Comm_free(&machine);
    return TSW_OK;
}

static tsw_status_t set_up(tsw_mpi_comm_t *mpi, tsw_err_t *err)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tsw_status_t status = duplicate_world(&mpi->frames, err);
    if (status == TSW_OK)
        status = duplicate_world(&mpi->collective, err);
    if (status != TSW_OK)
        return status;
    MPI_Comm_rank(mpi->collective, &mpi->base.rank);
    MPI_Comm_size(mpi->collective, &mpi->base.size);
    return find_node_rank(mpi, err);
}

void tsw_comm_mpi_library(char out[96])
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0'; /* the rest tells who packaged it */
    snprintf(out, 96, "%.95s", text);
}

tsw_status_t tsw_comm_mpi_open(tsw_comm_t **comm_p, tsw_err_t *err)
{
    tsw_mpi_comm_t *mpi = tsw_calloc(1, sizeof(*mpi));
    if (mpi == NULL)
        return tsw_err_nomem(err);
    *mpi = (tsw_mpi_comm_t){.base = {.ops = &mpi_ops, .chunk_bytes = CHUNK_BYTES},
                            .frames = MPI_COMM_NULL,
                            .collective = MPI_COMM_NULL};
    int provided = 0;
    tsw_status_t status = tsw_mpi_frames_init(mpi, err);
    if (status == TSW_OK)
        status = tsw_mpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided),
                               "MPI_Init_thread", err);
    if (status == TSW_OK)
        status = set_up(mpi, err);
    if (status == TSW_OK) {
        *comm_p = &mpi->base;
    } else { /* MPI itself is beyond repair: the caller ends the process */
        tsw_mpi_frames_fini(mpi);
        tsw_free(mpi);
    }
    return status;
}
