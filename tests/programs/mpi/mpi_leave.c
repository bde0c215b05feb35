// mpi_leave HOW RANK [CODE]: after MPI_Init, RANK calls MPI_Abort with CODE, exits with CODE without MPI_Finalize, or
// kills itself, as HOW requires. The other ranks wait for it in a barrier. With HOW `stay`, RANK prints "up" and stays.
// RANK `all` means every rank.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  MPI_Init(&argc, &argv);
  const int code = argc > 3 ? atoi(argv[3]) : 0;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(argv[2], "all") == 0 || rank == atoi(argv[2])) {
    if (strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, code);
    if (strcmp(argv[1], "exit") == 0) _exit(code);
    if (strcmp(argv[1], "kill") == 0) raise(SIGKILL);
    if (strcmp(argv[1], "stay") == 0) {
      puts("up");
      fflush(stdout);
      pause();
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
