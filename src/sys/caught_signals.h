// Catches signals to this process, as a descriptor for a poll loop. Also works in the first process of a container,
// which ignores signals by default. The destructor restores the previous state. Threads and agents started meanwhile
// must set their own signal mask, as dlaunch's threads and agents do.
#pragma once

#include <csignal>
#include <optional>
#include <span>

#include "sys/fd.h"

namespace dlaunch::sys {

struct CaughtSignal {
  int number = 0;
  bool from_kernel = false;  ///< for example of a terminal
};

class CaughtSignals {
 public:
  explicit CaughtSignals(std::span<const int> signals);
  ~CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;

  /// Readable after a signal.
  int fd() const { return fd_.get(); }
  /// A signal received since the last call.
  std::optional<CaughtSignal> next();
  /// Ends the catching: the signals that were not read reach the handlers of this process.
  void release();
  /// The signal mask of a program that a child executes.
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t before_{};
  Fd fd_;
};

}  // namespace dlaunch::sys
