// Reads an LSF job from its variables and files. Pure, except for `read_file`. The hosts come from the first variable
// of this list that is set and not empty:
//
// - LSB_AFFINITY_HOSTFILE: a file with one line per rank: "host cpus", and two more columns for memory binding.
// - LSB_MCPU_HOSTS: "host slots host slots …".
// - LSB_DJOB_HOSTFILE: a file with one host name per slot.
// - LSB_HOSTS: the same host names in the variable. LSF does not set this variable in large jobs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/request.h"

namespace dlaunch::place {

inline constexpr const char* kLsfAffinity = "LSB_AFFINITY_HOSTFILE";

/// The number of the LSF job around this process.
std::optional<std::string> lsf_job(const std::vector<std::string>& environment);

Result<std::vector<hosts::HostEntry>> read_lsf(const std::vector<std::string>& environment,
                                               const hosts::ReadText& read_file);

/// The host and the CPUs of each rank in LSB_AFFINITY_HOSTFILE, in the order of its lines. Empty if the variable
/// is not set, or if a line has no CPUs. Ignores memory policies; LSF applies them.
Result<std::vector<plan::RankPlace>> lsf_rank_places(const std::vector<std::string>& environment,
                                                     const hosts::ReadText& read_file);

}  // namespace dlaunch::place
