// A command line of /bin/sh on a socket, in a session of its own so that Ctrl-C is for the launcher alone. Passive: its
// owner ends it and waits for it.
#pragma once

#include <chrono>
#include <string>

#include "sys/fd.h"

namespace dlaunch::transport {

class Command {
 public:
  /// stdin and stdout are `stream`, stderr is `errors`. 0, or an errno.
  int start(const std::string& line, const sys::Fd& stream, const sys::Fd& errors);
  /// And was reaped: by us or, if SIGCHLD came first, by the launcher.
  bool has_ended() const;
  /// To all of its session's first group.
  void signal(int signal) const;
  /// Waits until it has ended; false when the time is over first, as after KILL in uninterruptible sleep.
  bool ends_by(std::chrono::steady_clock::time_point deadline) const;
  int pid() const { return pid_; }

 private:
  int pid_ = 0;
  sys::Fd handle_;  // pidfd: readable once it has ended; none on a kernel before 5.3
};

}  // namespace dlaunch::transport
