// Which of two ranks' failures came first. PURE.
#pragma once

#include <chrono>

#include "dlaunch/outcome.h"

namespace dlaunch::job {

inline constexpr std::chrono::seconds kReaping{1};  ///< the most that a rank's time of end can lag behind its death

/// By time; MPI_Abort counts from the call. But MPI_Abort or SIGPIPE within kReaping before a rank was killed by a KILL
/// that is not ours, or left MPI, is a consequence: peers see a rank's connections end before its agent can reap it.
bool before(const RankRecord& one, const RankRecord& other);

}  // namespace dlaunch::job
