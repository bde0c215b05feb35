// pmix_client HOW …: a rank that uses only PMIx. Prints the result of each step, and exits with 1 after a failed step.
//   fence KIB           puts KIB KiB, enters a fence with all others, and gets what the next rank put
//   early RANK CODE     enters a fence that rank 0 enters late, and in which RANK exits with CODE
//   hello               calls PMIx_Init and PMIx_Finalize
#define _GNU_SOURCE  // usleep
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kPiece = 64 << 10 };

static pmix_proc_t me;

static int tell(const char* step, pmix_status_t status) {
  printf("rank %u: %s: %s\n", me.rank, step, PMIx_Error_string(status));
  fflush(stdout);
  return status != PMIX_SUCCESS;
}

static unsigned size_of_job(void) {
  pmix_proc_t all;
  pmix_value_t* value = NULL;
  PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
  if (PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS) exit(tell("size", PMIX_ERROR));
  const unsigned size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return size;
}

static void put(int kib) {
  char* bytes = malloc(kPiece);
  memset(bytes, 'a' + (int)(me.rank % 26), kPiece);
  for (int piece = 0; piece * (kPiece >> 10) < kib; ++piece) {
    char key[64];
    pmix_value_t value;
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = bytes;
    value.data.bo.size = kPiece;
    snprintf(key, sizeof key, "piece-%d", piece);
    const pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);
    if (status != PMIX_SUCCESS) exit(tell("put", status));
  }
  free(bytes);
  const pmix_status_t status = PMIx_Commit();
  if (status != PMIX_SUCCESS) exit(tell("commit", status));
}

/// Whether the last piece of the next rank has the stored value.
static int found_next(int kib) {
  pmix_proc_t next;
  pmix_value_t* value = NULL;
  char key[64];
  PMIX_LOAD_PROCID(&next, me.nspace, (me.rank + 1) % size_of_job());
  snprintf(key, sizeof key, "piece-%d", (kib - 1) / (kPiece >> 10));
  if (PMIx_Get(&next, key, NULL, 0, &value) != PMIX_SUCCESS) return 0;
  return value->data.bo.size == kPiece && value->data.bo.bytes[kPiece - 1] == (char)('a' + next.rank % 26);
}

static int fence(int kib) {
  put(kib);
  pmix_info_t collect;
  bool yes = true;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  const pmix_status_t status = PMIx_Fence(NULL, 0, &collect, 1);
  if (status != PMIX_SUCCESS) return tell("fence", status);
  return tell("fence", found_next(kib) ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
}

static void nothing(pmix_status_t status, void* data) { (void)status, (void)data; }

static int leave_early(unsigned who, int code) {
  if (me.rank == who) {
    PMIx_Fence_nb(NULL, 0, NULL, 0, nothing, NULL);
    usleep(300000);
    _exit(code);
  }
  if (me.rank == 0) usleep(1000000);
  return tell("fence", PMIx_Fence(NULL, 0, NULL, 0));
}

int main(int argc, char** argv) {
  const pmix_status_t status = PMIx_Init(&me, NULL, 0);
  if (status != PMIX_SUCCESS || argc < 2) return tell("init", status), 1;
  int failed = 0;
  if (strcmp(argv[1], "fence") == 0 && argc > 2) failed = fence(atoi(argv[2]));
  if (strcmp(argv[1], "early") == 0 && argc > 3) failed = leave_early((unsigned)atoi(argv[2]), atoi(argv[3]));
  PMIx_Finalize(NULL, 0);
  return failed;
}
