// Identifies this host independently of its name, gives the environment entries that mark the job's ranks, and tags
// this agent, so that a later agent of the same user finds this agent. AgentTag is owned by `main`.
#pragma once

#include <string>
#include <vector>

#include "sys/descendants.h"
#include "sys/fd.h"

namespace dlaunch::agent {

/// From the running kernel and the namespaces: each container and each fake host of --fake-hosts counts as a separate
/// host. Empty if /proc does not have the data.
std::string host_identity();

/// The environment entries by which the job's ranks on this host are recognized.
std::vector<std::string> marks_of_ranks(const std::string& job_id);

class AgentTag {
 public:
  AgentTag();

  /// Call once per agent. From now on, later agents of the job on this host find this agent. `host`: host_identity().
  void write(const std::string& job_id, const std::string& host);

  /// The processes of agents that wrote their tag for the same job, host and user before this agent did. A process that
  /// an older agent forked is included until its exec.
  std::vector<sys::Process> older_agents() const;

 private:
  sys::Fd file_;
  std::string job_on_host_;
  unsigned long long written_ = 0;
};

}  // namespace dlaunch::agent
