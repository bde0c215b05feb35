// Which rank goes to which host of the allocation, for every way of asking: by slot or node, N on each host (-N), one
// for each entry of the list (seq), or a rankfile. Pure; linear in hosts + ranks.
#pragma once

#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

struct Assignment {
  std::vector<int> ranks_of_app;    ///< how many ranks each of request.apps gets
  std::vector<int> host_of_rank;    ///< index into Allocation::hosts
  std::vector<int> ranks_per_host;  ///< one for each of Allocation::hosts
};

/// Refuses what cannot be placed as asked. Crowded hosts or devices are left to plan/overload.h, unless a host's
/// max_slots forbids them.
Result<Assignment> assign(const Request& request, const Allocation& allocation);

/// assign() for an allocation with pools, which programs with host lists of their own make (`a -H x : -H y b`). Each
/// pool is placed on its own list as if it were a job, and ranks are numbered in the order of the programs. A rankfile
/// is refused.
Result<Assignment> assign_in_pools(const Request& request, const Allocation& allocation);

}  // namespace dlaunch::plan
