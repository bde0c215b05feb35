// pmi2_client: a rank that uses only PMI-2, through Slurm's client library. Prints the received facts, exchanges keys
// with all other ranks, and exchanges an attribute with the ranks of its node.
//   pmi2_client abort RANK   RANK aborts the job
//   pmi2_client leave        it exits without finalize
//   pmi2_client spawn COUNT [KEY=VALUE]...   the first rank spawns COUNT ranks and one more, with that info
#include <slurm/pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "pmi2_client: %s\n", what);
  exit(9);
}

static void exchange(const char* job, int rank, int size) {
  char key[64], value[PMI2_MAX_VALLEN], expected[PMI2_MAX_VALLEN];
  int length = 0;
  for (int round = 0; round < 3; ++round) {
    snprintf(key, sizeof key, "card-%d-%d", rank, round);
    snprintf(value, sizeof value, "tag#%d;;host$a b;%d=;", rank, round);
    must(PMI2_KVS_Put(key, value) == PMI2_SUCCESS, "put");
    must(PMI2_KVS_Fence() == PMI2_SUCCESS, "fence");
    for (int other = 0; other < size; ++other) {
      snprintf(key, sizeof key, "card-%d-%d", other, round);
      snprintf(expected, sizeof expected, "tag#%d;;host$a b;%d=;", other, round);
      must(PMI2_KVS_Get(job, other, key, value, sizeof value, &length) == PMI2_SUCCESS, "get");
      must(strcmp(value, expected) == 0 && length == (int)strlen(expected), "another value");
    }
  }
  must(PMI2_KVS_Get(job, PMI2_ID_NULL, "missing", value, sizeof value, &length) != PMI2_SUCCESS, "a missing key");
}

/// The first rank of a node puts an attribute, and the others wait for it.
static void attributes(int first) {
  char value[PMI2_MAX_ATTRVALUE];
  int found = 1;
  if (first) {
    must(PMI2_Info_GetNodeAttr("late", value, sizeof value, &found, 0) == PMI2_SUCCESS && !found, "an early attribute");
    must(PMI2_Info_PutNodeAttr("late", "1,2,3") == PMI2_SUCCESS, "put of an attribute");
    return;
  }
  int numbers[4], count = 0;
  must(PMI2_Info_GetNodeAttr("late", value, sizeof value, &found, 1) == PMI2_SUCCESS && found, "a late attribute");
  must(PMI2_Info_GetNodeAttrIntArray("late", numbers, 4, &count, &found) == PMI2_SUCCESS && count == 3, "an array");
}

static void names(int rank, int size) {
  char port[64] = "";
  if (rank == 0) must(PMI2_Nameserv_publish("ocean", NULL, "a;port here") == PMI2_SUCCESS, "publish");
  must(PMI2_KVS_Fence() == PMI2_SUCCESS, "fence");
  if (rank == size - 1) {
    must(PMI2_Nameserv_lookup("ocean", NULL, port, sizeof port) == PMI2_SUCCESS, "lookup");
    must(strcmp(port, "a;port here") == 0, "another port");
    must(PMI2_Nameserv_unpublish("ocean", NULL) == PMI2_SUCCESS, "unpublish");
    must(PMI2_Nameserv_lookup("ocean", NULL, port, sizeof port) != PMI2_SUCCESS, "lookup of what is gone");
  }
}

/// Spawns COUNT ranks of "child a;b c", with the info, and a single rank of "child".
static void spawn(const char* program, int count, int pairs, char** info) {
  const char* programs[] = {program, program};
  const char* words[] = {"child", "a;b c"};
  const char** argvs[] = {words, words};
  int argcs[] = {2, 1}, ranks[] = {count, 1}, sizes[] = {pairs, 0};
  struct MPID_Info infos[8] = {0}, port = {.key = "PORT", .value = "tag#0;$x y;;"};
  const struct MPID_Info *both[] = {infos, infos}, *ports[] = {&port};
  must(pairs <= 8, "more info than there is room for");
  for (int i = 0; i < pairs; ++i) {
    infos[i].key = info[i];
    infos[i].value = strchr(info[i], '=');
    *infos[i].value++ = 0;
  }
  char job[256] = "", own[256];
  int* errors = malloc(((size_t)count + 1) * sizeof(int));
  must(PMI2_Job_GetId(own, sizeof own) == PMI2_SUCCESS, "job id");
  if (PMI2_Job_Spawn(2, programs, argcs, argvs, ranks, sizes, both, 1, ports, job, sizeof job, errors) ==
      PMI2_SUCCESS) {
    for (int i = 0; i < count + 1; ++i) must(errors[i] == 0, "an error of a rank");
    must(*job && strcmp(job, own) != 0, "the name of the new job");
    puts("spawned");
  } else {
    puts("refused");
  }
  free(errors);
}

/// The main function of a spawned rank.
static void child(const char* job, int spawned, int rank, int size, int app, const char* word) {
  char port[64] = "";
  int length = 0;
  must(spawned, "who does not know that it was spawned");
  must(PMI2_KVS_Get(job, PMI2_ID_NULL, "PORT", port, sizeof port, &length) == PMI2_SUCCESS, "a key of the spawner");
  must(strcmp(port, "tag#0;$x y;;") == 0, "another key of the spawner");
  exchange(job, rank, size);
  attributes(atoi(getenv("MPI_LOCALRANKID")) == 0);
  must(PMI2_Finalize() == PMI2_SUCCESS, "finalize");
  printf("child %d of %d app %d on %s: %s\n", rank, size, app, getenv("DLAUNCH_HOST"), word);
}

int main(int argc, char** argv) {
  int spawned, size, rank, app, found;
  char job[256], mapping[PMI2_MAX_VALLEN], universe[PMI2_MAX_VALLEN];
  must(PMI2_Init(&spawned, &size, &rank, &app) == PMI2_SUCCESS, "init");
  must(PMI2_Job_GetId(job, sizeof job) == PMI2_SUCCESS, "job id");
  if (argc > 2 && strcmp(argv[1], "abort") == 0 && atoi(argv[2]) == rank) PMI2_Abort(1, "so it is");
  if (argc > 1 && strcmp(argv[1], "leave") == 0) return 0;
  if (argc > 1 && strcmp(argv[1], "child") == 0) {
    child(job, spawned, rank, size, app, argc > 2 ? argv[2] : "");
    return 0;
  }
  if (argc > 2 && strcmp(argv[1], "spawn") == 0 && rank == 0) spawn(argv[0], atoi(argv[2]), argc - 3, argv + 3);
  must(PMI2_Info_GetJobAttr("PMI_process_mapping", mapping, sizeof mapping, &found) == PMI2_SUCCESS && found,
       "mapping");
  must(PMI2_Info_GetJobAttr("universeSize", universe, sizeof universe, &found) == PMI2_SUCCESS && found, "universe");
  must(PMI2_Info_GetJobAttr("none", universe + 32, 8, &found) == PMI2_SUCCESS && !found, "an attribute of the job");
  exchange(job, rank, size);
  attributes(atoi(getenv("MPI_LOCALRANKID")) == 0);
  names(rank, size);
  must(PMI2_Finalize() == PMI2_SUCCESS, "finalize");
  printf("rank %d of %d app %d spawned %d universe %s mapping %s\n", rank, size, app, spawned, universe, mapping);
  return 0;
}
