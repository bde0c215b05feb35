// Starts the agent of this machine as a child of the launcher. The program is the installed file if it equals the agent
// inside this launcher; otherwise the agent inside the launcher. HostSession (session/host_session.h) owns a Local, and
// app/same_line.cpp owns a Local on each connecting node. If both processes of the agent are killed, the job's orphans
// become children of the owner. close() ends the orphans with the job's environment, and after end_orphans() all
// orphans.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sys/descendants.h"
#include "sys/fd.h"
#include "transport/transport.h"

namespace dlaunch::transport {

class Local : public Transport {
 public:
  using Note = std::function<void(const std::string& text)>;

  /// `grace`: time between TERM and KILL for orphans of a killed agent. `open_files`: the user's limit, for ranks.
  /// `note` receives a line for each orphan that does not end. `environment`: NAME=VALUE, for agents.
  Local(const std::string& job_id, std::chrono::milliseconds grace, const rlimit& open_files, Note note,
        std::vector<std::string> environment = {});
  /// Starts the agent for the first open() in advance. If open() never follows, close() ends the agent.
  void start_early();
  Result<Connection> open(const plan::Host& host) override;
  void reaped(int pid, int wait_status) override;
  void close() override;
  /// This process belongs to the job: close() also ends orphans without the job's environment. Without effect if this
  /// process is PID 1 or already has a child: an orphan may then come from another process. Call before the job starts
  /// other processes, such as the writer of its files.
  void end_orphans();
  /// From now on this process also starts other commands. close() must not end the orphans of other commands.
  void start_other_commands() { end_orphans_ = false; }
  /// Signals the agents that were not reaped, which report the signal to their launcher. After TERM, INT or HUP this
  /// machine, or the part of this process in a job, ends.
  void forward(int signal);

 private:
  struct Agent {
    int pid;
    sys::Fd handle;                       // a pidfd; empty before Linux 5.3
    std::optional<int> wait_status = {};  // if the caller of reaped() has reaped the agent
  };
  Result<Connection> start();
  void report(const std::vector<sys::Process>& left) const;

  const std::string mark_;                // in the agents' environment; a sweep for ranks must not match this entry
  const std::vector<std::string> marks_;  // mark_, and the mark in the environment of all ranks
  const std::chrono::milliseconds grace_;
  const rlimit open_files_;
  const Note note_;
  const std::vector<std::string> environment_;
  std::string name_;  // of this host
  std::vector<Agent> agents_;
  std::optional<Result<Connection>> early_;
  bool end_orphans_ = false;
};

}  // namespace dlaunch::transport
