// Computes the number of ranks per host, and the host of each rank. Pure, linear in hosts + ranks.
#pragma once

#include <vector>

#include "dlaunch/host.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// The number of ranks that each host can have without oversubscription: its devices (at most the user's slots), or the
/// slots of a host without devices; never more than max_slots. With `only_devices`, hosts without devices get 0.
std::vector<int> capacities(const Allocation& allocation, bool only_devices);

/// Ranks per host. MapBy::node places ranks one by one on the hosts in turn; every other value fills one host after the
/// other. Ranks beyond the sum of capacities are spread evenly over the hosts with a capacity (over all hosts if the
/// sum is 0). The first hosts get the remainder, as in Open MPI: 7 on {2,3} gives {3,4}. If `most` is not empty, it
/// limits each host, and the result omits ranks without a host.
std::vector<int> ranks_per_host(MapBy map_by, const std::vector<int>& capacity, int ranks,
                                const std::vector<int>& most = {});

/// The host of each rank, in rank order, as in Hydra: each host gets as many ranks as its capacity, then the first host
/// again, until all ranks have a host. Requires at least one positive capacity.
std::vector<int> hosts_in_rounds(const std::vector<int>& capacity, int ranks);

/// The host of each rank, in rank order: contiguous, or round robin if map_by or rank_by is node.
std::vector<int> hosts_of_ranks(const BindingRequest& binding, const std::vector<int>& ranks_per_host);

}  // namespace dlaunch::plan
