// Patience: the waits of a job before its loop runs, for files on a disk that may hang. A signal that ends the job, or
// the time limit, ends them. Owned by JobRun.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "sys/caught_signals.h"
#include "sys/io.h"

namespace dlaunch::session {

class Patience {
 public:
  explicit Patience(Time until) : until_(until) {}
  /// As sys::poll_until(). Returns 0 early at the end of the patience. From the first call on, this object catches the
  /// signals of a job that this process does not ignore, except for those of a terminal's job control.
  int wait(std::span<pollfd> fds, Time deadline);
  /// Whether a wait ended early.
  bool is_over() const { return over_; }
  /// The signal that ended a wait; 0: the time limit.
  int signal() const { return signal_; }
  /// The caught signals reach the handlers of this process.
  void release();

 private:
  const Time until_;
  std::optional<sys::CaughtSignals> caught_;
  std::vector<int> seen_;
  int signal_ = 0;
  bool over_ = false;
};

}  // namespace dlaunch::session
