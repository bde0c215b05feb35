// Catches the signals that request the end of this process, as a descriptor for a poll loop. Also works in the first
// process of a container, which ignores these signals by default. The destructor restores the previous state.
#pragma once

#include <csignal>
#include <optional>

#include "dlaunch/error.h"
#include "sys/fd.h"

namespace dlaunch::dialback {

class EndSignals {
 public:
  /// Catches INT, TERM, HUP and QUIT, except for ignored signals. Threads and agents started meanwhile must set their
  /// own signal mask, as dlaunch's threads and agents do.
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  /// Readable after the first signal.
  int fd() const { return fd_.get(); }
  /// The first signal, if any; the value is kept.
  std::optional<int> came();
  /// A signal received since the last call of either function.
  std::optional<int> next();

 private:
  sigset_t before_{};
  sys::Fd fd_;
  std::optional<int> came_;
};

/// The Error of a process that ended before its job started. The exit code is 128 plus the number of the signal.
Error interrupted_by(int signal);

}  // namespace dlaunch::dialback
