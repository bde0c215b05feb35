// Which of two ranks' failures came first. PURE.
#pragma once

#include <chrono>

#include "dlaunch/outcome.h"

namespace dlaunch::job {

inline constexpr std::chrono::seconds kReaping{1};  ///< from a rank's death, at the most, to its time of end

/// MPI_Abort is a failure at the time of the call. But about when a rank was killed by a KILL that is not ours, or left
/// MPI, it is a consequence, and so is SIGPIPE: peers see the connections of a rank end before its agent can reap it.
bool before(const RankRecord& one, const RankRecord& other);

}  // namespace dlaunch::job
