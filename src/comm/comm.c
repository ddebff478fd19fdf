#include "comm/comm.h"

#include "base/mem.h"
#include "base/text.h"
#include "comm/comm_body.h"

#include <stdlib.h>
#include <string.h>

#ifdef TSW_WITH_MPI
/* Set for each process by mpirun, srun --mpi=.. and hydra; nobody sets them by hand, as happens
 * with OMPI_MCA_... */
static const char *find_launcher(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_SIZE", "PMI_FD"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]) != NULL)
            return names[i];
    return NULL;
}
#endif

/* TSW_ERR_ENV: Slurm started several tasks, and each of them takes itself for the only one. */
static tsw_status_t check_alone(int size, tsw_err_t *err)
{
    const char *tasks = getenv("SLURM_NTASKS");
    int64_t count = 0;
    if (size != 1 || tasks == NULL || !tsw_text_parse_i64(tasks, &count) || count <= 1)
        return TSW_OK;
    /* mpirun said how many it started: one, inside a larger allocation. */
    if (getenv("OMPI_COMM_WORLD_SIZE") != NULL)
        return TSW_OK;
    return tsw_err_set(err, TSW_ERR_ENV,
                       "Slurm has %s tasks (SLURM_NTASKS), but this process is alone: start with "
                       "mpirun, or with an srun --mpi=.. that the MPI library knows; for one rank "
                       "unset SLURM_NTASKS",
                       tasks);
}

char *tsw_comm_library(char out[96])
{
#ifdef TSW_WITH_MPI
    tsw_comm_mpi_library(out);
#else
    strcpy(out, "none (one rank only)");
#endif
    return out;
}

tsw_status_t tsw_comm_open(tsw_comm_t **comm_p, tsw_err_t *err)
{
    tsw_comm_t *comm = NULL;
    tsw_status_t status = TSW_OK;
#ifdef TSW_WITH_MPI
    if (find_launcher() != NULL)
        status = tsw_comm_mpi_open(&comm, err);
    else
#endif
        status = tsw_comm_single_open(&comm, err);
    if (status != TSW_OK)
        return status;
    status = check_alone(comm->size, err);
#ifndef TSW_WITH_MPI
    const char *world = getenv("OMPI_COMM_WORLD_SIZE");
    if (status == TSW_OK && world != NULL && strcmp(world, "1") != 0)
        status =
            tsw_err_set(err, TSW_ERR_ENV,
                        "started with %s ranks, but this tilesweep was built without MPI", world);
#endif
    if (status == TSW_OK)
        *comm_p = comm;
    else
        tsw_comm_close(comm);
    return status;
}

void tsw_comm_close(tsw_comm_t *comm)
{
    if (comm == NULL)
        return;
    for (size_t i = 0; i < comm->inbox_count; i++)
        tsw_buf_fini(&comm->inbox[i]);
    tsw_free(comm->inbox);
    comm->inbox = NULL;
    comm->inbox_count = 0;
    comm->ops->close(comm);
}

_Noreturn void tsw_comm_abort(tsw_comm_t *comm, int exit_code)
{
    comm->ops->abort(comm, exit_code);
    _Exit(exit_code);
}

int tsw_comm_rank(const tsw_comm_t *comm)
{
    return comm->rank;
}

int tsw_comm_size(const tsw_comm_t *comm)
{
    return comm->size;
}

int tsw_comm_node_rank(const tsw_comm_t *comm)
{
    return comm->node_rank;
}

tsw_status_t tsw_comm_bcast(tsw_comm_t *comm, tsw_buf_t *bytes, tsw_err_t *err)
{
    return comm->ops->bcast(comm, bytes, err);
}

tsw_status_t tsw_comm_gather(tsw_comm_t *comm, const tsw_buf_t *mine, tsw_buf_t *all,
                             tsw_err_t *err)
{
    return comm->ops->gather(comm, mine, all, err);
}

tsw_status_t tsw_comm_gather_numbers(tsw_comm_t *comm, const uint64_t *mine, size_t count,
                                     uint64_t **numbers_p, tsw_err_t *err)
{
    size_t ranks = comm->rank == 0 ? (size_t)comm->size : 0, size = count * sizeof(*mine);
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_buf_t *all = tsw_calloc(ranks, sizeof(*all));
    uint64_t *numbers = tsw_calloc(ranks * count, sizeof(*numbers));
    tsw_buf_append(&bytes, mine, size);
    bytes.failed = bytes.failed || all == NULL || numbers == NULL; /* all ranks hear of it */
    tsw_status_t status = tsw_comm_gather(comm, &bytes, all, err);
    for (size_t r = 0; status == TSW_OK && r < ranks; r++) {
        TSW_ASSERT(all[r].size == size);
        memcpy(numbers + r * count, all[r].data, size);
        tsw_buf_fini(&all[r]);
    }
    if (status == TSW_OK)
        *numbers_p = numbers;
    else
        tsw_free(numbers);
    tsw_free(all);
    tsw_buf_fini(&bytes);
    return status;
}

tsw_status_t tsw_comm_agree(tsw_comm_t *comm, tsw_status_t mine, tsw_err_t *err)
{
    return comm->ops->agree(comm, mine, err);
}

static tsw_status_t send_to_self(tsw_comm_t *comm, tsw_buf_t *frame, tsw_err_t *err)
{
    if (!TSW_GROW(comm->inbox, comm->inbox_capacity, comm->inbox_count))
        return tsw_err_nomem(err);
    comm->inbox[comm->inbox_count++] = *frame;
    *frame = (tsw_buf_t)TSW_BUF_INIT;
    return TSW_OK;
}

tsw_status_t tsw_comm_send(tsw_comm_t *comm, int to, tsw_buf_t *frame, tsw_err_t *err)
{
    if (to < 0 || to >= comm->size)
        return tsw_err_set(err, TSW_ERR_BUG, "message to rank %d of %d", to, comm->size);
    if (!tsw_buf_ok(frame))
        return tsw_err_nomem(err);
    if (to == comm->rank)
        return send_to_self(comm, frame, err);
    return comm->ops->send(comm, to, frame, err);
}

static bool poll_inbox(tsw_comm_t *comm, int *from_p, tsw_buf_t *frame_p)
{
    if (comm->inbox_count == 0)
        return false;
    *from_p = comm->rank;
    *frame_p = comm->inbox[0];
    comm->inbox_count--;
    memmove(comm->inbox, comm->inbox + 1, comm->inbox_count * sizeof(*comm->inbox));
    return true;
}

bool tsw_comm_poll(tsw_comm_t *comm, int *from_p, tsw_buf_t *frame_p, tsw_status_t *status_p,
                   tsw_err_t *err)
{
    *status_p = TSW_OK;
    /* In turn: a rank that writes to itself all the time must still hear the others. */
    comm->inbox_is_next = !comm->inbox_is_next;
    if (comm->inbox_is_next && poll_inbox(comm, from_p, frame_p))
        return true;
    if (comm->ops->poll(comm, from_p, frame_p, status_p, err))
        return true;
    return *status_p == TSW_OK && poll_inbox(comm, from_p, frame_p);
}

bool tsw_comm_sends_pending(tsw_comm_t *comm)
{
    return comm->inbox_count > 0 || comm->ops->sends_pending(comm);
}
