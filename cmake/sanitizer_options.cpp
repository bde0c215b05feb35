// Options of dlaunch and its agent in builds with sanitizers. Reports go to files, because stderr belongs to the job,
// and the exit code of an agent is not read after Clean. The end-to-end tests check these files.
#define DLAUNCH_OPTIONS                 \
  "log_path=" DLAUNCH_SANITIZER_REPORTS \
  "/report:log_exe_name=1:print_stacktrace=1:handle_segv=2:handle_sigbus=2:handle_sigfpe=2"

extern "C" {

// Only unit tests detect leaks. The leak checker stops all threads of a process with ptrace: it fails under strace, and
// on a busy machine the launcher would time out while waiting for the agent.
const char* __asan_default_options() { return DLAUNCH_OPTIONS ":detect_stack_use_after_return=1:detect_leaks=0"; }
const char* __ubsan_default_options() { return DLAUNCH_OPTIONS; }
const char* __tsan_default_options() { return DLAUNCH_OPTIONS; }

}  // extern "C"
