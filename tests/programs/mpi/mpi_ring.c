// mpi_ring [ROUNDS]: the ranks pass a number round, each adds its own to it, and rank 0 prints the sum.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "settle.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  int rank, size;
  long sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; ++round) {
    if (rank > 0) MPI_Recv(&sum, 1, MPI_LONG, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += rank;
    MPI_Send(&sum, 1, MPI_LONG, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&sum, 1, MPI_LONG, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) printf("sum %ld\n", sum);
  settle_and_finalize();
  return 0;
}
