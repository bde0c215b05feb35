// The state of this process that a job changes: signal handlers, child subreaper, limit of open files. The constructor
// saves it, the destructor restores it. Objects that need the change must be destroyed before.
#pragma once

#include <sys/resource.h>

#include <array>
#include <csignal>

namespace dlaunch::sys {

/// The signals handled by a job.
inline constexpr std::array kJobSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,  SIGUSR1,
                                           SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD};

class ProcessState {
 public:
  /// Raises the soft limit of open files to the hard limit, and makes a write to a closed pipe return EPIPE.
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
