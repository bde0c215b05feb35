// The agent process on each host: starts the ranks that the launcher requests, forwards their streams, reports their
// ends, and removes all remains of the job. If the link to the launcher ends, or the agent's lease (link/lease.h), the
// agent sends TERM to all processes, KILL after the grace period, and exits. One thread, one loop; owned by `main`. The
// process must be a subreaper.
#pragma once

#include <sys/resource.h>

#include <sys/types.h>
#include <asio/io_context.hpp>

#include <memory>

#include "agent/agent_tag.h"
#include "agent/job_cgroup.h"
#include "agent/job_directory.h"
#include "sys/fd.h"

namespace dlaunch::agent {

class Agent {
 public:
  /// `in` and `out`: the link to the launcher. `open_files`: the ranks' limit. `files`, `cgroup` and `tag` must outlive
  /// this object.
  Agent(asio::io_context& io, sys::Fd in, sys::Fd out, rlimit open_files, JobDirectory& files, JobCgroup& cgroup,
        AgentTag& tag);
  ~Agent();

  /// Returns the process's exit code when the job's processes and files are gone, or cannot be removed. `guardian`: the
  /// parent process; its death is not a message of the launcher.
  int run(pid_t guardian);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::agent
