// What a job changes of its process, as it was before: what signals do, who orphans fall to, the limit of open files.
// Owned by who changes it; put back when this goes, after all that needs the change.
#pragma once

#include <sys/resource.h>

#include <array>
#include <csignal>

namespace dlaunch::sys {

/// What a job does something about.
inline constexpr std::array kJobSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,  SIGUSR1,
                                           SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD};

class ProcessState {
 public:
  /// From here on as many files may be open as the hard limit allows, and a write to a closed pipe says EPIPE.
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
