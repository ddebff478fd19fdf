#include "mpi_cmocka.h"

#include <mpi.h>
#include <stdio.h>

static tsw_comm_t *comm;

tsw_comm_t *mpi_cmocka_comm(void)
{
    return comm;
}

bool mpi_all(bool cond, const char *text, const char *file, int line)
{
    int mine = cond;
    int all = 0;
    if (!cond)
        fprintf(stderr, "rank %d: %s:%d: not so: %s\n", tsw_comm_rank(comm), file, line, text);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}

int mpi_cmocka_run_all(const struct CMUnitTest *tests, size_t count)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_comm_open(&comm, &err) != TSW_OK) {
        fprintf(stderr, "cannot open: %s\n", err.text);
        return 1;
    }
    int started = 0;
    MPI_Initialized(&started);
    if (!started) {
        fprintf(stderr, "start with mpirun\n");
        return 1;
    }
    int mine = _cmocka_run_group_tests("mpi", tests, count, NULL, NULL);
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    tsw_comm_close(comm);
    return all < 100 ? all : 100;
}
