// The state of this process that a job changes: signal handlers, child subreaper, limit of open files. The constructor
// saves the state, the destructor restores the state. Objects that need the change must be destroyed before.
#pragma once

#include <sys/resource.h>

#include <array>
#include <csignal>
#include <optional>

namespace dlaunch::sys {

/// The signals handled by a job.
inline constexpr std::array kJobSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGXCPU,  SIGALRM,
                                           SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD};

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

/// The senders of a job's signals: a handler in front of Asio's handlers, which do not receive the sender.
class SignalSenders {
 public:
  /// For the signals of kJobSignals that the event loop handles. The owner of the loop's handlers also removes this
  /// handler; ProcessState restores the earlier handlers.
  static void note();

  /// The pid of the sender of the last signal. Empty: the sender is the kernel (for a terminal or a timer), or a
  /// process outside of this pid namespace.
  static std::optional<int> last(int signal);
};

}  // namespace dlaunch::sys
