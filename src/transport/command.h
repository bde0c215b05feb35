// Runs a /bin/sh command line on a socket, in its own session: Ctrl-C reaches only the launcher. Passive: the owner
// ends the command and waits for its exit.
#pragma once

#include <chrono>
#include <string>

#include "sys/fd.h"

namespace dlaunch::transport {

class Command {
 public:
  /// `stream` becomes stdin and stdout, `errors` becomes stderr. The shell runs `before` first. Returns 0 or an errno.
  int start(const std::string& line, const sys::Fd& stream, const sys::Fd& errors, const std::string& before = {});
  /// Like start(), but the kernel kills the command if the calling thread or this process ends first.
  int start_tied(const std::string& line, const sys::Fd& stream, const sys::Fd& errors);
  /// Returns true if the command has exited; the process is then reaped, here or by the launcher's SIGCHLD handler.
  bool has_ended() const;
  /// Signals the first process group of the command's session.
  void signal(int signal) const;
  /// Waits for the exit. Returns false at the deadline, for example in uninterruptible sleep after SIGKILL.
  bool ends_by(std::chrono::steady_clock::time_point deadline) const;
  int pid() const { return pid_; }

 private:
  int pid_ = 0;
  sys::Fd handle_;  // pidfd, readable after the command's exit; empty before Linux 5.3
};

}  // namespace dlaunch::transport
