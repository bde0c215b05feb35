// How dlaunch and its agent run when they are built with sanitizers. What is found goes to files: standard error is the
// job's, and of an agent that has said Clean nobody asks the exit code. The end-to-end tests look for the files.
#define DLAUNCH_OPTIONS                 \
  "log_path=" DLAUNCH_SANITIZER_REPORTS \
  "/report:log_exe_name=1:print_stacktrace=1:handle_segv=2:handle_sigbus=2:handle_sigfpe=2"

extern "C" {

// Leaks are for the unit tests to find. The checker stops a process's threads as a debugger does: it fails under strace,
// and beside other work takes so long that the agent is given up.
const char* __asan_default_options() { return DLAUNCH_OPTIONS ":detect_stack_use_after_return=1:detect_leaks=0"; }
const char* __ubsan_default_options() { return DLAUNCH_OPTIONS; }
const char* __tsan_default_options() { return DLAUNCH_OPTIONS; }

}  // extern "C"
