// The signals that ask this process to end, as a descriptor that a poll loop can wait for. Also for a process that is
// the first of its container, to which they would otherwise mean nothing. The destructor puts back what was.
#pragma once

#include <csignal>
#include <optional>

#include "dlaunch/error.h"
#include "sys/fd.h"

namespace dlaunch::dialback {

class EndSignals {
 public:
  /// INT, TERM, HUP and QUIT, but for those that are ignored. Threads and agents that are started meanwhile must set
  /// their own mask, as ours do.
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  /// Readable once one has come.
  int fd() const { return fd_.get(); }
  /// The first one that came, if one did. It stays.
  std::optional<int> came();
  /// One that came since the last call of either function.
  std::optional<int> next();

 private:
  sigset_t before_{};
  sys::Fd fd_;
  std::optional<int> came_;
};

/// Of a process that was ended before its job began. The exit code is 128 and the signal's number.
Error interrupted_by(int signal);

}  // namespace dlaunch::dialback
