// mpi_names: rank 0 publishes a name, and the last rank looks the name up and prints it. Then the name is unpublished
// and looked up again.
#include <mpi.h>
#include <stdio.h>

#include "settle.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Publish_name("ocean", MPI_INFO_NULL, "tag#0$here");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    MPI_Lookup_name("ocean", MPI_INFO_NULL, port);
    printf("ocean is %s\n", port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Unpublish_name("ocean", MPI_INFO_NULL, "tag#0$here");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    const int error = MPI_Lookup_name("ocean", MPI_INFO_NULL, port);
    printf("then it is %s\n", error == MPI_SUCCESS ? "still there" : "gone");
  }
  settle_and_finalize();
  return 0;
}
