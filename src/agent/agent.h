// What runs on each host: it starts the ranks that the launcher names, carries their streams, reports their ends, and
// leaves nothing behind. When the launcher goes away or falls silent it sends TERM to all, KILL after the grace, and
// exits. One thread, one loop; `main` owns it. The process must be a subreaper.
#pragma once

#include <sys/resource.h>

#include <sys/types.h>
#include <asio/io_context.hpp>

#include <memory>

#include "agent/job_cgroup.h"
#include "agent/job_directory.h"
#include "sys/fd.h"

namespace dlaunch::agent {

class Agent {
 public:
  /// `in` and `out`: the link to the launcher. `open_files`: the limit that ranks get. `files` and `cgroup` must
  /// outlive it.
  Agent(asio::io_context& io, sys::Fd in, sys::Fd out, rlimit open_files, JobDirectory& files, JobCgroup& cgroup);
  ~Agent();

  /// Returns the process's exit code, when nothing of the job is left or what is left cannot be ended. `guardian`: the
  /// process's parent, whose death is no word of the launcher's.
  int run(pid_t guardian);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::agent
