// Runs a /bin/sh command line on a socket, in its own session: Ctrl-C reaches only the launcher. Passive: the owner
// ends the command and waits for its exit.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

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

// Commands that connect to hosts, and their termination. Not thread-safe.

enum class Ending {
  by_signal,
  by_itself,  ///< by_itself: commands that must not be signalled; late commands are reported and keep running
};

class RunningCommands {
 public:
  void add(Command command, std::string host) { children_.push_back({std::move(command), std::move(host)}); }
  /// Call after the streams are closed. Ends the remaining commands within 3 s; commands that must exit by themselves
  /// get 10 s. `note` receives a line for each command that could not be ended; may be empty.
  void end(Ending ending, const std::function<void(const std::string&)>& note);

 private:
  struct Child {
    Command command;
    std::string host;
  };
  bool end_all(Ending ending);
  bool wait_for_all(std::chrono::milliseconds limit);
  void signal_all(int signal);

  std::vector<Child> children_;
};

}  // namespace dlaunch::transport
