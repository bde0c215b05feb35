// How dlaunch and its agent run when they are built with sanitizers. What is found goes to files: standard error is the
// job's, and of an agent that has said Clean nobody asks the exit code. The end-to-end tests look for the files.
#define DLAUNCH_OPTIONS                 \
  "log_path=" DLAUNCH_SANITIZER_REPORTS \
  "/report:log_exe_name=1:print_stacktrace=1:handle_segv=2:handle_sigbus=2:handle_sigfpe=2"

extern "C" {

// The leak checker takes what it saw of __tls_get_addr for memory, and now and then reads address 0x200 and faults.
const char* __asan_default_options() {
  return DLAUNCH_OPTIONS ":detect_stack_use_after_return=1:intercept_tls_get_addr=0";
}
const char* __ubsan_default_options() { return DLAUNCH_OPTIONS; }
const char* __tsan_default_options() { return DLAUNCH_OPTIONS; }

}  // extern "C"
