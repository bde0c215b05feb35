// The state of this process that a job changes: signal handlers, whether it is a child subreaper, the limit of open
// files. The constructor saves it and the destructor restores it, after all that needs the change has gone.
#pragma once

#include <sys/resource.h>

#include <array>
#include <csignal>

namespace dlaunch::sys {

/// The signals that a job handles.
inline constexpr std::array kJobSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,  SIGUSR1,
                                           SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD};

class ProcessState {
 public:
  /// From here on the hard limit of open files is also the soft one, and a write to a closed pipe gives EPIPE.
  ProcessState();
  ~ProcessState();
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

  const rlimit& open_files() const { return open_files_; }

 private:
  const rlimit open_files_;
  int subreaper_ = 0;
  std::array<struct sigaction, kJobSignals.size()> actions_{};
  struct sigaction on_broken_pipe_{};
};

}  // namespace dlaunch::sys
