// Commands that connect to hosts, or query a program: their /bin/sh command lines, their start and their end.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/host.h"
#include "sys/fd.h"
#include "transport/transport.h"

namespace dlaunch::transport {

// The /bin/sh command line that connects to another host. PURE.

/// Expands a command line of the user (--exec) or of a resource manager: {host} becomes the host name, quoted if
/// needed; {step} becomes Reach::step, if set.
std::string exec_command(std::string_view line, const plan::Host& host);

/// A resource manager's command for all these hosts: {count} becomes their number, {hosts} their names, {steps} their
/// Reach::step values. With {hosts}, {step} becomes the Reach::step of all these hosts.
std::string group_command(std::string_view line, const std::vector<plan::Host>& hosts);

/// The command that runs a script from its stdin on the host, for a user who repeats a failed step by hand. `exec`: the
/// user's command line; empty: ssh.
std::string shell_there(std::string_view exec, const plan::Host& host);

/// Runs a /bin/sh command line on a socket, in its own session: Ctrl-C reaches only the launcher. Passive: the owner
/// ends the command and waits for its exit.
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

// Runs a command line such as `ssh -G` or `scontrol` and returns its stdout. Blocks until the command closes stdout,
// the limit is over or `ended` is readable. Callers that must not block use their own thread.

struct CommandAnswer {
  std::string text;     ///< stdout; empty if the command was too slow
  std::string trouble;  ///< the last lines of stderr, or the reason of the failure
};

/// `ended`: a descriptor, or -1. The command gets no stdin. If this process ends first, the command is killed.
CommandAnswer ask_command(const std::string& line, std::chrono::milliseconds limit, int ended = -1);

/// Connects to agents with a command line that starts a shell on the host: ssh, kubectl exec, docker exec, srun, a
/// test's `sh -c`. The word ` sh` is appended. Owned by HostSession (session/host_session.h).
class Exec : public Transport {
 public:
  using Ending = transport::Ending;
  using CommandFor = std::function<std::string(const plan::Host&)>;

  /// `command` returns the /bin/sh line for a host (exec_command()), without ` sh`. `note` receives a line for each
  /// command that could not be ended; may be empty.
  explicit Exec(CommandFor command, std::function<void(const std::string&)> note = {},
                Ending ending = Ending::by_signal);
  ~Exec() override;

  Result<Connection> open(const plan::Host& host) override;
  /// Call after the streams are closed; see RunningCommands::end().
  void close() override;

 private:
  const CommandFor command_;
  const std::function<void(const std::string&)> note_;
  const Ending ending_;
  RunningCommands commands_;
};

}  // namespace dlaunch::transport
