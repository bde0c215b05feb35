// Locks of flock(2) on the files and directories of a job, so that a second job does not truncate or remove them. A
// lock ends with its descriptor.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

struct LockHolder {
  int pid = 0;  ///< of the other launcher; 0: unknown, because it runs on another host or in another pid namespace
};

/// "process 42 writes there"
std::string writes_there(LockHolder holder);

enum class Lock { exclusive, shared };  ///< shared: for files that several jobs append to

/// Locks the open file in a process that the launcher started. Returns the holder if another job has the lock. A file
/// system without locks, a lock of an earlier round of this job, and a lock of a user who only reads are not an
/// obstacle.
std::optional<LockHolder> lock_file(int fd, Lock kind = Lock::exclusive);

/// Locks the open file. False: another descriptor has a conflicting lock, for longer than 40 ms. A file system without
/// locks is not an obstacle.
bool try_lock(int fd, Lock kind = Lock::exclusive);

/// Whether this user or root locked the file by another descriptor, exclusively or shared. Removes a lock of `file`.
bool is_locked(const Fd& file);
/// The same for a file that cannot be opened. Does not know locks of other hosts and other pid namespaces.
bool is_locked(const struct stat& file);

/// The relative paths of files and directories below the open directory that processes of dlaunch on this machine have
/// locked: also if the directory does not permit reading.
std::vector<std::string> locked_by_jobs(int directory);

}  // namespace dlaunch::sys
