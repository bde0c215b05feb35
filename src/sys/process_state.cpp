#include "sys/process_state.h"

#include <sys/prctl.h>

#include "sys/inherited.h"

namespace dlaunch::sys {

ProcessState::ProcessState() : open_files_(raise_open_files()) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper_);
  for (size_t i = 0; i < kJobSignals.size(); ++i) ::sigaction(kJobSignals[i], nullptr, &actions_[i]);
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignored, &on_broken_pipe_);
}

ProcessState::~ProcessState() {
  ::sigaction(SIGPIPE, &on_broken_pipe_, nullptr);
  for (size_t i = 0; i < kJobSignals.size(); ++i) ::sigaction(kJobSignals[i], &actions_[i], nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, subreaper_);
  ::setrlimit(RLIMIT_NOFILE, &open_files_);
}

}  // namespace dlaunch::sys
