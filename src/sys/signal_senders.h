// Who sends the signals of a job: a handler in front of those that Asio has set, which are told nothing of it.
#pragma once

#include <csignal>
#include <map>
#include <optional>

namespace dlaunch::sys {

class SignalSenders {
 public:
  /// For those of kJobSignals that have a handler by now. One object at a time.
  SignalSenders();
  /// The handlers are as before.
  ~SignalSenders();
  SignalSenders(const SignalSenders&) = delete;
  SignalSenders& operator=(const SignalSenders&) = delete;

  /// The pid of the process that sent the signal that came last; none: the kernel did, as for a terminal or a timer, or
  /// a process of which this pid namespace knows nothing.
  static std::optional<int> last(int signal);

 private:
  std::map<int, struct sigaction> before_;
};

}  // namespace dlaunch::sys
