// Locks of flock(2) on the files and the log directory of a job, so that a second job does not truncate them. Runs in
// the disk process.
#pragma once

#include <optional>

namespace dlaunch::output {

struct LockHolder {
  int pid = 0;  ///< of the other launcher; 0: unknown, because it runs on another host or in another pid namespace
};

/// Locks the open file until its descriptor is closed. Returns the holder if another job has the lock. A file system
/// without locks, and a lock of an earlier round of this job, are not an obstacle.
std::optional<LockHolder> lock_file(int fd);

}  // namespace dlaunch::output
