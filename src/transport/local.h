// The agent of this machine: a child of the launcher, run from the installed file or, where that is not this launcher's
// own, from the copy inside it. HostSession (app/host_session.h) owns one, and app/same_line.cpp one on each node that
// connects. If both processes of the agent are killed, orphans of the job become its owner's children, and close() ends
// them.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sys/fd.h"
#include "transport/transport.h"

namespace dlaunch::transport {

class Local : public Transport {
 public:
  /// `grace` is the time between TERM and KILL for what a killed agent left, `open_files` the user's limit, for ranks.
  /// `environment`: of the agents, NAME=VALUE.
  Local(const std::string& job_id, std::chrono::milliseconds grace, const rlimit& open_files,
        std::vector<std::string> environment = {});
  /// Starts the agent of the first open() now, so that it gets ready meanwhile. Without an open(), close() ends it.
  void start_early();
  Result<Connection> open(const plan::Host& host) override;
  void close() override;
  /// Tells the agents by TERM, INT or HUP that this machine, or this process's part in a job, ends. They tell their
  /// launcher of that signal.
  void tell_to_end(int signal);

 private:
  struct Agent {
    int pid;
    sys::Fd handle;  // a pidfd; none on a kernel before 5.3
  };
  Result<Connection> start();

  const std::string mark_;                // in the agents' environment; a sweep for ranks must not find it
  const std::vector<std::string> marks_;  // mark_, and the one in every rank's environment
  const std::chrono::milliseconds grace_;
  const rlimit open_files_;
  const std::vector<std::string> environment_;
  std::vector<Agent> agents_;
  std::optional<Result<Connection>> early_;
};

}  // namespace dlaunch::transport
