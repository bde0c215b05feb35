// The control group of the job's ranks on this host, below the agent's own: all that descends from them is in it,
// wherever it went and whatever it cleared. It is made where that takes no rights that the user lacks, and Linux 5.7
// puts a process there as it is born; elsewhere there is none, and all is as without. Made by `main` before the fork,
// as JobDirectory: guardian and worker share what is known of it.
//
// The worker holds a lock on the directory. One without is left of a worker that was killed.
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
  /// Those that other agents of the job left on this host are meant, too, from now on.
  void adopt_left(const std::string& job_id);

  /// Its directory, for a fork into it; -1: there is none.
  int fd() const { return directory_.get(); }
  std::vector<sys::Process> processes() const;
  void kill() const;
  /// With whatever is still in it. What could not be removed.
  std::vector<std::string> remove();

  /// Of jobs that lost launcher and agent at one blow: the empty directories beside which another would be made.
  static void remove_abandoned();

 private:
  std::vector<std::string> all() const;

  char* path_;  // shared with the other process; "": there is none
  sys::Fd directory_;
  std::vector<std::string> adopted_;
};

}  // namespace dlaunch::agent
