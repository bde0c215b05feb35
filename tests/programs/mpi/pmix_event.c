// pmix_event: the last rank notifies all other ranks of an event with a text, and each prints the text and its source.
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kCode = PMIX_EXTERNAL_ERR_BASE - 7 };

static pmix_proc_t me;
static volatile int told, registered;

static void on_event(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[], size_t count,
                     pmix_info_t* results, size_t results_count, pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)handler, (void)results, (void)results_count;
  const char* word = "nothing";
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(info[i].key, "word") == 0) word = info[i].value.data.string;
  }
  printf("rank %u: %s from rank %u: %s\n", me.rank, code == kCode ? "the event" : "another event", source->rank, word);
  fflush(stdout);
  told = 1;
  if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void on_registered(pmix_status_t status, size_t handler, void* data) {
  (void)handler, (void)data;
  registered = status == PMIX_SUCCESS ? 1 : -1;
}

static void fence(void) {
  pmix_proc_t all;
  PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
  if (PMIx_Fence(&all, 1, NULL, 0) != PMIX_SUCCESS) exit(4);
}

int main(void) {
  if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 2;
  pmix_proc_t job;
  pmix_value_t* value;
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  if (PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS) return 3;
  const int tells = me.rank + 1 == value->data.uint32;
  pmix_status_t code = kCode;
  if (!tells) {
    PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, on_registered, NULL);
    while (!registered) usleep(1000);
    if (registered < 0) return 5;
  }
  fence();
  if (tells) {
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, "word", "hello", PMIX_STRING);
    if (PMIx_Notify_event(kCode, &me, PMIX_RANGE_NAMESPACE, &info, 1, NULL, NULL) != PMIX_SUCCESS) return 6;
  }
  for (int i = 0; !tells && !told && i < 10000; ++i) usleep(1000);
  fence();
  PMIx_Finalize(NULL, 0);
  return tells || told ? 0 : 7;
}
