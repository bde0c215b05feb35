// When a resource manager ends the job that this process is in. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::allocate {

/// When the manager ends the job, in seconds since the epoch: SLURM_JOB_END_TIME.
std::optional<std::int64_t> job_end(const std::vector<std::string>& environment);

}  // namespace dlaunch::allocate
