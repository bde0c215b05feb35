// mpi_session: uses the sessions of MPI 4 without MPI_Init. Prints the process sets, makes a communicator of all ranks
// and another of every second rank, and sums over both.
#include <mpi.h>
#include <stdio.h>

#if MPI_VERSION < 4 && !(defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
int main(void) {
  puts("sessions came with MPI 4 and Open MPI 5");
  return 77;
}
#else
static MPI_Comm comm_of(MPI_Group group, const char* tag) {
  MPI_Comm comm;
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  return comm;
}

static int sum_over(MPI_Comm comm, int* rank, int* size) {
  int sum;
  MPI_Comm_rank(comm, rank);
  MPI_Comm_size(comm, size);
  MPI_Allreduce(rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum == *size * (*size - 1) / 2;
}

int main(void) {
  MPI_Session session;
  MPI_Group all, half;
  int rank, size, sets;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Comm world = comm_of(all, "world");
  const int right = sum_over(world, &rank, &size);
  printf("rank %d of %d, %s, sum %s\n", rank, size, sets >= 2 ? "process sets" : "no process sets",
         right ? "right" : "wrong");
  fflush(stdout);
  int every_second[1][3] = {{rank % 2, size - 1, 2}};
  MPI_Group_range_incl(all, 1, every_second, &half);
  MPI_Comm some = comm_of(half, rank % 2 ? "odd" : "even");
  int number, count;
  const int fine = sum_over(some, &number, &count);
  printf("%s %d of %d, sum %s\n", rank % 2 ? "odd" : "even", number, count, fine ? "right" : "wrong");
  fflush(stdout);
  MPI_Comm_free(&some);
  MPI_Comm_free(&world);
  MPI_Group_free(&half);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
  return 0;
}
#endif
