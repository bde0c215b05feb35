// The value of -H as host entries. Pure.
//
// a:8,b:8   node[01-04]:8   a,a,b (each time a slot more)   user@[::1]:4   a:* (as many as it has CPUs)
// Without a number a host has 1 slot, as in Open MPI. Blanks around commas are let pass.
#pragma once

#include <string_view>
#include <vector>

#include "allocate/host_entry.h"
#include "base/error.h"

namespace dlaunch::allocate {

/// One entry at least, in the list's order, ranges expanded. An Error has no `where`: that is the option as typed.
Result<std::vector<HostEntry>> parse_host_list(std::string_view text);

}  // namespace dlaunch::allocate
