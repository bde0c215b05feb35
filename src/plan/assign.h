// Which rank goes to which host of the allocation, for every way of asking: by slot or node, N a host (-N), a rank an
// entry of the list (seq), or a rankfile. Pure; linear in hosts + ranks.
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

/// Refuses what cannot be placed as asked; not what merely crowds hosts or devices (plan/overload.h), unless a host's
/// max_slots forbids it.
Result<Assignment> assign(const Request& request, const Allocation& allocation);

/// For an allocation that has pools, as of programs with host lists of their own (`a -H x : -H y b`): each is placed on
/// its own list, as if it were a job by itself, and the ranks are numbered through in the order of the programs. As
/// assign(); a rankfile does not go with them.
Result<Assignment> assign_in_pools(const Request& request, const Allocation& allocation);

}  // namespace dlaunch::plan
