// Parses a rankfile with lines such as `rank N=host slot=0-3`. Pure.
//
// host is a name of the allocation, or +nK for its host K, counted from 0. slot= is a list of CPUs for the binding
// (plan/slot_list.h), or * for any. Comments are as in a hostfile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/request.h"

namespace dlaunch::hosts {

/// The places in the order of the file, at least one. The planner checks for ranks without a place. `name` is for
/// errors.
Result<std::vector<plan::RankPlace>> parse_rankfile(std::string_view text, const std::string& name);

}  // namespace dlaunch::hosts
