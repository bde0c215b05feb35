// The rank directories (--rank-dir) on this host: reserved for one job at a time, and emptied. A marker file proves
// that dlaunch created the directory: a non-empty directory without a marker is never touched. Directory and marker
// belong to this user, and are used by descriptors: another user who exchanges a directory above cannot redirect
// dlaunch.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "sys/fd.h"
#include "sys/held_directory.h"
#include "wire/archive.h"
#include "wire/message.h"

namespace dlaunch::agent {

using wire::kRankDirMarker;

struct RankDir {
  sys::HeldDirectory directory;
  sys::Fd marker;  ///< other jobs cannot take the directory while this is open and locked
  bool has_new_marker = false;
  bool filled = false;  ///< by this job; set by the Agent
};

/// By path. Owned by the Agent until the end of the job: later rounds use the same directories.
using RankDirs = std::map<std::string, RankDir>;

/// Longest wait for another agent of the job, which unlocks the directories of its former ranks.
inline constexpr std::chrono::seconds kUnlockWait{10};

/// Receives the path of each directory before each system call that can hang.
using AtPath = std::function<void(const std::string& path)>;

struct TakenDirs {
  std::vector<RankDir> dirs;      ///< in the order of Prepare
  std::vector<std::string> made;  ///< created directories, also above rank directories
};

/// Creates missing directories, and takes all. Removes nothing. Examines all existing directories before the first
/// change. An Error also if a file or directory below is locked or cannot be removed, unless `job` has filled the
/// directory; call undo_rank_dirs() then. In a later round, waits up to `wait` for locks.
///
/// A frozen agent of the job, for example on a suspended virtual machine, keeps its locks. After the wait, a later
/// round therefore takes a directory without a lock if `job` has filled the directory and no other job has taken it
/// since. Other jobs are refused as long as the frozen agent has the lock. When this agent ends before the job, nothing
/// protects the directory: another job can take and empty the directory.
Result<void> take_rank_dirs(const wire::Prepare& asked, const std::string& job, const AtPath& at, TakenDirs& taken,
                            std::chrono::milliseconds wait = kUnlockWait);

/// The job does not start: restores markers, and removes created markers, and created directories that are empty.
/// Waits up to 1 s for directories that other hosts of the job remove.
void undo_rank_dirs(const TakenDirs& taken);

/// Whether this job has filled the directory in an earlier round.
bool is_filled(const RankDir& dir, const std::string& job);

/// Notes in the marker that this job has filled the directory.
void mark_filled(const RankDir& dir, const std::string& job);

/// Notes in the marker that no job has filled the directory: call before the directory is emptied.
void mark_unfilled(const RankDir& dir);

/// Empties a taken directory, except for the marker and `kept` (absolute names); `dir` is its path.
Result<void> empty_rank_dir(const sys::HeldDirectory& directory, const std::string& dir,
                            const std::vector<std::string>& kept);

}  // namespace dlaunch::agent
