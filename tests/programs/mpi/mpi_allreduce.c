// mpi_allreduce MIB: sums MIB of doubles over all ranks. Each rank checks every element, and rank 0 prints the result.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "settle.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = (argc > 1 ? atoi(argv[1]) : 1) * (1 << 20) / (int)sizeof(double);
  int rank, size, bad = 0, all_bad = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double* values = malloc((size_t)count * sizeof(double));
  for (int i = 0; i < count; ++i) values[i] = i % 1000 + rank;
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) bad += values[i] != (double)(i % 1000) * size + size * (size - 1) / 2;
  MPI_Reduce(&bad, &all_bad, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d doubles, %d wrong\n", count, all_bad);
  free(values);
  settle_and_finalize();
  return all_bad != 0;
}
