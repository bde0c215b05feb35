// mpi_start SIZE [ROUNDS]: init, a barrier, finalize; fails if the world does not have SIZE ranks. Before finalize, every
// rank sends messages to every other rank, ROUNDS times, 10 ms apart. MPICH 4.0.2 over UCX and TCP hangs in MPI_Finalize,
// under any launcher, if ranks end while connections are still being made (docs/mpi.md).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int all[2][4096];

int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = argc > 2 ? atoi(argv[2]) : 0; round > 0; --round) {
    MPI_Alltoall(all[0], 1, MPI_INT, all[1], 1, MPI_INT, MPI_COMM_WORLD);
    usleep(10000);
  }
  MPI_Finalize();
  if (argc > 1 && size == atoi(argv[1])) return 0;
  fprintf(stderr, "mpi_start: a world of %d\n", size);
  return 1;
}
