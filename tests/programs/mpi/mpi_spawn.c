// mpi_spawn COUNT[+COUNT...] [KEY=VALUE...]: the world spawns COUNT ranks of the same program (several counts: one
// program per count, by MPI_Comm_spawn_multiple), merges with them, and disconnects. KEY=VALUE is info for the spawn,
// with two exceptions: command=PROGRAM is spawned instead and need not use MPI, and times=COUNT spawns COUNT times, one
// after the other. Each rank prints its world, its rank in the merged world, and whether a sum over the merged world is
// right. Rank 0 prints the error class of a failed spawn.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kPrograms = 8, kProcesses = 256 };

static int world_rank, world_size;

// Merges both worlds, the spawning one first, and prints the result of this rank.
static void show_merged(MPI_Comm other, int spawned, const char* words) {
  MPI_Comm all;
  int rank, size, sum, length, found;
  int* number;
  char host[MPI_MAX_PROCESSOR_NAME], here[4096] = "?";
  MPI_Intercomm_merge(other, spawned, &all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
  MPI_Get_processor_name(host, &length);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  if (!getcwd(here, sizeof here)) perror("getcwd");
  printf("%s %d of %d app %d on %s in %s: %d of %d, sum %s%s\n", spawned ? "child" : "parent", world_rank, world_size,
         found ? *number : -1, host, here, rank, size, sum == size * (size - 1) / 2 ? "right" : "wrong", words);
  fflush(stdout);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&other);
}

static int child(int argc, char** argv, MPI_Comm parent) {
  char words[1024] = ":";
  for (int i = 1; i < argc; ++i) {
    strncat(words, " [", sizeof words - strlen(words) - 1);
    strncat(words, argv[i], sizeof words - strlen(words) - 1);
    strncat(words, "]", sizeof words - strlen(words) - 1);
  }
  show_merged(parent, 1, words);
  MPI_Finalize();
  return 0;
}

static int spawn(char* command, int programs, int* counts, MPI_Info info, MPI_Comm* children) {
  static char* words[kPrograms][3] = {{"program 0"}, {"program 1"}, {"program 2"}, {"program 3"},
                                      {"program 4"}, {"program 5"}, {"program 6"}, {"program 7"}};
  static int errors[kProcesses];
  if (programs == 1) return MPI_Comm_spawn(command, words[0], counts[0], info, 0, MPI_COMM_WORLD, children, errors);
  char* commands[kPrograms];
  char** arguments[kPrograms];
  MPI_Info infos[kPrograms];
  for (int i = 0; i < programs; ++i) {
    commands[i] = command;
    arguments[i] = words[i];
    infos[i] = info;
  }
  return MPI_Comm_spawn_multiple(programs, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, children, errors);
}

static int told(int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(error, text, &length);
  if (world_rank == 0) printf("no spawn: %s\n", text);
  MPI_Finalize();
  return 3;
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Info info;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(argc, argv, parent);
  if (argc < 2) return 99;

  int counts[kPrograms], programs = 0, times = 1;
  for (char* next = strtok(argv[1], "+"); next && programs < kPrograms; next = strtok(NULL, "+"))
    counts[programs++] = atoi(next);
  char* command = argv[0];
  MPI_Info_create(&info);
  for (int i = 2; i < argc; ++i) {
    char* value = strchr(argv[i], '=');
    if (!value) return 99;
    *value++ = '\0';
    if (strcmp(argv[i], "command") == 0)
      command = value;
    else if (strcmp(argv[i], "times") == 0)
      times = atoi(value);
    else
      MPI_Info_set(info, argv[i], value);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < times; ++i) {
    const int error = spawn(command, programs, counts, info, &children);
    if (error != MPI_SUCCESS) return told(error);
    if (command == argv[0]) show_merged(children, 0, "");
  }
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
