// A rankfile's text as places of ranks: lines `rank N=host slot=0-3`. Pure.
//
// host is a name of the allocation or +nK, its host K from 0. slot= is a list of CPUs to bind to (plan/slot_list.h), or
// * for any. Comments as in a hostfile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/request.h"

namespace dlaunch::allocate {

/// In the file's order; one at least. Whether every rank has one place is the planner's to say. `name` is for errors.
Result<std::vector<plan::RankPlace>> parse_rankfile(std::string_view text, const std::string& name);

}  // namespace dlaunch::allocate
