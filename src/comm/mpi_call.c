/* Calls of MPI. */
#include "comm/mpi_body.h"

tsw_mpi_comm_t *tsw_mpi_body(tsw_comm_t *comm)
{
    return (tsw_mpi_comm_t *)comm;
}

tsw_status_t tsw_mpi_check(int rc, const char *call, tsw_err_t *err)
{
    if (rc == MPI_SUCCESS)
        return TSW_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(rc, text, &length);
    return tsw_err_set_vendor(err, TSW_ERR_PEER, rc, "%s: %s", call, text);
}

size_t tsw_mpi_piece(const tsw_mpi_comm_t *mpi, size_t left)
{
    return left < mpi->base.chunk_bytes ? left : mpi->base.chunk_bytes;
}
