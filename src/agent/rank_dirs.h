// The rank directories (--rank-dir) on this host: reserved for one job at a time, and emptied. A marker file proves
// that dlaunch created the directory: a non-empty directory without a marker is never touched. WorkdirSetup keeps the
// locks until the end of the job.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

inline constexpr const char* kRankDirMarker = ".dlaunch-rank-dir";

struct TakenDirs {
  std::vector<sys::Fd> locks;  ///< other jobs cannot take the directories while these are open
  bool used = false;           ///< a directory has files of an earlier job
};

/// Creates missing directories. Examines all directories before the first change; removes nothing.
Result<TakenDirs> take_rank_dirs(const wire::Prepare& asked);

/// Empties a taken directory, except for the marker and `kept` (absolute names).
Result<void> empty_rank_dir(const std::string& dir, const std::vector<std::string>& kept);

}  // namespace dlaunch::agent
