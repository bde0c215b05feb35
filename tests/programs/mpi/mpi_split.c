// mpi_split: prints which ranks share a host, as MPI sees it: "rank R: A B C".
#include <mpi.h>
#include <stdio.h>

#include "settle.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  int ranks[1024];
  char line[8192];
  MPI_Comm here;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &size);
  MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, here);
  int length = snprintf(line, sizeof line, "rank %d:", rank);
  for (int i = 0; i < size; ++i) length += snprintf(line + length, sizeof line - (size_t)length, " %d", ranks[i]);
  puts(line);
  MPI_Comm_free(&here);
  settle_and_finalize();
  return 0;
}
