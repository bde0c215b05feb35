// What the ranks of a round leave in /dev/shm when they are killed. Libraries remove the names of their segments by
// themselves, unless they do not come to it; the next round would find less and less memory. A file is removed where
// all of this holds:
// - it has come during the round, is a file of our user, and has a name as libraries give: a rank's own file, such as a
//   checkpoint in memory, stays;
// - it is of a process of the round: its pid is in the name, or it had the file mapped when the ranks were told to end;
// - nobody on this machine, in whatever container, has it open or mapped: the kernel grants a lease.
// Passive; one for each round.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace dlaunch::agent {

class SharedMemory {
 public:
  /// What is there now stays.
  explicit SharedMemory(std::string directory = "/dev/shm");

  /// Before ranks are told to end: which of the files they have mapped. Cheap where no file of such a name has come.
  void look();
  /// A process of the round has ended.
  void reaped(pid_t pid) {
    if (pids_.size() < kMostPids) pids_.insert(pid);
  }

  struct Left {
    std::vector<std::string> removed;   ///< paths
    std::vector<std::string> unproven;  ///< nobody has them open, but they may be another job's
  };
  /// Once nothing of the round is alive.
  Left remove();

 private:
  static constexpr std::size_t kMostPids = 65536;

  struct File {
    std::string path;
    pid_t pid = 0;   // in the name; 0: none
    std::string id;  // as /proc/PID/maps shows its device and inode
  };
  std::vector<File> come() const;

  const std::string directory_;
  std::set<std::string> before_;  // names that were there at the beginning
  bool known_ = false;            // all of them
  std::set<pid_t> pids_;
  std::set<std::string> mapped_;  // ids
};

/// For -vv; empty where there is nothing to say.
std::string text_of(const SharedMemory::Left& left);

}  // namespace dlaunch::agent
