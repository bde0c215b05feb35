// Catches signals to this process, as a descriptor for a poll loop. Also works in the first process of a container,
// which ignores signals by default. The destructor restores the previous state. Threads and agents started meanwhile
// must set their own signal mask, as dlaunch's threads and agents do.
#pragma once

#include <csignal>
#include <optional>
#include <span>

#include "dlaunch/error.h"
#include "sys/fd.h"

namespace dlaunch::dialback {

class CaughtSignals {
 public:
  explicit CaughtSignals(std::span<const int> signals);
  ~CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;

  /// Readable after a signal.
  int fd() const { return fd_.get(); }
  /// A signal received since the last call.
  std::optional<int> next();

 private:
  sigset_t before_{};
  sys::Fd fd_;
};

/// The signals that request the end of this process: kEndSignals, except for ignored signals.
class EndSignals {
 public:
  EndSignals();

  int fd() const { return caught_.fd(); }
  /// The first signal, if any; the value is kept.
  std::optional<int> came();
  /// A signal received since the last call of either function.
  std::optional<int> next() { return caught_.next(); }

 private:
  CaughtSignals caught_;
  std::optional<int> came_;
};

/// The Error of a process that ended before its job started. The exit code is 128 plus the number of the signal.
Error interrupted_by(int signal);

}  // namespace dlaunch::dialback
