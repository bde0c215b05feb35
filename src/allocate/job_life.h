// When a resource manager ends the job that this process is in, and whether it has queued it again before. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::allocate {

/// When the manager ends the job, in seconds since the epoch: SLURM_JOB_END_TIME.
std::optional<std::int64_t> job_end(const std::vector<std::string>& environment);

/// How often a job ran before.
struct Attempt {
  int number = 0;
  bool counted = true;  ///< else `number` is 1 however often it was
  bool operator==(const Attempt&) const = default;
};

/// DLAUNCH_ATTEMPT, which the user gives where no manager does; Slurm's SLURM_RESTART_COUNT; Grid Engine's RESTARTED
/// and LSF's LSB_RESTART, which do not count. None: no manager says it.
std::optional<Attempt> attempt_of(const std::vector<std::string>& environment);

}  // namespace dlaunch::allocate
