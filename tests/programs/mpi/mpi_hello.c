// mpi_hello: prints the rank, the size, the host, the number of the rank's program and the universe size, as MPI
// reports them.
#include <mpi.h>
#include <stdio.h>

#include "settle.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, length, found;
  int* number;
  int* universe;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  const int app = found ? *number : -1;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &found);
  // MPICH makes stdout unbuffered, so one line must be printed by one call.
  printf("rank %d of %d on %s app %d universe %d\n", rank, size, host, app, found ? *universe : -1);
  settle_and_finalize();
  return 0;
}
