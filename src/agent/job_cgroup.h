// The control group of the job's ranks on this host, below the agent's own control group. The group contains all
// descendants of the ranks, even with a changed session or environment. Created if the user has the permission and the
// kernel can start a process in a group (Linux 5.7); otherwise all functions work without a group. Created by `main`
// before the fork, like JobDirectory: guardian and worker share the path.
//
// The worker locks the directory; an unlocked directory was left by a killed worker.
#pragma once

#include <climits>
#include <string>
#include <vector>

#include "sys/descendants.h"
#include "sys/fd.h"
#include "sys/shared_object.h"

namespace dlaunch::agent {

class JobCgroup {
 public:
  JobCgroup();
  JobCgroup(const JobCgroup&) = delete;
  JobCgroup& operator=(const JobCgroup&) = delete;

  void make(const std::string& job_id);
  /// From now on includes the groups of this job that other agents left on this host.
  void adopt_left(const std::string& job_id);

  /// The group's directory, for a fork into the group; -1: there is no group.
  int fd() const { return directory_.get(); }
  std::vector<sys::Process> processes() const;
  void kill() const;
  /// Kills the group's processes and removes the group. Returns the paths that could not be removed.
  std::vector<std::string> remove();

  /// Removes empty groups next to this agent's group. Such groups remain if launcher and agents were killed at the same
  /// time.
  static void remove_abandoned();

 private:
  std::vector<std::string> all() const;

  struct Path {
    char text[PATH_MAX];  // "": there is no group
  };
  sys::SharedObject<Path> path_ = sys::SharedObject<Path>::make();  // shared with the other process
  sys::Fd directory_;
  std::vector<std::string> adopted_;
};

}  // namespace dlaunch::agent
