// The senders of a job's signals: a handler in front of Asio's handlers, which do not receive the sender.
#pragma once

#include <csignal>
#include <map>
#include <optional>

namespace dlaunch::sys {

class SignalSenders {
 public:
  /// For the signals of kJobSignals that already have a handler. One object at a time.
  SignalSenders();
  /// Restores the earlier handlers.
  ~SignalSenders();
  SignalSenders(const SignalSenders&) = delete;
  SignalSenders& operator=(const SignalSenders&) = delete;

  /// The pid of the sender of the last signal. Empty: the kernel sent it, as for a terminal or a timer, or a process
  /// outside of this pid namespace.
  static std::optional<int> last(int signal);

 private:
  std::map<int, struct sigaction> before_;
};

}  // namespace dlaunch::sys
