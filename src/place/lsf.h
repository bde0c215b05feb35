// Reads an LSF job from its variables and files. Pure, except for `read_file`. The hosts come from the first variable
// of this list that is set and not empty:
//
// - LSB_AFFINITY_HOSTFILE: a file with one line per rank: "host cpus", and two more columns for memory binding.
// - LSB_MCPU_HOSTS: "host slots host slots …".
// - LSB_DJOB_HOSTFILE: a file with one host name per slot.
// - LSB_HOSTS: the same host names in the variable. LSF does not set this variable in large jobs.
#pragma once

#include <string>
#include <vector>

#include "place/manager_row.h"

namespace dlaunch::place {

inline constexpr const char* kLsfAffinity = "LSB_AFFINITY_HOSTFILE";

extern const ManagerRow kLsf;

/// The host and the CPUs of each rank in LSB_AFFINITY_HOSTFILE, in the order of its lines. Empty if the variable
/// is not set, or if a line has no CPUs. Ignores memory policies; LSF applies them.
Result<std::vector<plan::RankPlace>> lsf_rank_places(const std::vector<std::string>& environment,
                                                     const hosts::ReadText& read_file);

}  // namespace dlaunch::place
