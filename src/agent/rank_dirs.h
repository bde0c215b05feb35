// The directories of ranks (--rank-dir) on this host: taken by one job at a time, and emptied. The marker, a file in
// each, says that dlaunch made it: a directory with content and without a marker is never touched.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

inline constexpr const char* kRankDirMarker = ".dlaunch-rank-dir";

struct TakenDirs {
  std::vector<sys::Fd> locks;  ///< no other job takes the directories while these are open
  bool used = false;           ///< one of them has something of an earlier job
};

/// Makes missing directories. Examines all of them before it changes anything, and removes nothing.
Result<TakenDirs> take_rank_dirs(const wire::Prepare& asked);

/// Empties a directory that was taken, except for the marker and `kept` (absolute names).
Result<void> empty_rank_dir(const std::string& dir, const std::vector<std::string>& kept);

}  // namespace dlaunch::agent
