// pmix_group: all ranks construct one group; then the even and the odd ranks construct a group each, at the same time.
// Each rank prints whether the numbers of its two groups differ, and the values that the last rank and the last rank of
// its half stored without a fence.
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>

static pmix_proc_t me;
static unsigned size;

static size_t construct(const char* name, unsigned first, unsigned step) {
  pmix_proc_t* members;
  pmix_info_t info, *results = NULL;
  size_t count = (size - first + step - 1) / step, results_count = 0, number = 0;
  PMIX_PROC_CREATE(members, count);
  for (unsigned i = 0; i < count; ++i) PMIX_LOAD_PROCID(&members[i], me.nspace, first + i * step);
  PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
  const pmix_status_t status = PMIx_Group_construct(name, members, count, &info, 1, &results, &results_count);
  if (status != PMIX_SUCCESS) {
    printf("rank %u: no group: %s\n", me.rank, PMIx_Error_string(status));
    exit(4);
  }
  for (size_t i = 0; i < results_count; ++i) {
    if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID)) number = results[i].value.data.size;
  }
  if (PMIx_Group_destruct(name, NULL, 0) != PMIX_SUCCESS) exit(5);
  return number;
}

static unsigned put_by(unsigned rank) {
  pmix_proc_t peer;
  pmix_value_t* value;
  PMIX_LOAD_PROCID(&peer, me.nspace, rank);
  return PMIx_Get(&peer, "mine", NULL, 0, &value) == PMIX_SUCCESS ? value->data.uint32 : 0;
}

int main(void) {
  if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 2;
  pmix_proc_t job;
  pmix_value_t *value, mine;
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  if (PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS) return 3;
  size = value->data.uint32;
  mine.type = PMIX_UINT32;
  mine.data.uint32 = 100 + me.rank;
  PMIx_Put(PMIX_GLOBAL, "mine", &mine);
  PMIx_Commit();
  const size_t all = construct("one", 0, 1), half = construct(me.rank % 2 ? "odd" : "even", me.rank % 2, 2);
  const unsigned last = size - 1, last_of_half = last - (last + me.rank) % 2;
  printf("rank %u: %s, %u, %u\n", me.rank, all && half && all != half ? "two numbers" : "no two numbers", put_by(last),
         put_by(last_of_half));
  PMIx_Fence(&job, 1, NULL, 0);
  PMIx_Finalize(NULL, 0);
  return 0;
}
