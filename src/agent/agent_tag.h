// The tag by which another agent of the same user finds this agent: an unnamed file with the job's id and the host's
// identity, open in guardian and worker. Created by `main` before the fork. A kernel without memfd_create(2) has no
// tags; then no agent is found.
#pragma once

#include <string>
#include <vector>

#include "sys/descendants.h"
#include "sys/fd.h"

namespace dlaunch::agent {

class AgentTag {
 public:
  AgentTag();

  /// Call once per agent. From now on, later agents of the job on this host find this agent.
  void write(const std::string& job_id);

  /// The processes of agents that wrote their tag for the same job, host and user before this agent did. A process that
  /// an older agent forked is included until its exec.
  std::vector<sys::Process> older_agents() const;

 private:
  sys::Fd file_;
  std::string job_on_host_;
  unsigned long long written_ = 0;
};

}  // namespace dlaunch::agent
