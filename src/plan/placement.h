// How many ranks each host gets, and which rank goes to which host. Pure, linear in hosts + ranks.
#pragma once

#include <vector>

#include "dlaunch/host.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// How many ranks each host takes before it is crowded: its devices where it has some (at most the slots that the user
/// gave), else its slots; never more than its max_slots. With `only_devices`, hosts without devices take none.
std::vector<int> capacities(const Allocation& allocation, bool only_devices);

/// Ranks for each host. MapBy::node deals them out one by one; every other value fills one host after the other. Ranks
/// beyond the sum of capacities are spread evenly over the hosts that have any capacity (over all hosts when none has),
/// the first ones taking the remainder, as Open MPI does: 7 on {2,3} gives {3,4}. Where `most` is not empty it limits
/// each host, and ranks that fit nowhere are left out of the result.
std::vector<int> ranks_per_host(MapBy map_by, const std::vector<int>& capacity, int ranks,
                                const std::vector<int>& most = {});

/// The host of each rank, in rank order, as Hydra deals them: each host in turn gets its capacity, round after round.
/// At least one capacity must be positive.
std::vector<int> hosts_in_rounds(const std::vector<int>& capacity, int ranks);

/// The host of each rank, in rank order: contiguous, or round robin when map_by or rank_by is node.
std::vector<int> hosts_of_ranks(const BindingRequest& binding, const std::vector<int>& ranks_per_host);

}  // namespace dlaunch::plan
