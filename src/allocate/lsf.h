// A job of LSF as its variables and files tell of it. Pure but for `read_file`. The first of these that says something:
//
//   LSB_AFFINITY_HOSTFILE  a line for each rank: "host cpus", and two columns more where memory is bound
//   LSB_MCPU_HOSTS         "host slots host slots …"
//   LSB_DJOB_HOSTFILE      a name for each slot
//   LSB_HOSTS              the same in the variable; big jobs have none
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/request.h"

namespace dlaunch::allocate {

inline constexpr const char* kLsfAffinity = "LSB_AFFINITY_HOSTFILE";

/// The number of the LSF job that this process is in.
std::optional<std::string> lsf_job(const std::vector<std::string>& environment);

Result<std::vector<HostEntry>> read_lsf(const std::vector<std::string>& environment, const ReadText& read_file);

/// The host and the CPUs of each rank as LSB_AFFINITY_HOSTFILE has them, in the order of its lines. None where there is
/// no such file, or a line has no CPUs. Memory policies are left to LSF.
Result<std::vector<plan::RankPlace>> lsf_rank_places(const std::vector<std::string>& environment,
                                                     const ReadText& read_file);

}  // namespace dlaunch::allocate
