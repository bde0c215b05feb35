// Removes the files that killed ranks of a round leave in /dev/shm. Libraries normally remove their segments
// themselves, but a killed process cannot; without the cleanup, each round would have less memory. A file is removed if
// all of these hold:
// - the file appeared during the round, belongs to this user, and has a library's name pattern. A rank's own file, such
//   as a checkpoint in memory, stays;
// - a process of the round owns the file: its pid is in the name, or the file was mapped when the ranks were signalled;
// - the file is not open or mapped on this machine, in any container: the kernel grants a lease.
//
// Passive. Owned by the Agent, one object for each round.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace dlaunch::agent {

class SharedMemory {
 public:
  /// Files that exist now stay.
  explicit SharedMemory(std::string directory = "/dev/shm");

  /// Call before the ranks are terminated: records the files that the ranks have mapped. Cheap if there are no new
  /// files.
  void record_mapped();
  /// A process of the round has ended.
  void reaped(pid_t pid) {
    if (pids_.size() < kMostPids) pids_.insert(pid);
  }

  struct Left {
    std::vector<std::string> removed;   ///< paths
    std::vector<std::string> unproven;  ///< not open anywhere, but perhaps of another job
  };
  /// Call after all processes of the round have ended.
  Left remove();

 private:
  static constexpr std::size_t kMostPids = 65536;

  struct File {
    std::string path;
    pid_t pid = 0;   // from the name; 0: none
    std::string id;  // device and inode in the format of /proc/PID/maps
  };
  std::vector<File> come() const;

  const std::string directory_;
  std::set<std::string> before_;  // names at the start of the round
  bool known_ = false;            // `before_` is complete
  std::set<pid_t> pids_;
  std::set<std::string> mapped_;  // ids
};

/// A text for -vv; empty if nothing was removed or left.
std::string text_of(const SharedMemory::Left& left);

}  // namespace dlaunch::agent
