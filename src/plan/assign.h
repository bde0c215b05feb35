// Assigns each rank to a host of the allocation: by slot or node, N per host (-N), one per entry of the list (seq), or
// by a rankfile. Pure; linear in hosts + ranks.
#pragma once

#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

struct Assignment {
  std::vector<int> ranks_of_app;    ///< number of ranks of each of request.apps
  std::vector<int> host_of_rank;    ///< index into Allocation::hosts
  std::vector<int> ranks_per_host;  ///< by index of Allocation::hosts
};

/// Rejects a request that cannot be placed. Does not check for crowded hosts or devices (plan/overload.h does), except
/// for a host's max_slots.
Result<Assignment> assign(const Request& request, const Allocation& allocation);

/// assign() for an allocation with pools: programs with separate host lists (`a -H x : -H y b`). Places each pool on
/// its own list like a job. Ranks are numbered in the order of the programs. Rejects a rankfile.
Result<Assignment> assign_in_pools(const Request& request, const Allocation& allocation);

}  // namespace dlaunch::plan
