// MPICH 4.0.2 on UCX over TCP may hang in MPI_Finalize, under any launcher, if ranks exit while connections are still
// being made (docs/mpi.md). A test of something else makes all connections first and waits until they are stable.
#include <mpi.h>
#include <unistd.h>

static void settle_and_finalize(void) {
  static int all[2][1024];
  for (int round = 0; round < 20; ++round) {
    MPI_Alltoall(all[0], 1, MPI_INT, all[1], 1, MPI_INT, MPI_COMM_WORLD);
    usleep(10000);
  }
  MPI_Finalize();
}
