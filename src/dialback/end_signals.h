// The signals of a process that waits for other nodes, or serves a launcher on another node.
#pragma once

#include <array>
#include <csignal>
#include <optional>

#include "dlaunch/error.h"
#include "sys/caught_signals.h"

namespace dlaunch::dialback {

/// The signals that request the end of this process: kEndSignals, except for ignored signals.
class EndSignals {
 public:
  EndSignals();

  int fd() const { return caught_.fd(); }
  /// The first signal, if any; the value is kept.
  std::optional<int> came();
  /// A signal received since the last call of either function.
  std::optional<int> next();

 private:
  sys::CaughtSignals caught_;
  std::optional<int> came_;
};

/// A batch system that sends one of these signals to a step means the ranks. NodeService forwards the signals.
inline constexpr std::array kForwarded = {SIGUSR1, SIGUSR2};
/// Call in a node's process as early as possible: until NodeService runs, the default action would end the process.
void ignore_forwarded();

/// The Error of a process that ended before its job started. The exit code is 128 plus the number of the signal.
Error interrupted_by(int signal);

}  // namespace dlaunch::dialback
