// MPICH 4.0.2 on UCX over TCP may hang in MPI_Finalize, under any launcher, when ranks leave while connections are still
// being made (docs/mpi.md). A test of something else lets them settle first.
#include <mpi.h>
#include <unistd.h>

static void settle_and_finalize(void) {
  usleep(200000);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
