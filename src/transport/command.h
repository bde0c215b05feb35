// A /bin/sh command line on a socket, in a session of its own so that Ctrl-C reaches only the launcher. Passive: its
// owner ends it and waits for it.
#pragma once

#include <chrono>
#include <string>

#include "sys/fd.h"

namespace dlaunch::transport {

class Command {
 public:
  /// `stream` becomes stdin and stdout, `errors` stderr; `before`: what the shell does first. Returns 0 or an errno.
  int start(const std::string& line, const sys::Fd& stream, const sys::Fd& errors, const std::string& before = {});
  /// The same for a command that is killed should the calling thread, or this process, end before it.
  int start_tied(const std::string& line, const sys::Fd& stream, const sys::Fd& errors);
  /// Whether it ended; it is then reaped, by us or, if SIGCHLD came first, by the launcher.
  bool has_ended() const;
  /// Signals its session's first process group.
  void signal(int signal) const;
  /// Waits until it has ended. False at the deadline, as for uninterruptible sleep after KILL.
  bool ends_by(std::chrono::steady_clock::time_point deadline) const;
  int pid() const { return pid_; }

 private:
  int pid_ = 0;
  sys::Fd handle_;  // pidfd, readable once the command has ended; none on a kernel before 5.3
};

}  // namespace dlaunch::transport
