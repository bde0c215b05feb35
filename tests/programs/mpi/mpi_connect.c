// mpi_connect: the first half of the ranks opens a port, publishes it and accepts. The other half looks it up and
// connects. Then both halves merge over that connection and sum their ranks.
#include <mpi.h>
#include <stdio.h>

static void show_merged(MPI_Comm other, int client) {
  MPI_Comm all;
  int rank, size, sum;
  MPI_Intercomm_merge(other, client, &all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
  printf("%s: %d of %d, sum %s\n", client ? "client" : "server", rank, size,
         sum == size * (size - 1) / 2 ? "right" : "wrong");
  fflush(stdout);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&other);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm half, other;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int client = rank >= (size + 1) / 2;
  MPI_Comm_split(MPI_COMM_WORLD, client, rank, &half);
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("harbour", MPI_INFO_NULL, port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (client) {
    MPI_Lookup_name("harbour", MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other);
  } else {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other);
  }
  show_merged(other, client);
  if (rank == 0) {
    MPI_Unpublish_name("harbour", MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
