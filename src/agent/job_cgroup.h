// The control group of the job's ranks on this host, below the agent's own: all their descendants are in it, wherever
// they went and whatever they cleared. It is made where the user has the right to, and Linux 5.7 can start a process in
// it; elsewhere everything works without. Made by `main` before the fork, as JobDirectory: guardian and worker share
// what is known of it.
//
// The worker holds a lock on the directory; one without a lock was left by a worker that was killed.
#pragma once

#include <string>
#include <vector>

#include "sys/descendants.h"
#include "sys/fd.h"

namespace dlaunch::agent {

class JobCgroup {
 public:
  JobCgroup();
  ~JobCgroup();
  JobCgroup(const JobCgroup&) = delete;
  JobCgroup& operator=(const JobCgroup&) = delete;

  void make(const std::string& job_id);
  /// Includes from now on the groups that other agents of the job left on this host.
  void adopt_left(const std::string& job_id);

  /// The group's directory, for a fork into it; -1: there is no group.
  int fd() const { return directory_.get(); }
  std::vector<sys::Process> processes() const;
  void kill() const;
  /// Removes the group with all that is in it. Returns what could not be removed.
  std::vector<std::string> remove();

  /// Removes empty groups beside this agent's, left by jobs whose launcher and agents were killed at once.
  static void remove_abandoned();

 private:
  std::vector<std::string> all() const;

  char* path_;  // shared with the other process; "": there is no group
  sys::Fd directory_;
  std::vector<std::string> adopted_;
};

}  // namespace dlaunch::agent
