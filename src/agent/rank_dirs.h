// The directories of ranks (--rank-dir) on this host: taken for one job at a time, and emptied. A file in each, the
// marker, says that dlaunch made it: a directory without one that has anything in it is never touched.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

inline constexpr const char* kRankDirMarker = ".dlaunch-rank-dir";

struct TakenDirs {
  std::vector<sys::Fd> locks;  ///< while they are open no other job takes the directories
  bool used = false;           ///< something of an earlier job is in one of them
};

/// Makes those that are not there. Looks at all of them before it changes anything, and removes nothing.
Result<TakenDirs> take_rank_dirs(const wire::Prepare& asked);

/// Removes what is in a directory that was taken, but the marker and `kept` (absolute names).
Result<void> empty_rank_dir(const std::string& dir, const std::vector<std::string>& kept);

}  // namespace dlaunch::agent
