// mpi_start SIZE: init, a barrier, finalize; fails where the world has another size.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (argc == 2 && size == atoi(argv[1])) return 0;
  fprintf(stderr, "mpi_start: a world of %d\n", size);
  return 1;
}
