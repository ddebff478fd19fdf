/* cmocka under mpirun: every rank runs the same tests; the exit code is the number of failures
 * over all ranks. An assert that only some ranks fail leaves the others waiting in the next
 * collective: assert what all ranks agreed on, with mpi_assert_all. */
#ifndef TSW_TESTS_MPI_CMOCKA_H
#define TSW_TESTS_MPI_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "comm/comm.h"

#include <stdbool.h>

/* The communicator of this run, open during the tests. */
tsw_comm_t *mpi_cmocka_comm(void);

/* Collective. Whether cond holds on all ranks; those where it does not say so. */
bool mpi_all(bool cond, const char *text, const char *file, int line);
#define mpi_assert_all(_cond) assert_true(mpi_all((_cond), #_cond, __FILE__, __LINE__))

/* Opens, runs, closes; returns what main must. */
#define mpi_cmocka_run(_tests) mpi_cmocka_run_all((_tests), sizeof(_tests) / sizeof((_tests)[0]))
int mpi_cmocka_run_all(const struct CMUnitTest *tests, size_t count);

#endif
