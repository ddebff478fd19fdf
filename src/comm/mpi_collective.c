/* Collectives over MPI, of any size and without a rank that waits at full load. */
#include "base/clock.h"
#include "base/mem.h"
#include "comm/mpi_body.h"

#include <stdio.h>
#include <string.h>

#define PIECE_TAG 1 /* of a gather: the only messages on this communicator */

/* Until all ranks are here. MPI's own calls wait at full load, and the slowest rank may share a
 * core with those that wait for it: it may read a toolchain, or reduce a sweep for minutes. */
static tsw_status_t meet(tsw_mpi_comm_t *mpi, tsw_err_t *err)
{
    MPI_Request barrier = MPI_REQUEST_NULL;
    int done = 0;
    uint64_t nap_ns = TSW_MPI_NAP_FIRST_NS;
    tsw_status_t status =
        tsw_mpi_check(MPI_Ibarrier(mpi->collective, &barrier), "MPI_Ibarrier", err);
    while (status == TSW_OK) {
        status = tsw_mpi_check(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "MPI_Test", err);
        if (done)
            break;
        tsw_clock_nap(&nap_ns, TSW_MPI_NAP_LAST_NS);
    }
    return status;
}

/* Collective. Whether all are ok. */
static tsw_status_t all_ok(tsw_mpi_comm_t *mpi, bool ok, tsw_err_t *err)
{
    int mine = ok;
    int all = 0;
    tsw_status_t status = tsw_mpi_check(
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, mpi->collective), "MPI_Allreduce", err);
    if (status == TSW_OK && !all)
        status = tsw_err_set(err, TSW_ERR_NOMEM, "out of host memory on some rank");
    return status;
}

tsw_status_t tsw_mpi_bcast(tsw_comm_t *comm, tsw_buf_t *bytes, tsw_err_t *err)
{
    tsw_mpi_comm_t *mpi = tsw_mpi_body(comm);
    bool is_root = comm->rank == 0;
    uint64_t size = is_root ? bytes->size : 0;
    tsw_status_t status = meet(mpi, err);
    if (status == TSW_OK)
        status =
            tsw_mpi_check(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, mpi->collective), "MPI_Bcast", err);
    if (status != TSW_OK)
        return status;
    tsw_buf_t got = TSW_BUF_INIT;
    uint8_t *data = is_root ? bytes->data : tsw_buf_extend(&got, size);
    status = all_ok(mpi, is_root ? tsw_buf_ok(bytes) : data != NULL, err);
    for (size_t at = 0; at < size && status == TSW_OK;) {
        size_t piece = tsw_mpi_piece(mpi, size - at);
        status = tsw_mpi_check(MPI_Bcast(data + at, (int)piece, MPI_BYTE, 0, mpi->collective),
                               "MPI_Bcast", err);
        at += piece;
    }
    if (status == TSW_OK && !is_root) {
        tsw_buf_fini(bytes);
        *bytes = got;
    } else {
        tsw_buf_fini(&got);
    }
    return status;
}

static tsw_status_t send_pieces(tsw_mpi_comm_t *mpi, const tsw_buf_t *bytes, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t at = 0; at < bytes->size && status == TSW_OK;) {
        size_t piece = tsw_mpi_piece(mpi, bytes->size - at);
        status = tsw_mpi_check(
            MPI_Send(bytes->data + at, (int)piece, MPI_BYTE, 0, PIECE_TAG, mpi->collective),
            "MPI_Send", err);
        at += piece;
    }
    return status;
}

static tsw_status_t receive_pieces(tsw_mpi_comm_t *mpi, int from, tsw_buf_t *bytes, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t at = 0; at < bytes->size && status == TSW_OK;) {
        size_t piece = tsw_mpi_piece(mpi, bytes->size - at);
        status = tsw_mpi_check(MPI_Recv(bytes->data + at, (int)piece, MPI_BYTE, from, PIECE_TAG,
                                        mpi->collective, MPI_STATUS_IGNORE),
                               "MPI_Recv", err);
        at += piece;
    }
    return status;
}

/* Rank 0: buffers for what all ranks have. */
static bool make_room(const tsw_mpi_comm_t *mpi, const tsw_buf_t *mine, const uint64_t *sizes,
                      tsw_buf_t *room)
{
    bool ok = true;
    for (int r = 0; r < mpi->base.size && ok; r++)
        ok = tsw_buf_extend(&room[r], sizes[r]) != NULL;
    if (ok && mine->size > 0)
        memcpy(room[0].data, mine->data, mine->size);
    return ok;
}

tsw_status_t tsw_mpi_gather(tsw_comm_t *comm, const tsw_buf_t *mine, tsw_buf_t *all, tsw_err_t *err)
{
    tsw_mpi_comm_t *mpi = tsw_mpi_body(comm);
    size_t count = comm->rank == 0 ? (size_t)comm->size : 0;
    uint64_t size = mine->size;
    uint64_t *sizes = tsw_calloc(count, sizeof(*sizes));
    tsw_buf_t *room = tsw_calloc(count, sizeof(*room));
    tsw_status_t status = meet(mpi, err);
    if (status == TSW_OK)
        status = all_ok(mpi, sizes != NULL && room != NULL && tsw_buf_ok(mine), err);
    if (status == TSW_OK)
        status = tsw_mpi_check(
            MPI_Gather(&size, 1, MPI_UINT64_T, sizes, 1, MPI_UINT64_T, 0, mpi->collective),
            "MPI_Gather", err);
    if (status == TSW_OK)
        status = all_ok(mpi, comm->rank != 0 || make_room(mpi, mine, sizes, room), err);
    if (status == TSW_OK && comm->rank != 0)
        status = send_pieces(mpi, mine, err);
    for (int r = 1; r < (int)count && status == TSW_OK; r++)
        status = receive_pieces(mpi, r, &room[r], err);
    for (size_t r = 0; r < count && room != NULL; r++) {
        if (status == TSW_OK)
            all[r] = room[r];
        else
            tsw_buf_fini(&room[r]);
    }
    tsw_free(room);
    tsw_free(sizes);
    return status;
}

/* What the others must know of an error. */
typedef struct {
    int code;
    long vendor;
    char text[TSW_ERR_TEXT_MAX];
} verdict_t;

tsw_status_t tsw_mpi_agree(tsw_comm_t *comm, tsw_status_t mine, tsw_err_t *err)
{
    tsw_mpi_comm_t *mpi = tsw_mpi_body(comm);
    int suspect = mine != TSW_OK ? comm->rank : comm->size;
    int first = comm->size;
    tsw_err_t failure = TSW_ERR_INIT;
    tsw_status_t status = meet(mpi, &failure);
    if (status == TSW_OK)
        status =
            tsw_mpi_check(MPI_Allreduce(&suspect, &first, 1, MPI_INT, MPI_MIN, mpi->collective),
                          "MPI_Allreduce", &failure);
    verdict_t verdict = {.code = mine};
    if (status == TSW_OK && first == comm->size)
        return TSW_OK;
    if (first == comm->rank) {
        verdict.vendor = err != NULL ? err->vendor : 0;
        const char *text = err != NULL && err->code == mine ? err->text : tsw_status_text(mine);
        snprintf(verdict.text, sizeof(verdict.text), "%s", text);
    }
    if (status == TSW_OK)
        status = tsw_mpi_check(MPI_Bcast(&verdict.code, 1, MPI_INT, first, mpi->collective),
                               "MPI_Bcast", &failure);
    if (status == TSW_OK)
        status = tsw_mpi_check(MPI_Bcast(&verdict.vendor, 1, MPI_LONG, first, mpi->collective),
                               "MPI_Bcast", &failure);
    if (status == TSW_OK)
        status = tsw_mpi_check(
            MPI_Bcast(verdict.text, sizeof(verdict.text), MPI_CHAR, first, mpi->collective),
            "MPI_Bcast", &failure);
    if (status != TSW_OK) {
        if (err != NULL)
            *err = failure;
        return status;
    }
    return first == 0 ? tsw_err_set_vendor(err, (tsw_status_t)verdict.code, verdict.vendor, "%s",
                                           verdict.text)
                      : tsw_err_set_vendor(err, (tsw_status_t)verdict.code, verdict.vendor,
                                           "rank %d: %s", first, verdict.text);
}
